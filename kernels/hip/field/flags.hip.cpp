/* Flags between devices: words in device memory that other devices write. One small block, with
 * little effect on concurrent kernels. */
#include "kernels/hip/device/arch.h"
#include "kernels/hip/host/launch.h"

struct flag_list {
    uint32_t *flag[HIP_BOXES_PER_MOVE];
    int count;
};

enum { THREADS = 32 };

static __global__ __launch_bounds__(THREADS) void write_flags(const flag_list list, uint32_t value)
{
    /* other devices see the stores of earlier kernels of the stream before the flag */
    if ((int)threadIdx.x < list.count) {
        arch_fence_system();
        arch_store_release_system(list.flag[threadIdx.x], value);
    }
}

static __global__ __launch_bounds__(THREADS) void wait_flags(const flag_list list, uint32_t value,
                                                             uint64_t limit_ns, uint32_t *late)
{
    if ((int)threadIdx.x >= list.count) {
        return;
    }
    const uint64_t start = arch_clock_ns();
    while ((int32_t)(arch_load_acquire_system(list.flag[threadIdx.x]) - value) < 0) {
        if (arch_clock_ns() - start > limit_ns) {
            arch_store_release_system(late, 1U);
            return;
        }
    }
    arch_fence_system();
}

static flag_list list_of(uint32_t *const *d_flags, int nflags)
{
    flag_list list = {};
    for (int n = 0; n < nflags; n++) {
        list.flag[n] = d_flags[n];
    }
    list.count = nflags;
    return list;
}

hipError_t hip_launch_flags_write(hipStream_t stream, uint32_t *const *d_flags, int nflags,
                                  uint32_t value)
{
    write_flags<<<1, THREADS, 0, stream>>>(list_of(d_flags, nflags), value);
    return hipGetLastError();
}

hipError_t hip_launch_flags_wait(hipStream_t stream, uint32_t *const *d_flags, int nflags,
                                 uint32_t value, double limit_s, uint32_t *late)
{
    wait_flags<<<1, THREADS, 0, stream>>>(list_of(d_flags, nflags), value,
                                          (uint64_t)(limit_s * 1e9), late);
    return hipGetLastError();
}
