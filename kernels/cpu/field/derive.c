/* Samples of a field: single cells, derived fields, and the heat flux. */
#include "kernels/cell/derived_cell.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/share.h"

void cpu_gather(enum precision precision, const void *field, const int64_t *elements, int64_t count,
                void *values)
{
    const size_t bytes = precision_bytes(precision);
    for (int64_t c = 0; c < count; c++) {
        memcpy((char *)values + (size_t)c * bytes,
               (const char *)field + (size_t)elements[c] * bytes, bytes);
    }
}

KERNEL_INLINE double cell(const void *field, enum precision precision, int64_t at)
{
    return precision == PRECISION_FLOAT64 ? ((const double *)field)[at]
                                          : (double)((const float *)field)[at];
}

KERNEL_INLINE void track_row(const struct track_args *args, const void *field,
                             enum precision precision, int64_t first, int64_t kept_first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        derived_track(args, kept_first + i, cell(field, precision, first + i));
    }
}

void cpu_track(const struct layout *layout, const struct layout *kept,
               const struct track_args *args, const void *field)
{
    const struct box owned = layout_owned(layout);
    const int64_t ny = layout->cells[AXIS_Y];
    const int64_t nrows = ny * layout->cells[AXIS_Z];
#pragma omp parallel for schedule(static) if (share_is_worthwhile(&owned, 1))
    for (int64_t row = 0; row < nrows; row++) {
        const int64_t first = layout_index(layout, 0, row % ny, row / ny);
        const int64_t kept_first = layout_index(kept, 0, row % ny, row / ny);
        if (layout->precision == PRECISION_FLOAT64) {
            track_row(args, field, PRECISION_FLOAT64, first, kept_first, layout->cells[AXIS_X]);
        } else {
            track_row(args, field, PRECISION_FLOAT32, first, kept_first, layout->cells[AXIS_X]);
        }
    }
}

/* The neighbour of element `at` across a face; the outside value if the face is closed. */
KERNEL_INLINE double neighbour(const struct flux_args *args, const void *field,
                               enum precision precision, int64_t at, int64_t step, enum face face,
                               bool at_face)
{
    if (at_face && args->closed[face]) {
        return heat_outside_float64(cell(field, precision, at), args->a[face], args->b[face]);
    }
    return cell(field, precision, at + step);
}

KERNEL_INLINE void flux_row(const struct layout *layout, const struct flux_args *args,
                            const void *field, enum precision precision, int64_t j, int64_t k,
                            double *flux)
{
    const int64_t *n = layout->cells;
    const int64_t sy = layout->pitch_y;
    const int64_t sz = layout->pitch_z;
    for (int64_t i = 0; i < n[AXIS_X]; i++) {
        const int64_t at = layout_index(layout, i, j, k);
        flux[i] = derived_flux_squared(
            neighbour(args, field, precision, at, -1, FACE_X_MIN, i == 0),
            neighbour(args, field, precision, at, 1, FACE_X_MAX, i == n[AXIS_X] - 1),
            neighbour(args, field, precision, at, -sy, FACE_Y_MIN, j == 0),
            neighbour(args, field, precision, at, sy, FACE_Y_MAX, j == n[AXIS_Y] - 1),
            neighbour(args, field, precision, at, -sz, FACE_Z_MIN, k == 0),
            neighbour(args, field, precision, at, sz, FACE_Z_MAX, k == n[AXIS_Z] - 1),
            args->scale[AXIS_X], args->scale[AXIS_Y], args->scale[AXIS_Z]);
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
    const int64_t closure = medium_closure(m->d_patch[face], m->patch_pitch[face], m->nclasses,
                                           face, cell->index, *cell->of_class & m->mask);
    const int64_t at = medium_closure_at(m->nclasses, m->nclosures, face, (int)closure);
    if (precision == PRECISION_FLOAT64) {
        const double *abe = (const double *)m->d_table + at;
        return medium_outside_float64(inside, abe[0], abe[1], abe[2]);
    }
    const float *abe = (const float *)m->d_table + at;
    return (double)medium_outside_float32((float)inside, abe[0], abe[1], abe[2]);
}

KERNEL_INLINE double flux_along(const struct flux_args *args, const struct medium_cell *at,
                                const void *field, enum precision precision, int64_t element,
                                int64_t step, int64_t class_step, enum axis axis)
{
    const struct device_medium *m = at->medium;
    const double c = cell(field, precision, element);
    double value[SIDE_COUNT];
    double g[SIDE_COUNT];
    for (int side = 0; side < SIDE_COUNT; side++) {
        const enum face face = face_of(axis, (enum side)side);
        const int64_t sign = side == SIDE_MIN ? -1 : 1;
        const int64_t last = side == SIDE_MIN ? 0 : at->cells[axis] - 1;
        value[side] = args->closed[face] && at->index[axis] == last
                          ? beyond(at, precision, face, c)
                          : cell(field, precision, element + sign * step);
        g[side] = cell(m->d_table, precision,
                       medium_g_at(m->nclasses, axis, *at->of_class & m->mask,
                                   at->of_class[sign * class_step] & m->mask));
    }
    return derived_flux_between(c, value[SIDE_MIN], value[SIDE_MAX], g[SIDE_MIN], g[SIDE_MAX],
                                args->scale[axis]);
}

static void medium_flux_row(const struct layout *layout, const struct flux_args *args,
                            const void *field, int64_t j, int64_t k, double *flux)
{
    const struct layout *l = &args->medium->layout;
    const enum precision p = layout->precision;
    struct medium_cell at = {.medium = args->medium, .cells = layout->cells};
    for (int64_t i = 0; i < layout->cells[AXIS_X]; i++) {
        const int64_t element = layout_index(layout, i, j, k);
        at.of_class = args->medium->d_class + layout_index(l, i, j, k);
        at.index[AXIS_X] = i;
        at.index[AXIS_Y] = j;
        at.index[AXIS_Z] = k;
        flux[i] = derived_square(
            flux_along(args, &at, field, p, element, 1, 1, AXIS_X),
            flux_along(args, &at, field, p, element, layout->pitch_y, l->pitch_y, AXIS_Y),
            flux_along(args, &at, field, p, element, layout->pitch_z, l->pitch_z, AXIS_Z));
    }
}

void cpu_flux_squared(const struct layout *layout, const struct layout *kept,
                      const struct flux_args *args, const void *field, double *flux)
{
    const struct box owned = layout_owned(layout);
    const int64_t ny = layout->cells[AXIS_Y];
    const int64_t nrows = ny * layout->cells[AXIS_Z];
#pragma omp parallel for schedule(static) if (share_is_worthwhile(&owned, 1))
    for (int64_t row = 0; row < nrows; row++) {
        const int64_t j = row % ny;
        const int64_t k = row / ny;
        double *out = flux + layout_index(kept, 0, j, k);
        if (args->medium != NULL && args->medium->nsegments > 0) {
            cpu_nonlinear_flux_row(layout, args, field, j, k, out);
        } else if (args->medium != NULL) {
            medium_flux_row(layout, args, field, j, k, out);
        } else if (layout->precision == PRECISION_FLOAT64) {
            flux_row(layout, args, field, PRECISION_FLOAT64, j, k, out);
        } else {
            flux_row(layout, args, field, PRECISION_FLOAT32, j, k, out);
        }
    }
}
