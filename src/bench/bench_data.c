#include "bench/bench_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* The value of cell (i, j, k) follows from its phase (7 i + 3 j + 5 k) mod 101. As 29 * 7 = 1 mod
 * 101, a row that begins with phase p is the row of phase 0 from cell 29 p on. */
enum { PHASES = 101, STEP_X = 7, STEP_Y = 3, STEP_Z = 5, ONE_OVER_STEP_X = 29 };

/* A row of phase 0 long enough for any phase, and one plane in pinned memory. */
struct pattern {
    const struct backend *backend;
    struct device *device;
    size_t width; /* bytes of a cell */
    char *values;
    char *results; /* of a study, at inner points; NULL: none */
    void *h_plane;
};

static double value_of_phase(int64_t phase)
{
    return 300.0 + (double)((phase % PHASES + PHASES) % PHASES) / 7.0;
}

static void set(char *cells, int64_t at, size_t width, double value)
{
    if (width == sizeof(double)) {
        ((double *)cells)[at] = value;
    } else {
        ((float *)cells)[at] = (float)value;
    }
}

static double stored(size_t width, int64_t phase)
{
    const double value = value_of_phase(phase);
    return width == sizeof(double) ? value : (double)(float)value;
}

struct view {
    size_t width;
    int64_t phase;
};

static double seen(const void *context, int x, int y, int z)
{
    const struct view *view = context;
    return stored(view->width, view->phase + STEP_X * x + STEP_Y * y + STEP_Z * z);
}

static void pattern_close(struct pattern *p)
{
    free(p->values);
    free(p->results);
    p->backend->runtime->pinned_free(p->device, p->h_plane);
}

/* For rows of up to nx cells and planes of up to plane_cells. `study` may be NULL. */
static enum status pattern_open(struct pattern *p, const struct backend *backend,
                                struct device *device, enum precision precision, int64_t nx,
                                int64_t plane_cells, const struct study *study,
                                const struct study_problem *problem)
{
    *p =
        (struct pattern){.backend = backend, .device = device, .width = precision_bytes(precision)};
    const size_t row_bytes = (size_t)(nx + PHASES) * p->width;
    p->values = malloc(row_bytes);
    p->results = study != NULL ? malloc(row_bytes) : NULL;
    if (p->values == NULL || (study != NULL && p->results == NULL)) {
        return fail(STATUS_MEMORY, "no memory for one row of %" PRId64 " cells", nx);
    }
    double results[PHASES] = {0};
    for (int64_t phase = 0; study != NULL && phase < PHASES; phase++) {
        const struct view view = {.width = p->width, .phase = phase};
        results[phase] = study->expected(problem, seen, &view);
    }
    for (int64_t i = 0; i < nx + PHASES; i++) {
        set(p->values, i, p->width, value_of_phase(STEP_X * i));
        if (study != NULL) {
            set(p->results, i, p->width, results[STEP_X * i % PHASES]);
        }
    }
    return backend->runtime->pinned_alloc(device, (size_t)plane_cells * p->width, &p->h_plane);
}

/* The offset in bytes of row (j, k) in the row of phase 0. */
static size_t row_shift(const struct pattern *p, int64_t j, int64_t k)
{
    const int64_t phase = (STEP_Y * (j % PHASES) + STEP_Z * (k % PHASES)) % PHASES;
    return (size_t)(phase * ONE_OVER_STEP_X % PHASES) * p->width;
}

struct layout bench_plain_layout(const struct study_problem *problem)
{
    const int64_t *n = problem->points;
    return (struct layout){
        .precision = problem->precision,
        .cells = {n[AXIS_X], n[AXIS_Y], n[AXIS_Z]},
        .pitch_y = n[AXIS_X],
        .pitch_z = n[AXIS_X] * n[AXIS_Y],
        .elements = n[AXIS_X] * n[AXIS_Y] * n[AXIS_Z],
    };
}

static enum status fill_planes(struct pattern *p, struct queue *queue, const struct layout *layout,
                               void *d_field)
{
    const size_t row_bytes = (size_t)layout->cells[AXIS_X] * p->width;
    const int64_t ny = layout->cells[AXIS_Y];
    const size_t plane_bytes =
        (size_t)((ny - 1) * layout->pitch_y + layout->cells[AXIS_X]) * p->width;
    for (int64_t k = 0; k < layout->cells[AXIS_Z]; k++) {
        for (int64_t j = 0; j < ny; j++) {
            char *to = (char *)p->h_plane + (size_t)(j * layout->pitch_y) * p->width;
            memcpy(to, p->values + row_shift(p, j, k), row_bytes);
        }
        char *to = (char *)d_field + (size_t)layout_index(layout, 0, 0, k) * p->width;
        TRY(p->backend->runtime->copy_to_device(queue, to, p->h_plane, plane_bytes));
        TRY(p->backend->runtime->queue_wait(queue));
    }
    return STATUS_OK;
}

enum status bench_fill(const struct backend *backend, struct device *device, struct queue *queue,
                       const struct layout *layout, void *d_field)
{
    struct pattern pattern;
    enum status status;
    TRY_GOTO(pattern_open(&pattern, backend, device, layout->precision, layout->cells[AXIS_X],
                          layout->pitch_z, NULL, NULL));
    TRY_GOTO(fill_planes(&pattern, queue, layout, d_field));
done:
    pattern_close(&pattern);
    return status;
}

/* Whether row (j, k) is correct; points within `radius` of a face keep their values. */
static bool row_is_right(const struct pattern *p, const int64_t n[AXIS_COUNT], int radius,
                         int64_t j, int64_t k)
{
    const size_t row_bytes = (size_t)n[AXIS_X] * p->width;
    const size_t edge = (size_t)radius * p->width;
    const char *row = (const char *)p->h_plane + (size_t)j * row_bytes;
    const char *kept = p->values + row_shift(p, j, k);
    const char *made = p->results + row_shift(p, j, k);
    if (j < radius || j >= n[AXIS_Y] - radius || k < radius || k >= n[AXIS_Z] - radius) {
        return memcmp(row, kept, row_bytes) == 0;
    }
    return memcmp(row, kept, edge) == 0 &&
           memcmp(row + edge, made + edge, row_bytes - 2 * edge) == 0 &&
           memcmp(row + row_bytes - edge, kept + row_bytes - edge, edge) == 0;
}

static enum status check_planes(struct pattern *p, struct queue *queue, int radius,
                                const struct study_problem *problem, const void *d_out,
                                const char *kernel)
{
    const int64_t most = (int64_t)1 << 26; /* points: half a second */
    const int64_t *n = problem->points;
    const int64_t plane = n[AXIS_X] * n[AXIS_Y];
    const int64_t last = n[AXIS_Z] - 1;
    const int64_t stride = plane * (last + 1) / most + 1;
    for (int64_t k = 0; k <= last; k = k < last && k + stride > last ? last : k + stride) {
        const char *from = (const char *)d_out + (size_t)(k * plane) * p->width;
        TRY(p->backend->runtime->copy_to_host(queue, p->h_plane, from, (size_t)plane * p->width));
        TRY(p->backend->runtime->queue_wait(queue));
        for (int64_t j = 0; j < n[AXIS_Y]; j++) {
            if (!row_is_right(p, n, radius, j, k)) {
                return fail(STATUS_DEVICE,
                            "%s, %s: row j = %" PRId64 ", k = %" PRId64
                            " differs from the host's result",
                            kernel, precision_name(problem->precision), j, k);
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
    const int64_t *n = problem->points;
    struct pattern pattern;
    enum status status;
    TRY_GOTO(pattern_open(&pattern, backend, device, problem->precision, n[AXIS_X],
                          n[AXIS_X] * n[AXIS_Y], study, problem));
    TRY_GOTO(check_planes(&pattern, queue, study->radius, problem, d_out, kernel));
done:
    pattern_close(&pattern);
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
