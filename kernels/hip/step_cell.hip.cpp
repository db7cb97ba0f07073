/* The step kernel for thin boxes: one thread a cell, all boxes in one launch. Neighbours come
 * straight from memory, which the caches make cheap enough for shells. */
#include "kernels/hip/cells.h"

enum { THREADS = 256, BOXES_A_LAUNCH = 8 };

/* Boxes as one row of cells: box b holds the cells with begin[b] <= n < begin[b + 1]. */
struct box_list {
    struct box box[BOXES_A_LAUNCH];
    int64_t begin[BOXES_A_LAUNCH + 1];
    int count;
};

template <typename REAL>
static __device__ void step_one(const grid_view<REAL> &view, const rules<REAL> &rules,
                                const int64_t (&cell)[AXIS_COUNT], tally (&tallies)[FACE_COUNT])
{
    const int64_t stride[AXIS_COUNT] = {1, view.pitch_y, view.pitch_z};
    const int64_t at = view.at(cell[0], cell[1], cell[2]);
    const REAL c = view.in[at];
    REAL n[FACE_COUNT];
    for (int face = 0; face < FACE_COUNT; face++) {
        const int axis = face / 2;
        const bool min = face % 2 == 0;
        if (rules.closed[face] && cell[axis] == (min ? 0 : view.cells[axis] - 1)) {
            n[face] = beyond(rules, face, c);
            if (rules.sum[face] != nullptr) {
                tallies[face].add((double)c);
            }
        } else {
            n[face] = view.in[at + (min ? -stride[axis] : stride[axis])];
        }
    }
    view.out[at] = heat_cell(c, n[0], n[1], n[2], n[3], n[4], n[5], rules.r);
}

template <typename REAL>
static __global__ __launch_bounds__(THREADS) void step_cell(const grid_view<REAL> view,
                                                            const rules<REAL> rules,
                                                            const struct box_list list)
{
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    tally tallies[FACE_COUNT] = {};
    if (n < list.begin[list.count]) {
        int b = 0;
        while (n >= list.begin[b + 1]) {
            b++;
        }
        const struct box &box = list.box[b];
        const uint64_t nx = (uint64_t)(box.hi[AXIS_X] - box.lo[AXIS_X]);
        const uint64_t ny = (uint64_t)(box.hi[AXIS_Y] - box.lo[AXIS_Y]);
        const uint64_t in_box = (uint64_t)(n - list.begin[b]);
        const uint64_t row = in_box / nx;
        const int64_t cell[AXIS_COUNT] = {box.lo[AXIS_X] + (int64_t)(in_box - row * nx),
                                          box.lo[AXIS_Y] + (int64_t)(row % ny),
                                          box.lo[AXIS_Z] + (int64_t)(row / ny)};
        step_one(view, rules, cell, tallies);
    }
    if (rules.sums) {
        for (int face = 0; face < FACE_COUNT; face++) {
            face_sum_add(rules.sum[face], tallies[face]);
        }
        finish_face_sums(rules);
    }
}

template <typename REAL>
static hipError_t launch(hipStream_t stream, struct hip_scratch *d_scratch,
                         const struct layout *layout, const struct step_args *args, void *d_out,
                         const void *d_in, const struct box_list &list)
{
    const int64_t nblocks = (list.begin[list.count] + THREADS - 1) / THREADS;
    step_cell<REAL><<<(unsigned)nblocks, THREADS, 0, stream>>>(
        view_of<REAL>(layout, d_out, d_in), rules_of<REAL>(args, d_scratch), list);
    return hipGetLastError();
}

/* Cells that one launch may take: the grid's size is a 31-bit number of blocks. */
static const int64_t cells_a_launch = (int64_t)THREADS << 30;

hipError_t hip_launch_step_cell(hipStream_t stream, struct hip_scratch *d_scratch,
                                const struct layout *layout, const struct step_args *args,
                                void *d_out, const void *d_in, const struct box *boxes, int nboxes)
{
    struct box_list list = {};
    for (int b = 0; b < nboxes; b++) {
        const int64_t cells = (boxes[b].hi[0] - boxes[b].lo[0]) *
                              (boxes[b].hi[1] - boxes[b].lo[1]) * (boxes[b].hi[2] - boxes[b].lo[2]);
        if (cells > 0) {
            list.box[list.count] = boxes[b];
            list.begin[list.count + 1] = list.begin[list.count] + cells;
            list.count++;
        }
        const bool full = list.count == BOXES_A_LAUNCH || list.begin[list.count] > cells_a_launch;
        if (list.count > 0 && (full || b == nboxes - 1)) {
            const hipError_t error =
                layout->precision == PRECISION_FLOAT64
                    ? launch<double>(stream, d_scratch, layout, args, d_out, d_in, list)
                    : launch<float>(stream, d_scratch, layout, args, d_out, d_in, list);
            if (error != hipSuccess) {
                return error;
            }
            list = {};
        }
    }
    return hipSuccess;
}
