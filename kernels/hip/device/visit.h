/* One thread per cell, for what runs rarely: a body is called with the indices of each cell of a
 * box. */
#pragma once

#include "kernels/hip/device/arch.h"
#include "kernels/hip/host/device_hip.h"

enum { VISIT_THREADS = 256, VISIT_BLOCKS_MOST = 1 << 20 };

/* `lanes` threads per row and `across` blocks along it, VISIT_THREADS / lanes rows per block; a
 * thread has n cells of a row, `lanes` apart. */
struct cell_sweep {
    struct box box;
    unsigned lanes, across, nblocks;
};

static cell_sweep sweep_of(const struct box *box, int64_t most_blocks, int n = 1,
                           unsigned most_lanes = VISIT_THREADS)
{
    const int64_t nx = box_extent(box, AXIS_X);
    const int64_t rows = box_extent(box, AXIS_Y) * box_extent(box, AXIS_Z);
    cell_sweep s = {*box, 1, 0, 0};
    while (s.lanes < most_lanes && (int64_t)s.lanes * n < nx) {
        s.lanes *= 2;
    }
    s.across = nx > 0 ? (unsigned)((nx + s.lanes * n - 1) / (s.lanes * n)) : 1U;
    const int64_t rows_per_block = VISIT_THREADS / s.lanes;
    const int64_t wanted = (rows + rows_per_block - 1) / rows_per_block;
    const int64_t most = most_blocks > s.across ? most_blocks / s.across : 1;
    s.nblocks = (unsigned)(wanted < most ? wanted : most) * s.across;
    return s;
}

/* visit(i, j, k) with the first cell of each row; see for_part. */
template <int N, typename VISIT>
static __device__ __forceinline__ void visit_rows(const cell_sweep &s, const VISIT &visit,
                                                  unsigned block = blockIdx.x)
{
    const int64_t i =
        s.box.lo[AXIS_X] + (int64_t)(block % s.across) * (s.lanes * N) + threadIdx.x % s.lanes;
    const unsigned ny = (unsigned)(s.box.hi[AXIS_Y] - s.box.lo[AXIS_Y]);
    const int64_t rows = ny * (s.box.hi[AXIS_Z] - s.box.lo[AXIS_Z]);
    const unsigned rows_per_block = VISIT_THREADS / s.lanes;
    if (i >= s.box.hi[AXIS_X] || block >= s.nblocks) {
        return;
    }
    for (int64_t row = (int64_t)(block / s.across) * rows_per_block + threadIdx.x / s.lanes;
         row < rows; row += (int64_t)(s.nblocks / s.across) * rows_per_block) {
        const unsigned k = (unsigned)row / ny; /* divisions of 64 bits are slow */
        visit(i, s.box.lo[AXIS_Y] + ((unsigned)row - k * ny), s.box.lo[AXIS_Z] + k);
    }
}

/* body(c, i) for a thread's cells of a row. All are read before the first is written: then their
 * reads are under way at the same time. */
template <int N, typename BODY>
static __device__ __forceinline__ void for_part(const cell_sweep &s, int64_t i, const BODY &body)
{
#pragma unroll
    for (int c = 0; c < N; c++) {
        if (c == 0 || i + c * (int64_t)s.lanes < s.box.hi[AXIS_X]) {
            body(c, i + c * (int64_t)s.lanes);
        }
    }
}

template <typename VISIT>
static __device__ __forceinline__ void visit_cells(const cell_sweep &s, const VISIT &visit)
{
    visit_rows<1>(s, visit);
}

template <typename BODY>
static __global__ __launch_bounds__(VISIT_THREADS) void visit_box(const cell_sweep s,
                                                                  const BODY body)
{
    visit_cells(s, body);
}

/* body(i, j, k) for the cells of `box`; `what` is for messages. */
template <typename BODY>
static enum status visit(struct queue *queue, const struct box &box, const BODY &body,
                         const char *what, unsigned most_lanes = VISIT_THREADS)
{
    const cell_sweep s = sweep_of(&box, VISIT_BLOCKS_MOST, 1, most_lanes);
    if (box_is_empty(&box)) {
        return STATUS_OK;
    }
    visit_box<<<s.nblocks, VISIT_THREADS, 0, queue->stream>>>(s, body);
    return hip_check(hipGetLastError(), what);
}

static __device__ __forceinline__ int64_t element_at(const struct layout &layout, int64_t i,
                                                     int64_t j, int64_t k)
{
    return layout.origin + i + j * layout.pitch_y + k * layout.pitch_z;
}
