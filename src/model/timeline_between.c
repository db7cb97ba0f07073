/* Outputs within steps, which then do not land on them. */
#include <math.h>

#include "model/timeline.h"

const char *timeline_why_landing(const struct timeline *timeline)
{
    const struct time_setting *time = &timeline->setting;
    return !time->by_tolerance                   ? "the length of steps is fixed"
           : time->scheme == SCHEME_IMPLICIT     ? "the rates of an implicit step are not smooth"
           : time->by_steps                      ? "the end is a number of steps"
           : timeline->output->derived.every > 1 ? "output.derived.every counts steps"
                                                 : NULL;
}

double timeline_next(const struct timeline *timeline, double time)
{
    const double next =
        fmin(timeline_next_landing(timeline, time), timeline_next_between(timeline, time));
    return timeline->setting.by_steps ? next : fmin(next, timeline->end);
}

void timeline_use(struct timeline *timeline, enum time_scheme scheme)
{
    timeline->setting.scheme = scheme;
    timeline->why_landing = timeline_why_landing(timeline);
    timeline->is_stale = true;
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
