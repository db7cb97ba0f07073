/* Several steps of a uniform medium in one pass: the tiles of a chain, shared among the threads. */
#include "kernels/cpu/schedule/pass.h"

#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "base/clock.h"
#include "kernels/cpu/host/memory.h"
#include "kernels/cpu/schedule/share.h"
#include "kernels/cpu/schedule/threads.h"

/* For the tuner (tile_tuner.h); measured, see docs/records/kernels_cpu.md. */
static const struct steps_choice steps_choice[TILE_TUNER_CHOICES] = {
    {512 * 1024, 1024}, {640 * 1024, 1024},  {384 * 1024, 1024}, {768 * 1024, 1024},
    {512 * 1024, 2048}, {1024 * 1024, 1024}, {640 * 1024, 2048}, {1024 * 1024, 4096},
};

struct box steps_level(const struct steps_pass *pass, const struct box *box, int rest)
{
    const struct box owned = layout_owned(pass->layout);
    struct box level = *box;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        level.lo[axis] -= rest;
        level.hi[axis] += rest;
        if (pass->args->closed[2 * axis] && level.lo[axis] < owned.lo[axis]) {
            level.lo[axis] = owned.lo[axis];
        }
        if (pass->args->closed[2 * axis + 1] && level.hi[axis] > owned.hi[axis]) {
            level.hi[axis] = owned.hi[axis];
        }
    }
    return level;
}

static void steps_thread(const struct steps_pass *pass, const struct steps_schedule *schedule,
                         const struct steps_choice *choice, void *memory, struct share_taken *taken,
                         struct tally (*tally)[FACE_COUNT])
{
    const int nthreads = omp_get_num_threads();
    for (int b = 0; b < pass->nboxes; b++, taken += nthreads) {
        const struct tiling t = schedule->tiling(pass, &pass->boxes[b], choice, nthreads);
        const int64_t ntiles = t.nx * t.ny * t.nz;
        int64_t n;
        while ((n = share_take(taken, ntiles, omp_get_thread_num(), nthreads)) >= 0) {
            const struct box tile =
                tile_at(&pass->boxes[b], &t, n % t.nx, n / t.nx % t.ny, n / (t.nx * t.ny));
            if (!box_is_empty(&tile)) {
                schedule->tile(pass, &tile, choice, memory, tally);
            }
        }
    }
    stream_fence();
}

/* Room for the levels of each thread. */
static enum status reserve(struct queue *queue, size_t bytes)
{
    if (bytes > queue->bytes) {
        free(queue->memory);
        queue->memory = NULL;
        queue->bytes = 0;
        TRY(host_memory_alloc(bytes, &queue->memory));
        queue->bytes = bytes;
    }
    return STATUS_OK;
}

static enum status several_steps(struct queue *queue, const struct step_args *args)
{
    const struct steps_pass pass = {.layout = &args->layout,
                                    .args = args->levels,
                                    .nsteps = args->nsteps,
                                    .out = args->d_out,
                                    .in = args->d_in,
                                    .boxes = args->boxes,
                                    .nboxes = args->nboxes};
    const struct steps_schedule *schedule =
        args->layout.precision == PRECISION_FLOAT64 ? &steps_chain_float64 : &steps_chain_float32;
    const int nthreads = share_is_worthwhile(pass.boxes, pass.nboxes) ? omp_get_max_threads() : 1;
    struct tile_record *record = pass.nboxes == 1
                                     ? tile_tuner_find(&queue->tuner[pass.nsteps], pass.boxes,
                                                       precision_bytes(pass.layout->precision))
                                     : NULL;
    const int which = record != NULL ? tile_record_choose(record) : 0;
    const struct steps_choice *choice = &steps_choice[which];
    const size_t bytes = schedule->memory(&pass, choice, nthreads);
    const size_t ntaken = (size_t)nthreads * (size_t)pass.nboxes;
    TRY(reserve(queue, bytes * (size_t)nthreads + ntaken * sizeof(struct share_taken)));
    struct share_taken *taken =
        (struct share_taken *)((char *)queue->memory + bytes * (size_t)nthreads);
    memset(taken, 0, ntaken * sizeof *taken);
    const double start = clock_seconds();
#pragma omp parallel num_threads(nthreads)
    {
        struct tally tally[STEPS_MOST][FACE_COUNT];
        for (int s = 0; s < pass.nsteps; s++) {
            tally_begin(tally[s], &pass.args[s]);
        }
        steps_thread(&pass, schedule, choice,
                     (char *)queue->memory + bytes * (size_t)omp_get_thread_num(), taken, tally);
#pragma omp critical(steps_tally)
        for (int s = 0; s < pass.nsteps; s++) {
            tally_end(tally[s]);
        }
    }
    if (record != NULL) {
        tile_record_tell(record, which, clock_seconds() - start);
    }
    return STATUS_OK;
}

/* The boxes less the last of args->without. */
static enum status step_outside(struct queue *queue, const struct step_args *args)
{
    struct box pieces[FACE_COUNT];
    struct step_args of = *args;
    const struct box *without = &args->without[--of.nwithout];
    of.boxes = pieces;
    for (int b = 0; b < args->nboxes; b++) {
        const struct box inner = box_intersect(&args->boxes[b], without);
        of.nboxes = box_shell(&args->boxes[b], &inner, pieces);
        TRY(of.nboxes > 0 ? cpu_step(queue, &of) : STATUS_OK);
    }
    return STATUS_OK;
}

enum status cpu_step(struct queue *queue, const struct step_args *args)
{
    struct field_summary *summary = args->h_summary;
    if (args->nwithout > 0) {
        return step_outside(queue, args);
    }
    for (int b = 0; b < args->nboxes && args->d_perfusion != NULL; b++) {
        TRY(cpu_sum_perfusion(queue, &(struct sum_perfusion_args){.layout = args->layout,
                                                                  .medium = &args->levels->medium,
                                                                  .d_field = args->d_in,
                                                                  .box = args->boxes[b],
                                                                  .d_sum = args->d_perfusion}));
    }
    if (args->tiles != NULL) {
        cpu_step_awake(args);
    } else if (args->nsteps == 1) {
        struct step_call call = step_call_of(args);
        step_kinds[args->layout.precision][args->levels->kind]->step(&queue->tuner[1], &call);
    } else {
        TRY(several_steps(queue, args));
    }
    if (args->d_bits != NULL && args->tiles == NULL) {
        TRY(cpu_add_bits(queue, &(struct add_bits_args){.layout = args->layout,
                                                        .d_plus = args->d_out,
                                                        .d_minus = args->d_in,
                                                        .boxes = args->boxes,
                                                        .nboxes = args->nboxes,
                                                        .d_bits = args->d_bits}));
    }
    if (summary != NULL) {
        TRY(cpu_summarise(queue,
                          &(struct summarise_args){.layout = args->layout,
                                                   .placement = args->placement,
                                                   .medium = coefficients_medium(args->levels),
                                                   .d_field = args->d_out,
                                                   .h_summary = summary}));
        if (summary->bad_cells > 0) { /* no more than the contract has */
            *summary = (struct field_summary){.bad_cells = 1, .first_bad = -1};
        }
    }
    return STATUS_OK;
}
