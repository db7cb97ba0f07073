/* Part of arch.h: AMD. */
#pragma once

constexpr int ARCH_WAVE = 64;

/* Keep the value in a register, where the compiler would compute it again. */
static __device__ __forceinline__ void arch_keep(int &)
{
}

/* Bring the cache line into the L2 cache. */
static __device__ __forceinline__ void arch_prefetch(const void *)
{
}
constexpr bool ARCH_PACKS_BY_COPY = false; /* does the copy engine pack long rows? */
constexpr bool ARCH_READS_AT_ONCE = true;
constexpr int ARCH_MARCH_KIB = 32; /* shared memory of a block of step_march, by rule */
constexpr int ARCH_CELLS_MOST = 1; /* of a thread of step_cell: a loop would spill */

typedef unsigned int arch_uint4 __attribute__((ext_vector_type(4)));

template <typename REAL>
static __device__ __forceinline__ void arch_store_stream(REAL *to, const vec16<REAL> &from)
{
    arch_uint4 bits;
    __builtin_memcpy(&bits, &from, 16);
    __builtin_nontemporal_store(bits, reinterpret_cast<arch_uint4 *>(to));
}

template <typename REAL>
static __device__ __forceinline__ void arch_store_stream_cell(REAL *to, REAL value)
{
    __builtin_nontemporal_store(value, to);
}

template <typename T> static __device__ __forceinline__ T arch_shift_up(T value, int lanes)
{
    return __shfl_up(value, (unsigned)lanes);
}

template <typename T> static __device__ __forceinline__ T arch_shift_down(T value, int lanes)
{
    return __shfl_down(value, (unsigned)lanes);
}

/* The value of the lane before or after, without shared memory; of the wave's first or last lane
 * any value. All lanes call. */
template <int CONTROL, typename T> static __device__ __forceinline__ T arch_lane_moved(T value)
{
    int words[sizeof(T) / sizeof(int)];
    __builtin_memcpy(words, &value, sizeof value);
    for (int &word : words) {
        word = __builtin_amdgcn_update_dpp(0, word, CONTROL, 0xf, 0xf, true);
    }
    __builtin_memcpy(&value, words, sizeof value);
    return value;
}

template <typename T> static __device__ __forceinline__ T arch_lane_before(T value)
{
    return arch_lane_moved<0x138>(value); /* wave_shr:1 */
}

template <typename T> static __device__ __forceinline__ T arch_lane_after(T value)
{
    return arch_lane_moved<0x130>(value); /* wave_shl:1 */
}

static __device__ __forceinline__ bool arch_any(bool condition)
{
    return __any(condition) != 0;
}

static __device__ __forceinline__ void arch_fence_system(void)
{
    __threadfence_system();
}

static __device__ __forceinline__ void arch_store_release_system(uint32_t *to, uint32_t value)
{
    __hip_atomic_store(to, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

static __device__ __forceinline__ uint32_t arch_load_acquire_system(const uint32_t *from)
{
    return __hip_atomic_load(from, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}

/* The value of the first lane. All lanes call. */
static __device__ __forceinline__ uint32_t arch_first_lane_value(uint32_t value)
{
    return (uint32_t)__builtin_amdgcn_readfirstlane((int)value);
}

static __device__ __forceinline__ bool arch_all(bool condition)
{
    return __all(condition) != 0;
}

/* The same on all multiprocessors; counts at 100 MHz. */
static __device__ __forceinline__ uint64_t arch_clock_ns(void)
{
    return __builtin_amdgcn_s_memrealtime() * 10;
}

/* All threads of a block meet when they wait; when they arrive, nothing happens. */
constexpr bool ARCH_MEETS_IN_PARTS = false;
struct arch_meeting {
};

static __device__ __forceinline__ void arch_meeting_init(arch_meeting *, int)
{
}

static __device__ __forceinline__ void arch_meeting_arrive(arch_meeting *)
{
}

static __device__ __forceinline__ void arch_meeting_wait(arch_meeting *, unsigned)
{
    __syncthreads();
}

/* No engine that copies tiles into shared memory: the ring is not built. */
#define ARCH_HAS_TILE_COPY 0

/* A parameter that no copy is made of, as always here. */
#ifndef __grid_constant__
#define __grid_constant__
#endif
