/* A correction from the multigrid, and the residual after it: the expressions of one cell that
 * every backend evaluates (docs/reference/numerics.md#steady-states).
 *
 * Included by C and by HIP sources. */
#pragma once

#include "kernels/cell/heat_cell.h"
#include "kernels/cell/multigrid_cell.h"

/* In a uniform medium with a field in float64: x = d_in + d_e to d_out, and to d_r the change of x
 * in a step of its own, which begins with d_heat: the expression of heat_cell.h. The halos of d_in
 * and d_e must be complete around the owned cells, except beyond closed faces. */
struct correct_args {
    struct layout layout;
    struct multigrid grid;
    double r[AXIS_COUNT], a[FACE_COUNT], b[FACE_COUNT]; /* as in struct coefficients */
    bool closed[FACE_COUNT];
    const double *d_in; /* NULL: `constant` in all cells */
    double constant;
    const float *d_e;     /* NULL, only with d_in: 0, and d_out is not written */
    const double *d_heat; /* of `layout`, as d_in; NULL: 0 */
    double *d_out;
    float *d_r;
    float *d_mean;           /* NULL, or of `coarse`: the means of d_r, as of average */
    struct multigrid coarse; /* the next grid */
    uint32_t *d_largest; /* [2], device memory: raised to the bits of |e| and |d_r|, NaN included */
};

/* A neighbour: a times the value there plus b. */
struct correct_side {
    int64_t x, e; /* elements to it */
    double a, b;
};
KERNEL_INLINE struct correct_side correct_side(const struct correct_args *args, int face,
                                               const int64_t cell[AXIS_COUNT])
{
    const int axis = face / 2;
    const int toward = face % 2 == 0 ? -1 : 1;
    const bool last = cell[axis] == (toward < 0 ? 0 : args->layout.cells[axis] - 1);
    const int64_t step = axis == 0 ? 1 : axis == 1 ? args->layout.pitch_y : args->layout.pitch_z;
    if (last && args->closed[face]) {
        return (struct correct_side){0, 0, args->a[face], args->b[face]};
    }
    return (struct correct_side){toward * step,
                                 multigrid_beside(&args->grid, axis, cell[axis], toward), 1, 0};
}

KERNEL_INLINE double correct_value(const struct correct_args *a, int64_t x, int64_t e)
{
    const double before = a->d_in != NULL ? a->d_in[x] : a->constant;
    return a->d_e != NULL ? before + (double)a->d_e[e] : before;
}

KERNEL_INLINE double correct_beside(const struct correct_args *a, const struct correct_side *side,
                                    int64_t x, int64_t e)
{
    return heat_outside_float64(correct_value(a, x + side->x, e + side->e), side->a, side->b);
}

KERNEL_INLINE uint32_t correct_bits(float value)
{
    const float magnitude = fabsf(value);
    uint32_t bits;
    __builtin_memcpy(&bits, &magnitude, sizeof bits);
    return bits;
}
