/* One step of the tiles that may change, of every kind: a kernel lists them, and the blocks of the
 * next one advance the cells of the list, one per thread of THREADS. */
#pragma once

#include "kernels/hip/kind/uniform.h"

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

template <typename REAL, typename KIND>
static __global__ __launch_bounds__(THREADS) void step_awake(const grid_view<REAL> view,
                                                             const KIND kind, const face_sums sums,
                                                             const struct tiles tiles)
{
    const uint32_t wide = (uint32_t)tiles.size[AXIS_X];
    const uint32_t high = (uint32_t)tiles.size[AXIS_Y];
    const uint32_t parts = wide * high * (uint32_t)tiles.size[AXIS_Z] / THREADS;
    const uint32_t count = tiles.d_awake->count[tiles.step % 2];
    for (uint32_t n = blockIdx.x; n < count * parts; n += gridDim.x) {
        const uint32_t tile = tiles.d_list[n / parts];
        const struct box box = tiles_box(&tiles, tile);
        const uint32_t of_tile = n % parts * THREADS + threadIdx.x;
        const uint32_t row = of_tile / wide;
        const int64_t cell[AXIS_COUNT] = {box.lo[AXIS_X] + of_tile % wide,
                                          box.lo[AXIS_Y] + row % high, box.lo[AXIS_Z] + row / high};
        tally tallies[FACE_COUNT] = {};
        bool changed = false;
        if (cell[0] < box.hi[0] && cell[1] < box.hi[1] && cell[2] < box.hi[2]) {
            const int64_t at = view.at(cell[0], cell[1], cell[2]);
            advance_in(view, kind, cell, [&](int face, double x) {
                if (sums.sum[face] != nullptr) {
                    tallies[face].add(x);
                }
            });
            changed = is_changed(view.out[at], view.in[at]);
        }
        if (arch_any(changed) && arch_is_first_lane()) {
            tiles.d_changed[tile] = tiles.step;
        }
#pragma unroll
        for (int face = 0; face < FACE_COUNT; face++) {
            face_sum_add(sums.sum[face] != nullptr
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
