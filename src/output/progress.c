#include "output/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/comm.h"
#include "base/log.h"

static const double TERMINAL_INTERVAL = 0.5; /* s */
static const double LOG_INTERVAL = 15.0;

void progress_start(struct progress *progress, const struct state *state)
{
    *progress = (struct progress){
        .started = MPI_Wtime(),
        .shown = MPI_Wtime(),
        .next_step = state->step + 1,
    };
}

static void print_line(const struct progress *progress, const struct stepper *stepper,
                       const struct diagnostics *latest, double elapsed)
{
    const struct state *state = stepper->state;
    const struct timeline *timeline = &stepper->problem->timeline;
    const int64_t done = state->step - state->first_step;
    const int64_t left = timeline->steps - state->step;
    const double rate = (double)done / fmax(elapsed, 1e-9);
    char remaining[DURATION_TEXT];
    char line[256];
    snprintf(line, sizeof line,
             "%3.0f %%  step %" PRId64 "/%" PRId64 "  t %.4g s  T %.4g .. %.4g K  %.3g Gcell/s  "
             "%s left",
             100.0 * (double)state->step / (double)timeline->steps, state->step, timeline->steps,
             state->time, latest->min, latest->max,
             rate * (double)grid_total_cells(&stepper->problem->grid) * 1e-9,
             duration_text(round((double)left / rate), remaining));
    if (log_is_terminal()) {
        log_transient("%s", line);
    } else if (MPI_Wtime() - progress->shown >= LOG_INTERVAL) {
        log_info("%s", line);
    }
}

enum status progress_show(struct progress *progress, const struct stepper *stepper,
                          const struct diagnostics *latest)
{
    const struct state *state = stepper->state;
    const double now = MPI_Wtime();
    const double elapsed = now - progress->started;
    const int64_t done = state->step - state->first_step;
    int64_t next = 0;
    if (stepper->team->rank == 0) {
        const double interval = log_is_terminal() ? TERMINAL_INTERVAL : LOG_INTERVAL;
        print_line(progress, stepper, latest, elapsed);
        if (now - progress->shown >= interval) {
            progress->shown = now;
        }
        /* the rate of the first steps is unreliable: at most double the count each time */
        const double steps = fmin(interval * (double)done / fmax(elapsed, 1e-9), (double)done);
        next = state->step + (int64_t)fmax(steps, 1.0);
    }
    TRY_MPI(MPI_Bcast(&next, 1, MPI_INT64_T, 0, stepper->team->comm));
    progress->next_step = next;
    return STATUS_OK;
}
