/* Outputs within steps, which then do not land on them. */
#include <math.h>

#include "model/timeline.h"

const char *timeline_why_landing(const struct time_setting *time, const struct settings *settings)
{
    return !time->by_tolerance                  ? "the length of steps is fixed"
           : time->scheme == SCHEME_IMPLICIT    ? "the rates of an implicit step are not smooth"
           : time->by_steps                     ? "the end is a number of steps"
           : settings->output.derived.every > 1 ? "output.derived.every counts steps"
                                                : NULL;
}

bool timeline_is_between(const struct timeline *timeline, int64_t step)
{
    return timeline->shown_step > 0 && step == timeline->shown_step;
}

bool timeline_is_multiple(const struct timeline *timeline, int64_t every, int64_t step)
{
    return !timeline_is_between(timeline, step) && step % every <= timeline->between;
}

void timeline_show_between(struct timeline *timeline, int64_t step, double time)
{
    if (timeline->start_step == step - 1) {
        timeline->before_time = timeline->start_time;
        timeline->before_dt = timeline_dt(timeline, step - 1);
    }
    timeline->start_step++;
    timeline->steps++;
    for (int64_t i = 0; i < timeline->nstretches; i++) {
        timeline->stretch[i].first++;
    }
    timeline->between++;
    timeline->shown_step = step;
    timeline->shown_time = time;
}

int64_t timeline_count_times(const struct cadence *cadence, double time)
{
    int64_t count = 1; /* the start */
    if (cadence->interval > 0) {
        return count + (int64_t)floor((time + timeline_rounding(time)) / cadence->interval);
    }
    for (int i = 0; i < cadence->ntimes && cadence->times[i] <= time + timeline_rounding(time);
         i++) {
        count += cadence->times[i] > 0 ? 1 : 0;
    }
    return count;
}
