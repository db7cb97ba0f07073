#include "machine/step_rate.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "machine/cores.h"

enum {
    MOST_CELLS = 1 << 22, /* 64 MB in float64 */
    ROUNDS = 20,          /* the cpu backend tries its tiles in the first 16 */
};
static const double LEAST = 0.15;       /* s */
static const double BUDGET = 0.4;       /* s */
static const double SHORT_ROUND = 2e-4; /* s, long compared with the clock's resolution */

struct trial {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    struct layout layout;
    struct coefficients coefficients; /* for high order the weights do not matter here */
    void *d_in, *d_out;
};

static enum status trial_open(struct trial *trial, const int64_t cells[AXIS_COUNT],
                              enum precision precision)
{
    static const int no_halo[AXIS_COUNT];
    const struct runtime *runtime = trial->backend->runtime;
    for (int face = 0; face < FACE_COUNT; face++) {
        trial->coefficients.closed[face] = true;
        trial->coefficients.a[face] = 1;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        struct high_order *high = &trial->coefficients.high_order;
        trial->coefficients.r[axis] = cells[axis] > 1 ? 0.125 : 0.0;
        high->used[axis] = cells[axis] >= 2 * high->radius;
    }
    TRY(layout_create(cells, no_halo, precision, &trial->layout));
    if (backend_has(trial->backend, BACKEND_ALONG_ROWS)) {
        layout_close_rows(&trial->layout);
    }
    TRY(runtime->queue_create(trial->device, QUEUE_NORMAL, &trial->queue));
    TRY(runtime->memory_alloc(trial->device, layout_bytes(&trial->layout), &trial->d_in));
    return runtime->memory_alloc(trial->device, layout_bytes(&trial->layout), &trial->d_out);
}

static void trial_close(struct trial *trial)
{
    const struct runtime *runtime = trial->backend->runtime;
    runtime->queue_destroy(trial->queue);
    runtime->memory_free(trial->device, trial->d_in);
    runtime->memory_free(trial->device, trial->d_out);
    runtime->close(trial->device);
}

static enum status time_steps(struct trial *trial, int64_t steps, double *seconds)
{
    const struct box owned = layout_owned(&trial->layout);
    const struct operations *operations = trial->backend->operations;
    const double since = clock_seconds();
    for (int64_t step = 0; step < steps; step++) {
        TRY(ENQUEUE(operations, step, trial->queue, .layout = trial->layout,
                    .levels = &trial->coefficients, .nsteps = 1, .d_out = trial->d_out,
                    .d_in = trial->d_in, .boxes = &owned, .nboxes = 1));
    }
    TRY(trial->backend->runtime->queue_wait(trial->queue));
    *seconds = (clock_seconds() - since) / (double)steps;
    return STATUS_OK;
}

/* Take the fastest round: the others were disturbed, or tried another tile. */
static enum status time_rounds(struct trial *trial, double *seconds)
{
    const double since = clock_seconds();
    double round = 0;
    int rounds = 0;
    TRY(time_steps(trial, 1, seconds));
    const int64_t steps = *seconds < SHORT_ROUND ? (int64_t)(SHORT_ROUND / *seconds) + 1 : 1;
    for (double spent = 0; spent < BUDGET && (rounds < ROUNDS || spent < LEAST); rounds++) {
        TRY(time_steps(trial, steps, &round));
        *seconds = fmin(*seconds, round);
        spent = clock_seconds() - since;
    }
    return STATUS_OK;
}

/* Take whole rows, then whole planes, with the blocks one behind the other. */
static void choose_cells(const int64_t block[AXIS_COUNT], int nblocks, int64_t cells[AXIS_COUNT])
{
    int64_t room = MOST_CELLS;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        cells[axis] = block[axis] < room ? block[axis] : room;
        room /= cells[axis];
    }
    for (int axis = AXIS_COUNT - 1; axis >= 0; axis--) {
        if (cells[axis] > 1) {
            cells[axis] *= room < nblocks ? room : nblocks;
            return;
        }
    }
}

enum status step_rate_measure(const struct backend *backend, const int64_t cells[AXIS_COUNT],
                              enum precision precision, int radius, int nranks,
                              struct step_rate *rate)
{
    struct trial trial = {.backend = backend};
    struct device_info info;
    int64_t chosen[AXIS_COUNT];
    trial.coefficients.kind = radius > 1 ? KIND_HIGH_ORDER : KIND_UNIFORM;
    trial.coefficients.high_order.radius = radius;
    double seconds = 0;
    enum status status;
    cores_use_of(nranks);
    TRY(backend->runtime->open(0, 1, &trial.device));
    TRY_GOTO(backend->runtime->info(trial.device, &info));
    choose_cells(cells, info.threads > 0 ? nranks : 1, chosen);
    TRY_GOTO(trial_open(&trial, chosen, precision));
    TRY_GOTO(time_rounds(&trial, &seconds));
    *rate = (struct step_rate){.cells = chosen[0] * chosen[1] * chosen[2], .threads = info.threads};
    rate->cells_per_s = (double)rate->cells / seconds;
    double load = 0; /* running processes, mean of the last minute */
    rate->is_busy = getloadavg(&load, 1) == 1 && load > cores_count();
    memcpy(rate->device, info.name, sizeof rate->device);
done:
    trial_close(&trial);
    return status;
}
