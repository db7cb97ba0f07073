/* One step of the tiles that may change, of every kind: a kernel lists them, and the blocks of the
 * next one, of THREADS threads, advance the tiles of the list. */
#pragma once

#include "kernels/hip/kind/classes.h"

/* AWAKE_BLOCKS: they are at work at the same time, and few of them find no tile. */
enum { AWAKE_BLOCKS = 1024, DIGITS = 4 };

static __device__ __forceinline__ unsigned long long *digits_in(struct exact_sum *sum)
{
    return reinterpret_cast<unsigned long long *>(sum->digit);
}

/* Does a cell of the box lie on that face? */
static __device__ __forceinline__ bool is_beside(const struct tiles &tiles, const struct box &box,
                                                 int face)
{
    return face % 2 == 0 ? box.lo[face / 2] == 0 : box.hi[face / 2] == tiles.cells[face / 2];
}

/* All digits are read before one is written: a thread waits once. */
static __device__ __forceinline__ void forget_sum(unsigned long long *digits,
                                                  unsigned long long *others)
{
    unsigned long long digit[DIGITS];
#pragma unroll
    for (int d = 0; d < DIGITS; d++) {
        digit[d] = digits[d];
    }
#pragma unroll
    for (int d = 0; d < DIGITS; d++) {
        if (digit[d] != 0) {
            atomicAdd(&others[d], 0 - digit[d]);
            digits[d] = 0;
        }
    }
}

/* `summed`: the sums of listed tiles begin with 0, and those of all tiles do without them. */
static __global__ __launch_bounds__(THREADS) void list_awake(const struct tiles tiles,
                                                             const int64_t total, const bool summed)
{
    const int64_t tile = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (tile < total && tiles_wake(&tiles, tile)) {
        tiles.d_list[atomicAdd(&tiles.d_awake->count[tiles.step % 2], 1U)] = (uint32_t)tile;
        const struct box box = tiles_box(&tiles, tile);
        for (int face = 0; face < FACE_COUNT; face++) {
            if (summed && is_beside(tiles, box, face)) {
                forget_sum(digits_in(&tiles.d_sums[tile * FACE_COUNT + face]),
                           digits_in(&tiles.d_awake->sum[face]));
            }
        }
    }
}

template <typename REAL> static __device__ __forceinline__ bool is_changed(REAL a, REAL b)
{
    if constexpr (sizeof(REAL) == sizeof(double)) {
        return __double_as_longlong(a) != __double_as_longlong(b);
    } else {
        return __float_as_int(a) != __float_as_int(b);
    }
}

/* A column of PLANES cells from plane k on, which lie on no closed face of x and y; below, above:
 * on those of z. One wait serves all loads. Returns true if a bit changes. Only of kinds with an
 * update. */
enum { PLANES = 4 };
template <typename REAL, typename KIND>
static __device__ __forceinline__ bool advance_column(const grid_view<REAL> &view, const KIND &kind,
                                                      int64_t i, int64_t j, int64_t k, bool below,
                                                      bool above)
{
    const int64_t at = view.at(i, j, k);
    const REAL *c = view.in + at;
    REAL z[PLANES + 2];
    REAL n[PLANES][FACE_COUNT];
#pragma unroll
    for (int p = 0; p < PLANES + 2; p++) {
        const int plane = p == 0 && below ? 0 : p > PLANES && above ? PLANES - 1 : p - 1;
        z[p] = c[plane * view.pitch_z];
    }
#pragma unroll
    for (int p = 0; p < PLANES; p++, c += view.pitch_z) {
        n[p][0] = c[-1];
        n[p][1] = c[1];
        n[p][2] = c[-view.pitch_y];
        n[p][3] = c[view.pitch_y];
    }
    if (below) {
        z[0] = kind.beyond(0, kind.at(i, j, k), FACE_Z_MIN, z[1]);
    }
    if (above) {
        z[PLANES + 1] = kind.beyond(0, kind.at(i, j, k + PLANES - 1), FACE_Z_MAX, z[PLANES]);
    }
    bool changed = false;
#pragma unroll
    for (int p = 0; p < PLANES; p++) {
        n[p][4] = z[p];
        n[p][5] = z[p + 2];
        const REAL out = kind.update(0, kind.at(i, j, k + p), z[p + 1], z[p + 1], n[p]);
        view.out[at + p * view.pitch_z] = out;
        changed = changed || is_changed(out, z[p + 1]);
    }
    return changed;
}

template <typename KIND> struct has_columns : std::false_type {
};
template <typename REAL> struct has_columns<uniform<REAL, 1>> : std::true_type {
};
template <typename REAL> struct has_columns<classes<REAL, 1>> : std::true_type {
};

/* Add what the cells of the box on a closed face give to its sum, to that of the tile and of all
 * tiles. They are computed once more: so a thread has one tally, and waves elsewhere none. All
 * threads call. */
template <typename REAL, typename KIND>
static __device__ __forceinline__ void sum_beside(const grid_view<REAL> &view, const KIND &kind,
                                                  const struct tiles &tiles, int64_t tile,
                                                  const struct box &box, int face)
{
    struct box layer;
#pragma unroll /* no indexing of registers by a variable */
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        layer.lo[axis] = face == 2 * axis + 1 ? box.hi[axis] - 1 : box.lo[axis];
        layer.hi[axis] = face == 2 * axis ? box.lo[axis] + 1 : box.hi[axis];
    }
    const uint32_t nx = (uint32_t)(layer.hi[AXIS_X] - layer.lo[AXIS_X]);
    const uint32_t ny = (uint32_t)(layer.hi[AXIS_Y] - layer.lo[AXIS_Y]);
    const uint32_t cells = nx * ny * (uint32_t)(layer.hi[AXIS_Z] - layer.lo[AXIS_Z]);
    tally mine = {};
    KERNEL_NO_UNROLL
    for (uint32_t n = threadIdx.x; n < cells; n += THREADS) {
        const int64_t cell[AXIS_COUNT] = {layer.lo[AXIS_X] + n % nx, layer.lo[AXIS_Y] + n / nx % ny,
                                          layer.lo[AXIS_Z] + n / nx / ny};
        advance_in(view, kind, cell, [&](int of, double x) {
            if (of == face) {
                mine.add(x);
            }
        });
    }
    if (arch_any((mine.part[0] | mine.part[1] | mine.part[2]) != 0)) {
        digits_add(digits_in(&tiles.d_sums[tile * FACE_COUNT + face]), mine,
                   digits_in(&tiles.d_awake->sum[face]));
    }
}

/* A block advances PLANES planes of a tile at once. */
template <typename REAL, typename KIND>
static __global__ __launch_bounds__(THREADS) void step_awake(const grid_view<REAL> view,
                                                             const KIND kind, const face_sums sums,
                                                             const struct tiles tiles)
{
    const uint32_t wide = (uint32_t)tiles.size[AXIS_X];
    const uint32_t parts = (uint32_t)tiles.size[AXIS_Z] / PLANES;
    const uint32_t count = tiles.d_awake->count[tiles.step % 2];
    for (uint32_t n = blockIdx.x; n < count * parts; n += gridDim.x) {
        const uint32_t tile = tiles.d_list[n / parts];
        struct box box = tiles_box(&tiles, tile);
        const int64_t end = box.hi[AXIS_Z];
        box.lo[AXIS_Z] += n % parts * PLANES;
        box.hi[AXIS_Z] = box.lo[AXIS_Z] + PLANES < end ? box.lo[AXIS_Z] + PLANES : end;
        if (box.lo[AXIS_Z] >= end) {
            continue;
        }
        bool columns = has_columns<KIND>::value && box.hi[AXIS_Z] - box.lo[AXIS_Z] == PLANES;
        unsigned summed = 0; /* faces */
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            const bool beside = is_beside(tiles, box, face);
            columns = columns && !(face < FACE_Z_MIN && kind.closed[face] && beside);
            summed |= sums.sum[face] != nullptr && beside ? 1U << face : 0U;
        }
        const int64_t i = box.lo[AXIS_X] + threadIdx.x % wide;
        bool changed = false;
        for (int64_t j = box.lo[AXIS_Y] + threadIdx.x / wide;
             i < box.hi[AXIS_X] && j < box.hi[AXIS_Y]; j += THREADS / wide) {
            if constexpr (has_columns<KIND>::value) {
                if (columns) {
                    changed |= advance_column(
                        view, kind, i, j, box.lo[AXIS_Z],
                        kind.closed[FACE_Z_MIN] && is_beside(tiles, box, FACE_Z_MIN),
                        kind.closed[FACE_Z_MAX] && is_beside(tiles, box, FACE_Z_MAX));
                    continue;
                }
            }
            KERNEL_NO_UNROLL
            for (int64_t k = box.lo[AXIS_Z]; k < box.hi[AXIS_Z]; k++) {
                const int64_t cell[AXIS_COUNT] = {i, j, k};
                const int64_t at = view.at(i, j, k);
                advance_in(view, kind, cell, [](int, double) {});
                changed |= is_changed(view.out[at], view.in[at]);
            }
        }
        if (arch_any(changed) && arch_is_first_lane()) {
            tiles.d_changed[tile] = tiles.step;
        }
        for (; summed != 0; summed &= summed - 1) { /* one body for all faces */
            sum_beside(view, kind, tiles, tile, box, __ffs((int)summed) - 1);
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        tiles.d_awake->advanced += count;
        tiles.d_awake->count[(tiles.step + 1) % 2] = 0;
    }
    __shared__ bool is_last;
    if (sums.sums && is_last_block_of_all(sums.scratch, &is_last)) {
        /* a digit per thread */
        const int face = (int)threadIdx.x / DIGITS;
        struct exact_sum *const sum = face_sum_of(sums, face);
        if (sum != nullptr) {
            const int d = (int)threadIdx.x % DIGITS;
            atomicAdd(digits_in(sum) + d,
                      atomicAdd(digits_in(&tiles.d_awake->sum[face]) + d, 0ULL));
        }
        __syncthreads();
        normalise_face_sums(sums);
    }
}

/* After the step of these tiles: d_bits of step_args. In the kernel of the step the sum would cost
 * registers where it is not asked for, too. */
template <typename REAL>
static __global__ __launch_bounds__(THREADS) void add_awake_bits(const grid_view<REAL> view,
                                                                 const struct tiles tiles)
{
    const uint32_t wide = (uint32_t)tiles.size[AXIS_X];
    const uint32_t count = tiles.d_awake->count[tiles.step % 2];
    uint32_t bits = 0;
    for (uint32_t n = blockIdx.x; n < count; n += gridDim.x) {
        const struct box box = tiles_box(&tiles, tiles.d_list[n]);
        const int64_t i = box.lo[AXIS_X] + threadIdx.x % wide;
        for (int64_t k = box.lo[AXIS_Z]; k < box.hi[AXIS_Z]; k++) {
            for (int64_t j = box.lo[AXIS_Y] + threadIdx.x / wide;
                 i < box.hi[AXIS_X] && j < box.hi[AXIS_Y]; j += THREADS / wide) {
                const int64_t at = view.at(i, j, k);
                bits += bits_in(view.out[at]) - bits_in(view.in[at]);
            }
        }
    }
    add_bits_of_wave(view.d_bits, bits);
}

template <typename REAL, typename KIND>
static hipError_t launch_awake(const KIND &kind, const struct hip_step *step, const face_sums &sums,
                               const grid_view<REAL> &view)
{
    const struct tiles &tiles = *step->args->tiles;
    const int64_t total = tiles_total(&tiles);
    list_awake<<<(unsigned)((total + THREADS - 1) / THREADS), THREADS, 0, step->stream>>>(
        tiles, total, sums.sums);
    step_awake<<<AWAKE_BLOCKS, THREADS, 0, step->stream>>>(view, kind, sums, tiles);
    if (view.d_bits != nullptr) {
        add_awake_bits<<<AWAKE_BLOCKS, THREADS, 0, step->stream>>>(view, tiles);
    }
    return hipGetLastError();
}
