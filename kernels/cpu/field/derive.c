/* Samples of a field: single cells, derived fields, and the heat flux. */
#include "kernels/cell/derived_cell.h"
#include <omp.h>
#include <stdlib.h>

#include "kernels/class_summary.h"
#include "kernels/cpu/host/memory.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/stream.h"
#include "kernels/cpu/schedule/threads.h"

/* The temperature of a cell of enthalpy u; `byte`: of its class. */
KERNEL_INLINE double temperature_of(const struct device_medium *m, enum precision precision,
                                    uint8_t byte, double u)
{
    const int count = m->nsegments;
    const int64_t at = nonlinear_segments_at(m->nclasses, m->nclosures, count, byte & m->mask);
    if (precision == PRECISION_FLOAT64) {
        return nonlinear_at_float64((const double *)m->d_table + at, count, u).temperature;
    }
    const float *segments = (const float *)m->d_table + at;
    return (double)nonlinear_at_float32(segments, count, (float)u).temperature;
}

enum status cpu_gather(struct queue *queue, const struct gather_args *args)
{
    const size_t bytes = precision_bytes(args->precision);
    const struct device_medium *m = args->medium;
    for (int64_t c = 0; c < args->count; c++) {
        const int64_t at = args->d_elements[c];
        if (m != NULL) {
            precision_set(args->precision, args->d_values, c,
                          temperature_of(m, args->precision, m->d_class[args->d_classes[c]],
                                         precision_get(args->precision, args->d_field, at)));
        } else {
            memcpy((char *)args->d_values + (size_t)c * bytes,
                   (const char *)args->d_field + (size_t)at * bytes, bytes);
        }
    }
    return STATUS_OK;
}

/* class_key_of as a signed integer, whose largest the compiler finds for several cells at once. */
KERNEL_INLINE int64_t order_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

KERNEL_INLINE void raise_key(uint64_t *key, int64_t order)
{
    const uint64_t found = (uint64_t)order ^ (uint64_t)1 << 63;
    *key = found > *key ? found : *key;
}

KERNEL_INLINE void compare_row(const struct compare_args *args, enum precision precision,
                               int64_t first, uint64_t keys[DIFFERENCE_KEYS])
{
    int64_t most = INT64_MIN, high = INT64_MIN, low = INT64_MAX;
    for (int64_t i = first; i < first + args->layout.cells[AXIS_X]; i++) {
        const double a = precision_get(precision, args->d_a, i);
        const int64_t difference = order_of(fabs(a - precision_get(precision, args->d_b, i)));
        const int64_t above = isnan(a) ? INT64_MIN : order_of(a);
        const int64_t below = isnan(a) ? INT64_MAX : order_of(a);
        most = difference > most ? difference : most;
        high = above > high ? above : high;
        low = below < low ? below : low;
    }
    raise_key(&keys[0], most);
    raise_key(&keys[1], high);
    raise_key(&keys[2], ~low); /* of -a */
}

/* Rows of a plane; with steps, by way of `memory`, which has room for them. */
static void compare_rows(const struct compare_args *args, const struct box *rows, void *memory,
                         uint64_t keys[DIFFERENCE_KEYS])
{
    const struct layout *layout = &args->layout;
    const size_t bytes = precision_bytes(layout->precision);
    const int64_t at = layout_index(layout, 0, rows->lo[AXIS_Y], rows->lo[AXIS_Z]);
    struct compare_args found = *args;
    struct tally none[FACE_COUNT] = {{.target = NULL}};
    for (int s = 0; s < args->nsteps; s++) {
        /* rows begin at lines where those of the field do */
        struct step_call call = {.layout = layout,
                                 .args = &args->levels[s],
                                 .out = (char *)memory -
                                        (size_t)at * bytes / STREAM_LINE_BYTES * STREAM_LINE_BYTES,
                                 .in = s == 0 ? args->d_b : args->d_a,
                                 .boxes = rows,
                                 .nboxes = 1};
        step_kinds[layout->precision][call.args->kind]->part(&call, none);
        found.d_b = call.out;
    }
    for (int64_t j = rows->lo[AXIS_Y]; j < rows->hi[AXIS_Y]; j++) {
        const int64_t first = layout_index(layout, 0, j, rows->lo[AXIS_Z]);
        if (layout->precision == PRECISION_FLOAT64) {
            compare_row(&found, PRECISION_FLOAT64, first, keys);
        } else {
            compare_row(&found, PRECISION_FLOAT32, first, keys);
        }
    }
}

enum status cpu_compare(struct queue *queue, const struct compare_args *args)
{
    enum { ROWS_BYTES = 128 * 1024 };
    const struct layout *layout = &args->layout;
    const struct box owned = layout_owned(layout);
    const int64_t pitch = layout->pitch_y * (int64_t)precision_bytes(layout->precision);
    const int64_t most = pitch < ROWS_BYTES ? ROWS_BYTES / pitch : 1;
    const int64_t high = most < layout->cells[AXIS_Y] ? most : layout->cells[AXIS_Y];
    const int64_t across = (layout->cells[AXIS_Y] + high - 1) / high;
    const int64_t room = ((high * pitch) / STREAM_LINE_BYTES + 2) * STREAM_LINE_BYTES;
    const int nthreads = share_is_worthwhile(&owned, 1) ? omp_get_max_threads() : 1;
    uint64_t *keys = args->d_keys;
    void *memory = NULL;
    if (args->nsteps > 0) {
        TRY(host_memory_alloc((size_t)(nthreads * room), &memory));
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)                                    \
    reduction(max                                                                                  \
              : keys[:DIFFERENCE_KEYS])
    for (int64_t n = 0; n < across * layout->cells[AXIS_Z]; n++) {
        struct box rows = owned;
        rows.lo[AXIS_Y] = n % across * high;
        rows.hi[AXIS_Y] =
            rows.lo[AXIS_Y] + high < rows.hi[AXIS_Y] ? rows.lo[AXIS_Y] + high : rows.hi[AXIS_Y];
        rows.lo[AXIS_Z] = n / across;
        rows.hi[AXIS_Z] = n / across + 1;
        compare_rows(args, &rows, (char *)memory + omp_get_thread_num() * room, keys);
    }
    free(memory);
    return STATUS_OK;
}

KERNEL_INLINE void track_in(const struct track_args *args, enum precision precision, int64_t j,
                            int64_t k)
{
    const struct device_medium *m = args->medium;
    const int64_t first = layout_index(&args->layout, 0, j, k);
    const int64_t kept_first = layout_index(&args->kept, 0, j, k);
    const uint8_t *classes = m != NULL ? m->d_class + layout_index(&m->layout, 0, j, k) : NULL;
    for (int64_t i = 0; i < args->layout.cells[AXIS_X]; i++) {
        const double value = precision_get(precision, args->d_field, first + i);
        derived_track(&args->sample, kept_first + i,
                      m != NULL ? temperature_of(m, precision, classes[i], value) : value);
    }
}

static void track_row(const void *of, int64_t j, int64_t k)
{
    const struct track_args *args = of;
    if (args->layout.precision == PRECISION_FLOAT64) {
        track_in(args, PRECISION_FLOAT64, j, k);
    } else {
        track_in(args, PRECISION_FLOAT32, j, k);
    }
}

enum status cpu_track(struct queue *queue, const struct track_args *args)
{
    return share_rows(&args->layout, args, track_row);
}

/* The neighbour of element `at` across a face; the outside value if the face is closed. */
KERNEL_INLINE double neighbour(const struct flux_squared_args *args, enum precision precision,
                               int64_t at, int64_t step, enum face face, bool at_face)
{
    const void *field = args->d_field;
    const struct coefficients *c = args->around;
    if (at_face && c->closed[face]) {
        return heat_outside_float64(precision_get(precision, field, at), c->a[face], c->b[face]);
    }
    return precision_get(precision, field, at + step);
}

KERNEL_INLINE void flux_in(const struct flux_squared_args *args, enum precision precision,
                           int64_t j, int64_t k)
{
    double *flux = args->d_flux + layout_index(&args->kept, 0, j, k);
    const struct layout *layout = &args->layout;
    const int64_t *n = layout->cells;
    const int64_t sy = layout->pitch_y;
    const int64_t sz = layout->pitch_z;
    for (int64_t i = 0; i < n[AXIS_X]; i++) {
        const int64_t at = layout_index(layout, i, j, k);
        flux[i] =
            derived_flux_squared(neighbour(args, precision, at, -1, FACE_X_MIN, i == 0),
                                 neighbour(args, precision, at, 1, FACE_X_MAX, i == n[AXIS_X] - 1),
                                 neighbour(args, precision, at, -sy, FACE_Y_MIN, j == 0),
                                 neighbour(args, precision, at, sy, FACE_Y_MAX, j == n[AXIS_Y] - 1),
                                 neighbour(args, precision, at, -sz, FACE_Z_MIN, k == 0),
                                 neighbour(args, precision, at, sz, FACE_Z_MAX, k == n[AXIS_Z] - 1),
                                 args->scale[AXIS_X], args->scale[AXIS_Y], args->scale[AXIS_Z]);
    }
}

static void flux_row(const void *of, int64_t j, int64_t k)
{
    const struct flux_squared_args *args = of;
    if (args->layout.precision == PRECISION_FLOAT64) {
        flux_in(args, PRECISION_FLOAT64, j, k);
    } else {
        flux_in(args, PRECISION_FLOAT32, j, k);
    }
}

/* A cell of a medium of classes. */
struct medium_cell {
    const struct device_medium *medium;
    const int64_t *cells; /* of the field */
    int64_t index[AXIS_COUNT];
    const uint8_t *of_class;
};

/* The value beyond a closed face, in the field's precision. */
KERNEL_INLINE double beyond(const struct medium_cell *cell, enum precision precision,
                            enum face face, double inside)
{
    const struct device_medium *m = cell->medium;
    const int64_t closure =
        medium_closure(m->d_patch[face], m->patch_pitch[face], m->first_closure[face], m->nclasses,
                       face, cell->index, *cell->of_class & m->mask);
    const int64_t at = medium_closure_at(m->nclasses, m->nclosures, face, (int)closure);
    if (precision == PRECISION_FLOAT64) {
        const double *abe = (const double *)m->d_table + at;
        return medium_outside_float64(inside, abe[0], abe[1], abe[2]);
    }
    const float *abe = (const float *)m->d_table + at;
    return (double)medium_outside_float32((float)inside, abe[0], abe[1], abe[2]);
}

KERNEL_INLINE double flux_along(const struct flux_squared_args *args, const struct medium_cell *at,
                                int64_t element, int64_t step, int64_t class_step, enum axis axis)
{
    const void *field = args->d_field;
    const enum precision precision = args->layout.precision;
    const struct device_medium *m = at->medium;
    const double c = precision_get(precision, field, element);
    double value[SIDE_COUNT];
    double g[SIDE_COUNT];
    for (int side = 0; side < SIDE_COUNT; side++) {
        const enum face face = face_of(axis, (enum side)side);
        const int64_t sign = side == SIDE_MIN ? -1 : 1;
        const int64_t last = side == SIDE_MIN ? 0 : at->cells[axis] - 1;
        value[side] = args->around->closed[face] && at->index[axis] == last
                          ? beyond(at, precision, face, c)
                          : precision_get(precision, field, element + sign * step);
        g[side] = precision_get(precision, m->d_table,
                                medium_g_at(m->nclasses, axis, *at->of_class & m->mask,
                                            at->of_class[sign * class_step] & m->mask));
    }
    return derived_flux_between(c, value[SIDE_MIN], value[SIDE_MAX], g[SIDE_MIN], g[SIDE_MAX],
                                args->scale[axis]);
}

static void medium_flux_row(const void *of, int64_t j, int64_t k)
{
    const struct flux_squared_args *args = of;
    double *flux = args->d_flux + layout_index(&args->kept, 0, j, k);
    const struct layout *layout = &args->layout;
    const struct device_medium *medium = &args->around->medium;
    const struct layout *l = &medium->layout;
    struct medium_cell at = {.medium = medium, .cells = layout->cells};
    for (int64_t i = 0; i < layout->cells[AXIS_X]; i++) {
        const int64_t element = layout_index(layout, i, j, k);
        at.of_class = medium->d_class + layout_index(l, i, j, k);
        at.index[AXIS_X] = i;
        at.index[AXIS_Y] = j;
        at.index[AXIS_Z] = k;
        flux[i] =
            derived_square(flux_along(args, &at, element, 1, 1, AXIS_X),
                           flux_along(args, &at, element, layout->pitch_y, l->pitch_y, AXIS_Y),
                           flux_along(args, &at, element, layout->pitch_z, l->pitch_z, AXIS_Z));
    }
}

enum status cpu_flux_squared(struct queue *queue, const struct flux_squared_args *args)
{
    row_function *const nonlinear = args->layout.precision == PRECISION_FLOAT64
                                        ? cpu_nonlinear_flux_row_float64
                                        : cpu_nonlinear_flux_row_float32;
    return share_rows(&args->layout, args,
                      args->around->kind == KIND_ENTHALPY  ? nonlinear
                      : args->around->kind == KIND_CLASSES ? medium_flux_row
                                                           : flux_row);
}

enum status cpu_convert(struct queue *queue, const struct convert_args *args)
{
    const bool wide = args->layout.precision == PRECISION_FLOAT64;
    return share_rows(&args->layout, args,
                      wide ? cpu_convert_row_float64 : cpu_convert_row_float32);
}

enum status cpu_liquid_fraction(struct queue *queue, const struct liquid_fraction_args *args)
{
    const bool wide = args->layout.precision == PRECISION_FLOAT64;
    return share_rows(&args->layout, args, wide ? cpu_liquid_row_float64 : cpu_liquid_row_float32);
}
