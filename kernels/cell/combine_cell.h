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
KERNEL_INLINE double multigrid_operand(const struct operand *operand,
                                       const int64_t cell[AXIS_COUNT], double otherwise)
{
    if (operand->d_values == NULL) {
        return otherwise;
    }
    const int64_t at = multigrid_element(&operand->layout, cell);
    return operand->layout.precision == PRECISION_FLOAT64
               ? ((const double *)operand->d_values)[at]
               : (double)((const float *)operand->d_values)[at];
}
KERNEL_INLINE double combine_value(const struct combine_args *a, const int64_t cell[AXIS_COUNT])
{
    const struct device_medium *m = &a->medium;
    const double y = m->nclasses > 0
                         ? m->d_weight[m->d_class[multigrid_element(&m->layout, cell)] & m->mask]
                         : multigrid_operand(&a->y, cell, 1);
    return fma(a->factor * multigrid_operand(&a->x, cell, 1), y, multigrid_operand(&a->z, cell, 0));
}
KERNEL_INLINE void combine_write(const struct combine_args *a, int64_t at, double value)
{
    if (a->layout.precision == PRECISION_FLOAT64) {
        ((double *)a->d_out)[at] = value;
    } else {
        ((float *)a->d_out)[at] = (float)value;
    }
}
KERNEL_INLINE void combine_cell(const struct combine_args *a, const int64_t cell[AXIS_COUNT],
                                int64_t at)
{
    combine_write(a, at, combine_value(a, cell));
}
