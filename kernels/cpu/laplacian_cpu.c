/* The Laplacian of `bench kernels` on the host: plane by plane, rows as loops that the compiler
 * turns into SIMD. The reference for the GPU's kernels, not tuned. */
#include <omp.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/laplacian_point.h"

#define DEFINE_PLANES(type, suffix)                                                                \
    static void planes_##suffix(const struct laplacian *laplacian, type *f, const type *u)         \
    {                                                                                              \
        const int64_t nx = laplacian->points[AXIS_X];                                              \
        const int64_t ny = laplacian->points[AXIS_Y];                                              \
        const int64_t nz = laplacian->points[AXIS_Z];                                              \
        const double *w = laplacian->inverse_h2;                                                   \
        const type wx = (type)w[AXIS_X];                                                           \
        const type wy = (type)w[AXIS_Y];                                                           \
        const type wz = (type)w[AXIS_Z];                                                           \
        const type wc = (type)laplacian_centre(w[AXIS_X], w[AXIS_Y], w[AXIS_Z]);                   \
        _Pragma("omp parallel for schedule(static)") for (int64_t k = 1; k < nz - 1; k++)          \
        {                                                                                          \
            for (int64_t j = 1; j < ny - 1; j++) {                                                 \
                const type *restrict at = u + (k * ny + j) * nx;                                   \
                type *restrict to = f + (k * ny + j) * nx;                                         \
                for (int64_t i = 1; i < nx - 1; i++) {                                             \
                    to[i] =                                                                        \
                        laplacian_##suffix(at[i], at[i - 1], at[i + 1], at[i - nx], at[i + nx],    \
                                           at[i - nx * ny], at[i + nx * ny], wx, wy, wz, wc);      \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_PLANES(double, float64)
DEFINE_PLANES(float, float32)

void cpu_laplacian(const struct laplacian *laplacian, void *f, const void *u)
{
    if (laplacian->precision == PRECISION_FLOAT64) {
        planes_float64(laplacian, f, u);
    } else {
        planes_float32(laplacian, f, u);
    }
}
