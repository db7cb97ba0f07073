/* One step of the tiles that may change, of every kind: a kernel lists them, and the blocks of the
 * next one, of THREADS threads, advance the tiles of the list. */
#pragma once

#include "kernels/hip/kind/classes.h"

/* AWAKE_BLOCKS: few of them find no tile. */
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
    arch_begin_early();
    const int64_t tile = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (tile < total && tiles_wake(&tiles, tile)) {
        const uint32_t place = atomicAdd(&tiles.d_awake->count[tiles.step % 2], 1U);
        tiles.d_list[tiles.all ? tile : place] = (uint32_t)tile; /* in order: neighbours meet */
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

/* What a block advances at once: up to PLANES planes of a tile. */
enum { PLANES = 4, PARTS_MOST = 64 };
struct tile_part {
    uint32_t tile;
    int lo[AXIS_COUNT], hi[AXIS_COUNT];
    uint16_t closed, summed; /* bits of faces on which it has cells */
};

/* A column of PLANES cells from plane k on; on: closed faces of the first cell in z, of the last
 * one, and of all in x and y. One wait serves all loads. Returns true if a bit changes. Only of
 * kinds with an update. */
template <bool SIDES, typename REAL, typename KIND>
static __device__ __forceinline__ bool advance_column(const grid_view<REAL> &view, const KIND &kind,
                                                      int64_t i, int64_t j, int64_t k, unsigned on)
{
    const int64_t at = view.at(i, j, k);
    const REAL *c = view.in + at;
    const bool below = (on >> FACE_Z_MIN & 1) != 0, above = (on >> FACE_Z_MAX & 1) != 0;
    const int64_t beside[FACE_Z_MIN] = {-(SIDES && on & 1 ? 0 : 1), SIDES && on & 2 ? 0 : 1,
                                        SIDES && on & 4 ? 0 : -view.pitch_y,
                                        SIDES && on & 8 ? 0 : view.pitch_y};
    REAL z[PLANES + 2];
    REAL n[PLANES][FACE_COUNT];
#pragma unroll
    for (int p = 0; p < PLANES + 2; p++) {
        const int plane = p == 0 && below ? 0 : p > PLANES && above ? PLANES - 1 : p - 1;
        z[p] = c[plane * view.pitch_z];
    }
#pragma unroll
    for (int p = 0; p < PLANES; p++, c += view.pitch_z) {
#pragma unroll
        for (int face = 0; face < FACE_Z_MIN; face++) {
            n[p][face] = c[beside[face]];
        }
    }
    if (below) {
        z[0] = kind.beyond(0, kind.at(i, j, k), FACE_Z_MIN, z[1]);
    }
    if (above) {
        z[PLANES + 1] = kind.beyond(0, kind.at(i, j, k + PLANES - 1), FACE_Z_MAX, z[PLANES]);
    }
#pragma unroll
    for (int face = 0; face < FACE_Z_MIN; face++) {
        if (SIDES && (on >> face & 1) != 0) {
#pragma unroll
            for (int p = 0; p < PLANES; p++) {
                n[p][face] = kind.beyond(0, kind.at(i, j, k + p), face, z[p + 1]);
            }
        }
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

/* And the least blocks of a multiprocessor: with three the compiler requests all cells of a column
 * of a uniform medium before it uses one. GRID: of a uniform medium as many blocks as 132 or 104
 * multiprocessors run at the same time. */
template <typename KIND> struct has_columns : std::false_type {
    static constexpr int BLOCKS = 2, GRID = AWAKE_BLOCKS;
};
template <typename REAL> struct has_columns<uniform<REAL, 1>> : std::true_type {
    static constexpr int BLOCKS = 3, GRID = ARCH_WAVE == 32 ? 3 * 132 : 5 * 104;
};
template <typename REAL> struct has_columns<classes<REAL, 1>> : std::true_type {
    static constexpr int BLOCKS = 2, GRID = AWAKE_BLOCKS;
};

/* Add what the cells of the box on a closed face give to its sum, to that of the tile and of all
 * tiles. They are computed once more: so a thread has one tally, and waves elsewhere none. All
 * threads call. */
template <typename REAL, typename KIND>
static __device__ __forceinline__ void sum_beside(const grid_view<REAL> &view, const KIND &kind,
                                                  const struct tiles &tiles, const tile_part &part,
                                                  int face)
{
    tile_part layer;
#pragma unroll /* no indexing of registers by a variable */
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        layer.lo[axis] = face == 2 * axis + 1 ? part.hi[axis] - 1 : part.lo[axis];
        layer.hi[axis] = face == 2 * axis ? part.lo[axis] + 1 : part.hi[axis];
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
        digits_add(digits_in(&tiles.d_sums[(int64_t)part.tile * FACE_COUNT + face]), mine,
                   digits_in(&tiles.d_awake->sum[face]));
    }
}

template <typename KIND>
static __device__ __forceinline__ tile_part part_of(const struct tiles &tiles, const KIND &kind,
                                                    const face_sums &sums, uint32_t n)
{
    const uint32_t parts = (uint32_t)tiles.size[AXIS_Z] / PLANES;
    tile_part part = {};
    part.tile = tiles.d_list[n / parts];
    struct box box = tiles_box(&tiles, part.tile);
    const int64_t end = box.hi[AXIS_Z];
    box.lo[AXIS_Z] += n % parts * PLANES;
    box.hi[AXIS_Z] = box.lo[AXIS_Z] + PLANES < end ? box.lo[AXIS_Z] + PLANES : end;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        part.lo[axis] = (int)box.lo[axis];
        part.hi[axis] = (int)box.hi[axis];
    }
#pragma unroll
    for (int face = 0; face < FACE_COUNT; face++) {
        const bool beside = box.lo[AXIS_Z] < end && is_beside(tiles, box, face);
        part.closed |= kind.closed[face] && beside ? 1U << face : 0U;
        part.summed |= sums.sum[face] != nullptr && beside ? 1U << face : 0U;
    }
    return part;
}

template <typename REAL, typename KIND>
static __device__ __forceinline__ bool advance_part(const grid_view<REAL> &view, const KIND &kind,
                                                    const tile_part part, int wide)
{
    const int i = part.lo[AXIS_X] + (int)threadIdx.x % wide;
    const int k = part.lo[AXIS_Z];
    bool changed = false;
    for (int j = part.lo[AXIS_Y] + (int)threadIdx.x / wide;
         i < part.hi[AXIS_X] && j < part.hi[AXIS_Y]; j += THREADS / wide) {
        if constexpr (has_columns<KIND>::value) {
            if (part.hi[AXIS_Z] - k == PLANES) {
                const unsigned off =
                    (i > part.lo[AXIS_X] ? 1U : 0U) | (i + 1 < part.hi[AXIS_X] ? 2U : 0U) |
                    (j > part.lo[AXIS_Y] ? 4U : 0U) | (j + 1 < part.hi[AXIS_Y] ? 8U : 0U);
                changed |= (part.closed & ((1U << FACE_Z_MIN) - 1)) != 0
                               ? advance_column<true>(view, kind, i, j, k, part.closed & ~off)
                               : advance_column<false>(view, kind, i, j, k, part.closed);
                continue;
            }
        }
        KERNEL_NO_UNROLL
        for (int64_t plane = k; plane < part.hi[AXIS_Z]; plane++) {
            const int64_t cell[AXIS_COUNT] = {i, j, plane};
            const int64_t at = view.at(i, j, plane);
            advance_in(view, kind, cell, [](int, double) {});
            changed |= is_changed(view.out[at], view.in[at]);
        }
    }
    return changed;
}

/* A block looks at all its parts first, a thread at each. */
template <typename REAL, typename KIND>
static __global__ __launch_bounds__(THREADS, has_columns<KIND>::BLOCKS) void step_awake(
    const grid_view<REAL> view, const KIND kind, const face_sums sums, const struct tiles tiles)
{
    __shared__ tile_part parts[PARTS_MOST];
    arch_begin_early();
    const uint32_t count = tiles.d_awake->count[tiles.step % 2];
    const uint32_t end = count * ((uint32_t)tiles.size[AXIS_Z] / PLANES);
    for (uint32_t first = blockIdx.x; first < end; first += PARTS_MOST * gridDim.x) {
        const uint32_t n = first + threadIdx.x * gridDim.x;
        __syncthreads();
        if (threadIdx.x < PARTS_MOST && n < end) {
            parts[threadIdx.x] = part_of(tiles, kind, sums, n);
        }
        __syncthreads();
        for (uint32_t p = 0; p < PARTS_MOST && first + p * gridDim.x < end; p++) {
            const tile_part &part = parts[p];
            const bool changed = advance_part(view, kind, part, (int)tiles.size[AXIS_X]);
            if (arch_any(changed) && arch_is_first_lane()) {
                tiles.d_changed[part.tile] = tiles.step;
            }
            for (unsigned left = part.summed; left != 0; left &= left - 1) { /* one body for all */
                sum_beside(view, kind, tiles, part, __ffs((int)left) - 1);
            }
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
    arch_launch_early(list_awake, (unsigned)((total + THREADS - 1) / THREADS), THREADS,
                      step->stream, tiles, total, sums.sums);
    arch_launch_early(step_awake<REAL, KIND>, has_columns<KIND>::GRID, THREADS, step->stream, view,
                      kind, sums, tiles);
    if (view.d_bits != nullptr) {
        add_awake_bits<<<AWAKE_BLOCKS, THREADS, 0, step->stream>>>(view, tiles);
    }
    return hipGetLastError();
}
