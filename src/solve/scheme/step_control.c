#include "solve/scheme/step_control.h"

#include <math.h>

#include "base/comm.h"
#include "base/log.h"
#include "kernels/class_summary.h"
#include "model/operator/face_factors.h"
#include "solve/observe/diagnostics.h"
#include "solve/scheme/step_length.h"
#include "solve/scheme/step_scheme.h"
#include "solve/steady/steady.h"

enum {
    LEAST = -80,
    FIRST_MOST = 64,
    FOUR_STAGES = 28, /* of the longest super step of four stages */
    LOG_MOST = STEP_LOG_MOST,
    MOST_ERROR = 12, /* accepted: 1.76 times the limit, which is aimed at */
    LOG_KEPT = 64,
    EULER_PERIOD = 256, /* levels of forward Euler's steps between two super steps */
    LOOK_LEVELS = 32    /* between two looks whether forward Euler keeps the tolerance */
};

/* The longest that is stable, s; in float32, whose estimate has a floor of about 4e-6 (s / 16)^2
 * times the temperatures, also the longest for which that is small. */
static double longest(const struct problem *problem, double magnitude, double limit)
{
    const struct timeline *timeline = &problem->timeline;
    int stages = timeline->stages_most;
    if (problem->time.scheme == SCHEME_IMPLICIT) {
        return step_length(timeline, STEP_IMPLICIT_MOST);
    }
    while (problem->precision == PRECISION_FLOAT32 && stages > 4 &&
           (4e-6 / 256) * magnitude * stages * stages > limit / 4) {
        stages -= 4;
    }
    while (superstep_limit(SCHEME_STS2, stages) == 0) {
        stages -= 4;
    }
    return superstep_limit(SCHEME_STS2, stages) / 2 * timeline->dt_stable;
}

/* The extremes of the state, and its largest difference to another one, K. */
struct comparison {
    double difference, low, high;
};

/* Wait for all work. pass: of the steps by which the other state is advanced; NULL: none. */
static enum status compare_rank(struct stepper *stepper, const void *d_other,
                                const struct pass *pass, uint64_t *keys)
{
    struct engine *engine = stepper->level->engine;
    const struct field *field = stepper->level->field;
    const uint64_t none[DIFFERENCE_KEYS] = {0};
    TRY(engine_settle(engine));
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, stepper->d_keys, none, sizeof none));
    TRY(ENQUEUE(engine->operations, compare, engine->bulk_queue, .layout = field->layout,
                .levels = pass != NULL ? pass->levels : NULL,
                .nsteps = pass != NULL ? pass->nsteps : 0, .d_a = field->d_now, .d_b = d_other,
                .d_work = field->d_next, .d_keys = stepper->d_keys));
    TRY(engine->runtime->copy_to_host(engine->bulk_queue, keys, stepper->d_keys, sizeof none));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

static enum status compare(struct stepper *stepper, const void *d_other, const struct pass *pass,
                           struct comparison *found)
{
    MPI_Comm comm = stepper->team->comm;
    uint64_t keys[DIFFERENCE_KEYS];
    TRY(status_agree(comm, compare_rank(stepper, d_other, pass, keys)));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, keys, DIFFERENCE_KEYS, MPI_UINT64_T, MPI_MAX, comm));
    *found = (struct comparison){.difference = class_value_of(keys[0]),
                                 .low = -class_value_of(keys[2]),
                                 .high = class_value_of(keys[1])};
    return STATUS_OK;
}

/* Begin the range of temperatures: that of the state, and of the boundary during the run. */
static enum status begin_range(struct stepper *stepper, const struct comparison *now)
{
    enum { TIMES = 64 };
    const struct problem *problem = stepper->problem;
    const struct patch_map *maps = &stepper->level->classes->patches;
    struct step_control *control = &stepper->state->control;
    control->low = now->low;
    control->high = now->high;
    const int times = boundary_varies(&problem->boundary) ? TIMES : 0;
    for (int i = 0; i <= times && problem->medium.curves == NULL; i++) { /* else enthalpies */
        const double end = problem->time.by_steps ? 0 : problem->time.end;
        const struct instant when = {.time = i * (end / TIMES)};
        boundary_widen(&problem->boundary, &problem->grid, &when, &control->low, &control->high);
        for (int f = 0; f < FACE_COUNT; f++) {
            face_factors_widen(problem, (enum face)f, &maps->face[f], when.time, &control->low,
                               &control->high);
        }
    }
    double ends[] = {-control->low, control->high};
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, stepper->team->comm));
    control->low = -ends[0];
    control->high = ends[1];
    return STATUS_OK;
}

/* The tolerance, relative to the range, K. */
static double share_of(const struct time_setting *time, double range)
{
    return time->tolerance > 0 ? time->tolerance : fmin(time->max_error / range, 0.1);
}

/* Of the estimate of a super step, K. The sum of errors that diffusion damps is about the power 2/3
 * of one error. */
static double limit_of(const struct time_setting *time, double range)
{
    const double share = share_of(time, range);
    return fmin(18 * sqrt(share), 1) * share * range;
}

/* Half of F of the super step's length, at its start, and at its end before a jump of the data. */
static const struct superstep_level halves[] = {{.weight = 0.5, .predicts = true},
                                                {.weight = 0.5,
                                                 .predicts = true,
                                                 .corrects = true,
                                                 .p1 = 1 - 0x1p-30,
                                                 .p2 = 0.5 * (1 - 0x1p-30)}};

/* Compare the state with the one before the super step plus both halves. */
static enum status compare_halves(struct stepper *stepper, double start, double length,
                                  struct comparison *found)
{
    struct stepper_pass pass = {.pass.nsteps = 2, .levels = halves};
    for (int half = 0; half < 2; half++) {
        TRY(stepper_agree(stepper, operator_of_level(stepper->problem, start, length, &halves[half],
                                                     &pass.op[half])));
    }
    TRY(stepper_find_coefficients(stepper, &pass));
    TRY(level_exchange(stepper->level));
    return compare(stepper, stepper->d_saved, &pass.pass, found);
}

/* Let d_sum be the state plus the first half; then add the second. */
static enum status add_half(struct stepper *stepper, double start, double length, bool at_end,
                            void *d_sum)
{
    struct stepper_pass pass = {.pass.nsteps = 1, .levels = &halves[at_end]};
    struct field *field = stepper->level->field;
    void *d_next = field->d_next;
    TRY(stepper_agree(
        stepper, operator_of_level(stepper->problem, start, length, pass.levels, &pass.op[0])));
    field->d_next = d_sum;
    TRY(stepper_queue_pass(stepper, &pass));
    field_swap(field);
    field->d_next = d_next;
    return STATUS_OK;
}

/* One super step, and the estimate of its error: the trapezoidal rule differs from it by
 * (1/12 + C) tau^3 T''', and it has an error of C tau^3 T'''. An implicit step has C = -0.0404. The
 * rule amplifies stiff modes, so that then the difference is solved for like a stage. */
static enum status try_step(struct stepper *stepper, struct comparison *found)
{
    const bool is_implicit = stepper->problem->time.scheme == SCHEME_IMPLICIT;
    const double share = is_implicit ? 0.94 : 0.316; /* C / (1/12 + C) */
    const struct timeline *timeline = &stepper->problem->timeline;
    const double start = timeline_time(timeline, stepper->state->step);
    const double length = timeline_dt(timeline, stepper->state->step);
    if (is_implicit) {
        TRY(stepper_copy(stepper, stepper->d_saved, stepper->level->field->d_now));
    }
    if (!estimate_needs_field(stepper->problem)) {
        TRY(stepper->scheme->advance(stepper, 1));
        TRY(compare_halves(stepper, start, length, found));
    } else {
        TRY(add_half(stepper, start, length, false, stepper->d_estimate));
        TRY(stepper->scheme->advance(stepper, 1));
        TRY(add_half(stepper, start, length, true, stepper->d_estimate));
        TRY(compare(stepper, stepper->d_estimate, NULL, found));
        if (is_implicit) {
            TRY(steady_damped(stepper, stepper->d_estimate, &found->difference));
        }
    }
    found->difference *= share;
    return diagnostics_gather_ledger(stepper);
}

/* Compare the state with the one that half a step of forward Euler leads to. */
static enum status compare_half_step(struct stepper *stepper, struct comparison *found)
{
    struct state *state = stepper->state;
    const struct state before = *state;
    TRY(status_agree(stepper->team->comm, engine_settle(stepper->level->engine)));
    TRY(add_half(stepper, state->time, stepper->problem->timeline.dt_stable, false,
                 stepper->d_saved));
    TRY(compare(stepper, stepper->d_saved, NULL, found));
    *state = before;
    return STATUS_OK;
}

/* At the start and after a jump of the data: the length after which stiff parts of the largest rate
 * of change are estimated to be half the limit. It is not long, since data may begin to change.
 * `auto` takes at least the longest of four stages, which costs no more than forward Euler.
 * difference: after half a step of forward Euler. */
static void choose_first(const struct stepper *stepper, double difference, double range)
{
    struct step_control *control = &stepper->state->control;
    const struct time_setting *time = &stepper->problem->time;
    const double limit = limit_of(time, range);
    const double later = limit_of(time, fmax(range, 8 * difference));
    const int64_t before_jump = stepper->state->step > 0 ? control->exponent : 0;
    const int64_t most = before_jump > FIRST_MOST ? before_jump : FIRST_MOST;
    const int64_t wanted = difference > 0 ? step_log(2 * limit / difference) : 0;
    const bool may_be_long = time->may_skip && step_log(2 * later / difference) > -FOUR_STAGES;
    control->exponent = step_clamp(wanted, may_be_long ? FOUR_STAGES : 0, most);
    control->error = 0;
}

/* The next exponent after a super step of length 2^(now / 16) with an error of 2^(error / 16) times
 * the limit: a PI controller, with a push where two errors in turn are below 0.7 of the limit, as
 * while steps grow after a jump of the data. */
static int64_t next_exponent(const struct step_control *control, int64_t now, int64_t error)
{
    enum { LOW = -8, PUSH = 60 };
    const int64_t before = step_clamp(control->error, -STEPS_PER_OCTAVE, LOG_KEPT);
    const int64_t push = before < LOW && error < LOW ? PUSH : 0;
    const int64_t change = (4 * before - 7 * error - 12 + push + 30 * LOG_MOST) / 30 - LOG_MOST;
    return now + step_clamp(change, -28, 32);
}

/* A super step that was shortened somewhat tells the error of one of the length of the control. */
static void accept_step(struct step_control *control, const struct comparison *found, int64_t now,
                        int64_t error)
{
    const int64_t shorter = control->exponent > now ? control->exponent - now : 0;
    if (shorter < STEPS_PER_OCTAVE / 2) {
        const int64_t whole = error + 3 * shorter;
        control->exponent = next_exponent(control, now + shorter, whole);
        control->error = whole;
    } else {
        const int64_t next = next_exponent(control, now, error);
        control->exponent = next > control->exponent ? next : control->exponent;
    }
    control->low = fmin(control->low, found->low);
    control->high = fmax(control->high, found->high);
    control->last_error = found->difference;
    control->largest_error = fmax(control->largest_error, found->difference);
}

/* Accept the super step from `before`, or undo it; all work is done. */
static void judge(struct stepper *stepper, const struct state *before,
                  const struct comparison *found, double limit, bool *accepted)
{
    const struct timeline *timeline = &stepper->problem->timeline;
    struct state *state = stepper->state;
    struct step_control control = before->control;
    const int64_t error = step_log(found->difference / limit);
    const int64_t now = step_log(timeline_dt(timeline, before->step) / timeline->dt_stable);
    control.levels += stepper->nslots + 2;
    control.step_cycles = state->control.step_cycles;
    control.cycles = state->control.cycles;
    *accepted = error <= MOST_ERROR || now <= LEAST;
    if (*accepted) {
        accept_step(&control, found, now, error);
        control.implicit_steps += stepper->problem->time.scheme == SCHEME_IMPLICIT;
    } else {
        control.exponent = now - step_clamp(error, 0, LOG_KEPT) / 3 - 3;
        control.rejected++;
        stepper_undo(stepper, before);
    }
    state->control = control;
}

/* Let the next super steps have the length of the control, at most `most` s, or divide the time to
 * the next landing equally. estimate: its cost, in levels. */
static enum status choose_length(const struct stepper *stepper, struct timeline *timeline,
                                 double most, int estimate)
{
    struct step_control *control = &stepper->state->control;
    const int64_t step = stepper->state->step;
    control->exponent =
        step_clamp(control->exponent, LEAST, step_log(most / timeline->dt_stable) + 1);
    const double length =
        step_cheapest(timeline, fmin(step_length(timeline, control->exponent), most), estimate);
    const double left = timeline_landing(timeline, step) - stepper->state->time;
    const double parts = fmax(ceil(left / length * (1 - 1e-12)), 1);
    return status_agree(stepper->team->comm,
                        timeline_adapt(timeline, step, isfinite(left) ? left / parts : length));
}

/* Whether the next super step is taken without an estimate, which only `auto` does: where that
 * would be a third of the work or more. A step with an estimate comes whenever the number of levels
 * passes a multiple of PERIOD, so that on the whole they are no more than those of forward Euler;
 * and after estimates that are far below the limit, since the steps then become longer. */
static bool leaves_estimate_out(const struct stepper *stepper, const struct timeline *timeline,
                                double length)
{
    enum { STAGES = 8, PERIOD = 48, FAR = -3 * STEPS_PER_OCTAVE };
    const struct time_setting *time = &timeline->setting;
    const struct step_control *control = &stepper->state->control;
    const int stages = step_stages(timeline, length);
    return time->may_skip && time->until_rate == 0 && time->until_distance == 0 &&
           time->scheme == SCHEME_STS2 && stages <= STAGES &&
           stages * time->safety * timeline->dt_stable <= length && control->error > FAR &&
           control->levels % PERIOD >= stages;
}

/* A super step without an estimate. */
static enum status take_step(struct stepper *stepper)
{
    struct state *state = stepper->state;
    stepper->ledger_before = state->ledger;
    TRY(stepper->scheme->advance(stepper, 1));
    state->control.levels += stepper->nslots;
    TRY(diagnostics_gather_ledger(stepper)); /* so that the next one can be undone */
    return stepper_show(stepper, false);
}

/* Whether super steps of the control would take more levels than forward Euler, which `auto` then
 * takes if it keeps the tolerance. */
static bool may_take_euler(const struct timeline *timeline, const struct step_control *control)
{
    const struct time_setting *time = &timeline->setting;
    const double length = step_cheapest(timeline, step_length(timeline, control->exponent), 0);
    return time->may_skip && time->scheme == SCHEME_STS2 && time->until_rate == 0 &&
           time->until_distance == 0 &&
           step_stages(timeline, length) * time->safety * timeline->dt_stable > length;
}

/* Choose forward Euler if it keeps the tolerance. The data and rates of its steps are those of
 * their start, so its error is at most about half of what changes in one. */
static enum status look_at_euler(struct stepper *stepper)
{
    const struct timeline *timeline = &stepper->problem->timeline;
    struct step_control *control = &stepper->state->control;
    const double range = control->high - control->low;
    const double steps = timeline_dt_before(timeline, stepper->state->step) / timeline->dt_stable;
    struct comparison found;
    TRY(compare(stepper, stepper->d_saved, NULL, &found));
    const bool keeps = found.difference <= 2 * steps * share_of(&timeline->setting, range) * range;
    control->levels += 2;
    control->error = keeps ? STEP_BY_EULER : control->error % STEP_BY_EULER;
    return STATUS_OK;
}

/* A super step of forward Euler's steps, which are a little longer than usual, to pay for looks. */
static enum status take_euler_steps(struct stepper *stepper, struct timeline *timeline)
{
    enum { STEPS = 4, PERIOD = 2 * LOOK_LEVELS };
    const struct state *state = stepper->state;
    const double step = fmax(timeline->setting.safety, 0x1.fp-1) * timeline->dt_stable;
    const double left = timeline_landing(timeline, state->step) - state->time;
    const bool lands = left <= STEPS * step * (1 + 1e-12);
    const int n = lands ? (int)fmax(ceil(left / step * (1 - 1e-12)), 1) : STEPS;
    TRY(status_agree(stepper->team->comm,
                     timeline_adapt(timeline, state->step, lands ? left : STEPS * step)));
    stepper->equal_levels = n;
    TRY(take_step(stepper));
    stepper->equal_levels = 0;
    return state->control.levels % PERIOD < n ? look_at_euler(stepper) : STATUS_OK;
}

/* End the run if the state is steady. Rates of change decay like exp(-decay t) in the end, and the
 * distance from the steady state is then rate / decay. */
static enum status end_if_steady(struct stepper *stepper, struct timeline *timeline)
{
    const struct time_setting *time = &stepper->problem->time;
    const struct state *state = stepper->state;
    struct step_control *control = &stepper->state->control;
    const double length = timeline_dt_before(timeline, state->step);
    const double before = timeline_dt_before(timeline, state->step - 1);
    struct comparison found;
    if (time->until_rate == 0 && time->until_distance == 0) {
        return STATUS_OK;
    }
    TRY(compare(stepper, stepper->d_saved, NULL, &found));
    const double rate = found.difference / length;
    const double decay = 4 * (control->rate - rate) / ((control->rate + rate) * (length + before));
    const bool decays = decay > 0 && fabs(decay - control->decay) <= 0.1 * decay;
    control->rate = rate;
    control->decay = decay;
    if (rate < time->until_rate || (decays && rate / decay < time->until_distance)) {
        log_info("steady at t = %.6g s: no temperature changes faster than %.3g K/s", state->time,
                 rate);
        timeline_end_at(timeline, state->step);
    }
    return STATUS_OK;
}

enum status step_control_advance(struct stepper *stepper, struct problem *problem)
{
    const struct time_setting *time = &problem->time;
    struct timeline *timeline = &problem->timeline;
    struct state *state = stepper->state;
    struct step_control *control = &state->control;
    const bool begins = state->step == 0 || timeline_jumps(timeline, state->step);
    const bool has_range = control->low < control->high;
    const int64_t levels = control->levels;
    struct comparison found;
    bool accepted = false;
    timeline->between = 0;
    if (begins) {
        TRY(compare_half_step(stepper, &found));
    } else if (!has_range) {
        TRY(compare(stepper, stepper->level->field->d_now, NULL, &found));
    }
    if (!has_range) {
        TRY(begin_range(stepper, &found));
    }
    const double low = control->low;
    const double high = control->high;
    const double limit = limit_of(time, high - low);
    /* to see the decay in time */
    double most = time->until_distance > 0 && control->decay > 0 ? 1.5 / control->decay : INFINITY;
    if (begins) {
        choose_first(stepper, found.difference, high - low);
    }
    TRY(step_scheme_choose(stepper, problem, most));
    most = fmin(most, longest(problem, fmax(fabs(low), fabs(high)), limit));
    if (control->error == STEP_BY_EULER && control->levels % EULER_PERIOD >= 8) {
        return take_euler_steps(stepper, timeline);
    }
    const bool by_euler = control->error == STEP_BY_EULER; /* are super steps longer now? */
    control->exponent = by_euler ? FOUR_STAGES : control->exponent;
    control->error = by_euler ? 0 : control->error;
    TRY(choose_length(stepper, timeline, most, 0));
    if (!begins && !by_euler &&
        leaves_estimate_out(stepper, timeline, timeline_dt(timeline, state->step))) {
        return take_step(stepper);
    }
    while (!accepted) {
        TRY(choose_length(stepper, timeline, most, TIMELINE_ESTIMATE_LEVELS));
        const struct state before = *state;
        const enum status status = try_step(stepper, &found);
        /* that of a map on one rank of several only that rank knows */
        const bool by_all = fail_is_agreed() || comm_size(stepper->team->comm) == 1;
        if (status == STATUS_NUMERICS && by_all && step_scheme_may_retry(stepper)) {
            TRY(step_scheme_retry(stepper, problem, &before));
            most = fmin(most, longest(problem, fmax(fabs(low), fabs(high)), limit));
            continue;
        }
        TRY(status);
        const double range = fmax(high, found.high) - fmin(low, found.low);
        const double growth = time->may_skip ? 3 * (range - (high - low)) : 0;
        judge(stepper, &before, &found, limit_of(time, range + growth), &accepted);
        stepper->ledger_before = before.ledger;
        if (!accepted && by_euler) {
            state->control.error = STEP_BY_EULER;
            return take_euler_steps(stepper, timeline);
        }
    }
    if ((by_euler || control->levels / LOOK_LEVELS > levels / LOOK_LEVELS) &&
        may_take_euler(timeline, control)) {
        TRY(look_at_euler(stepper));
    }
    TRY(end_if_steady(stepper, timeline));
    return stepper_show(stepper, false);
}
