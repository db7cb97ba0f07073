/* The Laplacian kernels of the backend `hip` as queued operations. */
#include <inttypes.h>

#include "kernels/hip/device_hip.h"
#include "kernels/study/laplacian_hip.h"

static enum status check_points(const struct study_problem *problem)
{
    enum { MOST_BLOCKS = 65535 }; /* of a launch, in y and z */
    const int64_t *cells = problem->layout.cells;
    const int64_t n[AXIS_COUNT] = {cells[0] + 2, cells[1] + 2, cells[2] + 2};
    if (n[AXIS_X] > INT32_MAX / 64 || n[AXIS_Y] > MOST_BLOCKS || n[AXIS_Z] > MOST_BLOCKS) {
        return fail(STATUS_DEVICE,
                    "the Laplacian kernels take at most %d x %d x %d points, not %" PRId64
                    " x %" PRId64 " x %" PRId64,
                    INT32_MAX / 64, MOST_BLOCKS, MOST_BLOCKS, n[0], n[1], n[2]);
    }
    return STATUS_OK;
}

static enum status run_laplacian(struct queue *queue, const struct study_problem *problem,
                                 void *d_f, const void *d_u, enum hip_laplacian kernel, int rows)
{
    TRY(check_points(problem));
    TRY_HIP(hip_launch_laplacian, queue->stream, problem, d_f, d_u, kernel, rows);
    return STATUS_OK;
}

#define LAPLACIANS(X)                                                                              \
    X(1, BASELINE, 1, "one point per thread, blocks of 256 x 1 x 1")                               \
    X(2_m1, TILED, 1, "loop tiling in y: m = 1 points per thread")                                 \
    X(2_m2, TILED, 2, "m = 2")                                                                     \
    X(2_m4, TILED, 4, "m = 4")                                                                     \
    X(2_m8, TILED, 8, "m = 8")                                                                     \
    X(2_m16, TILED, 16, "m = 16")                                                                  \
    X(3_m1, REORDERED, 1, "and loads in the order of addresses: m = 1")                            \
    X(3_m2, REORDERED, 2, "m = 2")                                                                 \
    X(3_m4, REORDERED, 4, "m = 4")                                                                 \
    X(3_m8, REORDERED, 8, "m = 8")                                                                 \
    X(3_m16, REORDERED, 16, "m = 16")                                                              \
    X(4_m8, BOUNDED, 8, "and launch bounds of 256: m = 8")                                         \
    X(4_m16, BOUNDED, 16, "m = 16")                                                                \
    X(5, STREAMING, 8, "and nontemporal stores, m = 8")                                            \
    X(5_128x1x8, DEEP_BLOCKS, 8, "the same in blocks of 128 x 1 x 8")                              \
    X(6, YZX, 8, "5 with blocks in the order y, z, x")                                             \
    X(7, SUBDOMAINS, 8, "5 in four launches, a quarter of y each")

#define DEFINE_LAPLACIAN(name, kernel, rows, about)                                                \
    static enum status laplacian_##name(struct queue *queue, const struct study_problem *problem,  \
                                        const struct study_shape *shape, void *d_f,                \
                                        const void *d_u)                                           \
    {                                                                                              \
        (void)shape;                                                                               \
        return run_laplacian(queue, problem, d_f, d_u, HIP_LAPLACIAN_##kernel, rows);              \
    }
LAPLACIANS(DEFINE_LAPLACIAN)

#define VARIANT(variant, kernel, rows, text)                                                       \
    {.name = "laplacian_" #variant, .about = text, .run = laplacian_##variant},
const struct study_kernel laplacian_hip[] = {LAPLACIANS(VARIANT){.name = NULL}};
