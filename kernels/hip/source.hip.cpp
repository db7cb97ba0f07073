/* Heat sources that no class has: moving ones, and those of a file. One thread per cell. */
#include "kernels/hip/cells.h"

#include "kernels/source_cell.h"

enum { THREADS = 256 };

static __device__ __forceinline__ double fused(double a, double b, double c)
{
    return fma(a, b, c);
}
static __device__ __forceinline__ float fused(float a, float b, float c)
{
    return fmaf(a, b, c);
}

/* What a kernel needs of the medium. */
struct source_medium {
    struct layout layout;
    const uint8_t *classes; /* nullptr: uniform */
    const void *table;
    uint8_t mask;
};

/* INDEX: 32 bits where possible, since 64-bit divisions are slow. */
template <typename REAL, typename INDEX>
static __global__ __launch_bounds__(THREADS) void add_source(const struct layout layout,
                                                             const struct source_args args,
                                                             const struct source_medium medium,
                                                             const struct box box, REAL *field,
                                                             struct hip_scratch *scratch)
{
    const INDEX n = (INDEX)blockIdx.x * THREADS + threadIdx.x;
    const INDEX nx = (INDEX)(box.hi[AXIS_X] - box.lo[AXIS_X]);
    const INDEX ny = (INDEX)(box.hi[AXIS_Y] - box.lo[AXIS_Y]);
    const INDEX nz = (INDEX)(box.hi[AXIS_Z] - box.lo[AXIS_Z]);
    tally sum = {};
    if (n < nx * ny * nz) {
        const INDEX row = n / nx;
        const int64_t i = box.lo[AXIS_X] + (int64_t)(n - row * nx);
        const int64_t j = box.lo[AXIS_Y] + (int64_t)(row % ny);
        const int64_t k = box.lo[AXIS_Z] + (int64_t)(row / ny);
        double density;
        if (args.d_values != nullptr) {
            const int64_t at = (k * layout.cells[AXIS_Y] + j) * layout.cells[AXIS_X] + i;
            density = args.shape.peak_front * (double)args.d_values[at];
        } else {
            density =
                source_cell(&args.shape, (double)(args.offset[AXIS_X] + i),
                            (double)(args.offset[AXIS_Y] + j), (double)(args.offset[AXIS_Z] + k));
        }
        const REAL heat = (REAL)density;
        REAL sigma = 1;
        if (medium.classes != nullptr) {
            const struct layout &m = medium.layout;
            const int of_class =
                medium.classes[m.origin + i + j * m.pitch_y + k * m.pitch_z] & medium.mask;
            sigma = static_cast<const REAL *>(medium.table)[medium_cell_at(of_class)];
        }
        REAL *cell = &field[layout.origin + i + j * layout.pitch_y + k * layout.pitch_z];
        *cell = fused(sigma, heat, *cell);
        sum.add((double)heat);
    }
    face_sum_add(args.d_sum, sum);
    if (is_last_block(scratch)) {
        face_sum_normalise(args.d_sum);
    }
}

template <typename REAL>
static void launch(hipStream_t stream, struct hip_scratch *d_scratch, const struct layout *layout,
                   const struct source_args *args, void *d_field, const struct box *box)
{
    const int64_t cells =
        box_extent(box, AXIS_X) * box_extent(box, AXIS_Y) * box_extent(box, AXIS_Z);
    const unsigned nblocks = (unsigned)((cells + THREADS - 1) / THREADS);
    REAL *field = static_cast<REAL *>(d_field);
    struct source_medium medium = {};
    if (args->medium != nullptr) {
        medium = {args->medium->layout, args->medium->d_class, args->medium->d_table,
                  args->medium->mask};
    }
    if (cells <= INT32_MAX - THREADS) {
        add_source<REAL, int32_t>
            <<<nblocks, THREADS, 0, stream>>>(*layout, *args, medium, *box, field, d_scratch);
    } else {
        add_source<REAL, int64_t>
            <<<nblocks, THREADS, 0, stream>>>(*layout, *args, medium, *box, field, d_scratch);
    }
}

hipError_t hip_launch_add_source(hipStream_t stream, struct hip_scratch *d_scratch,
                                 const struct layout *layout, const struct source_args *args,
                                 void *d_field, const struct box *box)
{
    if (layout->precision == PRECISION_FLOAT64) {
        launch<double>(stream, d_scratch, layout, args, d_field, box);
    } else {
        launch<float>(stream, d_scratch, layout, args, d_field, box);
    }
    return hipGetLastError();
}
