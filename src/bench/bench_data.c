#include "bench/bench_parts.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "model/operator/high_order.h"

/* The values of cells by the phase of their indices, (7 i + 3 j + 5 k) mod 101. */
enum { PHASES = 101, STEP_X = 7, STEP_Y = 3, STEP_Z = 5 };

/* The cells of a row, or of a plane, with the halo and what lies between them in memory. */
static int64_t row_length(const struct layout *layout)
{
    return layout->cells[AXIS_X] + 2 * (int64_t)layout->halo[AXIS_X];
}

static int64_t plane_length(const struct layout *layout)
{
    const int64_t rows = layout->cells[AXIS_Y] + 2 * (int64_t)layout->halo[AXIS_Y];
    return (rows - 1) * layout->pitch_y + row_length(layout);
}

static int64_t plane_begin(const struct layout *layout, int64_t k)
{
    return layout_index(layout, -layout->halo[AXIS_X], -layout->halo[AXIS_Y], k);
}

/* The rows of plane k with their halo, `to` the first of them. */
static void put_plane(const struct layout *layout, int64_t k, char *to)
{
    const int *halo = layout->halo;
    for (int64_t j = -halo[AXIS_Y]; j < layout->cells[AXIS_Y] + halo[AXIS_Y]; j++) {
        const int64_t first = STEP_Z * k + STEP_Y * j - STEP_X * (int64_t)halo[AXIS_X];
        int64_t phase = (first % PHASES + PHASES) % PHASES;
        for (int64_t i = 0; i < row_length(layout); i++) {
            precision_set(layout->precision, to, i, 300.0 + (double)phase / 7.0);
            phase = (phase + STEP_X) % PHASES;
        }
        to += (size_t)layout->pitch_y * precision_bytes(layout->precision);
    }
}

void bench_wide_args(int radius, const struct layout *layout, struct coefficients *args)
{
    const struct boundary_state now = {
        .closed = true, .fixed = true, .number = {[BOUNDARY_VALUE] = 300}};
    struct high_order *high = &args->high_order;
    *args = (struct coefficients){.kind = KIND_HIGH_ORDER, .high_order.radius = radius};
    wide_weights(radius, layout->precision, high->weight);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        high->used[axis] = layout->cells[axis] > 1;
        args->r[axis] = high->used[axis] ? precision_round(layout->precision, 0.05) : 0;
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        args->closed[face] = true;
        wide_close(radius, high->weight, &now, 1, 1, &high->closure[face]);
    }
}

enum status bench_settings(const int64_t cells[AXIS_COUNT], const bool around[AXIS_COUNT],
                           const char *initial, const char *run, struct settings **settings)
{
    char text[2048];
    const char *face[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        face[axis] = around[axis] ? "{type: periodic}" : "{type: temperature, value: 300}";
    }
    const int64_t *n = cells;
    snprintf(text, sizeof text,
             "title: bench\n"
             "grid: {cells: [%" PRId64 ", %" PRId64 ", %" PRId64 "], lower: [0, 0, 0], "
             "upper: [%" PRId64 ", %" PRId64 ", %" PRId64 "]}\n"
             "material: {conductivity: 1, density: 1, heat_capacity: 1}\n"
             "initial: [{%s}]\n"
             "boundary: {x_min: %s, x_max: %s, y_min: %s, y_max: %s, z_min: %s, z_max: %s}\n"
             "time: {steps: 1000000, dt: auto, safety: 0.9}\n"
             "run: {%swatch: {every: 0}}\n"
             "output: {directory: none, history: {every: 0}}\n",
             n[0], n[1], n[2], n[0], n[1], n[2], initial, face[0], face[0], face[1], face[1],
             face[2], face[2], run);
    return settings_read_text("bench", text, NULL, 0, settings);
}

enum status bench_ask_for_sums(struct bench_place *place, struct exact_sum **d_sums,
                               struct coefficients *args)
{
    static const struct exact_sum zeros[FACE_COUNT];
    void *memory = NULL;
    TRY(bench_place_alloc(place, sizeof zeros, &memory));
    *d_sums = memory;
    for (int face = 0; face < FACE_COUNT; face++) {
        const bool flux = face == FACE_X_MAX || face == FACE_Y_MAX;
        args->d_face_sum[face] = flux ? NULL : *d_sums + face;
    }
    return place->backend->runtime->copy_to_device(place->queue, memory, zeros, sizeof zeros);
}

enum status bench_fill(const struct bench_place *place, const struct layout *layout, void *d_field)
{
    const struct runtime *runtime = place->backend->runtime;
    const int halo = layout->halo[AXIS_Z];
    const size_t width = precision_bytes(layout->precision);
    const size_t plane_bytes = (size_t)plane_length(layout) * width;
    void *h_plane = NULL;
    enum status status = runtime->pinned_alloc(place->device, plane_bytes, &h_plane);
    for (int64_t k = -halo; status == STATUS_OK && k < layout->cells[AXIS_Z] + halo; k++) {
        char *d_plane = (char *)d_field + (size_t)plane_begin(layout, k) * width;
        put_plane(layout, k, h_plane);
        TRY_GOTO(runtime->copy_to_device(place->queue, d_plane, h_plane, plane_bytes));
        TRY_GOTO(runtime->queue_wait(place->queue));
    }
done:
    runtime->pinned_free(place->device, h_plane);
    return status;
}

enum status bench_place_open(struct bench_place *place)
{
    TRY(place->backend->runtime->queue_create(place->device, QUEUE_NORMAL, &place->queue));
    return place->backend->runtime->stopwatch_create(place->device, &place->stopwatch);
}

enum status bench_place_alloc(struct bench_place *place, size_t bytes, void **d_memory)
{
    TRY(place->backend->runtime->memory_alloc(place->device, bytes, d_memory));
    place->d_memory[place->nmemory++] = *d_memory;
    return STATUS_OK;
}

void bench_place_close(struct bench_place *place)
{
    const struct runtime *runtime = place->backend->runtime;
    while (place->nmemory > 0) {
        runtime->memory_free(place->device, place->d_memory[--place->nmemory]);
    }
    runtime->stopwatch_destroy(place->stopwatch);
    runtime->queue_destroy(place->queue);
}

enum status bench_time_copy(const struct backend *backend, struct device *device, size_t bytes,
                            double *rate)
{
    enum { COPIES = 10 };
    SCOPED_BY(bench_place_close) struct bench_place place = {.backend = backend, .device = device};
    void *d_from = NULL;
    void *d_to = NULL;
    double start = 0;
    TRY(bench_place_open(&place));
    TRY(bench_place_alloc(&place, bytes, &d_from));
    TRY(bench_place_alloc(&place, bytes, &d_to));
    for (int n = -1; n < COPIES; n++) {
        TRY(backend->runtime->copy_on_device(place.queue, d_to, d_from, bytes));
        if (n < 0) {
            TRY(backend->runtime->queue_wait(place.queue));
            start = clock_seconds();
        }
    }
    TRY(backend->runtime->queue_wait(place.queue));
    *rate = 2e-9 * COPIES * (double)bytes / (clock_seconds() - start);
    return STATUS_OK;
}
