/* The sums over closed faces of a block of tile.hip.cpp. */
#pragma once

#include "kernels/hip/device/cells.h"

/* The sums over closed faces before each step. */
template <int T> struct tile_sinks {
    bool any;
    face_sums of[T];
};

template <typename DIGIT>
static __device__ __forceinline__ void add_digits(struct exact_sum *sum, const DIGIT (&digit)[4])
{
    for (int d = 0; d < 4; d++) {
        if (digit[d] != 0) {
            atomicAdd(reinterpret_cast<unsigned long long *>(&sum->digit[d]),
                      (unsigned long long)digit[d]);
        }
    }
}

/* After all sums of this block. All threads of all blocks call. */
template <int T> static __device__ __forceinline__ void finish_sinks(const face_sums (&sums)[T])
{
    __shared__ bool is_last;
    if (is_last_block_of_all(sums[0].scratch, &is_last)) {
#pragma unroll
        for (int l = 0; l < T; l++) {
            normalise_face_sums(sums[l], FACE_COUNT * l);
        }
    }
}

/* The same of a block, in the memory that it shares: of lanes with the same number, since those of
 * a wave would wait for each other at one address. */
template <int T> struct tile_sums {
    static constexpr int SLOTS = 32, PARTS = T * FACE_COUNT * 3;
    unsigned long long part[T][FACE_COUNT][3][SLOTS]; /* of struct tally */

    __device__ __forceinline__ void begin()
    {
        for (int n = (int)threadIdx.x; n < PARTS * SLOTS; n += (int)blockDim.x) {
            (&part[0][0][0][0])[n] = 0;
        }
        __syncthreads();
    }

    __device__ __forceinline__ void add(int l, int face, double x)
    {
        tally one = {};
        one.add(x);
        for (int p = 0; p < 3; p++) {
            if (one.part[p] != 0) {
                atomicAdd(&part[l][face][p][threadIdx.x % SLOTS], (unsigned long long)one.part[p]);
            }
        }
    }

    /* Add them to the sums of the faces. All threads of all blocks call. */
    __device__ __forceinline__ void end(const face_sums (&sums)[T])
    {
        __syncthreads();
        if ((int)threadIdx.x < PARTS) {
            unsigned long long *const slots = (&part[0][0][0])[threadIdx.x];
            for (int slot = 1; slot < SLOTS; slot++) {
                slots[0] += slots[slot];
            }
        }
        __syncthreads();
#pragma unroll /* the sums are parameters of the kernel: no index that differs between lanes */
        for (int n = 0; n < T * FACE_COUNT; n++) {
            if ((int)threadIdx.x == n) {
                add_to(sums[n / FACE_COUNT].sum[n % FACE_COUNT],
                       part[n / FACE_COUNT][n % FACE_COUNT]);
            }
        }
        finish_sinks(sums);
    }

    static __device__ __forceinline__ void add_to(struct exact_sum *sum,
                                                  const unsigned long long (&parts)[3][SLOTS])
    {
        long long digit[4];
        digits_of({{(long long)parts[0][0], (long long)parts[1][0], (long long)parts[2][0]}},
                  digit);
        if (sum != nullptr) {
            add_digits(sum, digit);
        }
    }
};

template <int T>
static tile_sinks<T> sinks_of(const struct coefficients *args, struct hip_scratch *d_scratch)
{
    tile_sinks<T> sinks = {};
    for (int l = 0; l < T; l++) {
        sinks.of[l] = face_sums_of(&args[l], d_scratch);
        sinks.any = sinks.any || sinks.of[l].sums;
    }
    return sinks;
}
