/* Part of reduce.hip.cpp: how threads read all cells of a field. */
#pragma once

#include "kernels/hip/device/cells.h"
#include "kernels/hip/field/summary.h"
#include "kernels/hip/kind/faces.h"

/* AHEAD: vectors of a row that a thread loads before it looks at them. Blocks per multiprocessor:
 * of summaries as many as run at a time, since those that begin later leave most of the chip idle.
 */
enum {
    THREADS = 256,
    AHEAD = 4,
    BLOCKS_MOST = 2048,
    BLOCKS_PER_PROCESSOR = ARCH_WAVE == 32 ? 3 : 4
};

/* The owned cells by rows: `lanes` threads per row, THREADS / lanes rows per block. */
template <typename REAL> struct sweep {
    const REAL *in; /* cell (0, 0, 0) */
    int64_t cells[AXIS_COUNT];
    int64_t pitch_y, pitch_z;
    int64_t nx_global, ny_global;
    int64_t offset[AXIS_COUNT];
    unsigned lanes;
    /* of a medium; NULL: uniform */
    const uint8_t *classes; /* of cell (0, 0, 0) */
    int64_t class_pitch_y, class_pitch_z;
    int class_mask, nclasses;
    const double *weight;
    const REAL *sigma; /* of cell (0, 0, 0), as the classes; nullptr: weights of classes */
    const REAL *width[AXIS_COUNT]; /* of a graded medium: lines, from cell 0 on */
    double weight_factor;
    bool has_ambients;
};

/* Where a cell has its weight: of its class, stored, or from the lines; then the elements of
 * classes count along a row only. */
enum { BY_CLASS, STORED, BY_LINES };

/* Whether a thread reads its next vectors before it looks at those that it has. On sm_90, where the
 * memory takes as long as the 440 instructions between; on gfx90a it would take waves. */
constexpr bool PREFETCH = ARCH_HAS_TILE_COPY;

/* The places of a thread: AHEAD vectors, `lanes` vectors apart, of a row after another. */
template <typename REAL> struct walk {
    static constexpr int N = vec16<REAL>::N;
    const sweep<REAL> &s;
    int first, i, j, k;
    int next_j, next_k; /* a division per row would cost more than its cells */

    __device__ __forceinline__ explicit walk(const sweep<REAL> &over) : s(over)
    {
        const int rows_per_block = THREADS / (int)s.lanes;
        const int row = (int)blockIdx.x * rows_per_block + (int)(threadIdx.x / s.lanes);
        const int stride = (int)gridDim.x * rows_per_block;
        const int cells_y = (int)s.cells[AXIS_Y];
        first = i = (int)(threadIdx.x % s.lanes) * N;
        j = row % cells_y;
        k = first < (int)s.cells[AXIS_X] ? row / cells_y : (int)s.cells[AXIS_Z];
        next_j = stride % cells_y;
        next_k = stride / cells_y;
    }
    __device__ __forceinline__ bool is_inside() const
    {
        return k < (int)s.cells[AXIS_Z];
    }
    __device__ __forceinline__ void next()
    {
        i += AHEAD * (int)s.lanes * N;
        if (i < (int)s.cells[AXIS_X]) {
            return;
        }
        i = first;
        j += next_j;
        k += next_k;
        if (j >= (int)s.cells[AXIS_Y]) {
            j -= (int)s.cells[AXIS_Y];
            k++;
        }
    }
    /* Of the n-th vector, its first cell; of one beyond the row that of the first. */
    __device__ __forceinline__ int at(int n) const
    {
        const int to = i + n * (int)s.lanes * N;
        return to < (int)s.cells[AXIS_X] ? to : i;
    }
    __device__ __forceinline__ int64_t class_row() const
    {
        return j * s.class_pitch_y + k * s.class_pitch_z;
    }
};

/* What a thread reads of AHEAD vectors: cells, and the bytes of classes where MARKS. */
template <typename REAL, bool MARKS> struct held_vectors {
    static constexpr int N = vec16<REAL>::N;
    vec16<REAL> cells[AHEAD];
    uint32_t marks[AHEAD];

    __device__ __forceinline__ void load(const walk<REAL> &p)
    {
        const REAL *const row = p.s.in + p.j * p.s.pitch_y + p.k * p.s.pitch_z;
#pragma unroll
        for (int v = 0; v < AHEAD; v++) { /* rows are padded to whole vectors */
            cells[v] = vector_at(row + p.at(v));
            if (MARKS) {
                marks[v] = 0;
                __builtin_memcpy(&marks[v],
                                 __builtin_assume_aligned(p.s.classes + p.class_row() + p.at(v), N),
                                 N);
            }
        }
    }
};

/* A thread's cells: all(vectors, marks, element of the first one's class, elements to that of the
 * next, product of the row's lines) of the CHUNK cells of complete vectors of a row, and where
 * there are fewer or it returns false, one(cell, its global index, element of its class, product)
 * after another. */
template <bool MARKS, typename REAL, typename ALL, typename ONE>
static __device__ __forceinline__ void for_cells(const sweep<REAL> &s, ALL all, ONE one)
{
    constexpr int N = vec16<REAL>::N;
    const int lanes = (int)s.lanes; /* numbers of cells on an axis are int on devices */
    const int cells_x = (int)s.cells[AXIS_X];
    walk<REAL> ahead(s);
    held_vectors<REAL, MARKS> next = {};
    if (PREFETCH && ahead.is_inside()) {
        next.load(ahead);
    }
    while (ahead.is_inside()) {
        const int i = ahead.i, j = ahead.j, k = ahead.k;
        if (!PREFETCH) {
            next.load(ahead);
        }
        const held_vectors<REAL, MARKS> now = next;
        ahead.next();
        if (PREFETCH && ahead.is_inside()) {
            next.load(ahead);
        }
        const int64_t row = j * s.class_pitch_y + k * s.class_pitch_z;
        const REAL line = s.width[0] != nullptr ? s.width[AXIS_Y][j] * s.width[AXIS_Z][k] : 0;
#pragma unroll
        for (int v = 0; v < AHEAD; v += CHUNK / N) {
            if (i + (v + CHUNK / N - 1) * lanes * N + N <= cells_x &&
                all(&now.cells[v], &now.marks[v], row + i + v * lanes * N, lanes * N, line)) {
                continue;
            }
            const int64_t index =
                ((s.offset[AXIS_Z] + k) * s.ny_global + s.offset[AXIS_Y] + j) * s.nx_global +
                s.offset[AXIS_X];
#pragma unroll
            for (int c = 0; c < CHUNK; c++) {
                const int at = i + (v + c / N) * lanes * N + c % N;
                if (at < cells_x) {
                    one(now.cells[v + c / N].v[c % N], index + at, row + at, line);
                }
            }
        }
    }
}

template <typename REAL>
static sweep<REAL> sweep_of(const struct layout *layout, const struct placement *placement,
                            const struct device_medium *medium, const void *d_field)
{
    sweep<REAL> s = {};
    s.in = static_cast<const REAL *>(d_field) + layout->origin;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        s.cells[axis] = layout->cells[axis];
        s.offset[axis] = placement->offset[axis];
    }
    s.pitch_y = layout->pitch_y;
    s.pitch_z = layout->pitch_z;
    s.nx_global = placement->global_cells[AXIS_X];
    s.ny_global = placement->global_cells[AXIS_Y];
    if (medium != nullptr) {
        s.classes = medium->d_class + medium->layout.origin;
        s.class_pitch_y = medium->layout.pitch_y;
        s.class_pitch_z = medium->layout.pitch_z;
        s.class_mask = medium->mask;
        s.nclasses = medium->nclasses;
        s.weight = medium->d_weight;
        s.sigma = medium->d_sigma != nullptr
                      ? static_cast<const REAL *>(medium->d_sigma) + medium->layout.origin
                      : nullptr;
        s.weight_factor = medium->weight_factor;
        for (int axis = 0; axis < AXIS_COUNT && medium_is_graded(medium); axis++) {
            s.width[axis] = line_of<REAL>(medium, axis, GRADED_WIDTH);
            s.class_pitch_y = s.class_pitch_z = 0;
        }
        s.has_ambients = medium->has_ambients;
    }
    s.lanes = 1;
    while (s.lanes < THREADS &&
           AHEAD * s.lanes * vec16<REAL>::N < (uint64_t)layout->cells[AXIS_X]) {
        s.lanes *= 2;
    }
    return s;
}

template <typename REAL> static unsigned blocks_of(const sweep<REAL> &s, int64_t most)
{
    const int64_t rows_per_block = THREADS / s.lanes;
    const int64_t rows = s.cells[AXIS_Y] * s.cells[AXIS_Z];
    const int64_t nblocks = (rows + rows_per_block - 1) / rows_per_block;
    return (unsigned)(nblocks < most ? nblocks : most);
}
