#include "solve/start/tuning.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"
#include "solve/pass.h"

enum {
    /* fewer cells take microseconds with any shape */
    MIN_CELLS = 1 << 21,
    ROUNDS = 5,
};

/* The relative gain over the backend's own rule below which it is kept: less is noise. */
static const double min_gain = 0.01;

struct search {
    const struct tuning_target *target;
    struct stopwatch *stopwatch;
    int calls; /* per measurement */
    double seconds[TUNING_MAX_SHAPES][ROUNDS];
};

static enum status use_shape(const struct tuning_target *target, int shape)
{
    const int64_t extent[AXIS_COUNT] = {box_extent(&target->box, AXIS_X),
                                        box_extent(&target->box, AXIS_Y),
                                        box_extent(&target->box, AXIS_Z)};
    return target->backend->operations->step_shape(target->device, target->layout->precision,
                                                   extent, shape);
}

static enum status time_shape(struct search *search, int shape, double *seconds)
{
    const struct tuning_target *t = search->target;
    TRY(use_shape(t, shape));
    TRY(t->backend->runtime->stopwatch_start(t->queue, search->stopwatch));
    for (int call = 0; call < search->calls; call++) {
        TRY(ENQUEUE(t->backend->operations, step, t->queue, .layout = *t->layout,
                    .levels = &t->args, .nsteps = 1, .d_out = t->d_out, .d_in = t->d_in,
                    .boxes = &t->box, .nboxes = 1));
    }
    TRY(t->backend->runtime->stopwatch_stop(t->queue, search->stopwatch));
    TRY(t->backend->runtime->queue_wait(t->queue));
    TRY(t->backend->runtime->stopwatch_seconds(search->stopwatch, seconds));
    *seconds /= search->calls;
    return STATUS_OK;
}

/* Several rounds over all shapes, so that a disturbance affects all of them. */
static enum status time_all(struct search *search, int nshapes, double medians[TUNING_MAX_SHAPES])
{
    double warm_up = 0;
    for (int shape = 0; shape < nshapes; shape++) {
        TRY(time_shape(search, shape, &warm_up));
    }
    /* a millisecond is long compared with the clock's resolution */
    search->calls = warm_up < 1e-3 && warm_up > 0 ? (int)(1e-3 / warm_up) + 1 : 1;
    search->calls = search->calls < 100 ? search->calls : 100;
    for (int round = 0; round < ROUNDS; round++) {
        for (int shape = 0; shape < nshapes; shape++) {
            TRY(time_shape(search, shape, &search->seconds[shape][round]));
        }
    }
    for (int shape = 0; shape < nshapes; shape++) {
        medians[shape] = clock_median(search->seconds[shape], ROUNDS);
    }
    return STATUS_OK;
}

static int fastest(const double seconds[], int nshapes)
{
    int best = 0;
    for (int shape = 1; shape < nshapes; shape++) {
        if (seconds[shape] < seconds[best]) {
            best = shape;
        }
    }
    return seconds[best] < (1.0 - min_gain) * seconds[0] ? best : 0;
}

enum status tuning_choose(const struct tuning_target *target, struct tuning_result *result)
{
    *result = (struct tuning_result){0};
    const char *const *names = NULL;
    const struct operations *operations = target->backend->operations;
    int nshapes = operations->step_shape != NULL ? operations->step_shapes(&names) : 0;
    nshapes = nshapes < TUNING_MAX_SHAPES ? nshapes : TUNING_MAX_SHAPES;
    if (nshapes < 2 || box_cells(&target->box) < MIN_CELLS) {
        return STATUS_OK;
    }
    struct search search = {.target = target, .calls = 1};
    const double start = clock_seconds();
    TRY(target->backend->runtime->stopwatch_create(target->device, &search.stopwatch));
    const enum status status = time_all(&search, nshapes, result->seconds);
    target->backend->runtime->stopwatch_destroy(search.stopwatch);
    TRY(status);
    const int best = fastest(result->seconds, nshapes);
    result->shape = names[best];
    result->nshapes = nshapes;
    memcpy(result->names, names, (size_t)nshapes * sizeof *names);
    result->search_s = clock_seconds() - start;
    return use_shape(target, best);
}

/* The next step's; its length does not matter here. The sums cost time and are computed, too, but
 * into the one that is never read: those of the run are its heat ledger. */
static enum status trial_coefficients(struct stepper *stepper, struct coefficients *c)
{
    struct exact_sum *d_sums = stepper->level->d_sums;
    struct heat_operator op;
    TRY(operator_of_step(stepper->problem, stepper->state->step, &op));
    TRY(stepper_coefficients(stepper, &op, d_sums, c));
    for (int face = 0; face < FACE_COUNT; face++) {
        c->d_face_sum[face] = c->d_face_sum[face] != NULL ? &d_sums[UNCOUNTED_SUM] : NULL;
    }
    return STATUS_OK;
}

static enum status tune_rank(struct stepper *stepper, struct tuning_result *result)
{
    const struct field *field = stepper->level->field;
    struct tuning_target target = {
        .backend = stepper->level->engine->backend,
        .device = stepper->level->engine->device,
        .queue = stepper->level->engine->bulk_queue,
        .layout = &field->layout,
        .d_out = field->d_next,
        .d_in = field->d_now,
        .box = stepper->level->overlap ? stepper->level->interior : layout_owned(&field->layout),
    };
    TRY(trial_coefficients(stepper, &target.args));
    return tuning_choose(&target, result);
}

enum status tuning_of_stepper(struct stepper *stepper)
{
    /* shapes are those of the kernel of a uniform medium, with the 7-point stencil */
    if (stepper->level->engine->operations->step_shape == NULL ||
        operator_kind(stepper->problem) != KIND_UNIFORM) {
        return STATUS_OK; /* on all ranks */
    }
    struct tuning_result result;
    TRY(status_agree(stepper->team->comm, tune_rank(stepper, &result)));
    if (result.shape != NULL) {
        log_info("launch shape of the step: %s, found in %.2f s", result.shape, result.search_s);
    }
    return STATUS_OK;
}

/* --- the number of steps per pass ------------------------------------------------------------ */

static const double search_share = 0.05; /* of the time of the run */
static const double least_search = 0.2;  /* s */
static const double most_search = 3.0;   /* s */
static const double batch_s = 2e-3; /* long compared with the clock's resolution and launches */
enum {
    PASS_BATCHES = 4,
    MOST_PASSES_OF_A_BATCH = 50,
    HOPELESS = 2 /* times the fastest so far: not tried again */
};

struct pass_search {
    struct stepper *stepper;
    struct pass pass;
    double spent_s; /* the same on all ranks, as all times below */
    double limit_s;
};

/* Per pass, of the slowest rank. The next field is overwritten, and the halo of the current one
 * gets its own values. */
static enum status time_passes(struct pass_search *search, int passes, double *seconds)
{
    struct stepper *stepper = search->stepper;
    MPI_Comm comm = stepper->team->comm;
    TRY_MPI(MPI_Barrier(comm));
    const double start = clock_seconds();
    for (int n = 0; n < passes; n++) {
        TRY(pass_queue(stepper->level, &search->pass));
        field_swap(stepper->level->field);
    }
    TRY(engine_wait(stepper->level->engine));
    *seconds = clock_seconds() - start;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, comm));
    search->spent_s += *seconds;
    *seconds /= passes;
    return STATUS_OK;
}

static void use_overlap(struct stepper *stepper, const struct pass_trial *trial)
{
    level_choose_overlap(
        stepper->level, trial->overlap ? stepper->problem->run.overlap : OVERLAP_OFF, trial->thick);
}

/* The least time of a pass of `steps` steps; infinite where none was tried. */
static double seconds_of_pass(const struct pass_plan *passes, int steps)
{
    double least = INFINITY;
    for (int t = 0; t < passes->ntrials; t++) {
        const struct pass_trial *trial = &passes->trials[t];
        least = trial->steps == steps ? fmin(least, trial->seconds * steps) : least;
    }
    return least;
}

/* Whether the search found that, with `whole` 3 of pass_share, four steps take less time as two and
 * two than as three and one. */
static bool are_equal_parts_faster(const struct pass_plan *passes, int whole)
{
    return 2 * seconds_of_pass(passes, whole - 1) <
           seconds_of_pass(passes, whole) + seconds_of_pass(passes, 1);
}

/* Of several steps, or of any number. */
static const struct pass_trial *fastest_trial(const struct pass_plan *passes, bool several)
{
    const struct pass_trial *best = NULL;
    for (int t = 0; t < passes->ntrials; t++) {
        const struct pass_trial *trial = &passes->trials[t];
        if ((trial->steps > 1 || !several) && (best == NULL || trial->seconds < best->seconds)) {
            best = trial;
        }
    }
    return best;
}

/* The fastest of several batches: the others were disturbed, or the backend tried a tile. The first
 * pass of a kind says nothing by itself, so at least one batch follows: a GPU loads the kernel's
 * code then, which can take a tenth of a second, and the host divides the box into tiles. */
static enum status add_trial(struct pass_search *search, struct pass_trial trial)
{
    struct pass_plan *passes = &search->stepper->passes;
    const struct pass_trial *fastest = fastest_trial(passes, false);
    const double bar = fastest != NULL ? HOPELESS * fastest->seconds * trial.steps : INFINITY;
    double seconds = 0;
    use_overlap(search->stepper, &trial);
    search->pass.nsteps = trial.steps;
    TRY(time_passes(search, 1, &seconds));
    double best = seconds;
    for (int batch = 0; batch < PASS_BATCHES && (batch == 0 || search->spent_s <= search->limit_s);
         batch++) {
        const double npasses = fmin(fmax(batch_s / best, 1), MOST_PASSES_OF_A_BATCH);
        TRY(time_passes(search, (int)npasses, &seconds));
        best = fmin(best, seconds);
        if (best > bar) {
            break;
        }
    }
    trial.seconds = best / trial.steps;
    passes->trials[passes->ntrials++] = trial;
    return STATUS_OK;
}

/* Several steps first without overlap, if that is allowed; one step by rule. */
static enum status try_steps(struct pass_search *search, int steps)
{
    const enum overlap setting = search->stepper->problem->run.overlap;
    const bool by_rule = steps == 1 || setting != OVERLAP_AUTO;
    TRY(stepper_use_passes(search->stepper, steps));
    return add_trial(search, (struct pass_trial){.steps = steps, .overlap = by_rule});
}

/* A second kernel of a pass overwrites the current field. */
static bool is_one_kernel(const struct level *level, int steps)
{
    return pass_share(steps, level->fused, level->whole) == steps;
}

/* In an order in which the usual best come early; as far as the time suffices. */
static enum status try_all(struct pass_search *search)
{
    static const int order[STEPS_MOST] = {1, 4, 3, 2, 5, 6, 7, 8};
    struct stepper *stepper = search->stepper;
    const struct pass_plan *passes = &stepper->passes;
    const bool all = stepper->problem->run.steps_per_pass_auto;
    const double left =
        (double)(stepper->problem->timeline.steps - stepper->state->step) * search_share;
    for (int i = 0; i < STEPS_MOST; i++) {
        const bool is_wanted = all ? order[i] <= passes->most : order[i] == passes->most;
        if (is_wanted && is_one_kernel(stepper->level, order[i]) &&
            (passes->ntrials == 0 || search->spent_s < search->limit_s)) {
            TRY(try_steps(search, order[i]));
            const double wanted = left * passes->trials[0].seconds;
            search->limit_s = fmin(fmax(wanted, least_search), most_search);
        }
    }
    return STATUS_OK;
}

/* The fastest of several steps with overlap, the same way on all ranks. */
static enum status try_overlap(struct pass_search *search)
{
    struct stepper *stepper = search->stepper;
    const struct pass_trial *best = fastest_trial(&stepper->passes, true);
    if (stepper->level->halo == NULL || best == NULL) {
        return STATUS_OK;
    }
    struct pass_trial trial = {.steps = best->steps, .overlap = true};
    const bool is_new = !best->overlap;
    TRY(stepper_use_passes(stepper, trial.steps));
    int may = level_may_overlap(stepper->level, stepper->problem->run.overlap);
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &may, 1, MPI_INT, MPI_MAX, stepper->team->comm));
    if (may != 0 && is_new) {
        TRY(add_trial(search, trial));
    }
    trial.thick = true;
    return may != 0 && backend_has(stepper->level->engine->backend, BACKEND_GPU)
               ? add_trial(search, trial)
               : STATUS_OK;
}

/* The steps are all alike. */
static enum status pass_search_open(struct pass_search *search)
{
    for (int s = 0; s < STEPS_MOST; s++) {
        TRY(trial_coefficients(search->stepper, &search->pass.levels[s]));
    }
    return STATUS_OK;
}

static enum status search_passes(struct pass_search *search)
{
    struct stepper *stepper = search->stepper;
    struct pass_plan *passes = &stepper->passes;
    const int whole = stepper->level->whole;
    stepper->level->whole = 0;
    TRY(try_all(search));
    TRY(try_overlap(search));
    const struct pass_trial *best = fastest_trial(passes, false);
    stepper->level->whole = are_equal_parts_faster(passes, whole) ? 0 : whole;
    TRY(stepper_use_passes(stepper, best->steps));
    use_overlap(stepper, best);
    stepper->level->exchanges = 0;
    passes->search_s = search->spent_s;
    if (stepper->problem->run.steps_per_pass_auto) {
        snprintf(passes->reason, sizeof passes->reason,
                 "the fastest of %d variants, found in %.2f s", passes->ntrials, passes->search_s);
    }
    log_info("steps per pass: %d (%s)", passes->steps, passes->reason);
    return STATUS_OK;
}

/* A single way needs no search; passes that the backend divides change the field. */
static bool is_to_be_searched(const struct stepper *stepper)
{
    const struct pass_plan *passes = &stepper->passes;
    const struct run_setting *run = &stepper->problem->run;
    const bool by_overlap = stepper->level->halo != NULL && run->overlap != OVERLAP_OFF;
    return passes->most > 1 &&
           (run->steps_per_pass_auto ||
            (by_overlap && is_one_kernel(stepper->level, passes->most))) &&
           stepper->state->step < stepper->problem->timeline.steps;
}

enum status tuning_of_passes(struct stepper *stepper)
{
    struct pass_search search = {.stepper = stepper, .limit_s = least_search};
    if (!is_to_be_searched(stepper)) {
        return STATUS_OK;
    }
    SCOPED_PHASE(stepper->level->phases, PHASE_START);
    TRY(status_agree(stepper->team->comm, pass_search_open(&search)));
    TRY(search_passes(&search));
    /* the passes have overwritten the temperatures of an enthalpy */
    return stepper_show(stepper, false);
}
