/* The step of odd cells where properties depend on temperature: those that do not conduct to all
 * their neighbours by one curve, since a neighbour is of another class, or by contacts. */
#include "kernels/hip/kind/enthalpy.h"

/* A thread looks at the classes of ODD_CELLS cells of a row, a piece; the blocks take turns. Odd
 * cells lie in planes, and rows often have a power of 2 of pieces: an odd number of blocks shares
 * them out. */
enum { ODD_THREADS = 128, ODD_CELLS = 16, ODD_MOST = ODD_THREADS * ODD_CELLS, ODD_BLOCKS = 4095 };

/* Whether cells of the class conduct to each other by their curve. */
template <typename REAL>
static __device__ __forceinline__ bool conducts_by_curve(const nonlinear<REAL> &m, int of_class)
{
    bool conducts = true;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        conducts = conducts &&
                   m.of.table[medium_g_at(m.of.n, axis, of_class, of_class)] == NONLINEAR_ONE_CURVE;
    }
    return conducts;
}

/* The first cell of a piece of a row: they are in row-major order. */
static __device__ __forceinline__ void piece_of(const struct box &box, unsigned pieces_x,
                                                unsigned piece, int64_t (&cell)[AXIS_COUNT])
{
    const unsigned ny = (unsigned)(box.hi[1] - box.lo[1]);
    const unsigned row = piece / pieces_x;
    cell[0] = box.lo[0] / ODD_CELLS * ODD_CELLS + (int64_t)(piece - row * pieces_x) * ODD_CELLS;
    cell[1] = box.lo[1] + row % ny;
    cell[2] = box.lo[2] + row / ny;
}

/* Whether cells of a piece are odd: bit i of cell i. */
template <typename REAL>
static __device__ __forceinline__ unsigned odd_cells(const nonlinear<REAL> &m,
                                                     const uint8_t *odd_class, bool odd_classes,
                                                     const vec16<uint8_t> &bytes)
{
    unsigned odd = 0;
#pragma unroll
    for (int w = 0; w < ODD_CELLS / 4; w++) {
        uint32_t word;
        __builtin_memcpy(&word, &bytes.v[4 * w], 4);
        /* without CLASS_FLAG: bits 7, 15, 23 and 31 become 28, 29, 30 and 31 */
        odd |= ((~word & 0x80808080U) * 0x00204081U >> 28) << (4 * w);
    }
    if (odd_classes) {
#pragma unroll
        for (int i = 0; i < ODD_CELLS; i++) {
            odd |= odd_class[bytes.v[i] & m.of.mask] != 0 ? 1U << i : 0U;
        }
    }
    return odd;
}

/* Of a list of cells, each `piece * ODD_CELLS + i`. */
template <typename REAL>
static __device__ __forceinline__ void advance_listed(const grid_view<REAL> &view,
                                                      const enthalpy<REAL> &kind,
                                                      const struct box &box, unsigned pieces_x,
                                                      uint64_t listed)
{
    int64_t cell[AXIS_COUNT];
    piece_of(box, pieces_x, (unsigned)(listed / ODD_CELLS), cell);
    cell[0] += (int64_t)(listed % ODD_CELLS);
    advance_in(view, kind, cell, [](int, double) {});
}

/* The cells that a block finds wait in its list until there is one for each thread. */
template <typename REAL>
static __global__ __launch_bounds__(ODD_THREADS) void step_odd(const grid_view<REAL> view,
                                                               const enthalpy<REAL> kind,
                                                               const struct box box,
                                                               unsigned pieces_x, unsigned pieces)
{
    __shared__ uint8_t odd_class[MEDIUM_CLASSES + 1];
    __shared__ bool odd_classes; /* is any? */
    __shared__ unsigned found;
    __shared__ uint64_t list[ODD_MOST + ODD_THREADS];
    const nonlinear<REAL> &m = kind.of;
    const unsigned stride = gridDim.x * ODD_THREADS;
    unsigned piece = blockIdx.x * ODD_THREADS + threadIdx.x;
    const auto read = [&](unsigned of) {
        int64_t cell[AXIS_COUNT];
        piece_of(box, pieces_x, of < pieces ? of : 0, cell);
        return vector_at(m.of.classes + cell[0] + cell[1] * m.of.pitch_y + cell[2] * m.of.pitch_z);
    };
    vec16<uint8_t> next = read(piece);
    if (threadIdx.x == 0) {
        found = 0;
        odd_classes = false;
    }
    __syncthreads();
    for (int c = threadIdx.x; c < m.of.n; c += ODD_THREADS) {
        odd_class[c] = conducts_by_curve(m, c) ? 0 : 1;
        if (odd_class[c] != 0) {
            odd_classes = true;
        }
    }
    __syncthreads();
    unsigned waiting = 0;
    for (unsigned first = blockIdx.x * ODD_THREADS; first < pieces; first += stride) {
        unsigned odd = piece < pieces ? odd_cells(m, odd_class, odd_classes, next) : 0;
        const unsigned seen = piece;
        piece += stride;
        next = read(piece);
        if (odd != 0) {
            int64_t cell[AXIS_COUNT];
            piece_of(box, pieces_x, seen, cell);
            odd &= cell[0] < box.lo[0] ? ~0U << (box.lo[0] - cell[0]) : ~0U;
            odd &= cell[0] + ODD_CELLS > box.hi[0] ? (1U << (box.hi[0] - cell[0])) - 1 : ~0U;
            for (unsigned n = atomicAdd(&found, (unsigned)__popc(odd)); odd != 0; odd &= odd - 1) {
                list[n++] = (uint64_t)seen * ODD_CELLS + (unsigned)__ffs((int)odd) - 1;
            }
        }
        __syncthreads();
        waiting = found;
        __syncthreads();
        if (waiting >= ODD_THREADS) {
            while (waiting >= ODD_THREADS) {
                waiting -= ODD_THREADS;
                advance_listed(view, kind, box, pieces_x, list[waiting + threadIdx.x]);
            }
            if (threadIdx.x == 0) {
                found = waiting;
            }
            __syncthreads();
        }
    }
    if (threadIdx.x < waiting) {
        advance_listed(view, kind, box, pieces_x, list[threadIdx.x]);
    }
}

template <typename REAL> static hipError_t launch(const struct hip_step *step)
{
    const struct step_args *args = step->args;
    const struct box *box = step->boxes;
    enthalpy<REAL> kind = enthalpy_of<REAL>(args->levels);
    for (bool &closed : kind.closed) { /* the box has no cells there */
        closed = false;
    }
    const int64_t pieces_x = (box->hi[0] - 1) / ODD_CELLS - box->lo[0] / ODD_CELLS + 1;
    const int64_t pieces = pieces_x * (box->hi[1] - box->lo[1]) * (box->hi[2] - box->lo[2]);
    const int64_t blocks = pieces / (2 * ODD_THREADS) | 1;
    step_odd<REAL><<<(unsigned)(blocks < ODD_BLOCKS ? blocks : (int64_t)ODD_BLOCKS), ODD_THREADS, 0,
                     step->stream>>>(view_of<REAL>(&args->layout, args->d_out, args->d_in), kind,
                                     *box, (unsigned)pieces_x, (unsigned)pieces);
    return hipGetLastError();
}

hipError_t hip_launch_step_odd(struct hip_step *step)
{
    return step->args->layout.precision == PRECISION_FLOAT64 ? launch<double>(step)
                                                             : launch<float>(step);
}
