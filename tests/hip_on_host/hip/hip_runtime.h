/* HIP's device language on the host, for tests: what the code paths of gfx90a and of sm_90 need.
 * rewrite.py has turned launches and __shared__ into calls of the functions here; blocks.cpp runs
 * the threads. */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "hip/hip_runtime_api.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#ifndef __clang__
#define ext_vector_type(n) vector_size(4 * (n)) /* of 4 bytes each, as arch.h has them */
#define __builtin_nontemporal_store(value, to) (*(to) = (value))
#define __builtin_nontemporal_load(from) (*(from))
#endif

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned nx = 1, unsigned ny = 1, unsigned nz = 1) : x(nx), y(ny), z(nz)
    {
    }
};
struct alignas(16) float4 {
    float x, y, z, w;
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

using std::max;
using std::min;

namespace hip_on_host
{
#ifdef __HIP_PLATFORM_AMD__ /* gfx90a: one GCD of an MI250X */
constexpr int WAVE = 64;
constexpr size_t MOST_SHARED_BYTES = 64 << 10;
constexpr int PROCESSORS = 110;
#else /* sm_90: an H200 */
constexpr int WAVE = 32;
constexpr size_t MOST_SHARED_BYTES = 227 << 10;
constexpr int PROCESSORS = 132;
#endif

extern hipError_t last_error;

struct launch_shape {
    dim3 grid, block;
    size_t shared_bytes;
};

static inline launch_shape shape(dim3 grid, dim3 block, size_t shared_bytes, hipStream_t)
{
    return {grid, block, shared_bytes};
}

/* Call thread(argument) for all threads of all blocks; what is wrong with the shape is reported by
 * hipGetLastError. */
void run(const char *kernel, const launch_shape &shape, void (*thread)(const void *),
         const void *argument);

template <typename KERNEL, typename... ARGS>
static void launch(const char *name, const launch_shape &shape, const KERNEL &kernel, ARGS... args)
{
    const auto thread = [&] { kernel(args...); };
    run(
        name, shape, [](const void *of) { (*static_cast<const decltype(thread) *>(of))(); },
        &thread);
}

/* Dynamic shared memory; that of a __shared__ variable holds NaN when a block begins. */
void *dynamic_shared(void);
uint64_t blocks_begun(void);

template <typename T> static void begin_shared(uint64_t &of_block, T &variable)
{
    if (of_block != blocks_begun()) {
        of_block = blocks_begun();
        memset(static_cast<void *>(&variable), 0xFF, sizeof variable);
    }
}

void block_barrier(const char *file, int line);

/* What the lanes of a wave have given to an operation that all of them call; all bits set for a
 * lane that has returned or is not in the block. */
struct wave_values {
    uint64_t value[WAVE];
};
const wave_values &exchange(const char *operation, uint64_t value);
int lane(void);

/* The value of that lane; the lane's own where there is none. */
template <typename T> static T from_lane(const char *operation, T value, unsigned from)
{
    static_assert(sizeof value <= sizeof(uint64_t), "a value of one or two registers");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    const wave_values &all = exchange(operation, bits);
    if (from < WAVE) {
        memcpy(&value, &all.value[from], sizeof value);
    }
    return value;
}
} /* namespace hip_on_host */

#define __syncthreads() hip_on_host::block_barrier(__FILE__, __LINE__)
#define __syncwarp() hip_on_host::exchange("__syncwarp", 0)

static inline int __any(int condition)
{
    const hip_on_host::wave_values &all = hip_on_host::exchange("__any", condition != 0);
    return std::any_of(all.value, all.value + hip_on_host::WAVE, [](uint64_t v) { return v == 1; });
}

static inline int __all(int condition)
{
    const hip_on_host::wave_values &all = hip_on_host::exchange("__all", condition != 0);
    return std::none_of(all.value, all.value + hip_on_host::WAVE,
                        [](uint64_t v) { return v == 0; });
}

template <typename T> static T __shfl_down(T value, unsigned lanes)
{
    return hip_on_host::from_lane("__shfl_down", value, (unsigned)hip_on_host::lane() + lanes);
}

/* Of all lanes: nothing here calls with fewer. */
template <typename T> static T __shfl_down_sync(unsigned, T value, unsigned lanes)
{
    return __shfl_down(value, lanes);
}

template <typename T> static T __shfl_up(T value, unsigned lanes)
{
    return hip_on_host::from_lane("__shfl_up", value, (unsigned)hip_on_host::lane() - lanes);
}

template <typename T> static T __shfl_up_sync(unsigned, T value, unsigned lanes)
{
    return __shfl_up(value, lanes);
}

/* wave_shr:1 and wave_shl:1 */
#define __builtin_amdgcn_update_dpp(otherwise, value, control, rows, banks, bound)                 \
    hip_on_host::from_lane("update_dpp", value,                                                    \
                           (unsigned)hip_on_host::lane() + ((control) == 0x138 ? -1 : 1))
#define __builtin_amdgcn_readfirstlane(value) hip_on_host::from_lane("readfirstlane", value, 0)

static inline void __threadfence(void)
{
}

static inline void __threadfence_system(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}

static inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}

/* One host thread runs all: an atomic operation needs nothing. */
template <typename T, typename V> static T atomicAdd(T *at, V value)
{
    const T old = *at;
    *at = old + (T)value;
    return old;
}

template <typename T, typename V> static T atomicAnd(T *at, V value)
{
    const T old = *at;
    *at = old & (T)value;
    return old;
}

template <typename T, typename V> static T atomicOr(T *at, V value)
{
    const T old = *at;
    *at = old | (T)value;
    return old;
}

template <typename T, typename V> static T atomicMin(T *at, V value)
{
    const T old = *at;
    *at = (T)value < old ? (T)value : old;
    return old;
}

template <typename T, typename V> static T atomicMax(T *at, V value)
{
    const T old = *at;
    *at = (T)value > old ? (T)value : old;
    return old;
}

static inline unsigned atomicInc(unsigned *at, unsigned most)
{
    const unsigned old = *at;
    *at = old >= most ? 0 : old + 1;
    return old;
}

/* Other processes see these. */
#ifndef __HIP_MEMORY_SCOPE_SYSTEM
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#endif
#define __hip_atomic_store(to, value, order, scope) __atomic_store_n(to, value, order)
#define __hip_atomic_load(from, order, scope) __atomic_load_n(from, order)

template <typename TO, typename FROM> static inline TO hip_on_host_bits(FROM from)
{
    TO to;
    static_assert(sizeof to == sizeof from, "the same bits");
    memcpy(&to, &from, sizeof to);
    return to;
}

static inline long long __double_as_longlong(double value)
{
    return hip_on_host_bits<long long>(value);
}

static inline double __longlong_as_double(long long value)
{
    return hip_on_host_bits<double>(value);
}

static inline int __float_as_int(float value)
{
    return hip_on_host_bits<int>(value);
}

uint64_t hip_on_host_clock_ns(void);
#define __builtin_amdgcn_s_memrealtime() (hip_on_host_clock_ns() / 10)
