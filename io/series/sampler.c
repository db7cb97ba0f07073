#include "io/series/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"

enum { CORNERS = 8 };

/* A point: its lower and upper corner cell on each axis, and its position between them. */
struct point {
    int64_t low[AXIS_COUNT]; /* global indices */
    int64_t high[AXIS_COUNT];
    double part[AXIS_COUNT]; /* 0 at the centre of `low`, 1 at that of `high` */
};

struct sampler {
    const struct backend *backend; /* borrowed, as the device */
    struct device *device;
    int64_t npoints;
    struct point *point;
    double *values;  /* npoints */
    double *corners; /* npoints times CORNERS; 0 where another rank owns the cell */
    /* the corners that this rank owns */
    int64_t nmine;
    int64_t *slot;       /* in `corners` */
    int64_t *d_elements; /* in the field's allocation */
    void *d_taken;
    void *h_taken;
};

static void place(const struct grid *grid, bool periodic, enum axis axis, double at,
                  struct point *point)
{
    const int64_t last = grid->cells[axis] - 1;
    const double cells = (at - grid->lower[axis]) / grid->spacing[axis] - 0.5;
    const double below = floor(cells);
    int64_t low = (int64_t)below;
    double part = cells - below;
    if (low < 0) {
        low = periodic ? last : 0;
        part = periodic ? part : 0;
    } else if (low >= last) {
        low = last;
        part = periodic ? part : 0;
    }
    point->low[axis] = low;
    point->high[axis] = low < last ? low + 1 : periodic ? 0 : last;
    point->part[axis] = part;
}

static void corner_cell(const struct point *point, int corner, int64_t cell[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        cell[a] = (corner >> a & 1) != 0 ? point->high[a] : point->low[a];
    }
}

/* The element of a cell in the field's allocation; -1 when another rank owns it. */
static int64_t find_element(const struct field *field, const int64_t cell[AXIS_COUNT])
{
    int64_t local[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        local[a] = cell[a] - field->placement.offset[a];
        if (local[a] < 0 || local[a] >= field->layout.cells[a]) {
            return -1;
        }
    }
    return layout_index(&field->layout, local[AXIS_X], local[AXIS_Y], local[AXIS_Z]);
}

static enum status send_elements(struct sampler *s, const struct field *field,
                                 const int64_t *elements)
{
    const size_t bytes = (size_t)s->nmine * sizeof *elements;
    const size_t taken = (size_t)s->nmine * precision_bytes(field->layout.precision);
    void *d_elements = NULL;
    if (s->nmine == 0) {
        return STATUS_OK;
    }
    TRY(s->backend->runtime->memory_alloc(s->device, bytes, &d_elements));
    s->d_elements = d_elements;
    TRY(s->backend->runtime->memory_alloc(s->device, taken, &s->d_taken));
    TRY(s->backend->runtime->pinned_alloc(s->device, taken, &s->h_taken));
    TRY(s->backend->runtime->copy_to_device(field->queue, s->d_elements, elements, bytes));
    return s->backend->runtime->queue_wait(field->queue);
}

static enum status find_mine(struct sampler *s, const struct field *field)
{
    int64_t *elements = malloc((size_t)s->npoints * CORNERS * sizeof *elements);
    TRY(CHECK_MEMORY(elements != NULL, "no memory for the points of probes and lines"));
    for (int64_t p = 0; p < s->npoints; p++) {
        for (int c = 0; c < CORNERS; c++) {
            int64_t cell[AXIS_COUNT];
            corner_cell(&s->point[p], c, cell);
            const int64_t element = find_element(field, cell);
            if (element >= 0) {
                s->slot[s->nmine] = p * CORNERS + c;
                elements[s->nmine++] = element;
            }
        }
    }
    const enum status status = send_elements(s, field, elements);
    free(elements);
    return status;
}

enum status sampler_create(const struct field *field, const struct grid *grid,
                           const bool periodic[AXIS_COUNT], const double *points, int64_t npoints,
                           struct sampler **sampler)
{
    *sampler = NULL;
    struct sampler *s = calloc(1, sizeof *s);
    TRY(CHECK_MEMORY(s != NULL, "no memory for the points of probes and lines"));
    const size_t n = (size_t)npoints;
    s->backend = field->backend;
    s->device = field->device;
    s->npoints = npoints;
    s->point = calloc(n, sizeof *s->point);
    s->values = calloc(n, sizeof *s->values);
    s->corners = calloc(n * CORNERS, sizeof *s->corners);
    s->slot = calloc(n * CORNERS, sizeof *s->slot);
    enum status status = STATUS_OK;
    TRY_GOTO(
        CHECK_MEMORY(s->point != NULL && s->values != NULL && s->corners != NULL && s->slot != NULL,
                     "no memory for the points of probes and lines"));
    for (int64_t p = 0; p < npoints; p++) {
        for (int a = 0; a < AXIS_COUNT; a++) {
            place(grid, periodic[a], (enum axis)a, points[p * AXIS_COUNT + a], &s->point[p]);
        }
    }
    TRY_GOTO(find_mine(s, field));
    *sampler = s;
    return STATUS_OK;
done:
    sampler_destroy(s);
    return status;
}

void sampler_destroy(struct sampler *s)
{
    if (s == NULL) {
        return;
    }
    s->backend->runtime->pinned_free(s->device, s->h_taken);
    s->backend->runtime->memory_free(s->device, s->d_taken);
    s->backend->runtime->memory_free(s->device, s->d_elements);
    free(s->slot);
    free(s->corners);
    free(s->values);
    free(s->point);
    free(s);
}

/* This rank's corners. Blocks. */
static enum status take_mine(struct sampler *s, const struct field *field)
{
    const enum precision precision = field->layout.precision;
    memset(s->corners, 0, (size_t)s->npoints * CORNERS * sizeof *s->corners);
    if (s->nmine == 0) {
        return STATUS_OK;
    }
    TRY(s->backend->operations->gather(field->queue, precision, field->d_now, s->d_elements,
                                       s->nmine, s->d_taken));
    TRY(s->backend->runtime->copy_to_host(field->queue, s->h_taken, s->d_taken,
                                          (size_t)s->nmine * precision_bytes(precision)));
    TRY(s->backend->runtime->queue_wait(field->queue));
    for (int64_t m = 0; m < s->nmine; m++) {
        s->corners[s->slot[m]] = precision == PRECISION_FLOAT64
                                     ? ((const double *)s->h_taken)[m]
                                     : (double)((const float *)s->h_taken)[m];
    }
    return STATUS_OK;
}

/* Exact at the ends, and for equal values. */
static double between(double low, double high, double part)
{
    return fma(part, high - low, low);
}

static double interpolate(const struct point *point, const double *corner)
{
    const double *t = point->part;
    const double y0z0 = between(corner[0], corner[1], t[AXIS_X]);
    const double y1z0 = between(corner[2], corner[3], t[AXIS_X]);
    const double y0z1 = between(corner[4], corner[5], t[AXIS_X]);
    const double y1z1 = between(corner[6], corner[7], t[AXIS_X]);
    const double z0 = between(y0z0, y1z0, t[AXIS_Y]);
    const double z1 = between(y0z1, y1z1, t[AXIS_Y]);
    return between(z0, z1, t[AXIS_Z]);
}

enum status sampler_take(MPI_Comm comm, struct sampler *s, const struct field *field,
                         const double **values)
{
    const bool first = comm_rank(comm) == 0;
    *values = NULL;
    TRY(status_agree(comm, take_mine(s, field)));
    /* one rank has the value and the others 0: the sum is exact in any order */
    TRY_MPI(MPI_Reduce(first ? MPI_IN_PLACE : s->corners, first ? s->corners : NULL,
                       (int)(s->npoints * CORNERS), MPI_DOUBLE, MPI_SUM, 0, comm));
    if (first) {
        for (int64_t p = 0; p < s->npoints; p++) {
            s->values[p] = interpolate(&s->point[p], s->corners + p * CORNERS);
        }
        *values = s->values;
    }
    return STATUS_OK;
}
