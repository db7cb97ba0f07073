/* What differs between AMD and NVIDIA chips, for the kernel sources: the width of a wave, streaming
 * 16-byte accesses, and asynchronous copies of tiles into shared memory. */
#pragma once

#include <stdint.h>

#include <hip/hip_runtime.h>

#define KERNEL_INLINE static __device__ __forceinline__ /* in place of kernels/cell/inline.h's */
#define KERNEL_NO_UNROLL _Pragma("unroll 1")

/* 16 bytes of cells: one load or store of a thread. */
template <typename REAL> struct alignas(16) vec16 {
    static constexpr int N = 16 / (int)sizeof(REAL);
    REAL v[N];
};

/* A box of cells of a field, as the tile copy sees it: cells outside [0, cells) are not read. */
template <typename REAL> struct arch_region {
    const REAL *first; /* 16-byte aligned */
    int64_t cells[3];
    int64_t pitch_y, pitch_z; /* in cells; whole multiples of 16 bytes */
};

/* Code for exactly this chip may move registers from waves to others. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define ARCH_HAS_REGISTER_MOVES 1
#else
#define ARCH_HAS_REGISTER_MOVES 0
#endif

/* tests/hip_on_host has another arch_sm90.h, which comes first on its include path */
#ifdef __HIP_PLATFORM_AMD__
#include "kernels/hip/device/arch_amd.h"
#else
#include "kernels/hip/device/arch_sm90.h"
#endif

#ifndef ARCH_LAUNCHES_EARLY /* see arch_sm90.h */
static __device__ __forceinline__ void arch_let_next_begin(void)
{
}

static __device__ __forceinline__ void arch_wait_for_last(void)
{
}

static __device__ __forceinline__ void arch_begin_early(void)
{
}

template <typename... P, typename... A>
static void arch_launch_early(void (*kernel)(P...), unsigned blocks, unsigned threads,
                              hipStream_t stream, const A &...given)
{
    kernel<<<blocks, threads, 0, stream>>>(given...);
}
#endif

static __device__ __forceinline__ double arch_fma(double a, double b, double c)
{
    return fma(a, b, c);
}

static __device__ __forceinline__ float arch_fma(float a, float b, float c)
{
    return fmaf(a, b, c);
}

/* The sum over the lanes of a wave, in lane 0. All lanes call. */
static __device__ __forceinline__ long long arch_wave_sum(long long value)
{
    for (int lanes = ARCH_WAVE / 2; lanes > 0; lanes /= 2) {
        value += arch_shift_down(value, lanes);
    }
    return value;
}

static __device__ __forceinline__ bool arch_is_first_lane(void)
{
    return threadIdx.x % ARCH_WAVE == 0;
}
