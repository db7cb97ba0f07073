/* Copies on the device: memory at full bandwidth, and boxes to and from contiguous buffers. */
#include "kernels/hip/device/arch.h"
#include "kernels/hip/host/device_hip.h"

enum { THREADS = 256 };

/* One vector per thread: blocks run in order, so that the memory sees one stream of reads and one
 * of writes. More vectors per thread, streaming hints and bulk copies were slower
 * (docs/records/hip.md). */
static __global__ __launch_bounds__(THREADS) void copy_vectors(vec16<double> *to,
                                                               const vec16<double> *from,
                                                               int64_t nvectors)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at < nvectors) {
        to[at] = from[at];
    }
}

/* Bytes outside complete aligned vectors. */
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
    if (misfit != 0 && bytes > 65536) { /* rare */
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

/* Boxes and their contiguous buffers as one row of cells: box b holds the cells with begin[b] <= n
 * < begin[b + 1]. */
struct transfer_list {
    int64_t pitch_y, pitch_z;
    int count;
    uint32_t begin[HIP_BOXES_PER_MOVE + 1];
    uint32_t nx[HIP_BOXES_PER_MOVE], ny[HIP_BOXES_PER_MOVE];
    int64_t first[HIP_BOXES_PER_MOVE];
    void *buffer[HIP_BOXES_PER_MOVE];
};

/* Small blocks, which run concurrently with those of a step kernel. */
enum { LIST_THREADS = 128 };

template <typename CELL, bool PACK>
static __global__ __launch_bounds__(LIST_THREADS) void move_boxes(CELL *field,
                                                                  const transfer_list list)
{
    const uint32_t n = blockIdx.x * LIST_THREADS + threadIdx.x;
    if (n >= list.begin[list.count]) {
        return;
    }
    int b = 0;
    while (n >= list.begin[b + 1]) {
        b++;
    }
    const uint32_t in_box = n - list.begin[b];
    const uint32_t row = in_box / list.nx[b];
    const uint32_t i = in_box - row * list.nx[b];
    const uint32_t k = row / list.ny[b];
    const uint32_t j = row - k * list.ny[b];
    CELL *cell =
        field + list.first[b] + (int64_t)i + (int64_t)j * list.pitch_y + (int64_t)k * list.pitch_z;
    CELL *buffer = static_cast<CELL *>(list.buffer[b]);
    if (PACK) {
        buffer[in_box] = *cell;
    } else {
        *cell = buffer[in_box];
    }
}

template <bool PACK>
static hipError_t launch_list(hipStream_t stream, const struct layout *layout, void *d_field,
                              const transfer_list &list)
{
    const uint32_t nblocks = (list.begin[list.count] + LIST_THREADS - 1) / LIST_THREADS;
    if (layout->precision == PRECISION_FLOAT64) {
        move_boxes<uint64_t, PACK>
            <<<nblocks, LIST_THREADS, 0, stream>>>(static_cast<uint64_t *>(d_field), list);
    } else {
        move_boxes<uint32_t, PACK>
            <<<nblocks, LIST_THREADS, 0, stream>>>(static_cast<uint32_t *>(d_field), list);
    }
    return hipGetLastError();
}

/* Add a box to the list, which is launched when it is full. Boxes with more cells than 32 bits can
 * count are moved by halves. */
template <bool PACK>
static hipError_t move_box(hipStream_t stream, const struct layout *layout, void *d_field,
                           const struct box *box, void *d_buffer, transfer_list *list)
{
    const int64_t most = (int64_t)UINT32_MAX - LIST_THREADS;
    const int64_t cells = box_cells(box);
    if (cells > most) {
        const enum axis axis = box_extent(box, AXIS_Z) > 1 ? AXIS_Z : AXIS_Y;
        struct box low = *box;
        struct box high = *box;
        low.hi[axis] = high.lo[axis] = (box->lo[axis] + box->hi[axis]) / 2;
        const size_t bytes = (size_t)box_cells(&low) * precision_bytes(layout->precision);
        const hipError_t error = move_box<PACK>(stream, layout, d_field, &low, d_buffer, list);
        return error != hipSuccess ? error
                                   : move_box<PACK>(stream, layout, d_field, &high,
                                                    static_cast<char *>(d_buffer) + bytes, list);
    }
    hipError_t error = hipSuccess;
    if (cells > 0) {
        if (list->count == HIP_BOXES_PER_MOVE || list->begin[list->count] > most - cells) {
            error = launch_list<PACK>(stream, layout, d_field, *list);
            list->count = 0;
        }
        const int at = list->count++;
        list->nx[at] = (uint32_t)box_extent(box, AXIS_X);
        list->ny[at] = (uint32_t)box_extent(box, AXIS_Y);
        list->first[at] = layout_index(layout, box->lo[0], box->lo[1], box->lo[2]);
        list->buffer[at] = d_buffer;
        list->begin[at + 1] = list->begin[at] + (uint32_t)cells;
    }
    return error;
}

template <bool PACK>
static hipError_t move_all(hipStream_t stream, const struct layout *layout, void *d_field,
                           const struct box *boxes, void *const *d_buffers, int nboxes)
{
    transfer_list list = {};
    list.pitch_y = layout->pitch_y;
    list.pitch_z = layout->pitch_z;
    for (int b = 0; b < nboxes; b++) {
        const hipError_t error =
            move_box<PACK>(stream, layout, d_field, &boxes[b], d_buffers[b], &list);
        if (error != hipSuccess) {
            return error;
        }
    }
    return list.count > 0 ? launch_list<PACK>(stream, layout, d_field, list) : hipSuccess;
}

bool hip_packs_by_copy(void)
{
    return ARCH_PACKS_BY_COPY;
}

hipError_t hip_launch_pack(hipStream_t stream, const struct layout *layout, const void *d_field,
                           const struct box *boxes, void *const *d_buffers, int nboxes)
{
    return move_all<true>(stream, layout, const_cast<void *>(d_field), boxes, d_buffers, nboxes);
}

enum status hip_unpack(struct queue *queue, const struct unpack_args *args)
{
    return hip_check(move_all<false>(queue->stream, &args->layout, args->d_field, args->boxes,
                                     args->d_buffers, args->nboxes),
                     "unpack");
}
