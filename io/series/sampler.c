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
    bool above;              /* half of the way belongs to the upper corner */
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
    int64_t *slot; /* in `corners` */
    /* in the field's allocation; in that of the classes, and in its words of four; NULL: none */
    void *d_elements, *d_classes, *d_class_words;
    void *d_taken;
    void *h_taken;
    uint8_t *of_class; /* npoints times CORNERS, as `corners`; NULL: all conduct equally */
    int64_t *class_at; /* as d_classes, or NULL */
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
    const double exact = grid_in_cells(grid, axis, at) - 0.5;
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

/* The local indices of a cell; false when another rank owns it. */
static bool find_cell(const struct field *field, const int64_t cell[AXIS_COUNT],
                      int64_t local[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        local[a] = cell[a] - field->placement.offset[a];
        if (local[a] < 0 || local[a] >= field->layout.cells[a]) {
            return false;
        }
    }
    return true;
}

uint64_t sampler_bytes(int64_t npoints, enum precision precision)
{
    return (uint64_t)npoints * CORNERS * (3 * sizeof(int64_t) + precision_bytes(precision));
}

static enum status send_elements(struct sampler *s, const struct field *field,
                                 const int64_t *elements, void **d_elements)
{
    const size_t bytes = (size_t)s->nmine * sizeof *elements;
    TRY(s->backend->runtime->memory_alloc(s->device, bytes, d_elements));
    TRY(s->backend->runtime->copy_to_device(field->queue, *d_elements, elements, bytes));
    return s->backend->runtime->queue_wait(field->queue);
}

enum { WORD = sizeof(float) }; /* classes are read as words of this many bytes */

static enum status allocate_mine(struct sampler *s, const struct field *field, int64_t *elements)
{
    const size_t taken = (size_t)s->nmine * precision_bytes(field->layout.precision);
    if (s->nmine == 0) {
        return STATUS_OK;
    }
    TRY(send_elements(s, field, elements, &s->d_elements));
    TRY(s->backend->runtime->memory_alloc(s->device, taken, &s->d_taken));
    TRY(s->backend->runtime->pinned_alloc(s->device, taken, &s->h_taken));
    TRY(s->class_at != NULL ? send_elements(s, field, s->class_at, &s->d_classes) : STATUS_OK);
    if (s->of_class == NULL) {
        return STATUS_OK;
    }
    for (int64_t m = 0; m < s->nmine; m++) {
        elements[m] = s->class_at[m] / WORD;
    }
    return send_elements(s, field, elements, &s->d_class_words);
}

static enum status find_mine(struct sampler *s, const struct field *field,
                             const struct layout *classes)
{
    const struct layout *layout = &field->layout;
    SCOPED_FREE int64_t *elements = malloc((size_t)s->npoints * CORNERS * sizeof *elements);
    TRY(CHECK_MEMORY(elements != NULL, "no memory for the points of probes and lines"));
    for (int64_t i = 0; i < s->npoints * CORNERS; i++) {
        int64_t cell[AXIS_COUNT];
        int64_t at[AXIS_COUNT];
        corner_cell(&s->point[i / CORNERS], (int)(i % CORNERS), cell);
        if (find_cell(field, cell, at)) {
            if (classes != NULL) {
                s->class_at[s->nmine] = layout_index(classes, at[AXIS_X], at[AXIS_Y], at[AXIS_Z]);
            }
            elements[s->nmine] = layout_index(layout, at[AXIS_X], at[AXIS_Y], at[AXIS_Z]);
            s->slot[s->nmine++] = i;
        }
    }
    return allocate_mine(s, field, elements);
}

enum status sampler_create(const struct field *field, const struct grid *grid,
                           const bool periodic[AXIS_COUNT], const struct layout *classes,
                           bool differ, const struct sampler_points *points,
                           struct sampler **sampler)
{
    *sampler = NULL;
    struct sampler *s = calloc(1, sizeof *s);
    TRY(CHECK_MEMORY(s != NULL, "no memory for the points of probes and lines"));
    const size_t n = (size_t)points->npoints;
    s->backend = field->backend;
    s->device = field->device;
    s->npoints = points->npoints;
    s->point = calloc(n, sizeof *s->point);
    s->values = calloc(n, sizeof *s->values);
    s->corners = calloc(n * CORNERS, sizeof *s->corners);
    s->slot = calloc(n * CORNERS, sizeof *s->slot);
    s->of_class = differ ? calloc(n, CORNERS) : NULL;
    s->class_at = classes != NULL ? calloc(n * CORNERS, sizeof *s->class_at) : NULL;
    enum status status = STATUS_OK;
    TRY_GOTO(CHECK_MEMORY(s->point != NULL && s->values != NULL && s->corners != NULL &&
                              s->slot != NULL && (!differ || s->of_class != NULL) &&
                              (classes == NULL || s->class_at != NULL),
                          "no memory for the points of probes and lines"));
    for (int64_t p = 0; p < s->npoints; p++) {
        const double *at = points->points + p * AXIS_COUNT;
        s->point[p].above = points->above != NULL && points->above[p];
        for (int a = 0; a < AXIS_COUNT; a++) {
            place(grid, periodic[a], (enum axis)a, at[a], &s->point[p]);
        }
    }
    TRY_GOTO(find_mine(s, field, classes));
    *sampler = s;
    return STATUS_OK;
done:
    sampler_destroy(s);
    return status;
}

unsigned sampler_faces(const struct sampler *s)
{
    unsigned faces = 0;
    for (int64_t i = 0; i < s->npoints * AXIS_COUNT; i++) {
        const int face = s->point[i / AXIS_COUNT].face[i % AXIS_COUNT];
        faces |= face >= 0 ? 1U << (unsigned)face : 0;
    }
    return faces;
}

void sampler_destroy(struct sampler *s)
{
    if (s == NULL) {
        return;
    }
    s->backend->runtime->pinned_free(s->device, s->h_taken);
    s->backend->runtime->memory_free(s->device, s->d_taken);
    s->backend->runtime->memory_free(s->device, s->d_elements);
    s->backend->runtime->memory_free(s->device, s->d_classes);
    s->backend->runtime->memory_free(s->device, s->d_class_words);
    free(s->class_at);
    free(s->of_class);
    free(s->slot);
    free(s->corners);
    free(s->values);
    free(s->point);
    free(s);
}

/* The value at a corner, given that of its cell. On an edge or a corner of the domain prescribed
 * temperatures win, as the mean of those that meet; otherwise the differences between face and cell
 * add up, which is exact for a linear field. */
static double corner_value(const struct sampler *s, const struct field *field,
                           const struct sampler_space *space, int64_t slot, double cell)
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
            space->closure(space->context, (enum face)point->face[a], local);
        const double at_face = class_closure_face(&closure, cell);
        value = nfaces++ == 0 ? at_face : value + (at_face - cell);
        if (closure.a == -1 && closure.e == 0) { /* a given temperature */
            prescribed += at_face;
            nprescribed++;
        }
    }
    return nprescribed > 0 ? prescribed / nprescribed : value;
}

/* Gather what stands at `d_elements`, for the host; with `medium` the temperatures of an enthalpy.
 * Blocks. */
static enum status gather(struct sampler *s, const struct field *field, enum precision precision,
                          const void *d_from, const int64_t *d_elements,
                          const struct device_medium *medium)
{
    TRY(ENQUEUE(s->backend->operations, gather, field->queue, .precision = precision,
                .d_field = d_from, .d_elements = d_elements, .medium = medium,
                .d_classes = s->d_classes, .count = s->nmine, .d_values = s->d_taken));
    TRY(s->backend->runtime->copy_to_host(field->queue, s->h_taken, s->d_taken,
                                          (size_t)s->nmine * precision_bytes(precision)));
    return s->backend->runtime->queue_wait(field->queue);
}

/* This rank's corners. Blocks. */
static enum status take_mine(struct sampler *s, const struct field *field,
                             const struct sampler_space *space)
{
    const enum precision precision = field->layout.precision;
    memset(s->corners, 0, (size_t)s->npoints * CORNERS * sizeof *s->corners);
    if (s->nmine == 0) {
        return STATUS_OK;
    }
    TRY(gather(s, field, precision, field_temperature(field), s->d_elements,
               space->enthalpy ? space->medium : NULL));
    for (int64_t m = 0; m < s->nmine; m++) {
        const double cell = precision_get(precision, s->h_taken, m);
        s->corners[s->slot[m]] = corner_value(s, field, space, s->slot[m], cell);
    }
    return STATUS_OK;
}

/* The same of the classes. Blocks. */
static enum status take_classes(struct sampler *s, const struct field *field,
                                const struct device_medium *medium)
{
    memset(s->of_class, 0, (size_t)s->npoints * CORNERS);
    if (s->nmine == 0) {
        return STATUS_OK;
    }
    TRY(gather(s, field, PRECISION_FLOAT32, medium->d_class, s->d_class_words, NULL));
    for (int64_t m = 0; m < s->nmine; m++) {
        const uint8_t *word = (const uint8_t *)s->h_taken + m * WORD;
        s->of_class[s->slot[m]] = word[s->class_at[m] % WORD] & medium->mask;
    }
    return STATUS_OK;
}

/* One rank has the value and the others 0: the sum is exact in any order. */
static enum status add_up(MPI_Comm comm, void *values, int64_t count, MPI_Datatype type)
{
    const bool first = comm_rank(comm) == 0;
    TRY_MPI(MPI_Reduce(first ? MPI_IN_PLACE : values, first ? values : NULL, (int)count, type,
                       MPI_SUM, 0, comm));
    return STATUS_OK;
}

/* Exact at the ends, and for equal values. */
static double between(double low, double high, double part)
{
    return part == 1 ? high : fma(part, high - low, low);
}

/* From the corners on one axis after the other; the nearer corner's class goes with the value. */
static double interpolate(const struct sampler *s, const struct sampler_space *space, int64_t p)
{
    const struct point *point = &s->point[p];
    double value[CORNERS];
    uint8_t of[CORNERS] = {0};
    memcpy(value, s->corners + p * CORNERS, sizeof value);
    if (s->of_class != NULL) {
        memcpy(of, s->of_class + p * CORNERS, sizeof of);
    }
    for (int a = 0, n = CORNERS / 2; a < AXIS_COUNT; a++, n /= 2) {
        const double part = point->part[a];
        /* where the class decides, a point on a face to rounding is meant to be there */
        const double place = fabs(part - 0.5) < CENTER_TOLERANCE ? 0.5 : part;
        for (int i = 0; i < n; i++) {
            const double *pair = &value[2 * i];
            const bool gaps[] = {space->is_gap[of[2 * i]], space->is_gap[of[2 * i + 1]]};
            /* a point on the surface is one of the body */
            const bool above = gaps[0] != gaps[1] ? gaps[0] : point->above;
            const bool upper = place > 0.5 || (place == 0.5 && above);
            const double share =
                of[2 * i] == of[2 * i + 1] && !space->medium->has_lines
                    ? part
                    : space->share(space->context, (enum axis)a,
                                   (const int64_t[]){point->low[a], point->high[a]}, &of[2 * i],
                                   pair, place, above);
            value[i] = between(pair[0], pair[1], share);
            of[i] = of[2 * i + (upper ? 1 : 0)];
        }
    }
    return space->is_gap[of[0]] ? NAN : value[0];
}

enum status sampler_take(MPI_Comm comm, struct sampler *s, const struct field *field,
                         const struct sampler_space *space, const double **values)
{
    *values = NULL;
    TRY(status_agree(comm, take_mine(s, field, space)));
    TRY(add_up(comm, s->corners, s->npoints * CORNERS, MPI_DOUBLE));
    if (s->of_class != NULL) {
        TRY(status_agree(comm, take_classes(s, field, space->medium)));
        TRY(add_up(comm, s->of_class, s->npoints * CORNERS, MPI_UINT8_T));
    }
    if (comm_rank(comm) == 0) {
        for (int64_t p = 0; p < s->npoints; p++) {
            s->values[p] = interpolate(s, space, p);
        }
        *values = s->values;
    }
    return STATUS_OK;
}
