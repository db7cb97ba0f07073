#include "solve/scheme/step_scheme.h"

#include <inttypes.h>
#include <math.h>

#include "base/log.h"
#include "solve/observe/diagnostics.h"
#include "solve/scheme/scheme.h"
#include "solve/scheme/step_length.h"
#include "solve/steady/steady.h"

/* The grids of the implicit steps are made for the first of them. */
static enum status use(struct stepper *stepper, struct problem *problem, bool is_implicit)
{
    const struct level *level = stepper->level;
    if (is_implicit && stepper->steady == NULL) {
        TRY(steady_create(problem, stepper->team, level->engine, level->classes,
                          &level->field->layout, &stepper->steady));
    }
    timeline_use(&problem->timeline, is_implicit ? SCHEME_IMPLICIT : SCHEME_STS2);
    problem->time.scheme = problem->timeline.setting.scheme;
    stepper->scheme = is_implicit ? &scheme_implicit : &scheme_sts2;
    return STATUS_OK;
}

/* s: the length that the tolerance allows. Where no super step is that long, their last error says
 * how much longer steps can be, whose errors grow with the third power of the length, up to 256
 * times. In a step that is longer than the run so far data could change and change back, so only
 * eight times is taken then. */
static double allowed(const struct timeline *timeline, const struct state *state)
{
    enum { FURTHER = 3 * STEPS_PER_OCTAVE, FARTHEST = 8 * STEPS_PER_OCTAVE };
    const struct step_control *control = &state->control;
    const int64_t cap = step_log(timeline_longest_super_step(timeline) / timeline->dt_stable) + 1;
    if (control->is_implicit > 0 || control->exponent < cap) {
        return step_length(timeline, control->exponent);
    }
    const int64_t further = step_clamp(-control->error / 3, 0, FARTHEST);
    return fmin(step_length(timeline, cap + further),
                fmax(step_length(timeline, cap + FURTHER), state->time));
}

/* s: the longest that an implicit step can be here, or the next one; it ends at outputs. */
static double room(const struct timeline *timeline, double time)
{
    const double next = timeline_next(timeline, time);
    return fmax(next - time, timeline_next(timeline, next) - next);
}

/* Whether implicit steps take less work per time; the scheme changes for a gain of a quarter. */
static bool is_cheaper(const struct timeline *timeline, const struct state *state, double most)
{
    const bool is_implicit = state->control.is_implicit > 0;
    const double wanted = fmin(allowed(timeline, state), most);
    const double implicit = fmin(wanted, room(timeline, state->time));
    const double super = fmin(wanted, timeline_longest_super_step(timeline));
    const double levels = step_stages(timeline, super) + TIMELINE_ESTIMATE_LEVELS;
    const double work = timeline_implicit_work(timeline, state->control.step_cycles);
    return work * super * (is_implicit ? 4 : 5) < levels * implicit * (is_implicit ? 5 : 4);
}

enum status step_scheme_choose(struct stepper *stepper, struct problem *problem, double most)
{
    const struct timeline *timeline = &problem->timeline;
    struct state *state = stepper->state;
    struct step_control *control = &state->control;
    if (!problem->time.may_be_implicit || control->is_implicit < 0 ||
        control->error == STEP_BY_EULER) {
        return STATUS_OK;
    }
    const bool chosen = is_cheaper(timeline, state, most);
    if (chosen == (control->is_implicit > 0)) {
        return STATUS_OK;
    }
    if (chosen && stepper->steady == NULL) { /* the first one of this run */
        log_info("implicit steps from step %" PRId64 ", t = %.6g s: the tolerance allows %.3g s, "
                 "the longest super step is %.3g s",
                 state->step, state->time, fmin(allowed(timeline, state), most),
                 timeline_longest_super_step(timeline));
    }
    control->exponent = step_log(fmin(allowed(timeline, state), most) / timeline->dt_stable);
    control->is_implicit = chosen ? 1 : 0;
    return use(stepper, problem, chosen);
}

const char *step_scheme_never_implicit(const struct stepper *stepper)
{
    const char *why = stepper->problem->timeline.why_explicit;
    const bool abandoned = why == NULL && stepper->state->control.is_implicit < 0;
    return abandoned ? "the cycles of an implicit step did not converge" : why;
}

enum status step_scheme_restore(struct stepper *stepper, struct problem *problem)
{
    struct step_control *control = &stepper->state->control;
    if (!problem->time.may_be_implicit &&
        control->is_implicit > 0) { /* auto chose for the run before */
        control->is_implicit = 0;
    }
    return control->is_implicit > 0 ? use(stepper, problem, true) : STATUS_OK;
}

/* A step as long as forward Euler's never runs away: its matrix is positive. */
static bool may_shorten(const struct stepper *stepper)
{
    const struct timeline *timeline = &stepper->problem->timeline;
    return sources_depend(&stepper->problem->sources) &&
           timeline_dt(timeline, stepper->state->step) > timeline->dt_stable;
}

bool step_scheme_may_retry(const struct stepper *stepper)
{
    const struct time_setting *time = &stepper->problem->time;
    return time->scheme == SCHEME_IMPLICIT && (time->may_be_implicit || may_shorten(stepper));
}

enum status step_scheme_retry(struct stepper *stepper, struct problem *problem,
                              const struct state *before)
{
    enum { SHORTER = 2 * STEPS_PER_OCTAVE };
    const struct timeline *timeline = &problem->timeline;
    struct step_control *control = &stepper->state->control;
    const bool shortens = may_shorten(stepper);
    if (!shortens) {
        log_warn("an implicit step is undone, and super steps are taken from here on: %s",
                 fail_message());
    }
    fail_clear();
    TRY(diagnostics_gather_ledger(stepper));
    stepper_undo(stepper, before);
    control->cycles += stepper->steady->count;
    if (shortens) {
        const double length = timeline_dt(timeline, before->step);
        control->exponent = step_log(length / timeline->dt_stable) - SHORTER;
        control->rejected++;
        return STATUS_OK;
    }
    control->is_implicit = -1;
    return use(stepper, problem, false);
}
