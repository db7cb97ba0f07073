/* A combination of arrays, cell by cell, that every backend evaluates. Included by C and by HIP
 * sources. */
#pragma once

#include "base/box.h"
#include "kernels/cell/inline.h"
#include "kernels/coefficients.h"

KERNEL_INLINE int64_t multigrid_element(const struct layout *layout, const int64_t cell[AXIS_COUNT])
{
    return layout->origin + cell[0] + cell[1] * layout->pitch_y + cell[2] * layout->pitch_z;
}

/* factor x y + z in double, with one rounding of the sum, rounded to the precision of d_out, which
 * may be an operand. */
struct operand {
    struct layout layout; /* its cells are those of the output */
    const void *d_values; /* NULL: 1 as a factor, 0 as z */
};
struct combine_args {
    struct layout layout;
    void *d_out;
    double factor;
    struct operand x, y, z;
    struct device_medium medium; /* with classes: y is the weight of the cell's class */
};

/* The elements of the first cells of a row. */
struct combine_row {
    int64_t out, x, y, z, of_class;
};
KERNEL_INLINE struct combine_row combine_row(const struct combine_args *a, int64_t j, int64_t k)
{
    const int64_t cell[AXIS_COUNT] = {0, j, k};
    return (struct combine_row){
        multigrid_element(&a->layout, cell), multigrid_element(&a->x.layout, cell),
        multigrid_element(&a->y.layout, cell), multigrid_element(&a->z.layout, cell),
        multigrid_element(&a->medium.layout, cell)};
}
KERNEL_INLINE double combine_operand(const struct operand *operand, int64_t at, double otherwise)
{
    return operand->d_values == NULL ? otherwise
           : operand->layout.precision == PRECISION_FLOAT64
               ? ((const double *)operand->d_values)[at]
               : (double)((const float *)operand->d_values)[at];
}
KERNEL_INLINE double combine_y(const struct combine_args *a, const struct combine_row *row,
                               int64_t i)
{
    const struct device_medium *m = &a->medium;
    return m->nclasses > 0 ? m->d_weight[m->d_class[row->of_class + i] & m->mask]
                           : combine_operand(&a->y, row->y + i, 1);
}
KERNEL_INLINE void combine_write(const struct combine_args *a, int64_t at, double value)
{
    if (a->layout.precision == PRECISION_FLOAT64) {
        ((double *)a->d_out)[at] = value;
    } else {
        ((float *)a->d_out)[at] = (float)value;
    }
}
