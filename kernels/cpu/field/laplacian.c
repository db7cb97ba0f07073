/* The Laplacian of docs/developers/laplacian_study.md, for `bench kernels` only: the points of a
 * cell in the order of their addresses. */
#include <math.h>

#include "kernels/cpu/kernels_cpu.h"

#define DEFINE_ROW(type, suffix, multiply_add)                                                     \
    static void row_##suffix(const void *of_step, int64_t j, int64_t k)                            \
    {                                                                                              \
        const struct step_args *args = of_step;                                                    \
        const double *w = args->levels->r;                                                         \
        const type wx = (type)w[AXIS_X];                                                           \
        const type wy = (type)w[AXIS_Y];                                                           \
        const type wz = (type)w[AXIS_Z];                                                           \
        const type centre = (type)(-2.0 * (w[AXIS_X] + w[AXIS_Y] + w[AXIS_Z]));                    \
        const int64_t y = args->layout.pitch_y;                                                    \
        const int64_t z = args->layout.pitch_z;                                                    \
        const type *restrict u = (const type *)args->d_in + layout_index(&args->layout, 0, j, k);  \
        type *restrict f = (type *)args->d_out + layout_index(&args->layout, 0, j, k);             \
        for (int64_t i = 0; i < args->layout.cells[AXIS_X]; i++) {                                 \
            type sum = wz * u[i - z];                                                              \
            sum = multiply_add(wy, u[i - y], sum);                                                 \
            sum = multiply_add(wx, u[i - 1], sum);                                                 \
            sum = multiply_add(centre, u[i], sum);                                                 \
            sum = multiply_add(wx, u[i + 1], sum);                                                 \
            sum = multiply_add(wy, u[i + y], sum);                                                 \
            f[i] = multiply_add(wz, u[i + z], sum);                                                \
        }                                                                                          \
    }
DEFINE_ROW(double, float64, fma)
DEFINE_ROW(float, float32, fmaf)

enum status cpu_laplacian(struct queue *queue, const struct step_args *args)
{
    return share_rows(&args->layout, args,
                      args->layout.precision == PRECISION_FLOAT64 ? row_float64 : row_float32);
}
