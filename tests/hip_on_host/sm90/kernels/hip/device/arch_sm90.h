/* In place of kernels/hip/device/arch_sm90.h: the same functions on the host, see tile_copy.h. */
#pragma once

#include "tests/hip_on_host/tile_copy.h"

constexpr int ARCH_WAVE = hip_on_host::WAVE;
constexpr bool ARCH_PACKS_BY_COPY = true;
constexpr bool ARCH_READS_AT_ONCE = false;
constexpr int ARCH_MARCH_KIB = 0;
constexpr int ARCH_CELLS_MOST = 16;
#define ARCH_HAS_TILE_COPY 1

static inline void arch_keep(int &)
{
}

static inline void arch_prefetch(const void *)
{
}

template <typename REAL> static void arch_store_stream(REAL *to, const vec16<REAL> &from)
{
    *reinterpret_cast<vec16<REAL> *>(to) = from;
}

template <typename REAL> static void arch_store_stream_cell(REAL *to, REAL value)
{
    *to = value;
}

template <typename T> static T arch_shift_up(T value, int lanes)
{
    return __shfl_up(value, (unsigned)lanes);
}

template <typename T> static T arch_shift_down(T value, int lanes)
{
    return __shfl_down(value, (unsigned)lanes);
}

static inline bool arch_any(bool condition)
{
    return __any(condition) != 0;
}

static inline bool arch_all(bool condition)
{
    return __all(condition) != 0;
}

static inline bool arch_is_chosen(void)
{
    return threadIdx.x == 0;
}

static inline uint32_t arch_first_lane_value(uint32_t value)
{
    return hip_on_host::from_lane("arch_first_lane_value", value, 0);
}

static inline void arch_fence_system(void)
{
    __threadfence_system();
}

static inline void arch_store_release_system(uint32_t *to, uint32_t value)
{
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
}

static inline uint32_t arch_load_acquire_system(const uint32_t *from)
{
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

static inline uint64_t arch_clock_ns(void)
{
    return hip_on_host_clock_ns();
}

/* As large as the driver's, since it is a kernel parameter. */
struct alignas(64) arch_tile_map {
    hip_on_host::tile_map tensor;
    char rest[128 - sizeof(hip_on_host::tile_map)];
};

template <typename REAL>
static hipError_t arch_tile_map_make(arch_tile_map *map, const arch_region<REAL> &region, int nx,
                                     int ny)
{
    map->tensor = {reinterpret_cast<const char *>(region.first),
                   {region.cells[0], region.cells[1], region.cells[2]},
                   {region.pitch_y * (int64_t)sizeof(REAL), region.pitch_z * (int64_t)sizeof(REAL)},
                   {nx, ny},
                   (int)sizeof(REAL)};
    return hip_on_host::tile_map_fits(map->tensor) ? hipSuccess : hipErrorInvalidValue;
}

typedef uint64_t arch_arrivals;

static inline uint32_t arch_shared_address(const void *shared)
{
    return hip_on_host::shared_address(shared);
}

static inline void arch_arrivals_init(arch_arrivals *arrivals, int threads)
{
    hip_on_host::arrivals_init(arrivals, threads);
}

static inline void arch_arrivals_publish(void)
{
}

static inline void arch_arrive(arch_arrivals *arrivals)
{
    hip_on_host::arrive(arrivals, 0);
}

static inline void arch_arrive_with_bytes(arch_arrivals *arrivals, uint32_t bytes)
{
    hip_on_host::arrive(arrivals, bytes);
}

static inline bool arch_arrivals_ended(arch_arrivals *arrivals, unsigned parity)
{
    return hip_on_host::arrivals_ended(arrivals, parity);
}

static inline bool arch_arrivals_ended_at(uint32_t arrivals, unsigned parity)
{
    return hip_on_host::arrivals_ended(
        static_cast<arch_arrivals *>(hip_on_host::shared_at(arrivals, sizeof(arch_arrivals))),
        parity);
}

static inline void arch_arrivals_wait(arch_arrivals *arrivals, unsigned parity)
{
    while (!hip_on_host::arrivals_ended(arrivals, parity)) {
    }
}

constexpr bool ARCH_MEETS_IN_PARTS = true;
struct arch_meeting {
    arch_arrivals waves;
};

static inline void arch_meeting_init(arch_meeting *meeting, int threads)
{
    arch_arrivals_init(&meeting->waves, threads / ARCH_WAVE);
}

static inline void arch_meeting_arrive(arch_meeting *meeting)
{
    __syncwarp();
    if (threadIdx.x % ARCH_WAVE == 0) {
        arch_arrive(&meeting->waves);
    }
}

static inline void arch_meeting_wait(arch_meeting *meeting, unsigned round)
{
    arch_arrivals_wait(&meeting->waves, round & 1);
}

static inline void arch_reads_before_tile_copy(void)
{
}

template <int REGISTERS> static inline void arch_raise_registers(void)
{
}

template <int REGISTERS> static inline void arch_lower_registers(void)
{
}

static inline unsigned int arch_read_counter(const unsigned int *counter)
{
    return *counter;
}

static inline void arch_tile_copy(void *tile, const arch_tile_map &map, arch_arrivals *arrivals,
                                  int x, int y, int z)
{
    hip_on_host::tile_copy(tile, map.tensor, arrivals, x, y, z);
}
