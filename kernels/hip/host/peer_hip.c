/* The backend `hip`: memory shared with other processes of the node, packing into it, and flags. */
#include "kernels/hip/host/device_hip.h"

#include <string.h>

_Static_assert(sizeof(hipIpcMemHandle_t) <= SHARED_HANDLE_BYTES, "a handle fits");

enum status hip_shared_alloc(struct device *device, size_t bytes, void **d_memory,
                             struct shared_handle *handle)
{
    /* complete blocks of the allocator: a handle exposes the entire block */
    const size_t block = (size_t)2 << 20;
    const size_t whole = (bytes + block - 1) / block * block;
    hipIpcMemHandle_t ipc;
    void *fresh = NULL;
    /* fine-grained where supported: no stale cache lines after stores of another device */
    TRY_HIP(hipExtMallocWithFlags, &fresh, whole, hipDeviceMallocFinegrained);
    enum status status = HIP(hipMemset, fresh, 0xFF, whole);
    if (status == STATUS_OK) {
        status = hip_check(hipDeviceSynchronize(), "hipDeviceSynchronize");
    }
    if (status == STATUS_OK) {
        status = HIP(hipIpcGetMemHandle, &ipc, fresh);
    }
    if (status != STATUS_OK) {
        (void)hipFree(fresh);
        return status;
    }
    memset(handle, 0, sizeof *handle);
    memcpy(handle->bytes, &ipc, sizeof ipc);
    *d_memory = fresh;
    return STATUS_OK;
}

enum status hip_shared_open(struct device *device, const struct shared_handle *handle,
                            void **d_memory)
{
    hipIpcMemHandle_t ipc;
    void *mapped = NULL;
    memcpy(&ipc, handle->bytes, sizeof ipc);
    TRY_HIP(hipIpcOpenMemHandle, &mapped, ipc, hipIpcMemLazyEnablePeerAccess);
    *d_memory = mapped;
    return STATUS_OK;
}

void hip_shared_close(struct device *device, void *d_memory)
{
    if (d_memory != NULL) {
        (void)hipDeviceSynchronize(); /* kernels may still store into it */
        (void)hipIpcCloseMemHandle(d_memory);
    }
}

/* Rows with one stride, for a two-dimensional copy. */
struct sheet {
    size_t row_bytes, rows, pitch_bytes;
};

static bool is_sheet(const struct layout *layout, const struct box *box, struct sheet *sheet)
{
    const size_t cell_bytes = precision_bytes(layout->precision);
    const int64_t ny = box_extent(box, AXIS_Y);
    const int64_t nz = box_extent(box, AXIS_Z);
    *sheet = (struct sheet){
        .row_bytes = (size_t)box_extent(box, AXIS_X) * cell_bytes,
        .rows = (size_t)(nz == 1 ? ny : nz),
        .pitch_bytes = (size_t)(nz == 1 ? layout->pitch_y : layout->pitch_z) * cell_bytes,
    };
    return (ny == 1 || nz == 1) && sheet->rows > 0;
}

/* Another kernel slows down all blocks of a step kernel with pacing; the copy engine does not
 * (docs/developers/halo.md), but needs long rows. On AMD it does not reach the speed of the links,
 * and step kernels have no pacing. */
static enum status pack_by_copy(struct queue *queue, const struct layout *layout,
                                const void *d_field, const struct box *box, void *d_buffer,
                                bool *done)
{
    const size_t long_row_bytes = 1024;
    struct sheet sheet;
    *done = hip_packs_by_copy() && queue->has_priority && is_sheet(layout, box, &sheet) &&
            sheet.row_bytes >= long_row_bytes;
    if (*done) {
        const int64_t first = layout_index(layout, box->lo[0], box->lo[1], box->lo[2]);
        const char *from =
            (const char *)d_field + (size_t)first * precision_bytes(layout->precision);
        if (sheet.rows == 1) { /* of 8 MiB to another GPU, as two-dimensional: 3.5 GB/s */
            TRY_HIP(hipMemcpyAsync, d_buffer, from, sheet.row_bytes, hipMemcpyDeviceToDevice,
                    queue->stream);
        } else {
            TRY_HIP(hipMemcpy2DAsync, d_buffer, sheet.row_bytes, from, sheet.pitch_bytes,
                    sheet.row_bytes, sheet.rows, hipMemcpyDeviceToDevice, queue->stream);
        }
    }
    return STATUS_OK;
}

enum status hip_pack(struct queue *queue, const struct pack_args *args)
{
    const struct layout *layout = &args->layout;
    struct box left[HIP_BOXES_PER_MOVE];
    void *d_left[HIP_BOXES_PER_MOVE];
    int nleft = 0;
    for (int b = 0; b < args->nboxes; b++) {
        const struct box *box = &args->boxes[b];
        bool done = false;
        TRY(pack_by_copy(queue, layout, args->d_field, box, args->d_buffers[b], &done));
        if (!done) {
            left[nleft] = *box;
            d_left[nleft++] = args->d_buffers[b];
        }
        if (nleft == HIP_BOXES_PER_MOVE || (nleft > 0 && b == args->nboxes - 1)) {
            TRY_HIP(hip_launch_pack, queue->stream, layout, args->d_field, left, d_left, nleft);
            nleft = 0;
        }
    }
    return STATUS_OK;
}

enum status hip_flags_write(struct queue *queue, uint32_t *const *d_flags, int nflags,
                            uint32_t value)
{
    for (int n = 0; n < nflags; n += HIP_BOXES_PER_MOVE) {
        const int count = nflags - n < HIP_BOXES_PER_MOVE ? nflags - n : HIP_BOXES_PER_MOVE;
        TRY_HIP(hip_launch_flags_write, queue->stream, d_flags + n, count, value);
    }
    return STATUS_OK;
}

enum status hip_flags_wait(struct queue *queue, uint32_t *const *d_flags, int nflags,
                           uint32_t value, double limit_s)
{
    queue->limit_s = limit_s;
    for (int n = 0; n < nflags; n += HIP_BOXES_PER_MOVE) {
        const int count = nflags - n < HIP_BOXES_PER_MOVE ? nflags - n : HIP_BOXES_PER_MOVE;
        TRY_HIP(hip_launch_flags_wait, queue->stream, d_flags + n, count, value, limit_s,
                queue->late);
    }
    return STATUS_OK;
}

enum status hip_flags_check(struct queue *queue)
{
    if (*(volatile uint32_t *)queue->late == 0) {
        return STATUS_OK;
    }
    *queue->late = 0;
    return fail(STATUS_DEVICE,
                "a flag of another process was not set within %g s: that process has ended or is "
                "stuck",
                queue->limit_s);
}
