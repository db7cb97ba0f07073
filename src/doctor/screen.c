#include "doctor/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/layout.h"

enum { STEPS = 24, BLOCKS_MOST = 4096, RATES_MOST = 4096 };

/* A problem that loads all of a GPU, and one that a core advances in a moment. The hashes are those
 * of 24 steps on every backend, whatever the passes. */
static const struct known {
    int64_t cells[AXIS_COUNT];
    uint64_t hash;
} for_gpus = {{512, 384, 96}, UINT64_C(0x998f2df444a73195)},
  for_hosts = {{96, 64, 48}, UINT64_C(0x31f7a02b03d422e1)};

struct screen {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    struct stopwatch *stopwatch;
    const struct known *known;
    struct layout layout;
    struct coefficients levels[STEPS_MOST];
    void *h_initial;
    void *d_block[BLOCKS_MOST];
    int nblocks; /* even: a problem takes two */
    double rates[RATES_MOST];
    int nrates;
    struct screen_result *result;
};

static enum status hash_block(struct screen *screen, const void *d_block, uint64_t *hash)
{
    const int64_t *n = screen->known->cells;
    TRY(ENQUEUE(screen->backend->operations, hash, screen->queue, .layout = screen->layout,
                .placement = {.global_cells = {n[0], n[1], n[2]}}, .d_field = d_block,
                .h_hash = hash));
    return screen->backend->runtime->queue_wait(screen->queue);
}

static void check(struct screen *screen, uint64_t hash, int block, int steps)
{
    struct screen_result *result = screen->result;
    result->checks++;
    if (hash != screen->known->hash && result->wrong++ == 0) {
        result->block = block;
        result->steps = steps;
    }
}

/* The length of a pass: one after another, from the longest that the backend has down to 1. */
static int length_of(const struct screen *screen, int problem)
{
    const int most = screen->backend->operations->steps_most[KIND_UNIFORM];
    return most - problem % most;
}

static enum status advance(struct screen *screen, int problem)
{
    void *d_from = screen->d_block[2 * problem];
    void *d_to = screen->d_block[2 * problem + 1];
    const struct box owned = layout_owned(&screen->layout);
    for (int step = 0, nsteps = 0; step < STEPS; step += nsteps) {
        const int longest = length_of(screen, problem);
        nsteps = STEPS - step < longest ? STEPS - step : longest;
        TRY(screen->backend->operations->step(screen->queue,
                                              &(struct step_args){.layout = screen->layout,
                                                                  .levels = screen->levels,
                                                                  .nsteps = nsteps,
                                                                  .d_out = d_to,
                                                                  .d_in = d_from,
                                                                  .boxes = &owned,
                                                                  .nboxes = 1}));
        void *d_other = d_from;
        d_from = d_to;
        d_to = d_other;
    }
    screen->d_block[2 * problem] = d_from; /* the result */
    screen->d_block[2 * problem + 1] = d_to;
    return STATUS_OK;
}

static enum status solve(struct screen *screen, int problem)
{
    const struct runtime *runtime = screen->backend->runtime;
    const struct box owned = layout_owned(&screen->layout);
    uint64_t hash = 0;
    double seconds = 0;
    TRY(runtime->copy_to_device(screen->queue, screen->d_block[2 * problem], screen->h_initial,
                                layout_bytes(&screen->layout)));
    TRY(runtime->stopwatch_start(screen->queue, screen->stopwatch));
    TRY(advance(screen, problem));
    TRY(runtime->stopwatch_stop(screen->queue, screen->stopwatch));
    TRY(hash_block(screen, screen->d_block[2 * problem], &hash));
    TRY(runtime->stopwatch_seconds(screen->stopwatch, &seconds));
    check(screen, hash, 2 * problem, length_of(screen, problem));
    if (screen->nrates < RATES_MOST && length_of(screen, problem) == 1) {
        screen->rates[screen->nrates++] = STEPS * (double)box_cells(&owned) / seconds;
    }
    return STATUS_OK;
}

/* All problems, and then their results once more, which have been in memory in the meantime. */
static enum status solve_all(struct screen *screen)
{
    for (int problem = 0; problem < screen->nblocks / 2; problem++) {
        TRY(solve(screen, problem));
    }
    for (int problem = 0; problem < screen->nblocks / 2; problem++) {
        uint64_t hash = 0;
        TRY(hash_block(screen, screen->d_block[2 * problem], &hash));
        check(screen, hash, 2 * problem, 0);
    }
    return STATUS_OK;
}

static void set_problem(struct screen *screen)
{
    for (int s = 0; s < STEPS_MOST; s++) {
        for (int face = 0; face < FACE_COUNT; face++) {
            screen->levels[s].closed[face] = true;
            screen->levels[s].a[face] = face % 2 == 0 ? -1.0 : 1.0;
            screen->levels[s].b[face] = face % 2 == 0 ? 600.0 : 0.0;
        }
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            screen->levels[s].r[axis] = 0.15;
        }
    }
}

/* 300 to 364 K, from the indices alone. */
static void fill(const struct screen *screen)
{
    const int64_t *n = screen->known->cells;
    double *values = screen->h_initial;
    for (int64_t k = 0; k < n[AXIS_Z]; k++) {
        for (int64_t j = 0; j < n[AXIS_Y]; j++) {
            for (int64_t i = 0; i < n[AXIS_X]; i++) {
                const uint64_t mixed =
                    (uint64_t)((k * n[AXIS_Y] + j) * n[AXIS_X] + i) * UINT64_C(0x9E3779B97F4A7C15);
                values[layout_index(&screen->layout, i, j, k)] =
                    300.0 + (double)(mixed >> 48) / 1024.0;
            }
        }
    }
}

static enum status allocate(struct screen *screen, double part)
{
    const struct runtime *runtime = screen->backend->runtime;
    const size_t bytes = layout_bytes(&screen->layout);
    struct device_info info;
    TRY(runtime->info(screen->device, &info));
    const double wanted = part * (double)info.free_bytes / (double)bytes;
    const int most = wanted < BLOCKS_MOST ? (int)wanted : BLOCKS_MOST;
    TRY(runtime->queue_create(screen->device, QUEUE_NORMAL, &screen->queue));
    TRY(runtime->stopwatch_create(screen->device, &screen->stopwatch));
    TRY(runtime->pinned_alloc(screen->device, bytes, &screen->h_initial));
    memset(screen->h_initial, 0, bytes);
    for (int b = 0; b < 2 || b < most; b++) {
        const enum status status =
            runtime->memory_alloc(screen->device, bytes, &screen->d_block[b]);
        if (status != STATUS_OK && b >= 2) {
            fail_clear(); /* another process has taken some */
            break;
        }
        TRY(status);
        screen->nblocks = b + 1;
    }
    screen->nblocks -= screen->nblocks % 2;
    screen->result->bytes = (uint64_t)screen->nblocks * bytes;
    return STATUS_OK;
}

static void release(struct screen *screen)
{
    const struct runtime *runtime = screen->backend->runtime;
    runtime->queue_destroy(screen->queue);
    runtime->stopwatch_destroy(screen->stopwatch);
    runtime->pinned_free(screen->device, screen->h_initial);
    for (int b = 0; b < BLOCKS_MOST; b++) {
        runtime->memory_free(screen->device, screen->d_block[b]);
    }
    free(screen);
}

static enum status run(struct screen *screen, double seconds)
{
    static const int no_halo[AXIS_COUNT];
    const bool gpu = backend_has(screen->backend, BACKEND_GPU);
    const double since = clock_seconds();
    screen->known = gpu ? &for_gpus : &for_hosts;
    TRY(layout_create(screen->known->cells, no_halo, PRECISION_FLOAT64, &screen->layout));
    TRY(allocate(screen, gpu ? 0.95 : 0.02));
    set_problem(screen);
    fill(screen);
    do {
        TRY(solve_all(screen));
    } while (clock_seconds() - since < seconds);
    screen->result->cells_per_s =
        screen->nrates > 0 ? clock_median(screen->rates, screen->nrates) : 0;
    return STATUS_OK;
}

enum status screen_device(const struct backend *backend, struct device *device, double seconds,
                          struct screen_result *result)
{
    struct screen *screen = calloc(1, sizeof *screen);
    *result = (struct screen_result){0};
    TRY(CHECK_MEMORY(screen != NULL, "no memory to screen a device"));
    *screen = (struct screen){.backend = backend, .device = device, .result = result};
    const enum status status = run(screen, seconds);
    release(screen);
    return status;
}
