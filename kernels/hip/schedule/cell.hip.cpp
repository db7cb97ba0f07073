/* The step kernel for thin boxes: one thread per cell, all boxes in one launch. Neighbours come
 * from the caches, which is fast enough for shells. Of every kind. */
#include "kernels/hip/kind/enthalpy.h"
#include "kernels/hip/kind/graded.h"
#include "kernels/hip/kind/high_order.h"

enum { THREADS = 256, BOXES_PER_LAUNCH = 8 };

#include "kernels/hip/schedule/awake.h"

/* Boxes as one row of cells: box b holds the cells with begin[b] <= n < begin[b + 1]. */
struct box_list {
    struct box box[BOXES_PER_LAUNCH];
    int64_t begin[BOXES_PER_LAUNCH + 1];
    int count;
};

/* INDEX: 32 bits where possible, since 64-bit divisions are slow. cells: of a thread. */
template <bool CORRECTS, typename REAL, typename INDEX, typename KIND>
static __global__ __launch_bounds__(THREADS) void step_cell(const grid_view<REAL> view,
                                                            const KIND kind, const face_sums sums,
                                                            const struct box_list list,
                                                            const unsigned cells)
{
    INDEX n = (INDEX)blockIdx.x * THREADS * cells + threadIdx.x;
    tally tallies[FACE_COUNT] = {};
    for (unsigned c = 0;
         c < (ARCH_CELLS_MOST > 1 ? cells : 1U) && n < (INDEX)list.begin[list.count];
         c++, n += THREADS) {
        int b = 0;
        while (n >= (INDEX)list.begin[b + 1]) {
            b++;
        }
        const struct box &box = list.box[b];
        const INDEX nx = (INDEX)(box.hi[AXIS_X] - box.lo[AXIS_X]);
        const INDEX ny = (INDEX)(box.hi[AXIS_Y] - box.lo[AXIS_Y]);
        const INDEX in_box = n - (INDEX)list.begin[b];
        const INDEX row = in_box / nx;
        const int64_t cell[AXIS_COUNT] = {box.lo[AXIS_X] + (int64_t)(in_box - row * nx),
                                          box.lo[AXIS_Y] + (int64_t)(row % ny),
                                          box.lo[AXIS_Z] + (int64_t)(row / ny)};
        advance_in<CORRECTS>(view, kind, cell, [&](int face, double x) {
            if (sums.sum[face] != nullptr) {
                tallies[face].add(x);
            }
        });
    }
    if (sums.sums) {
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            face_sum_add(sums.sum[face], tallies[face]);
        }
        finish_face_sums(sums);
    }
}

/* One cell per thread; but with sums few blocks, since waves add to a face's sum one after another.
 */
static unsigned cells_per_thread(bool sums, int64_t cells)
{
    enum { BLOCKS = 1024 };
    const int64_t n = sums ? cells / ((int64_t)THREADS * BLOCKS) + 1 : 1;
    return (unsigned)(n < ARCH_CELLS_MOST ? n : (int64_t)ARCH_CELLS_MOST);
}

template <bool CORRECTS, typename REAL, typename KIND>
static hipError_t launch_as(const KIND &kind, hipStream_t stream, const face_sums &sums,
                            const grid_view<REAL> &view, const struct box_list &list)
{
    const int64_t cells = list.begin[list.count];
    const unsigned each = cells_per_thread(sums.sums, cells);
    const int64_t per_block = (int64_t)THREADS * each;
    const unsigned nblocks = (unsigned)((cells + per_block - 1) / per_block);
    if (cells < (int64_t)UINT32_MAX - per_block) {
        step_cell<CORRECTS, REAL, uint32_t>
            <<<nblocks, THREADS, 0, stream>>>(view, kind, sums, list, each);
    } else {
        step_cell<CORRECTS, REAL, uint64_t>
            <<<nblocks, THREADS, 0, stream>>>(view, kind, sums, list, each);
    }
    return hipGetLastError();
}

template <typename REAL, typename KIND>
static hipError_t launch_in(const KIND &kind, const struct hip_step *step, const face_sums &sums,
                            const grid_view<REAL> &view, const struct box_list &list)
{
    if (step->args->tiles != NULL) {
        return launch_awake<REAL>(kind, step, sums, view);
    }
    return step->args->levels->corrects
               ? launch_as<true, REAL>(kind, step->stream, sums, view, list)
               : launch_as<false, REAL>(kind, step->stream, sums, view, list);
}

template <typename REAL>
static hipError_t launch(const struct hip_step *step, const struct box_list &list)
{
    const struct layout *layout = &step->args->layout;
    const struct coefficients *args = step->args->levels;
    void *const d_out = step->args->d_out;
    const face_sums sums = face_sums_of(args, step->d_scratch);
    grid_view<REAL> view = view_of<REAL>(layout, d_out, step->args->d_in);
    view.d_bits = step->args->d_bits; /* of tiles */
    switch (args->kind) {
    case KIND_CLASSES:
        return launch_in<REAL>(classes_of<REAL, 1>(args), step, sums, view, list);
    case KIND_FACES:
        return launch_in<REAL>(faces_of<REAL>(args), step, sums, view, list);
    case KIND_GRADED:
        return launch_in<REAL>(graded_of<REAL>(args), step, sums, view, list);
    case KIND_HIGH_ORDER:
        return launch_radius(args->high_order.radius, [&](auto radius) {
            return launch_in<REAL>(
                wide_stencil_of<REAL, decltype(radius)::value>(layout, args, d_out), step, sums,
                view, list);
        });
    case KIND_ENTHALPY:
        return launch_in<REAL>(enthalpy_of<REAL>(args), step, sums, view, list);
    default:
        return launch_in<REAL>(uniform_of<REAL, 1>(args), step, sums, view, list);
    }
}

/* Most cells of one launch: the grid's size is a 31-bit number of blocks. */
static const int64_t cells_per_launch = (int64_t)THREADS << 30;

hipError_t hip_launch_step_cell(struct hip_step *step)
{
    struct box_list list = {};
    for (int b = 0; b < step->nboxes; b++) {
        const struct box *box = &step->boxes[b];
        const int64_t cells =
            box_extent(box, AXIS_X) * box_extent(box, AXIS_Y) * box_extent(box, AXIS_Z);
        if (cells > 0) {
            list.box[list.count] = *box;
            list.begin[list.count + 1] = list.begin[list.count] + cells;
            list.count++;
        }
        const bool full =
            list.count == BOXES_PER_LAUNCH || list.begin[list.count] > cells_per_launch;
        if (list.count > 0 && (full || b == step->nboxes - 1)) {
            const hipError_t error = step->args->layout.precision == PRECISION_FLOAT64
                                         ? launch<double>(step, list)
                                         : launch<float>(step, list);
            if (error != hipSuccess) {
                return error;
            }
            list = {};
        }
    }
    return hipSuccess;
}
