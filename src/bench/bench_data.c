#include "bench/bench_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/laplacian_point.h"

/* Cell (i, j, k) has phase (7 i + 3 j + 5 k) mod 101, and what follows from the phase. 29 * 7 = 1
 * mod 101: a row that begins with phase p is part of the row of phase 0, 29 p cells on. */
enum { PHASES = 101, STEP_X = 7, STEP_Y = 3, STEP_Z = 5, ONE_OVER_STEP_X = 29 };

/* A row of phase 0, long enough for any phase, and room for one plane in pinned memory. */
struct pattern {
    const struct backend *backend;
    struct device *device;
    size_t width; /* bytes of a cell */
    char *values;
    char *laplacians; /* at inner points; NULL where they are not wanted */
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

/* The value of a phase as it is stored. */
static double stored(size_t width, int64_t phase)
{
    const double value = value_of_phase(phase);
    return width == sizeof(double) ? value : (double)(float)value;
}

static double laplacian_of_phase(const struct laplacian *l, size_t width, int64_t p)
{
    static const int steps[AXIS_COUNT] = {STEP_X, STEP_Y, STEP_Z};
    const double *w = l->inverse_h2;
    const double wc = laplacian_centre(w[AXIS_X], w[AXIS_Y], w[AXIS_Z]);
    const double c = stored(width, p);
    double n[FACE_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        n[2 * axis] = stored(width, p - steps[axis]);
        n[2 * axis + 1] = stored(width, p + steps[axis]);
    }
    if (width == sizeof(double)) {
        return laplacian_float64(c, n[0], n[1], n[2], n[3], n[4], n[5], w[0], w[1], w[2], wc);
    }
    return (double)laplacian_float32((float)c, (float)n[0], (float)n[1], (float)n[2], (float)n[3],
                                     (float)n[4], (float)n[5], (float)w[0], (float)w[1],
                                     (float)w[2], (float)wc);
}

static void pattern_close(struct pattern *p)
{
    free(p->values);
    free(p->laplacians);
    p->backend->runtime->pinned_free(p->device, p->h_plane);
}

/* Rows of up to nx cells, planes of up to plane_cells. `laplacian` may be NULL. */
static enum status pattern_open(struct pattern *p, const struct backend *backend,
                                struct device *device, enum precision precision, int64_t nx,
                                int64_t plane_cells, const struct laplacian *laplacian)
{
    *p =
        (struct pattern){.backend = backend, .device = device, .width = precision_bytes(precision)};
    const size_t row_bytes = (size_t)(nx + PHASES) * p->width;
    p->values = malloc(row_bytes);
    p->laplacians = laplacian != NULL ? malloc(row_bytes) : NULL;
    if (p->values == NULL || (laplacian != NULL && p->laplacians == NULL)) {
        return fail(STATUS_MEMORY, "no memory for one row of %" PRId64 " cells", nx);
    }
    double laplacians[PHASES] = {0};
    for (int64_t phase = 0; laplacian != NULL && phase < PHASES; phase++) {
        laplacians[phase] = laplacian_of_phase(laplacian, p->width, phase);
    }
    for (int64_t i = 0; i < nx + PHASES; i++) {
        set(p->values, i, p->width, value_of_phase(STEP_X * i));
        if (laplacian != NULL) {
            set(p->laplacians, i, p->width, laplacians[STEP_X * i % PHASES]);
        }
    }
    return backend->runtime->pinned_alloc(device, (size_t)plane_cells * p->width, &p->h_plane);
}

/* Bytes into the row of phase 0 at which row (j, k) begins. */
static size_t row_shift(const struct pattern *p, int64_t j, int64_t k)
{
    const int64_t phase = (STEP_Y * (j % PHASES) + STEP_Z * (k % PHASES)) % PHASES;
    return (size_t)(phase * ONE_OVER_STEP_X % PHASES) * p->width;
}

struct layout bench_plain_layout(const struct laplacian *laplacian)
{
    const int64_t *n = laplacian->points;
    return (struct layout){
        .precision = laplacian->precision,
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
    enum status status = pattern_open(&pattern, backend, device, layout->precision,
                                      layout->cells[AXIS_X], layout->pitch_z, NULL);
    if (status == STATUS_OK) {
        status = fill_planes(&pattern, queue, layout, d_field);
    }
    pattern_close(&pattern);
    return status;
}

/* Does row (j, k) hold what it should? */
static bool row_is_right(const struct pattern *p, const struct laplacian *l, int64_t j, int64_t k)
{
    const size_t nx = (size_t)l->points[AXIS_X];
    const char *row = (const char *)p->h_plane + (size_t)j * nx * p->width;
    const char *kept = p->values + row_shift(p, j, k);
    const char *made = p->laplacians + row_shift(p, j, k);
    const size_t width = p->width;
    if (j == 0 || j == l->points[AXIS_Y] - 1 || k == 0 || k == l->points[AXIS_Z] - 1) {
        return memcmp(row, kept, nx * width) == 0;
    }
    return memcmp(row, kept, width) == 0 &&
           memcmp(row + width, made + width, (nx - 2) * width) == 0 &&
           memcmp(row + (nx - 1) * width, kept + (nx - 1) * width, width) == 0;
}

static enum status check_planes(struct pattern *p, struct queue *queue, const struct laplacian *l,
                                const void *d_f, const char *kernel)
{
    const int64_t most = (int64_t)1 << 26; /* points: half a second of work */
    const int64_t plane = l->points[AXIS_X] * l->points[AXIS_Y];
    const int64_t last = l->points[AXIS_Z] - 1;
    const int64_t stride = plane * (last + 1) / most + 1;
    for (int64_t k = 0; k <= last; k = k < last && k + stride > last ? last : k + stride) {
        const char *from = (const char *)d_f + (size_t)(k * plane) * p->width;
        TRY(p->backend->runtime->copy_to_host(queue, p->h_plane, from, (size_t)plane * p->width));
        TRY(p->backend->runtime->queue_wait(queue));
        for (int64_t j = 0; j < l->points[AXIS_Y]; j++) {
            if (!row_is_right(p, l, j, k)) {
                return fail(STATUS_DEVICE,
                            "%s, %s: row j = %" PRId64 ", k = %" PRId64
                            " is not what the host computes",
                            kernel, precision_name(l->precision), j, k);
            }
        }
    }
    return STATUS_OK;
}

enum status bench_check_laplacian(const struct backend *backend, struct device *device,
                                  struct queue *queue, const struct laplacian *laplacian,
                                  const void *d_f, const char *kernel)
{
    struct pattern pattern;
    enum status status =
        pattern_open(&pattern, backend, device, laplacian->precision, laplacian->points[AXIS_X],
                     laplacian->points[AXIS_X] * laplacian->points[AXIS_Y], laplacian);
    if (status == STATUS_OK) {
        status = check_planes(&pattern, queue, laplacian, d_f, kernel);
    }
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
