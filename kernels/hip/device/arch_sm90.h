/* Part of arch.h: NVIDIA, compute capability 9.0 and above. */
#pragma once

#include <cuda.h>

constexpr int ARCH_WAVE = 32;

/* Keep the value in a register, where the compiler would compute it again. */
static __device__ __forceinline__ void arch_keep(int &value)
{
    asm("" : "+r"(value));
}

/* Bring the cache line into the L2 cache. */
static __device__ __forceinline__ void arch_prefetch(const void *address)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/* Once all blocks have called, those of a next kernel by arch_launch_early begin where there is
 * room. */
static __device__ __forceinline__ void arch_let_next_begin(void)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* Wait until the kernel before one of arch_launch_early has ended. Some block has to call, else
 * that kernel may outlast this one, and a kernel that waits for this one does not wait for it. */
static __device__ __forceinline__ void arch_wait_for_last(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* A kernel of arch_launch_early: its blocks begin while that before it on the stream ends, and wait
 * here for what it wrote. All threads call, before they read memory or write to it. */
#define ARCH_LAUNCHES_EARLY 1
static __device__ __forceinline__ void arch_begin_early(void)
{
    arch_let_next_begin();
    arch_wait_for_last();
}

template <typename... P, typename... A>
static void arch_launch_early(void (*kernel)(P...), unsigned blocks, unsigned threads,
                              hipStream_t stream, const A &...given)
{
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, static_cast<P>(given)...);
}

constexpr bool ARCH_PACKS_BY_COPY = true;
constexpr bool ARCH_READS_AT_ONCE = false;
constexpr int ARCH_MARCH_KIB = 0;
constexpr int ARCH_CELLS_MOST = 16;
#define ARCH_HAS_TILE_COPY 1

template <typename REAL>
static __device__ __forceinline__ void arch_store_stream(REAL *to, const vec16<REAL> &from)
{
    __stcs(reinterpret_cast<float4 *>(to), *reinterpret_cast<const float4 *>(&from));
}

template <typename REAL>
static __device__ __forceinline__ void arch_store_stream_cell(REAL *to, REAL value)
{
    __stcs(to, value);
}

template <typename T> static __device__ __forceinline__ T arch_shift_up(T value, int lanes)
{
    return __shfl_up_sync(0xFFFFFFFFU, value, (unsigned)lanes);
}

template <typename T> static __device__ __forceinline__ T arch_shift_down(T value, int lanes)
{
    return __shfl_down_sync(0xFFFFFFFFU, value, (unsigned)lanes);
}

static __device__ __forceinline__ bool arch_any(bool condition)
{
    return __any_sync(0xFFFFFFFFU, condition) != 0;
}

static __device__ __forceinline__ void arch_fence_system(void)
{
    __threadfence_system();
}

static __device__ __forceinline__ bool arch_all(bool condition)
{
    return __all_sync(0xFFFFFFFFU, condition) != 0;
}

/* One thread of the first wave, and the compiler knows that it is one: around a tile copy by a
 * thread that it does not know to be alone it makes a loop over threads. All threads call. */
static __device__ __forceinline__ bool arch_is_chosen(void)
{
    uint32_t chosen;
    asm volatile("{\n"
                 ".reg .pred one, first;\n"
                 "elect.sync _|one, 0xffffffff;\n"
                 "setp.lt.and.u32 first, %1, 32, one;\n"
                 "selp.u32 %0, 1, 0, first;\n"
                 "}\n"
                 : "=r"(chosen)
                 : "r"(threadIdx.x));
    return chosen != 0;
}

/* The value of the first lane. All lanes call. */
static __device__ __forceinline__ uint32_t arch_first_lane_value(uint32_t value)
{
    return __shfl_sync(0xFFFFFFFFU, value, 0);
}

/* Visible to other devices and the host after everything that this thread has stored or seen. */
static __device__ __forceinline__ void arch_store_release_system(uint32_t *to, uint32_t value)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

static __device__ __forceinline__ uint32_t arch_load_acquire_system(const uint32_t *from)
{
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

/* The same on all multiprocessors; resolution about a microsecond. */
static __device__ __forceinline__ uint64_t arch_clock_ns(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

/* A tensor map: the bulk copy engine reads tiles of a plane by cell indices, with zeros outside the
 * region. A kernel parameter, declared __grid_constant__. */
struct arch_tile_map {
    CUtensorMap tensor;
};

typedef decltype(cuTensorMapEncodeTiled) arch_encode;

/* Through the runtime instead of linking the driver's library, so that the program starts on a
 * machine without it. */
static inline arch_encode *arch_find_encode(void)
{
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult answer;
    const unsigned int since = 12000;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, since, cudaEnableDefault,
                                         &answer) != cudaSuccess ||
        answer != cudaDriverEntryPointSuccess) {
        return nullptr;
    }
    return reinterpret_cast<arch_encode *>(entry);
}

/* Tiles of nx x ny cells: at most 256 each, rows of whole multiples of 16 bytes. */
template <typename REAL>
static hipError_t arch_tile_map_make(arch_tile_map *map, const arch_region<REAL> &region, int nx,
                                     int ny)
{
    static arch_encode *const encode = arch_find_encode();
    const cuuint64_t cells[3] = {(cuuint64_t)region.cells[0], (cuuint64_t)region.cells[1],
                                 (cuuint64_t)region.cells[2]};
    const cuuint64_t strides[2] = {(cuuint64_t)region.pitch_y * sizeof(REAL),
                                   (cuuint64_t)region.pitch_z * sizeof(REAL)};
    const cuuint32_t tile[3] = {(cuuint32_t)nx, (cuuint32_t)ny, 1};
    const cuuint32_t steps[3] = {1, 1, 1};
    if (encode == nullptr) {
        return hipErrorNotSupported;
    }
    const CUresult result =
        encode(&map->tensor,
               sizeof(REAL) == 8   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64
               : sizeof(REAL) == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                   : CU_TENSOR_MAP_DATA_TYPE_UINT8,
               3, const_cast<REAL *>(region.first), cells, strides, tile, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS ? hipSuccess : hipErrorInvalidValue;
}

/* In shared memory: counts arrivals of threads and of bytes; a round ends when all have arrived. */
typedef uint64_t arch_arrivals;

static __device__ __forceinline__ uint32_t arch_shared_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* One thread calls; then arch_arrivals_publish, then a barrier before any other thread uses it. */
static __device__ __forceinline__ void arch_arrivals_init(arch_arrivals *arrivals, int threads)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(arch_shared_address(arrivals)),
                 "r"(threads)
                 : "memory");
}

static __device__ __forceinline__ void arch_arrivals_publish(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void arch_arrive(arch_arrivals *arrivals)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(arch_shared_address(arrivals))
                 : "memory");
}

/* This thread arrives, and `bytes` more bytes of tiles belong to the round. */
static __device__ __forceinline__ void arch_arrive_with_bytes(arch_arrivals *arrivals,
                                                              uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     arch_shared_address(arrivals)),
                 "r"(bytes)
                 : "memory");
}

/* Wait for the end of round number r, where `parity` = r % 2. A round that has not begun counts as
 * the one before: waiting for round -1 returns at once. */
static __device__ __forceinline__ void arch_arrivals_wait(arch_arrivals *arrivals, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra ready;\n"
                 "bra again;\n"
                 "ready:\n"
                 "}\n" ::"r"(arch_shared_address(arrivals)),
                 "r"(parity)
                 : "memory");
}

/* All threads of a block meet in two parts: a thread arrives, and later it waits until the others
 * have arrived too. Rounds count from 0. In shared memory. */
constexpr bool ARCH_MEETS_IN_PARTS = true;
struct arch_meeting {
    arch_arrivals waves;
};

/* One thread calls; a barrier must follow. */
static __device__ __forceinline__ void arch_meeting_init(arch_meeting *meeting, int threads)
{
    arch_arrivals_init(&meeting->waves, threads / ARCH_WAVE);
}

/* All lanes of a wave call. */
static __device__ __forceinline__ void arch_meeting_arrive(arch_meeting *meeting)
{
    __syncwarp();
    if (threadIdx.x % ARCH_WAVE == 0) {
        arch_arrive(&meeting->waves);
    }
}

static __device__ __forceinline__ void arch_meeting_wait(arch_meeting *meeting, unsigned round)
{
    arch_arrivals_wait(&meeting->waves, round & 1);
}

/* Whether round r has ended; may wait for a while. By the address in shared memory. */
static __device__ __forceinline__ bool arch_arrivals_ended_at(uint32_t arrivals, unsigned parity)
{
    uint32_t ended;
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, done;\n"
                 "}\n"
                 : "=r"(ended)
                 : "r"(arrivals), "r"(parity)
                 : "memory");
    return ended != 0;
}

static __device__ __forceinline__ bool arch_arrivals_ended(arch_arrivals *arrivals, unsigned parity)
{
    return arch_arrivals_ended_at(arch_shared_address(arrivals), parity);
}

/* Orders this thread's reads of shared memory before the engine's next write there, which an
 * arrival alone does not (docs/records/hip.md). */
static __device__ __forceinline__ void arch_reads_before_tile_copy(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Four waves call together: from now on each has this number of registers, where
 * the code can move them. Others must have given up those that some get more. */
#if ARCH_HAS_REGISTER_MOVES
template <int REGISTERS> static __device__ __forceinline__ void arch_raise_registers(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS> static __device__ __forceinline__ void arch_lower_registers(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
#else
template <int REGISTERS> static __device__ __forceinline__ void arch_raise_registers(void)
{
}

template <int REGISTERS> static __device__ __forceinline__ void arch_lower_registers(void)
{
}
#endif

/* A counter that other blocks add to: bypasses the L1 cache. */
static __device__ __forceinline__ unsigned int arch_read_counter(const unsigned int *counter)
{
    unsigned int value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
    return value;
}

/* Start the copy of a tile whose first cell has these indices in the region, perhaps outside of it.
 * It is kept in the L2 cache in preference to the output: neighbouring tiles read its edges soon.
 */
static __device__ __forceinline__ void arch_tile_copy(void *tile, const arch_tile_map &map,
                                                      arch_arrivals *arrivals, int x, int y, int z)
{
    uint64_t keep;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(arch_shared_address(tile)),
        "l"(&map.tensor), "r"(x), "r"(y), "r"(z), "r"(arch_shared_address(arrivals)), "l"(keep)
        : "memory");
}
