/* The step of odd cells where properties depend on temperature: those that do not conduct to all
 * their neighbours by one curve, since a neighbour is of another class, or by contacts. */
#include "kernels/hip/nonlinear.h"

/* A thread looks at the classes of ODD_CELLS cells of a row, an aligned load; then the block
 * advances those that it has found. */
enum { ODD_THREADS = 128, ODD_CELLS = 16, ODD_MOST = ODD_THREADS * ODD_CELLS };

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

template <typename REAL>
static __device__ __forceinline__ void advance_one(const grid_view<REAL> &view,
                                                   const nonlinear<REAL> &m,
                                                   const int64_t (&cell)[AXIS_COUNT])
{
    const int of_class = m.class_at(cell[0], cell[1], cell[2]);
    const int64_t at = view.at(cell[0], cell[1], cell[2]);
    REAL g[FACE_COUNT];
    REAL d[FACE_COUNT];
    const nonlinear_value<REAL> own =
        nonlinear_around(view, 0, m, cell, g, d, [](int, REAL, REAL) {});
    view.out[at] = nonlinear_cell(m.numbers() + NONLINEAR_NUMBERS * of_class,
                                  m.of.table[medium_cell_at(of_class) + 1], view.in[at],
                                  own.temperature, g, d);
}

/* The first cell of a thread: in row-major order, in pieces of rows. */
static __device__ __forceinline__ void piece_of(const struct box &box, int64_t pieces_x,
                                                int64_t thread, int64_t (&cell)[AXIS_COUNT])
{
    const int64_t ny = box.hi[1] - box.lo[1];
    const int64_t row = thread / pieces_x;
    cell[0] = box.lo[0] / ODD_CELLS * ODD_CELLS + (thread - row * pieces_x) * ODD_CELLS;
    cell[1] = box.lo[1] + row % ny;
    cell[2] = box.lo[2] + row / ny;
}

template <typename REAL>
static __global__ __launch_bounds__(ODD_THREADS) void step_odd(const grid_view<REAL> view,
                                                               const nonlinear<REAL> m,
                                                               const struct box box,
                                                               int64_t pieces_x, int64_t pieces)
{
    __shared__ uint8_t odd_class[MEDIUM_CLASSES + 1];
    __shared__ unsigned found;
    __shared__ uint16_t list[ODD_MOST];
    for (int c = threadIdx.x; c < m.of.n; c += ODD_THREADS) {
        odd_class[c] = conducts_by_curve(m, c) ? 0 : 1;
    }
    if (threadIdx.x == 0) {
        found = 0;
    }
    __syncthreads();
    const int64_t first = (int64_t)blockIdx.x * ODD_THREADS;
    int64_t cell[AXIS_COUNT];
    if (first + threadIdx.x < pieces) {
        piece_of(box, pieces_x, first + threadIdx.x, cell);
        const uint8_t *at =
            m.of.classes + cell[0] + cell[1] * m.of.pitch_y + cell[2] * m.of.pitch_z;
        const vec16<uint8_t> bytes = vector_at(at);
#pragma unroll
        for (int i = 0; i < ODD_CELLS; i++) {
            const bool mine = cell[0] + i >= box.lo[0] && cell[0] + i < box.hi[0];
            if (mine && (bytes.v[i] < CLASS_FLAG || odd_class[bytes.v[i] & m.of.mask] != 0)) {
                list[atomicAdd(&found, 1U)] = (uint16_t)(threadIdx.x * ODD_CELLS + i);
            }
        }
    }
    __syncthreads();
    for (unsigned n = threadIdx.x; n < found; n += ODD_THREADS) {
        piece_of(box, pieces_x, first + list[n] / ODD_CELLS, cell);
        cell[0] += list[n] % ODD_CELLS;
        advance_one(view, m, cell);
    }
}

template <typename REAL>
static hipError_t launch(hipStream_t stream, const struct layout *layout,
                         const struct medium_args *medium, void *d_out, const void *d_in,
                         const struct box *box)
{
    const int64_t pieces_x = (box->hi[0] - 1) / ODD_CELLS - box->lo[0] / ODD_CELLS + 1;
    const int64_t pieces = pieces_x * (box->hi[1] - box->lo[1]) * (box->hi[2] - box->lo[2]);
    step_odd<REAL>
        <<<(unsigned)((pieces + ODD_THREADS - 1) / ODD_THREADS), ODD_THREADS, 0, stream>>>(
            view_of<REAL>(layout, d_out, d_in), nonlinear_of<REAL>(medium), *box, pieces_x, pieces);
    return hipGetLastError();
}

hipError_t hip_launch_step_odd(hipStream_t stream, const struct layout *layout,
                               const struct medium_args *medium, void *d_out, const void *d_in,
                               const struct box *box)
{
    return layout->precision == PRECISION_FLOAT64
               ? launch<double>(stream, layout, medium, d_out, d_in, box)
               : launch<float>(stream, layout, medium, d_out, d_in, box);
}
