/* The study `mhd` on the host: rows as SIMD loops, shared by threads. Not tuned. */
#include <omp.h>

#include "kernels/guard/guard_device.h"
#include "kernels/study/mhd.h"

/* A row of n points. */
#define DEFINE_ROWS(type, suffix)                                                                  \
    static void row_##suffix(type *restrict out, const type *restrict in, int64_t n, ptrdiff_t f,  \
                             ptrdiff_t y, ptrdiff_t z, const struct mhd_weights_##suffix *w)       \
    {                                                                                              \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)                                       \
        {                                                                                          \
            struct mhd_column_##suffix column;                                                     \
            type values[MHD_FIELDS];                                                               \
            for (int field = 0; field < MHD_FIELDS; field++) {                                     \
                values[field] = out[i + field * f];                                                \
            }                                                                                      \
            mhd_column_at_##suffix(in + i, f, y, z, w, &column);                                   \
            mhd_point_##suffix(in + i, f, y, &column, values, w, values);                          \
            for (int field = 0; field < MHD_FIELDS; field++) {                                     \
                out[i + field * f] = values[field];                                                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void rows_##suffix(const struct study_problem *problem, type *out, const type *in)      \
    {                                                                                              \
        const struct layout *layout = &problem->layout;                                            \
        const int64_t rows = layout->cells[AXIS_Y];                                                \
        struct mhd_weights_##suffix weights;                                                       \
        mhd_make_weights_##suffix(problem, &weights);                                              \
        _Pragma("omp parallel for schedule(static)") for (int64_t n = 0;                           \
                                                          n < rows * layout->cells[AXIS_Z]; n++)   \
        {                                                                                          \
            const struct mhd_weights_##suffix w = weights; /* a thread's own */                    \
            const int64_t at = layout_index(layout, 0, n % rows, n / rows);                        \
            row_##suffix(out + at, in + at, layout->cells[AXIS_X], problem->field_pitch,           \
                         layout->pitch_y, layout->pitch_z, &w);                                    \
        }                                                                                          \
    }
DEFINE_ROWS(double, float64)
DEFINE_ROWS(float, float32)

static void compute(const void *arguments, void *out, const void *in)
{
    const struct study_problem *problem = arguments;
    if (problem->layout.precision == PRECISION_FLOAT64) {
        rows_float64(problem, out, in);
    } else {
        rows_float32(problem, out, in);
    }
}

static enum status run_cpu(struct queue *queue, const struct study_problem *problem,
                           const struct study_shape *shape, void *d_out, const void *d_in)
{
    (void)queue;
    (void)shape;
    compute(problem, d_out, d_in);
    return STATUS_OK;
}

static enum status run_guard(struct queue *queue, const struct study_problem *problem,
                             const struct study_shape *shape, void *d_out, const void *d_in)
{
    (void)shape;
    return guard_call(queue, compute, problem, sizeof *problem, d_out, d_in);
}

const struct study_kernel mhd_cpu[] = {{.name = "cached", .about = "row by row", .run = run_cpu},
                                       {.name = NULL}};
const struct study_kernel mhd_guard[] = {
    {.name = "cached", .about = "row by row", .run = run_guard}, {.name = NULL}};
