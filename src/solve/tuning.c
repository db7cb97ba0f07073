#include "solve/tuning.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"

enum {
    /* fewer cells take microseconds with any shape */
    MIN_CELLS = 1 << 21,
    ROUNDS = 5,
};

/* The relative gain over the backend's own rule below which it is kept: less is noise. */
static const double min_gain = 0.01;

struct search {
    const struct tuning_target *target;
    struct step_args args;
    struct stopwatch *stopwatch;
    void *d_sums;
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
        TRY(t->backend->operations->step(t->queue, t->layout, &search->args, t->d_out, t->d_in,
                                         &t->box, 1));
    }
    TRY(t->backend->runtime->stopwatch_stop(t->queue, search->stopwatch));
    TRY(t->backend->runtime->queue_wait(t->queue));
    TRY(t->backend->runtime->stopwatch_seconds(search->stopwatch, seconds));
    *seconds /= search->calls;
    return STATUS_OK;
}

/* The sums of closed faces cost time and are computed, too, but into other memory: those of the run
 * are its heat ledger. */
static enum status search_open(struct search *search, const struct tuning_target *target)
{
    static const struct exact_sum zeros[FACE_COUNT];
    const struct runtime *runtime = target->backend->runtime;
    *search = (struct search){.target = target, .args = target->args, .calls = 1};
    TRY(runtime->stopwatch_create(target->device, &search->stopwatch));
    TRY(runtime->memory_alloc(target->device, sizeof zeros, &search->d_sums));
    TRY(runtime->copy_to_device(target->queue, search->d_sums, zeros, sizeof zeros));
    for (int face = 0; face < FACE_COUNT; face++) {
        if (search->args.d_face_sum[face] != NULL) {
            search->args.d_face_sum[face] = (struct exact_sum *)search->d_sums + face;
        }
    }
    return runtime->queue_wait(target->queue);
}

static void search_close(struct search *search)
{
    const struct tuning_target *t = search->target;
    t->backend->runtime->memory_free(t->device, search->d_sums);
    t->backend->runtime->stopwatch_destroy(search->stopwatch);
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
    struct search search;
    const double start = clock_seconds();
    enum status status;
    TRY_GOTO(search_open(&search, target));
    TRY_GOTO(time_all(&search, nshapes, result->seconds));
done:
    search_close(&search);
    TRY(status);
    const int best = fastest(result->seconds, nshapes);
    result->shape = names[best];
    result->nshapes = nshapes;
    memcpy(result->names, names, (size_t)nshapes * sizeof *names);
    result->search_s = clock_seconds() - start;
    return use_shape(target, best);
}

static enum status tune_rank(struct stepper *stepper, struct tuning_result *result)
{
    const struct field *field = stepper->state->field;
    const struct team *team = stepper->team;
    struct tuning_target target = {
        .backend = stepper->engine->backend,
        .device = stepper->engine->device,
        .queue = stepper->engine->bulk_queue,
        .layout = &field->layout,
        .d_out = field->d_next,
        .d_in = field->d_now,
        .box = stepper->overlap ? stepper->interior : layout_owned(&field->layout),
    };
    struct heat_operator op;
    /* the length of the step does not matter here */
    TRY(operator_of_step(stepper->problem, stepper->state->step, &op));
    operator_step_args(&op, stepper->problem, &team->decomp, team->rank, stepper->state->d_face_sum,
                       &target.args);
    return tuning_choose(&target, result);
}

enum status tuning_of_stepper(struct stepper *stepper)
{
    /* shapes are those of the kernel of a uniform medium */
    if (stepper->engine->operations->step_shape == NULL || stepper->problem->medium.nclasses > 0) {
        return STATUS_OK; /* on all ranks */
    }
    struct tuning_result result;
    TRY(status_agree(stepper->team->comm, tune_rank(stepper, &result)));
    if (result.shape != NULL) {
        log_info("launch shape of the step: %s, found in %.2f s", result.shape, result.search_s);
    }
    return STATUS_OK;
}
