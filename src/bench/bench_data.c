#include "bench/bench_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/study/studies.h"
#include "model/wide.h"

/* The value of cell (i, j, k) of a field follows from its phase
 * (7 i + 3 j + 5 k + 13 field) mod 101. As 29 * 7 = 1 mod 101, a row that begins with phase p is
 * the row of phase 0 from cell 29 p on. */
enum { PHASES = 101, STEP_X = 7, STEP_Y = 3, STEP_Z = 5, STEP_FIELD = 13, ONE_OVER_STEP_X = 29 };

/* A row of phase 0 long enough for any phase, and one plane in pinned memory. */
struct pattern {
    const struct backend *backend;
    struct device *device;
    const struct layout *layout;
    size_t width; /* bytes of a cell */
    char *values;
    char *results; /* of a study, by the phase of the cell without the field's; NULL: none */
    void *h_plane;
    int field; /* of the values */
};

static int64_t wrapped(int64_t phase)
{
    return (phase % PHASES + PHASES) % PHASES;
}

/* As it is stored. */
static double value_of(const struct study *study, enum precision precision, int field,
                       int64_t phase)
{
    const int at = (int)wrapped(phase + STEP_FIELD * field);
    const double value =
        study != NULL && study->value != NULL ? study->value(field, at) : 300.0 + (double)at / 7.0;
    return precision == PRECISION_FLOAT64 ? value : (double)(float)value;
}

struct view {
    const struct study *study;
    enum precision precision;
    int64_t phase; /* of the cell */
};

static double seen(const void *context, int field, int x, int y, int z)
{
    const struct view *view = context;
    return value_of(view->study, view->precision, field,
                    view->phase + STEP_X * x + STEP_Y * y + STEP_Z * z);
}

static void pattern_close(struct pattern *p)
{
    free(p->values);
    free(p->results);
    p->backend->runtime->pinned_free(p->device, p->h_plane);
}

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

/* `study` may be NULL. */
static enum status pattern_open(struct pattern *p, const struct backend *backend,
                                struct device *device, const struct layout *layout,
                                const struct study *study, int field)
{
    const size_t width = precision_bytes(layout->precision);
    const int64_t length = row_length(layout) + PHASES;
    *p = (struct pattern){
        .backend = backend, .device = device, .layout = layout, .width = width, .field = field};
    p->values = malloc((size_t)length * width);
    TRY(CHECK_MEMORY(p->values != NULL, "no memory for one row of %" PRId64 " cells", length));
    double value[PHASES];
    for (int64_t phase = 0; phase < PHASES; phase++) { /* without the field's step: below */
        value[phase] =
            value_of(study, layout->precision, field, phase - (int64_t)STEP_FIELD * field);
    }
    for (int64_t i = 0; i < length; i++) {
        precision_set(layout->precision, p->values, i, value[STEP_X * i % PHASES]);
    }
    return backend->runtime->pinned_alloc(device, (size_t)plane_length(layout) * width,
                                          &p->h_plane);
}

/* The offset in bytes of cell (i, j, k) in the row of phase 0. */
static size_t shift_of(const struct pattern *p, int64_t i, int64_t j, int64_t k, int field)
{
    const int64_t phase = STEP_X * (i % PHASES) + STEP_Y * (j % PHASES) + STEP_Z * (k % PHASES);
    return (size_t)(wrapped(phase + STEP_FIELD * field) * ONE_OVER_STEP_X % PHASES) * p->width;
}

static enum status fill_planes(struct pattern *p, struct queue *queue, void *d_field)
{
    const struct layout *layout = p->layout;
    const int *halo = layout->halo;
    const size_t row_bytes = (size_t)row_length(layout) * p->width;
    const size_t plane_bytes = (size_t)plane_length(layout) * p->width;
    for (int64_t k = -halo[AXIS_Z]; k < layout->cells[AXIS_Z] + halo[AXIS_Z]; k++) {
        char *to = p->h_plane;
        for (int64_t j = -halo[AXIS_Y]; j < layout->cells[AXIS_Y] + halo[AXIS_Y]; j++) {
            memcpy(to, p->values + shift_of(p, -halo[AXIS_X], j, k, p->field), row_bytes);
            to += (size_t)layout->pitch_y * p->width;
        }
        char *d_plane = (char *)d_field + (size_t)plane_begin(layout, k) * p->width;
        TRY(p->backend->runtime->copy_to_device(queue, d_plane, p->h_plane, plane_bytes));
        TRY(p->backend->runtime->queue_wait(queue));
    }
    return STATUS_OK;
}

void bench_wide_args(int radius, const struct layout *layout, struct coefficients *args)
{
    const struct boundary_state now = {.kind = BOUNDARY_TEMPERATURE,
                                       .number = {[BOUNDARY_VALUE] = 300}};
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

enum status bench_ask_for_sums(const struct backend *backend, struct device *device,
                               struct queue *queue, struct exact_sum **d_sums,
                               struct coefficients *args)
{
    static const struct exact_sum zeros[FACE_COUNT];
    void *memory = NULL;
    TRY(backend->runtime->memory_alloc(device, sizeof zeros, &memory));
    *d_sums = memory;
    for (int face = 0; face < FACE_COUNT; face++) {
        const bool flux = face == FACE_X_MAX || face == FACE_Y_MAX;
        args->d_face_sum[face] = flux ? NULL : *d_sums + face;
    }
    return backend->runtime->copy_to_device(queue, memory, zeros, sizeof zeros);
}

enum status bench_fill(const struct backend *backend, struct device *device, struct queue *queue,
                       const struct layout *layout, const struct study *study, int field,
                       void *d_field)
{
    struct pattern pattern;
    enum status status;
    TRY_GOTO(pattern_open(&pattern, backend, device, layout, study, field));
    TRY_GOTO(fill_planes(&pattern, queue, d_field));
done:
    pattern_close(&pattern);
    return status;
}

static char *field_of(const struct study_problem *problem, const void *fields, int field)
{
    const size_t width = precision_bytes(problem->layout.precision);
    return (char *)fields + (size_t)(problem->field_pitch * field) * width;
}

enum status bench_fill_study(const struct backend *backend, struct device *device,
                             struct queue *queue, const struct study *study,
                             const struct study_problem *problem, int first, void *d_fields)
{
    for (int f = 0; f < problem->nfields; f++) {
        TRY(bench_fill(backend, device, queue, &problem->layout, study, first + f,
                       field_of(problem, d_fields, f)));
    }
    return STATUS_OK;
}

/* ---- the check ---- */

static enum status make_results(struct pattern *p, const struct study *study,
                                const struct study_problem *problem, int field)
{
    const int64_t length = row_length(p->layout) + PHASES;
    p->results = malloc((size_t)length * p->width);
    TRY(CHECK_MEMORY(p->results != NULL, "no memory for one row of %" PRId64 " cells", length));
    double results[PHASES][STUDY_MOST_FIELDS];
    for (int64_t phase = 0; phase < PHASES; phase++) {
        const struct view view = {study, p->layout->precision, phase};
        study->expected(problem, seen, &view, results[phase]);
    }
    for (int64_t i = 0; i < length; i++) {
        precision_set(p->layout->precision, p->results, i, results[STEP_X * i % PHASES][field]);
    }
    return STATUS_OK;
}

/* Whether `n` elements agree with those that the study demands. */
static bool cells_agree(const struct study *study, const struct pattern *p, const char *row,
                        const char *made, int64_t n)
{
    if (memcmp(row, made, (size_t)n * p->width) == 0) {
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        const size_t at = (size_t)i * p->width;
        if (!study_agrees(study, p->layout->precision, row + at, made + at)) {
            return false;
        }
    }
    return true;
}

/* Whether row (j, k) is correct, with its halo; `field`: of the output. */
static bool row_is_right(const struct pattern *p, const struct study *study, int64_t j, int64_t k)
{
    const struct layout *layout = p->layout;
    const int64_t *n = layout->cells;
    const int *halo = layout->halo;
    const size_t edge = (size_t)halo[AXIS_X] * p->width;
    const size_t cells = (size_t)n[AXIS_X] * p->width;
    const char *row =
        (const char *)p->h_plane + (size_t)((j + halo[AXIS_Y]) * layout->pitch_y) * p->width;
    const char *kept = p->values + shift_of(p, -halo[AXIS_X], j, k, p->field);
    if (j < 0 || j >= n[AXIS_Y] || k < 0 || k >= n[AXIS_Z]) {
        return memcmp(row, kept, 2 * edge + cells) == 0;
    }
    return memcmp(row, kept, edge) == 0 &&
           memcmp(row + edge + cells, kept + edge + cells, edge) == 0 &&
           cells_agree(study, p, row + edge, p->results + shift_of(p, 0, j, k, 0), n[AXIS_X]);
}

static enum status check_planes(struct pattern *p, struct queue *queue, const struct study *study,
                                const void *d_field, const char *kernel)
{
    const int64_t most = (int64_t)1 << 26; /* points: half a second */
    const struct layout *layout = p->layout;
    const int *halo = layout->halo;
    const int64_t plane = plane_length(layout);
    const int64_t last = layout->cells[AXIS_Z] + halo[AXIS_Z] - 1;
    const int64_t stride = plane * (last + 1) / most + 1;
    for (int64_t k = -halo[AXIS_Z]; k <= last;
         k = k < last && k + stride > last ? last : k + stride) {
        const char *from = (const char *)d_field + (size_t)plane_begin(layout, k) * p->width;
        TRY(p->backend->runtime->copy_to_host(queue, p->h_plane, from, (size_t)plane * p->width));
        TRY(p->backend->runtime->queue_wait(queue));
        for (int64_t j = -halo[AXIS_Y]; j < layout->cells[AXIS_Y] + halo[AXIS_Y]; j++) {
            if (!row_is_right(p, study, j, k)) {
                return fail(STATUS_DEVICE,
                            "%s, %s: row j = %" PRId64 ", k = %" PRId64
                            " differs from the host's result",
                            kernel, precision_name(layout->precision), j, k);
            }
        }
    }
    return STATUS_OK;
}

enum status bench_check_study(const struct backend *backend, struct device *device,
                              struct queue *queue, const struct study *study,
                              const struct study_problem *problem, const void *d_out,
                              const char *kernel)
{
    enum status status = STATUS_OK;
    for (int f = 0; f < problem->nfields && status == STATUS_OK; f++) {
        struct pattern pattern;
        const int before = study->reads_output ? problem->nfields + f : f;
        TRY_GOTO(pattern_open(&pattern, backend, device, &problem->layout, study, before));
        TRY_GOTO(make_results(&pattern, study, problem, f));
        TRY_GOTO(check_planes(&pattern, queue, study, field_of(problem, d_out, f), kernel));
    done:
        pattern_close(&pattern);
    }
    return status;
}

enum status bench_time_copy(const struct backend *backend, struct device *device, size_t bytes,
                            double *rate)
{
    enum { COPIES = 10 };
    struct queue *queue = NULL;
    void *d_from = NULL;
    void *d_to = NULL;
    double start = 0;
    enum status status = STATUS_OK;
    TRY_GOTO(backend->runtime->queue_create(device, QUEUE_NORMAL, &queue));
    TRY_GOTO(backend->runtime->memory_alloc(device, bytes, &d_from));
    TRY_GOTO(backend->runtime->memory_alloc(device, bytes, &d_to));
    for (int n = -1; n < COPIES; n++) {
        TRY_GOTO(backend->runtime->copy_on_device(queue, d_to, d_from, bytes));
        if (n < 0) {
            TRY_GOTO(backend->runtime->queue_wait(queue));
            start = clock_seconds();
        }
    }
    TRY_GOTO(backend->runtime->queue_wait(queue));
    *rate = 2e-9 * COPIES * (double)bytes / (clock_seconds() - start);
done:
    backend->runtime->memory_free(device, d_to);
    backend->runtime->memory_free(device, d_from);
    backend->runtime->queue_destroy(queue);
    return status;
}
