/* Cross-correlation on the host: the plain loop, and one for vector registers. */
#include <omp.h>

#include "kernels/guard/guard_device.h"
#include "kernels/study/xcorr.h"

/* Outputs of one pass over the inputs, in registers. */
enum { TILE = 64 };

/* in: the first input of the first output. */
#define DEFINE_SUMS(type, suffix)                                                                  \
    static type sum_##suffix(const type *in, int64_t taps)                                         \
    {                                                                                              \
        type sum = in[0];                                                                          \
        for (int64_t tap = 1; tap < taps; tap++) {                                                 \
            sum += in[tap];                                                                        \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    static void plain_##suffix(type *out, const type *in, int64_t cells, int64_t taps)             \
    {                                                                                              \
        _Pragma("omp parallel for schedule(static)") for (int64_t i = 0; i < cells; i++)           \
        {                                                                                          \
            out[i] = sum_##suffix(in + i, taps);                                                   \
        }                                                                                          \
    }                                                                                              \
    static void tile_##suffix(type *restrict out, const type *restrict in, int64_t taps)           \
    {                                                                                              \
        type sum[TILE];                                                                            \
        for (int n = 0; n < TILE; n++) {                                                           \
            sum[n] = in[n];                                                                        \
        }                                                                                          \
        for (int64_t tap = 1; tap < taps; tap++) {                                                 \
            _Pragma("omp simd") for (int n = 0; n < TILE; n++)                                     \
            {                                                                                      \
                sum[n] += in[tap + n];                                                             \
            }                                                                                      \
        }                                                                                          \
        for (int n = 0; n < TILE; n++) {                                                           \
            out[n] = sum[n];                                                                       \
        }                                                                                          \
    }                                                                                              \
    static void tiled_##suffix(type *out, const type *in, int64_t cells, int64_t taps)             \
    {                                                                                              \
        const int64_t tiles = cells / TILE;                                                        \
        _Pragma("omp parallel for schedule(static)") for (int64_t tile = 0; tile < tiles; tile++)  \
        {                                                                                          \
            tile_##suffix(out + tile * TILE, in + tile * TILE, taps);                              \
        }                                                                                          \
        plain_##suffix(out + tiles * TILE, in + tiles * TILE, cells - tiles * TILE, taps);         \
    }
DEFINE_SUMS(double, float64)
DEFINE_SUMS(float, float32)

struct arguments {
    struct study_problem problem;
    bool is_tiled;
};

static void compute(const void *context, void *d_out, const void *d_in)
{
    const struct arguments *arguments = context;
    const struct study_problem *problem = &arguments->problem;
    const int64_t cells = problem->layout.cells[AXIS_X];
    const int64_t taps = 2 * problem->radius + 1;
    if (problem->layout.precision == PRECISION_FLOAT64) {
        double *out = (double *)d_out + problem->layout.origin;
        const double *in = (const double *)d_in + problem->layout.origin - problem->radius;
        (arguments->is_tiled ? tiled_float64 : plain_float64)(out, in, cells, taps);
    } else {
        float *out = (float *)d_out + problem->layout.origin;
        const float *in = (const float *)d_in + problem->layout.origin - problem->radius;
        (arguments->is_tiled ? tiled_float32 : plain_float32)(out, in, cells, taps);
    }
}

#define DEFINE_XCORR(name, tiled)                                                                  \
    static enum status xcorr_##name##_cpu(                                                         \
        struct queue *queue, const struct study_problem *problem, const struct study_shape *shape, \
        void *d_out, const void *d_in)                                                             \
    {                                                                                              \
        const struct arguments arguments = {*problem, tiled};                                      \
        (void)queue;                                                                               \
        (void)shape;                                                                               \
        compute(&arguments, d_out, d_in);                                                          \
        return STATUS_OK;                                                                          \
    }                                                                                              \
    static enum status xcorr_##name##_guard(                                                       \
        struct queue *queue, const struct study_problem *problem, const struct study_shape *shape, \
        void *d_out, const void *d_in)                                                             \
    {                                                                                              \
        const struct arguments arguments = {*problem, tiled};                                      \
        (void)shape;                                                                               \
        return guard_call(queue, compute, &arguments, sizeof arguments, d_out, d_in);              \
    }
DEFINE_XCORR(plain, false)
DEFINE_XCORR(tiled, true)

#define KERNELS(backend)                                                                           \
    {.name = "plain", .about = "one output after another", .run = xcorr_plain_##backend},          \
        {.name = "production",                                                                     \
         .about = "64 outputs at a time in vector registers",                                      \
         .run = xcorr_tiled_##backend},                                                            \
    {                                                                                              \
        .name = NULL                                                                               \
    }
const struct study_kernel xcorr_cpu[] = {KERNELS(cpu)};
const struct study_kernel xcorr_guard[] = {KERNELS(guard)};
