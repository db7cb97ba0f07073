#include "solve/scheme/adaptive.h"

#include <math.h>

#include "base/comm.h"
#include "model/medium/curve.h"
#include "model/operator/limits.h"
#include "solve/observe/diagnostics.h"

/* Of the span and of the magnitude: for roundings, and less for a restart, which must find again
 * what the run before it found. */
static const double MARGIN_OF_SPAN = 0.01;
static const double MARGIN_OF_MAGNITUDE = 1e-5;

/* Times fastest_rate it bounds the rates while all temperatures lie between `low` and `high`; at
 * most 1. With all conductivities smaller by a factor the conductances are, too; with contacts less
 * than that. */
static double rate_share(const struct medium *medium, double low, double high)
{
    double conductivity = 0;
    double capacity = 0;
    bool shrinks = !medium->perfused;
    for (int m = 0; m < medium->nmaterials; m++) {
        const struct medium_class *all = &medium->materials[m];
        const struct curve *curve = &medium->curves[m];
        const double k = curve_most_conductivity(curve, AXIS_X, low, high);
        conductivity = fmax(conductivity, k / all->conductivity[AXIS_X]);
        capacity =
            fmax(capacity, all->heat_capacity_volume / curve_least_capacity(curve, low, high));
        for (int other = 0; other < medium->nmaterials; other++) {
            shrinks = shrinks && medium->resistance[m * medium->nmaterials + other] == 0;
        }
    }
    return capacity * (shrinks ? conductivity : 1);
}

/* The share of the static rates while the field is within the extremes of `d`, the boundary's
 * temperatures and a part of the margin. */
static double share_of(const struct problem *problem, const struct heat_operator *op,
                       const struct diagnostics *d, double part)
{
    double low = 0;
    double high = 0;
    limits_outside(problem, op, &low, &high);
    low = fmin(low, d->min);
    high = fmax(high, d->max);
    const double span = isfinite(high - low) ? high - low : 0;
    const double margin =
        part * (MARGIN_OF_SPAN * span + MARGIN_OF_MAGNITUDE * fmax(fabs(d->min), fabs(d->max)));
    return rate_share(&problem->medium, low - margin, high + margin);
}

/* At a closed face the half cell conducts twice as much as between cells, which is half of a row
 * sum at most, or all of it beside a material that conducts badly. With such a step no cell leaves
 * the range. */
static double step_of(const struct problem *problem, double share)
{
    const double closed = problem->medium.nmaterials > 1 ? 2 : 1.5;
    const struct timeline *timeline = &problem->timeline;
    return problem->time.safety * timeline->dt_stable / fmin(1, closed * share);
}

enum status adaptive_step(struct stepper *stepper, struct problem *problem)
{
    const int64_t every = problem->time.adapt_every;
    const struct state *state = stepper->state;
    struct timeline *timeline = &problem->timeline;
    struct heat_operator op;
    struct diagnostics d;
    if (every == 0 || state->step >= timeline->steps) {
        return STATUS_OK;
    }
    const bool due = state->step % every == 0;
    if (!due && (state->step != state->first_step || timeline->dt == step_of(problem, 1))) {
        return STATUS_OK;
    }
    TRY(stepper_operator(stepper, &op));
    TRY(diagnostics_take(stepper, &d));
    const double share = share_of(problem, &op, &d, due ? 1 : 0.5);
    const double dt = step_of(problem, share);
    /* in between, a restart keeps the step, unless its settings no longer allow it */
    const bool keeps = !due && dt >= timeline->dt;
    TRY(status_agree(stepper->team->comm,
                     keeps ? STATUS_OK : timeline_adapt(timeline, state->step, dt)));
    timeline->share = timeline->dt > step_of(problem, 1) ? share : 1;
    return STATUS_OK;
}

int64_t adaptive_next(const struct stepper *stepper)
{
    const int64_t every = stepper->problem->time.adapt_every;
    return every > 0 ? (stepper->state->step / every + 1) * every : INT64_MAX;
}
