/* Copies: boxes to and from contiguous buffers, memory, and first touch. */
#include <string.h>

#include <omp.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/share.h"
#include "kernels/cpu/schedule/stream.h"

/* Copy n elements; the short rows of x faces without a call. */
static inline void copy_row(char *to, const char *from, int64_t n, size_t element_bytes)
{
    if (n > 4) {
        memcpy(to, from, (size_t)n * element_bytes);
    } else if (element_bytes == sizeof(double)) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + (size_t)i * sizeof(double), from + (size_t)i * sizeof(double),
                   sizeof(double));
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + (size_t)i * sizeof(float), from + (size_t)i * sizeof(float), sizeof(float));
        }
    }
}

enum direction { PACK, UNPACK };

KERNEL_INLINE void move_box(const struct layout *layout, char *field, const struct box *box,
                            char *buffer, enum direction direction)
{
    const size_t bytes = precision_bytes(layout->precision);
    const int64_t nx = box_extent(box, AXIS_X);
    const int64_t ny = box_extent(box, AXIS_Y);
    const int64_t nrows = ny * box_extent(box, AXIS_Z);
#pragma omp parallel for schedule(static) if (share_is_worthwhile(box, 1))
    for (int64_t row = 0; row < nrows; row++) {
        char *in_field =
            field + (size_t)layout_index(layout, box->lo[AXIS_X], box->lo[AXIS_Y] + row % ny,
                                         box->lo[AXIS_Z] + row / ny) *
                        bytes;
        char *in_buffer = buffer + (size_t)(row * nx) * bytes;
        if (direction == PACK) {
            copy_row(in_buffer, in_field, nx, bytes);
        } else {
            copy_row(in_field, in_buffer, nx, bytes);
        }
    }
}

enum status cpu_pack(struct queue *queue, const struct pack_args *args)
{
    for (int b = 0; b < args->nboxes; b++) {
        /* with PACK the field is only read */
        move_box(&args->layout, (char *)args->d_field, &args->boxes[b], args->d_buffers[b], PACK);
    }
    return STATUS_OK;
}

enum status cpu_unpack(struct queue *queue, const struct unpack_args *args)
{
    for (int b = 0; b < args->nboxes; b++) {
        move_box(&args->layout, args->d_field, &args->boxes[b], args->d_buffers[b], UNPACK);
    }
    return STATUS_OK;
}

/* The bytes [*begin, *end) of this thread, cut at pages. */
static void share_bytes(size_t bytes, size_t *begin, size_t *end)
{
    const size_t unit = 4096;
    const int64_t nunits = (int64_t)((bytes + unit - 1) / unit);
    const int part = omp_get_thread_num();
    const int nparts = omp_get_num_threads();
    *begin = (size_t)share_begin(nunits, part, nparts) * unit;
    *end = (size_t)share_begin(nunits, part + 1, nparts) * unit;
    *begin = *begin < bytes ? *begin : bytes;
    *end = *end < bytes ? *end : bytes;
}

static void copy_streaming(char *to, const char *from, size_t bytes)
{
    const size_t before_line = (size_t)stream_cells_to_line(to, 1);
    const size_t head = before_line < bytes ? before_line : bytes;
    memcpy(to, from, head);
    size_t at = head;
    for (; at + STREAM_LINE_BYTES <= bytes; at += STREAM_LINE_BYTES) {
        stream_part(to + at, from + at);
        stream_part(to + at + STREAM_PART_BYTES, from + at + STREAM_PART_BYTES);
    }
    memcpy(to + at, from + at, bytes - at);
    stream_fence();
}

enum { BYTES_WORTH_SHARING = 64 * 1024 };

void cpu_copy(void *to, const void *from, size_t bytes)
{
    if (bytes < BYTES_WORTH_SHARING) { /* leave it in the cache, to be read soon */
        memcpy(to, from, bytes);
        return;
    }
#pragma omp parallel
    {
        size_t begin;
        size_t end;
        share_bytes(bytes, &begin, &end);
        copy_streaming((char *)to + begin, (const char *)from + begin, end - begin);
    }
}

void cpu_fill_nan(void *memory, size_t bytes)
{
#pragma omp parallel if (bytes >= BYTES_WORTH_SHARING)
    {
        size_t begin;
        size_t end;
        share_bytes(bytes, &begin, &end);
        memset((char *)memory + begin, 0xFF, end - begin);
    }
}
