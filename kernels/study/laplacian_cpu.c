/* The Laplacian on the host: plane by plane, rows as SIMD loops. Not tuned. */
#include <omp.h>

#include "kernels/guard/guard_device.h"
#include "kernels/study/laplacian.h"
#include "kernels/study/laplacian_point.h"

#define DEFINE_PLANES(type, suffix)                                                                \
    static void planes_##suffix(const struct study_problem *problem, type *f, const type *u)       \
    {                                                                                              \
        const int64_t nx = problem->layout.pitch_y;                                                \
        const int64_t ny = problem->layout.cells[AXIS_Y] + 2;                                      \
        const int64_t nz = problem->layout.cells[AXIS_Z] + 2;                                      \
        const double *w = problem->parameter;                                                      \
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

static void compute(const void *arguments, void *f, const void *u)
{
    const struct study_problem *problem = arguments;
    if (problem->layout.precision == PRECISION_FLOAT64) {
        planes_float64(problem, f, u);
    } else {
        planes_float32(problem, f, u);
    }
}

static enum status run_cpu(struct queue *queue, const struct study_problem *problem,
                           const struct study_shape *shape, void *f, const void *u)
{
    (void)queue;
    (void)shape;
    compute(problem, f, u);
    return STATUS_OK;
}

static enum status run_guard(struct queue *queue, const struct study_problem *problem,
                             const struct study_shape *shape, void *d_f, const void *d_u)
{
    (void)shape;
    return guard_call(queue, compute, problem, sizeof *problem, d_f, d_u);
}

const struct study_kernel laplacian_cpu[] = {
    {.name = "laplacian", .about = "f = lap(u), plane by plane", .run = run_cpu}, {.name = NULL}};
const struct study_kernel laplacian_guard[] = {
    {.name = "laplacian", .about = "f = lap(u), plane by plane", .run = run_guard}, {.name = NULL}};
