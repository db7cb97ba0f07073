/* The step kernel for thin boxes: one thread per cell, all boxes in one launch. Neighbours come
 * from the caches, which is fast enough for shells. In a medium of any kind. */
#include "kernels/hip/nonlinear.h"

enum { THREADS = 256, BOXES_PER_LAUNCH = 8 };

/* Boxes as one row of cells: box b holds the cells with begin[b] <= n < begin[b + 1]. */
struct box_list {
    struct box box[BOXES_PER_LAUNCH];
    int64_t begin[BOXES_PER_LAUNCH + 1];
    int count;
};

struct uniform {
};

template <typename REAL>
static __device__ void step_one(const grid_view<REAL> &view, const rules<REAL> &rules,
                                const uniform &, const int64_t (&cell)[AXIS_COUNT],
                                tally (&tallies)[FACE_COUNT])
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
static __device__ void step_one(const grid_view<REAL> &view, const rules<REAL> &rules,
                                const medium<REAL> &m, const int64_t (&cell)[AXIS_COUNT],
                                tally (&tallies)[FACE_COUNT])
{
    const int own = m.classes[cell[0] + cell[1] * m.pitch_y + cell[2] * m.pitch_z] & m.mask;
    REAL n[FACE_COUNT];
    REAL g[FACE_COUNT];
    unsigned closed = 0;
    for (int face = 0; face < FACE_COUNT; face++) {
        closed |= rules.closed[face] ? 1U << face : 0U;
    }
    const REAL inside = view.in[view.at(cell[0], cell[1], cell[2])];
    const REAL c = medium_neighbours(view, closed, m, cell, n, g, [&](int face, REAL outside) {
        if (rules.sum[face] != nullptr) {
            tallies[face].add(medium_face_term(m, face, own, outside, inside));
        }
    });
    view.out[view.at(cell[0], cell[1], cell[2])] =
        medium_cell(c, n, g, m.table[medium_cell_at(own)], m.table[medium_cell_at(own) + 1]);
}

template <typename REAL>
static __device__ void step_one(const grid_view<REAL> &view, const rules<REAL> &rules,
                                const nonlinear<REAL> &m, const int64_t (&cell)[AXIS_COUNT],
                                tally (&tallies)[FACE_COUNT])
{
    const int own_class = m.class_at(cell[0], cell[1], cell[2]);
    const int64_t at = view.at(cell[0], cell[1], cell[2]);
    REAL g[FACE_COUNT];
    REAL d[FACE_COUNT];
    unsigned closed = 0;
    for (int face = 0; face < FACE_COUNT; face++) {
        closed |= rules.closed[face] ? 1U << face : 0U;
    }
    const nonlinear_value<REAL> own =
        nonlinear_around(view, closed, m, cell, g, d, [&](int face, REAL half, REAL difference) {
            if (rules.sum[face] != nullptr) {
                tallies[face].add((double)half * (double)difference);
            }
        });
    view.out[at] = nonlinear_cell(m.numbers() + NONLINEAR_NUMBERS * own_class,
                                  m.of.table[medium_cell_at(own_class) + 1], view.in[at],
                                  own.temperature, g, d);
}

/* INDEX: 32 bits where possible, since 64-bit divisions are slow. cells: of a thread. */
template <typename REAL, typename INDEX, typename MEDIUM>
static __global__ __launch_bounds__(THREADS) void step_cell(const grid_view<REAL> view,
                                                            const rules<REAL> rules, const MEDIUM m,
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
        step_one(view, rules, m, cell, tallies);
    }
    if (rules.sums) {
        for (int face = 0; face < FACE_COUNT; face++) {
            face_sum_add(rules.sum[face], tallies[face]);
        }
        finish_face_sums(rules);
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

template <typename REAL, typename MEDIUM>
static hipError_t launch_in(const MEDIUM &m, hipStream_t stream, struct hip_scratch *d_scratch,
                            const struct layout *layout, const struct coefficients *args,
                            void *d_out, const void *d_in, const struct box_list &list)
{
    const int64_t cells = list.begin[list.count];
    const grid_view<REAL> view = view_of<REAL>(layout, d_out, d_in);
    const rules<REAL> rules = rules_of<REAL>(args, d_scratch);
    const unsigned each = cells_per_thread(rules.sums, cells);
    const int64_t per_block = (int64_t)THREADS * each;
    const unsigned nblocks = (unsigned)((cells + per_block - 1) / per_block);
    if (cells < (int64_t)UINT32_MAX - per_block) {
        step_cell<REAL, uint32_t><<<nblocks, THREADS, 0, stream>>>(view, rules, m, list, each);
    } else {
        step_cell<REAL, uint64_t><<<nblocks, THREADS, 0, stream>>>(view, rules, m, list, each);
    }
    return hipGetLastError();
}

template <typename REAL>
static hipError_t launch(hipStream_t stream, struct hip_scratch *d_scratch,
                         const struct layout *layout, const struct coefficients *args, void *d_out,
                         const void *d_in, const struct box_list &list)
{
    if (args->kind == KIND_ENTHALPY) {
        return launch_in<REAL>(nonlinear_of<REAL>(&args->medium), stream, d_scratch, layout, args,
                               d_out, d_in, list);
    }
    return args->kind == KIND_CLASSES
               ? launch_in<REAL>(medium_of<REAL>(&args->medium), stream, d_scratch, layout, args,
                                 d_out, d_in, list)
               : launch_in<REAL>(uniform{}, stream, d_scratch, layout, args, d_out, d_in, list);
}

/* Most cells of one launch: the grid's size is a 31-bit number of blocks. */
static const int64_t cells_per_launch = (int64_t)THREADS << 30;

hipError_t hip_launch_step_cell(hipStream_t stream, struct hip_scratch *d_scratch,
                                const struct layout *layout, const struct coefficients *args,
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
        const bool full =
            list.count == BOXES_PER_LAUNCH || list.begin[list.count] > cells_per_launch;
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
