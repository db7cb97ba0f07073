/* The diffusion kernels of the backend `hip` as queued operations. */
#include <inttypes.h>

#include "kernels/hip/device_hip.h"
#include "kernels/study/diffusion_hip.h"

enum {
    MOST_SHARED_BYTES = 48 << 10, /* of a block, without a request for more */
    MOST_BLOCKS = 65535           /* of a launch, in y and z */
};

static const int blocks_1d[][AXIS_COUNT] = {{64, 1, 1},  {128, 1, 1}, {192, 1, 1},
                                            {256, 1, 1}, {512, 1, 1}, {1024, 1, 1}};
static const int blocks_2d[][AXIS_COUNT] = {{32, 2, 1},  {32, 4, 1},  {32, 8, 1},  {32, 16, 1},
                                            {32, 32, 1}, {64, 1, 1},  {64, 2, 1},  {64, 4, 1},
                                            {64, 8, 1},  {128, 1, 1}, {128, 2, 1}, {128, 4, 1},
                                            {256, 1, 1}, {256, 2, 1}, {16, 8, 1},  {16, 16, 1}};
static const int blocks_3d[][AXIS_COUNT] = {
    {32, 2, 2}, {32, 4, 2}, {32, 2, 4}, {32, 4, 4}, {32, 8, 1},  {32, 8, 2},
    {32, 8, 4}, {64, 2, 1}, {64, 2, 2}, {64, 4, 1}, {64, 4, 2},  {64, 4, 4},
    {64, 1, 4}, {16, 4, 4}, {16, 8, 2}, {8, 8, 8},  {128, 2, 1}, {128, 1, 2}};

static size_t shared_bytes(const struct study_problem *problem, const int block[AXIS_COUNT])
{
    size_t bytes = precision_bytes(problem->layout.precision);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        bytes *= (size_t)(block[axis] + 2 * problem->layout.halo[axis]);
    }
    return bytes;
}

static int list_shapes(const struct study_problem *problem, struct study_shape *shapes,
                       bool is_shared)
{
    static const int bounds[] = {0, 256, 512};
    static const struct {
        const int (*blocks)[AXIS_COUNT];
        size_t count;
    } lists[] = {{blocks_1d, sizeof blocks_1d / sizeof blocks_1d[0]},
                 {blocks_2d, sizeof blocks_2d / sizeof blocks_2d[0]},
                 {blocks_3d, sizeof blocks_3d / sizeof blocks_3d[0]}};
    const int dimensions = diffusion_dimensions(problem);
    int count = 0;
    for (size_t b = 0; b < lists[dimensions - 1].count; b++) {
        const int *block = lists[dimensions - 1].blocks[b];
        const int threads = block[0] * block[1] * block[2];
        for (int n = 0; n < 3; n++) {
            const bool fits = !is_shared || shared_bytes(problem, block) <= MOST_SHARED_BYTES;
            if (fits && (bounds[n] == 0 || threads <= bounds[n])) {
                shapes[count++] = (struct study_shape){
                    .block = {block[0], block[1], block[2]}, .bounds = bounds[n], .items = 1};
            }
        }
    }
    return count;
}

static int shapes_hw(const struct study_problem *problem, struct study_shape *shapes)
{
    return list_shapes(problem, shapes, false);
}

static int shapes_sw(const struct study_problem *problem, struct study_shape *shapes)
{
    return list_shapes(problem, shapes, true);
}

/* Threads along x have 16 bytes of cells each; items: cells along the slowest axis. */
static int shapes_march(const struct study_problem *problem, struct study_shape *shapes)
{
    static const int blocks[][2] = {{16, 8}, {16, 16}, {32, 4}, {32, 8}, {64, 2}, {64, 4}};
    const int dimensions = diffusion_dimensions(problem);
    int count = 0;
    for (int threads = 64; dimensions < 3 && threads <= HIP_DIFFUSION_MARCH_THREADS; threads *= 2) {
        for (int items = dimensions == 1 ? 1 : 4; items <= (dimensions == 1 ? 1 : 64); items *= 2) {
            shapes[count++] = (struct study_shape){
                .block = {threads, 1, 1}, .bounds = HIP_DIFFUSION_MARCH_THREADS, .items = items};
        }
    }
    for (size_t b = 0; dimensions == 3 && b < sizeof blocks / sizeof blocks[0]; b++) {
        for (int items = 4; items <= 128; items *= 2) {
            shapes[count++] = (struct study_shape){.block = {blocks[b][0], blocks[b][1], 1},
                                                   .bounds = HIP_DIFFUSION_MARCH_THREADS,
                                                   .items = items};
        }
    }
    return count;
}

static enum status run(struct queue *queue, const struct study_problem *problem,
                       const struct study_shape *shape, void *d_out, const void *d_in,
                       enum hip_diffusion kernel)
{
    const int64_t *n = problem->layout.cells;
    if (n[AXIS_X] > INT32_MAX / 2 || n[AXIS_Y] > MOST_BLOCKS || n[AXIS_Z] > MOST_BLOCKS) {
        return fail(STATUS_DEVICE,
                    "the diffusion kernels take at most %d x %d x %d cells, not %" PRId64
                    " x %" PRId64 " x %" PRId64,
                    INT32_MAX / 2, MOST_BLOCKS, MOST_BLOCKS, n[0], n[1], n[2]);
    }
    TRY_HIP(hip_launch_diffusion, queue->stream, problem, shape, d_out, d_in, kernel);
    return STATUS_OK;
}

#define KERNELS(X)                                                                                 \
    X(hw, HW, shapes_hw, "one cell per thread, inputs from the L1 cache")                          \
    X(sw, SW, shapes_sw, "and from shared memory, the block's cells with their halo")              \
    X(production, MARCH, shapes_march, "16-byte accesses, marching along the slowest axis")

#define DEFINE_RUN(name, kernel, shape_list, text)                                                 \
    static enum status run_##name(struct queue *queue, const struct study_problem *problem,        \
                                  const struct study_shape *shape, void *d_out, const void *d_in)  \
    {                                                                                              \
        return run(queue, problem, shape, d_out, d_in, HIP_DIFFUSION_##kernel);                    \
    }
KERNELS(DEFINE_RUN)

#define KERNEL_ROW(title, kernel, shape_list, text)                                                \
    {.name = #title, .about = text, .run = run_##title, .shapes = shape_list},
const struct study_kernel diffusion_hip[] = {KERNELS(KERNEL_ROW){.name = NULL}};
