/* One step of the tiles that may change, of every kind: a kernel lists them, and the blocks of the
 * next one, of THREADS threads, advance the tiles of the list. */
#pragma once

#include "kernels/hip/kind/classes.h"

enum { AWAKE_BLOCKS = 4096, DIGITS = 4 };

/* `summed`: the sums of listed tiles begin with 0. */
static __global__ __launch_bounds__(THREADS) void list_awake(const struct tiles tiles,
                                                             const int64_t total, const bool summed)
{
    const int64_t tile = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (tile < total && tiles_wake(&tiles, tile)) {
        tiles.d_list[atomicAdd(&tiles.d_awake->count[tiles.step % 2], 1U)] = (uint32_t)tile;
        for (int n = 0; n < (summed ? FACE_COUNT * DIGITS : 0); n++) {
            tiles.d_sums[tile * FACE_COUNT + n / DIGITS].digit[n % DIGITS] = 0;
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

/* A column of PLANES cells at `at`, beside none of which lies a closed face: one wait serves all
 * loads. Returns true if a bit changes. Only of kinds with an update. */
enum { PLANES = 4 };
template <typename REAL, typename KIND>
static __device__ __forceinline__ bool advance_column(const grid_view<REAL> &view, const KIND &kind,
                                                      int64_t i, int64_t j, int64_t k)
{
    const int64_t at = view.at(i, j, k);
    const REAL *c = view.in + at;
    REAL z[PLANES + 2];
    REAL n[PLANES][FACE_COUNT];
#pragma unroll
    for (int p = 0; p < PLANES + 2; p++) {
        z[p] = c[(p - 1) * view.pitch_z];
    }
#pragma unroll
    for (int p = 0; p < PLANES; p++, c += view.pitch_z) {
        n[p][0] = c[-1];
        n[p][1] = c[1];
        n[p][2] = c[-view.pitch_y];
        n[p][3] = c[view.pitch_y];
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

/* True where no cell of the box lies on a closed face. */
static __device__ __forceinline__ bool is_inside(const bool (&closed)[FACE_COUNT],
                                                 const struct tiles &tiles, const struct box &box)
{
    bool inside = true;
#pragma unroll
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        inside = inside && !(closed[2 * axis] && box.lo[axis] == 0) &&
                 !(closed[2 * axis + 1] && box.hi[axis] == tiles.cells[axis]);
    }
    return inside;
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
        const struct box box = tiles_box(&tiles, tile);
        const int64_t i = box.lo[AXIS_X] + threadIdx.x % wide;
        const int64_t begin = box.lo[AXIS_Z] + n % parts * PLANES;
        const int64_t end = begin + PLANES < box.hi[AXIS_Z] ? begin + PLANES : box.hi[AXIS_Z];
        const bool columns =
            has_columns<KIND>::value && end - begin == PLANES && is_inside(kind.closed, tiles, box);
        tally tallies[FACE_COUNT] = {};
        bool changed = false;
        for (int64_t j = box.lo[AXIS_Y] + threadIdx.x / wide;
             i < box.hi[AXIS_X] && j < box.hi[AXIS_Y]; j += THREADS / wide) {
            if constexpr (has_columns<KIND>::value) {
                if (columns) {
                    changed |= advance_column(view, kind, i, j, begin);
                    continue;
                }
            }
            KERNEL_NO_UNROLL
            for (int64_t k = begin; k < end; k++) {
                const int64_t cell[AXIS_COUNT] = {i, j, k};
                const int64_t at = view.at(i, j, k);
                advance_in(view, kind, cell, [&](int face, double x) {
                    if (sums.sum[face] != nullptr) {
                        tallies[face].add(x);
                    }
                });
                changed |= is_changed(view.out[at], view.in[at]);
            }
        }
        if (arch_any(changed) && arch_is_first_lane()) {
            tiles.d_changed[tile] = tiles.step;
        }
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            face_sum_add(sums.sum[face] != nullptr && !columns
                             ? &tiles.d_sums[(int64_t)tile * FACE_COUNT + face]
                             : nullptr,
                         tallies[face]);
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        tiles.d_awake->advanced += count;
        tiles.d_awake->count[(tiles.step + 1) % 2] = 0;
    }
}

/* Add what the tiles of each face keep. A face has `blocks` blocks, a thread a tile. */
static __global__ __launch_bounds__(THREADS) void add_kept(const struct tiles tiles,
                                                           const face_sums sums,
                                                           const unsigned blocks)
{
    __shared__ bool is_last;
    const int face = (int)(blockIdx.x / blocks);
    const int axis = face / 2;
    const int across = axis == 0 ? 1 : 0;
    const int up = axis == 2 ? 1 : 2;
    const int64_t n = (int64_t)(blockIdx.x % blocks) * THREADS + threadIdx.x;
    if (sums.sum[face] != nullptr) {
        int64_t at[AXIS_COUNT];
        at[axis] = face % 2 == 0 ? 0 : tiles.count[axis] - 1;
        at[across] = n % tiles.count[across];
        at[up] = n / tiles.count[across];
        const struct exact_sum *kept =
            tiles.d_sums + tiles_number(&tiles, at[0], at[1], at[2]) * FACE_COUNT + face;
        for (int d = 0; d < DIGITS; d++) {
            const long long sum = arch_wave_sum(at[up] < tiles.count[up] ? kept->digit[d] : 0);
            if (arch_is_first_lane() && sum != 0) {
                atomicAdd(reinterpret_cast<unsigned long long *>(&sums.sum[face]->digit[d]),
                          (unsigned long long)sum);
            }
        }
    }
    if (is_last_block_of_all(sums.scratch, &is_last) && threadIdx.x < FACE_COUNT &&
        sums.sum[threadIdx.x] != nullptr) {
        face_sum_normalise(sums.sum[threadIdx.x]);
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

static unsigned blocks_for(int64_t threads)
{
    return (unsigned)((threads + THREADS - 1) / THREADS);
}

template <typename REAL, typename KIND>
static hipError_t launch_awake(const KIND &kind, const struct hip_step *step, const face_sums &sums,
                               const grid_view<REAL> &view)
{
    const struct tiles &tiles = *step->args->tiles;
    const int64_t total = tiles_total(&tiles);
    list_awake<<<blocks_for(total), THREADS, 0, step->stream>>>(tiles, total, sums.sums);
    step_awake<<<AWAKE_BLOCKS, THREADS, 0, step->stream>>>(view, kind, sums, tiles);
    if (view.d_bits != nullptr) {
        add_awake_bits<<<AWAKE_BLOCKS, THREADS, 0, step->stream>>>(view, tiles);
    }
    if (sums.sums) {
        int64_t most = 0; /* tiles on a face */
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            const int64_t on = total / tiles.count[axis];
            most = on > most ? on : most;
        }
        add_kept<<<FACE_COUNT * blocks_for(most), THREADS, 0, step->stream>>>(tiles, sums,
                                                                              blocks_for(most));
    }
    return hipGetLastError();
}
