/* The diffusion equation on the host: cell by cell, and in pieces of rows in vector registers. */
#include <math.h>
#include <omp.h>

#include "kernels/guard/guard_device.h"
#include "kernels/study/diffusion.h"

/* Cells of one pass over the stencil, in registers. */
enum { PIECE = 64 };

struct stencil {
    int count;
    int64_t offset[DIFFUSION_MOST_POINTS]; /* elements */
    double weight[DIFFUSION_MOST_POINTS];
};

static struct stencil stencil_of(const struct study_problem *problem)
{
    struct diffusion_point points[DIFFUSION_MOST_POINTS];
    struct stencil stencil = {.count = diffusion_points(problem, points)};
    for (int p = 0; p < stencil.count; p++) {
        const int *at = points[p].offset;
        stencil.offset[p] = at[AXIS_X] + at[AXIS_Y] * problem->layout.pitch_y +
                            at[AXIS_Z] * problem->layout.pitch_z;
        stencil.weight[p] = points[p].weight;
    }
    return stencil;
}

#define DEFINE_ROWS(type, suffix, multiply_add)                                                    \
    static void cells_##suffix(type *out, const type *in, int64_t cells, const struct stencil *s)  \
    {                                                                                              \
        for (int64_t i = 0; i < cells; i++) {                                                      \
            type sum = (type)-0.0;                                                                 \
            for (int p = 0; p < s->count; p++) {                                                   \
                sum = multiply_add((type)s->weight[p], in[i + s->offset[p]], sum);                 \
            }                                                                                      \
            out[i] = sum;                                                                          \
        }                                                                                          \
    }                                                                                              \
    static void pieces_##suffix(type *restrict out, const type *restrict in, int64_t cells,        \
                                const struct stencil *s)                                           \
    {                                                                                              \
        int64_t i = 0;                                                                             \
        for (; i + PIECE <= cells; i += PIECE) {                                                   \
            type sum[PIECE];                                                                       \
            for (int n = 0; n < PIECE; n++) {                                                      \
                sum[n] = (type)-0.0;                                                               \
            }                                                                                      \
            for (int p = 0; p < s->count; p++) {                                                   \
                const type weight = (type)s->weight[p];                                            \
                const type *from = in + i + s->offset[p];                                          \
                _Pragma("omp simd") for (int n = 0; n < PIECE; n++)                                \
                {                                                                                  \
                    sum[n] = multiply_add(weight, from[n], sum[n]);                                \
                }                                                                                  \
            }                                                                                      \
            for (int n = 0; n < PIECE; n++) {                                                      \
                out[i + n] = sum[n];                                                               \
            }                                                                                      \
        }                                                                                          \
        cells_##suffix(out + i, in + i, cells - i, s);                                             \
    }
DEFINE_ROWS(double, float64, fma)
DEFINE_ROWS(float, float32, fmaf)

struct arguments {
    struct study_problem problem;
    bool in_pieces;
};

/* Long rows are divided, for the threads. */
static void compute(const void *context, void *d_out, const void *d_in)
{
    enum { LONGEST = 1 << 16 };
    const struct arguments *arguments = context;
    const struct layout *layout = &arguments->problem.layout;
    const struct stencil s = stencil_of(&arguments->problem);
    const bool in_pieces = arguments->in_pieces;
    const int64_t nx = layout->cells[AXIS_X];
    const int64_t ny = layout->cells[AXIS_Y];
    const int64_t parts = (nx + LONGEST - 1) / LONGEST;
    const int64_t count = parts * ny * layout->cells[AXIS_Z];
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < count; n++) {
        const int64_t i = n % parts * LONGEST;
        const int64_t row = n / parts;
        const int64_t at = layout_index(layout, i, row % ny, row / ny);
        const int64_t cells = nx - i < LONGEST ? nx - i : LONGEST;
        if (layout->precision == PRECISION_FLOAT64) {
            (in_pieces ? pieces_float64 : cells_float64)((double *)d_out + at,
                                                         (const double *)d_in + at, cells, &s);
        } else {
            (in_pieces ? pieces_float32 : cells_float32)((float *)d_out + at,
                                                         (const float *)d_in + at, cells, &s);
        }
    }
}

#define DEFINE_DIFFUSION(name, pieces)                                                             \
    static enum status diffusion_##name##_cpu(                                                     \
        struct queue *queue, const struct study_problem *problem, const struct study_shape *shape, \
        void *d_out, const void *d_in)                                                             \
    {                                                                                              \
        const struct arguments arguments = {*problem, pieces};                                     \
        (void)queue;                                                                               \
        (void)shape;                                                                               \
        compute(&arguments, d_out, d_in);                                                          \
        return STATUS_OK;                                                                          \
    }                                                                                              \
    static enum status diffusion_##name##_guard(                                                   \
        struct queue *queue, const struct study_problem *problem, const struct study_shape *shape, \
        void *d_out, const void *d_in)                                                             \
    {                                                                                              \
        const struct arguments arguments = {*problem, pieces};                                     \
        (void)shape;                                                                               \
        return guard_call(queue, compute, &arguments, sizeof arguments, d_out, d_in);              \
    }
DEFINE_DIFFUSION(plain, false)
DEFINE_DIFFUSION(pieces, true)

#define KERNELS(backend)                                                                           \
    {.name = "plain", .about = "cell by cell", .run = diffusion_plain_##backend},                  \
        {.name = "production",                                                                     \
         .about = "64 cells of a row at a time in vector registers",                               \
         .run = diffusion_pieces_##backend},                                                       \
    {                                                                                              \
        .name = NULL                                                                               \
    }
const struct study_kernel diffusion_cpu[] = {KERNELS(cpu)};
const struct study_kernel diffusion_guard[] = {KERNELS(guard)};
