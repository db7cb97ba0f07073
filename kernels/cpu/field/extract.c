/* Cells of a field for a file. The compiler's conversions and square root give the bits that
 * extract_cell.h defines. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/share.h"
#include "kernels/cpu/schedule/stream.h"

/* The common conversion, with stride 1. Non-temporal stores, since the output is not read soon.
 * Explicit prefetch, since the hardware's distance is too short; it may reach into the next row. */
static void narrow(const double *restrict in, float *restrict out, int64_t cells)
{
    enum { PART = STREAM_PART_BYTES / sizeof(float), AHEAD = 256 };
    const int64_t front = stream_cells_to_line(out, sizeof *out);
    const int64_t begin = front < cells ? front : cells;
    const int64_t end = begin + (cells - begin) / (2 * PART) * (2 * PART);
    for (int64_t i = 0; i < begin; i++) {
        out[i] = (float)in[i];
    }
    for (int64_t i = begin; i < end; i += PART) {
        float part[PART];
        stream_fetch(STREAM_FIRST_LEVEL, in + i + AHEAD);
        for (int n = 0; n < PART; n++) {
            part[n] = (float)in[i + n];
        }
        stream_part(out + i, part);
    }
    for (int64_t i = end; i < cells; i++) {
        out[i] = (float)in[i];
    }
}

static void row_of_float32(const struct extract_args *args, const float *in, void *out)
{
    const int64_t stride = args->stride[AXIS_X];
    for (int64_t i = 0; i < args->cells[AXIS_X]; i++) {
        if (args->precision == PRECISION_FLOAT32) {
            memcpy((float *)out + i, in + i * stride, sizeof *in); /* keeps the bits of a NaN */
        } else {
            ((double *)out)[i] = (double)in[i * stride];
        }
    }
}

static void row_of_float64(const struct extract_args *args, const double *in, void *out)
{
    const int64_t cells = args->cells[AXIS_X];
    const int64_t stride = args->stride[AXIS_X];
    if (args->precision == PRECISION_FLOAT32 && stride == 1 && !args->root) {
        narrow(in, out, cells);
        return;
    }
    for (int64_t i = 0; i < cells; i++) {
        const double value = args->root ? sqrt(in[i * stride]) : in[i * stride];
        if (args->precision == PRECISION_FLOAT32) {
            ((float *)out)[i] = (float)value;
        } else {
            ((double *)out)[i] = value;
        }
    }
}

static void extract_row(const struct extract_args *args, enum precision from, const void *in,
                        void *out)
{
    if (from == args->precision && args->stride[AXIS_X] == 1 && !args->root) {
        memcpy(out, in, (size_t)args->cells[AXIS_X] * precision_bytes(from));
    } else if (from == PRECISION_FLOAT64) {
        row_of_float64(args, in, out);
    } else {
        row_of_float32(args, in, out);
    }
}

enum status cpu_extract(struct queue *queue, const struct extract_args *args)
{
    const int64_t *first = args->first;
    const int64_t *stride = args->stride;
    const int64_t ny = args->cells[AXIS_Y];
    const int64_t nrows = ny * args->cells[AXIS_Z];
    const size_t row_bytes = (size_t)args->cells[AXIS_X] * precision_bytes(args->precision);
    const struct box all = box_of_cells(args->cells);
    const struct layout *layout = &args->layout;
#pragma omp parallel if (share_is_worthwhile(&all, 1))
    {
#pragma omp for schedule(static)
        for (int64_t row = 0; row < nrows; row++) {
            const int64_t at =
                layout_index(layout, first[AXIS_X], first[AXIS_Y] + row % ny * stride[AXIS_Y],
                             first[AXIS_Z] + row / ny * stride[AXIS_Z]);
            extract_row(args, layout->precision,
                        (const char *)args->d_field +
                            (size_t)at * precision_bytes(layout->precision),
                        (char *)args->d_values + (size_t)row * row_bytes);
        }
        stream_fence();
    }
    return STATUS_OK;
}
