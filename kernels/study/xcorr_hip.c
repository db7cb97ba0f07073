/* The cross-correlation kernels of the backend `hip` as queued operations. */
#include "kernels/study/xcorr_hip.h"
#include "kernels/hip/device_hip.h"

/* The launcher has one kernel per power of 2. */
static bool takes(const struct study_problem *problem)
{
    return problem->radius > 0 && (problem->radius & (problem->radius - 1)) == 0;
}

static int add_blocks(struct study_shape *shapes, int count, int items, int most_threads)
{
    static const int threads[] = {64, 128, 192, 256, 384, 512, 768, 1024};
    for (size_t t = 0; t < sizeof threads / sizeof threads[0] && threads[t] <= most_threads; t++) {
        shapes[count++] = (struct study_shape){.block = {threads[t], 1, 1}, .items = items};
    }
    return count;
}

static int shapes_of_one(const struct study_problem *problem, struct study_shape *shapes)
{
    return takes(problem) ? add_blocks(shapes, 0, 1, 1024) : 0;
}

static int shapes_elementwise(const struct study_problem *problem, struct study_shape *shapes)
{
    return takes(problem) ? add_blocks(shapes, 0, HIP_XCORR_ELEMENTS, 1024) : 0;
}

/* Those of the vectors have launch bounds, of the window none. */
static int shapes_production(const struct study_problem *problem, struct study_shape *shapes)
{
    const bool is_double = problem->layout.precision == PRECISION_FLOAT64;
    int count = 0;
    if (!takes(problem)) {
        return 0;
    }
    if (problem->radius <= HIP_XCORR_VECTORS_MOST) {
        for (int vectors = 1; vectors <= 4; vectors *= 2) {
            for (int threads = 128; threads <= 512; threads *= 2) {
                shapes[count++] =
                    (struct study_shape){.block = {threads, 1, 1}, .bounds = 512, .items = vectors};
            }
        }
    }
    if (problem->radius >= (is_double ? 2 : 4)) {
        count = add_blocks(shapes, count, is_double ? 6 : 12, 512);
        count = add_blocks(shapes, count, is_double ? 10 : 20, 256);
        count = add_blocks(shapes, count, is_double ? 14 : 28, 256);
    }
    return count;
}

static enum status run(struct queue *queue, const struct study_problem *problem,
                       const struct study_shape *shape, void *d_out, const void *d_in,
                       enum hip_xcorr kernel)
{
    TRY_HIP(hip_launch_xcorr, queue->stream, problem, shape, d_out, d_in, kernel);
    return STATUS_OK;
}

static enum status run_production(struct queue *queue, const struct study_problem *problem,
                                  const struct study_shape *shape, void *d_out, const void *d_in)
{
    return run(queue, problem, shape, d_out, d_in,
               shape->bounds > 0 ? HIP_XCORR_VECTORS : HIP_XCORR_WINDOW);
}

#define KERNELS(X)                                                                                 \
    X(hw_baseline, HW_BASELINE, shapes_of_one, "one cell per thread")                              \
    X(hw_elementwise, HW_ELEMENTWISE, shapes_elementwise, "four neighbouring cells per thread")    \
    X(hw_pointwise, HW_POINTWISE, shapes_of_one, "loop over the stencil unrolled")                 \
    X(sw_baseline, SW_BASELINE, shapes_of_one, "inputs in shared memory")                          \
    X(sw_elementwise, SW_ELEMENTWISE, shapes_elementwise, "and four neighbouring cells")           \
    X(sw_pointwise, SW_POINTWISE, shapes_of_one, "and the loop unrolled")

#define DEFINE_RUN(name, kernel, shape_list, text)                                                 \
    static enum status run_##name(struct queue *queue, const struct study_problem *problem,        \
                                  const struct study_shape *shape, void *d_out, const void *d_in)  \
    {                                                                                              \
        return run(queue, problem, shape, d_out, d_in, HIP_XCORR_##kernel);                        \
    }
KERNELS(DEFINE_RUN)

#define KERNEL_ROW(title, kernel, shape_list, text)                                                \
    {.name = #title, .about = text, .run = run_##title, .shapes = shape_list},
const struct study_kernel xcorr_hip[] = {
    KERNELS(KERNEL_ROW){.name = "production",
                        .about = "16-byte accesses, the window of the stencil in registers",
                        .run = run_production,
                        .shapes = shapes_production},
    {.name = NULL}};
