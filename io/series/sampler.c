#include "io/series/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"

enum { CORNERS = 8 };

/* In cells: a point so close to a cell's centre is meant to be there, and gets the cell's bits. */
#define CENTER_TOLERANCE 1e-9

/* A point: its lower and upper corner on each axis, and its position between them. */
struct point {
    int64_t low[AXIS_COUNT]; /* cells; global indices */
    int64_t high[AXIS_COUNT];
    int face[AXIS_COUNT];    /* the upper corner lies on this face of `high`; -1: at its centre */
    double part[AXIS_COUNT]; /* 0 at the lower corner, 1 at the upper one */
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

/* Between the outermost centre, `cells` beyond it, and the face half a cell away. */
static void place_at_face(enum face face, int64_t cell, double cells, struct point *point)
{
    const enum axis axis = face_axis(face);
    const double part = 2 * cells;
    point->low[axis] = cell;
    point->high[axis] = cell;
    point->face[axis] = part > 0 ? (int)face : -1;
    point->part[axis] = part > 1 - CENTER_TOLERANCE ? 1 : part;
}

static void place(const struct grid *grid, bool periodic, enum axis axis, double at,
                  struct point *point)
{
    const int64_t last = grid->cells[axis] - 1;
    const double exact = (at - grid->lower[axis]) / grid->spacing[axis] - 0.5;
    const double nearest = round(exact);
    const double cells = fabs(exact - nearest) < CENTER_TOLERANCE ? nearest : exact;
    const double below = floor(cells);
    if (!periodic && cells <= 0) {
        place_at_face(face_of(axis, SIDE_MIN), 0, -cells, point);
    } else if (!periodic && cells >= (double)last) {
        place_at_face(face_of(axis, SIDE_MAX), last, cells - (double)last, point);
    } else {
        const int64_t low = below < 0 ? last : (int64_t)below;
        point->low[axis] = low;
        point->high[axis] = low < last ? low + 1 : 0;
        point->face[axis] = -1;
        point->part[axis] = cells - below;
    }
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

uint64_t sampler_bytes(int64_t npoints, enum precision precision)
{
    return (uint64_t)npoints * CORNERS * (sizeof(int64_t) + precision_bytes(precision));
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
    SCOPED_FREE int64_t *elements = malloc((size_t)s->npoints * CORNERS * sizeof *elements);
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
    return send_elements(s, field, elements);
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

/* What corner_value needs of the faces. */
struct faces {
    sampler_closure *closure;
    const void *context;
};

/* The value at a corner, given that of its cell. On an edge or a corner of the domain prescribed
 * temperatures win, as the mean of those that meet; otherwise the differences between face and cell
 * add up, which is exact for a linear field. */
static double corner_value(const struct sampler *s, const struct field *field,
                           const struct faces *faces, int64_t slot, double cell)
{
    const struct point *point = &s->point[slot / CORNERS];
    const int corner = (int)(slot % CORNERS);
    double value = cell;
    double prescribed = 0;
    int nfaces = 0;
    int nprescribed = 0;
    int64_t local[AXIS_COUNT];
    corner_cell(point, corner, local);
    for (int a = 0; a < AXIS_COUNT; a++) {
        local[a] -= field->placement.offset[a];
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        if ((corner >> a & 1) == 0 || point->face[a] < 0) {
            continue;
        }
        const struct class_closure closure =
            faces->closure(faces->context, (enum face)point->face[a], local);
        const double at_face = class_closure_face(&closure, cell);
        value = nfaces++ == 0 ? at_face : value + (at_face - cell);
        if (closure.a == -1 && closure.e == 0) { /* a given temperature */
            prescribed += at_face;
            nprescribed++;
        }
    }
    return nprescribed > 0 ? prescribed / nprescribed : value;
}

/* This rank's corners. Blocks. */
static enum status take_mine(struct sampler *s, const struct field *field,
                             const struct faces *faces)
{
    const enum precision precision = field->layout.precision;
    memset(s->corners, 0, (size_t)s->npoints * CORNERS * sizeof *s->corners);
    if (s->nmine == 0) {
        return STATUS_OK;
    }
    TRY(ENQUEUE(s->backend->operations, gather, field->queue, .precision = precision,
                .d_field = field_temperature(field), .d_elements = s->d_elements, .count = s->nmine,
                .d_values = s->d_taken));
    TRY(s->backend->runtime->copy_to_host(field->queue, s->h_taken, s->d_taken,
                                          (size_t)s->nmine * precision_bytes(precision)));
    TRY(s->backend->runtime->queue_wait(field->queue));
    for (int64_t m = 0; m < s->nmine; m++) {
        const double cell = precision_get(precision, s->h_taken, m);
        s->corners[s->slot[m]] = corner_value(s, field, faces, s->slot[m], cell);
    }
    return STATUS_OK;
}

/* Exact at the ends, and for equal values. */
static double between(double low, double high, double part)
{
    return part == 1 ? high : fma(part, high - low, low);
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
                         sampler_closure *closure, const void *context, const double **values)
{
    const bool first = comm_rank(comm) == 0;
    const struct faces faces = {closure, context};
    *values = NULL;
    TRY(status_agree(comm, take_mine(s, field, &faces)));
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
