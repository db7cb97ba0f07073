/* Moving bytes on the device: the copy at the memory's full speed, and boxes in and out of
 * contiguous buffers. */
#include "kernels/hip/arch.h"
#include "kernels/hip/launch.h"

enum { THREADS = 256 };

/* One vector a thread and nothing clever: blocks run in order, so that the memory sees one stream
 * of reads and one of writes. (On an H200 more vectors a thread, streaming hints and bulk copies
 * through shared memory were 2 to 10 % slower; see docs/hip.md.) */
static __global__ __launch_bounds__(THREADS) void copy_vectors(vec16<double> *to,
                                                               const vec16<double> *from,
                                                               int64_t nvectors)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at < nvectors) {
        to[at] = from[at];
    }
}

/* Bytes that are no whole aligned vectors. */
static __global__ __launch_bounds__(THREADS) void copy_bytes(char *to, const char *from,
                                                             int64_t nbytes)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at < nbytes) {
        to[at] = from[at];
    }
}

hipError_t hip_launch_copy(hipStream_t stream, void *d_to, const void *d_from, size_t bytes)
{
    const size_t misfit = ((uintptr_t)d_to | (uintptr_t)d_from) % 16;
    const int64_t nvectors = misfit == 0 ? (int64_t)(bytes / 16) : 0;
    const int64_t rest = (int64_t)bytes - 16 * nvectors;
    if (misfit != 0 && bytes > 65536) { /* rare: let the runtime find the best way */
        return hipMemcpyAsync(d_to, d_from, bytes, hipMemcpyDeviceToDevice, stream);
    }
    if (nvectors > 0) {
        copy_vectors<<<(unsigned)((nvectors + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
            static_cast<vec16<double> *>(d_to), static_cast<const vec16<double> *>(d_from),
            nvectors);
    }
    if (rest > 0) {
        copy_bytes<<<(unsigned)((rest + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
            static_cast<char *>(d_to) + 16 * nvectors,
            static_cast<const char *>(d_from) + 16 * nvectors, rest);
    }
    return hipGetLastError();
}

/* A box of a field beside a contiguous buffer, counted in cells. */
struct transfer {
    int64_t first; /* the box's first cell in the field */
    int64_t pitch_y, pitch_z;
    uint64_t nx, ny, count;
};

/* INDEX: 32 bits where they are enough, since divisions of 64 bits are slow. */
template <typename CELL, typename INDEX, bool PACK>
static __global__ __launch_bounds__(THREADS) void move_box(CELL *field, CELL *buffer,
                                                           const transfer t)
{
    const INDEX n = (INDEX)blockIdx.x * THREADS + threadIdx.x;
    if (n >= (INDEX)t.count) {
        return;
    }
    const INDEX row = n / (INDEX)t.nx;
    const INDEX i = n - row * (INDEX)t.nx;
    const INDEX k = row / (INDEX)t.ny;
    const INDEX j = row - k * (INDEX)t.ny;
    CELL *cell = field + t.first + (int64_t)i + (int64_t)j * t.pitch_y + (int64_t)k * t.pitch_z;
    if (PACK) {
        buffer[n] = *cell;
    } else {
        *cell = buffer[n];
    }
}

template <typename CELL, bool PACK>
static hipError_t launch_move(hipStream_t stream, const struct layout *layout, void *d_field,
                              const struct box *box, void *d_buffer)
{
    transfer t = {};
    t.first = layout_index(layout, box->lo[0], box->lo[1], box->lo[2]);
    t.pitch_y = layout->pitch_y;
    t.pitch_z = layout->pitch_z;
    t.nx = (uint64_t)box_extent(box, AXIS_X);
    t.ny = (uint64_t)box_extent(box, AXIS_Y);
    t.count = t.nx * t.ny * (uint64_t)box_extent(box, AXIS_Z);
    if (t.count == 0) {
        return hipSuccess;
    }
    const unsigned nblocks = (unsigned)((t.count + THREADS - 1) / THREADS);
    CELL *field = static_cast<CELL *>(d_field);
    CELL *buffer = static_cast<CELL *>(d_buffer);
    if (t.count < (uint64_t)UINT32_MAX - THREADS) {
        move_box<CELL, uint32_t, PACK><<<nblocks, THREADS, 0, stream>>>(field, buffer, t);
    } else {
        move_box<CELL, uint64_t, PACK><<<nblocks, THREADS, 0, stream>>>(field, buffer, t);
    }
    return hipGetLastError();
}

/* Bits are moved, not numbers: NaNs keep theirs. */
hipError_t hip_launch_pack(hipStream_t stream, const struct layout *layout, const void *d_field,
                           const struct box *box, void *d_buffer)
{
    void *field = const_cast<void *>(d_field); /* only read: PACK */
    return layout->precision == PRECISION_FLOAT64
               ? launch_move<uint64_t, true>(stream, layout, field, box, d_buffer)
               : launch_move<uint32_t, true>(stream, layout, field, box, d_buffer);
}

hipError_t hip_launch_unpack(hipStream_t stream, const struct layout *layout, const void *d_buffer,
                             const struct box *box, void *d_field)
{
    void *buffer = const_cast<void *>(d_buffer);
    return layout->precision == PRECISION_FLOAT64
               ? launch_move<uint64_t, false>(stream, layout, d_field, box, buffer)
               : launch_move<uint32_t, false>(stream, layout, d_field, box, buffer);
}
