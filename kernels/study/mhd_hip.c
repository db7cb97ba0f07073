/* The kernels of the study `mhd` of the backend `hip` as queued operations. */
#include "kernels/study/mhd_hip.h"
#include "kernels/hip/device_hip.h"

/* Every variant, and for those of columns several depths. */
static int shapes_of(enum hip_mhd kernel, const struct study_problem *problem,
                     struct study_shape *shapes)
{
    enum { LEAST_DEPTH = 16, MOST_COLUMNS = 8 };
    const int nz = (int)problem->layout.cells[AXIS_Z];
    struct hip_mhd_variant v;
    int count = 0;
    for (int n = 0; hip_mhd_variant_at(kernel, problem->layout.precision, n, &v); n++) {
        const int most = kernel == HIP_MHD_CACHED ? 1 : MOST_COLUMNS;
        for (int columns = 1; columns <= most; columns *= 2) {
            if (columns > 1 && nz / columns < LEAST_DEPTH) {
                break;
            }
            shapes[count++] =
                (struct study_shape){.block = {v.block[0], v.block[1], v.block[2]},
                                     .bounds = v.bounds,
                                     .items = most > 1 ? (nz + columns - 1) / columns : 1};
        }
    }
    return count;
}

static enum status run(struct queue *queue, const struct study_problem *problem,
                       const struct study_shape *shape, void *d_out, const void *d_in,
                       enum hip_mhd kernel)
{
    struct mhd_weights_float64 float64;
    struct mhd_weights_float32 float32;
    const bool is_double = problem->layout.precision == PRECISION_FLOAT64;
    mhd_make_weights_float64(problem, &float64);
    mhd_make_weights_float32(problem, &float32);
    TRY_HIP(hip_launch_mhd, queue->stream, problem, shape,
            is_double ? (const void *)&float64 : &float32, d_out, d_in, kernel);
    return STATUS_OK;
}

#define MHDS(X)                                                                                    \
    X(cached, CACHED, "a point per thread, neighbours from the caches")                            \
    X(shared, SHARED, "columns of points, planes in shared memory")                                \
    X(staged, STAGED, "the same, prefetched by the copy engine")

#define DEFINE_MHD(name, kernel, about)                                                            \
    static enum status mhd_##name(struct queue *queue, const struct study_problem *problem,        \
                                  const struct study_shape *shape, void *d_out, const void *d_in)  \
    {                                                                                              \
        return run(queue, problem, shape, d_out, d_in, HIP_MHD_##kernel);                          \
    }                                                                                              \
    static int shapes_##name(const struct study_problem *problem, struct study_shape *shapes)      \
    {                                                                                              \
        return shapes_of(HIP_MHD_##kernel, problem, shapes);                                       \
    }
MHDS(DEFINE_MHD)

#define KERNEL(variant, kernel, text)                                                              \
    {.name = #variant, .about = text, .run = mhd_##variant, .shapes = shapes_##variant},
const struct study_kernel mhd_hip[] = {MHDS(KERNEL){.name = NULL}};
