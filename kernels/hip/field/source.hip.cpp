/* Heat sources that no class has: moving ones, and those of a file, one thread per cell; and the
 * sum of perfusion. */
/* first: it defines KERNEL_INLINE */
#include "kernels/hip/kind/enthalpy.h"

#include "kernels/cell/source_cell.h"
#include "kernels/hip/host/device_hip.h"

/* Of a sum: enough blocks to fill any chip, and few enough that their atomics on one sum do not
 * matter. */
enum { THREADS = 256, SUM_BLOCK_CELLS = 4 * THREADS, SUM_BLOCKS_MAX = 4096 };

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

/* Cell `n` of a box; false: it has fewer. INDEX: 32 bits where possible, since 64-bit divisions are
 * slow. */
template <typename INDEX>
static __device__ __forceinline__ bool cell_at(const struct box &box, INDEX n,
                                               int64_t (&cell)[AXIS_COUNT])
{
    const INDEX nx = (INDEX)(box.hi[AXIS_X] - box.lo[AXIS_X]);
    const INDEX ny = (INDEX)(box.hi[AXIS_Y] - box.lo[AXIS_Y]);
    const INDEX nz = (INDEX)(box.hi[AXIS_Z] - box.lo[AXIS_Z]);
    const INDEX row = n / nx;
    cell[AXIS_X] = box.lo[AXIS_X] + (int64_t)(n - row * nx);
    cell[AXIS_Y] = box.lo[AXIS_Y] + (int64_t)(row % ny);
    cell[AXIS_Z] = box.lo[AXIS_Z] + (int64_t)(row / ny);
    return n < nx * ny * nz;
}

/* The number of this thread. */
template <typename INDEX> static __device__ __forceinline__ INDEX first_cell()
{
    return (INDEX)blockIdx.x * THREADS + threadIdx.x;
}

/* The end of a kernel. All threads of all blocks call. */
static __device__ __forceinline__ void finish(struct exact_sum *d_sum, const tally &sum,
                                              struct hip_scratch *scratch)
{
    face_sum_add(d_sum, sum);
    if (is_last_block(scratch)) {
        face_sum_normalise(d_sum);
    }
}

template <typename REAL, typename INDEX>
static __global__ __launch_bounds__(THREADS) void add_source(const struct add_source_args args,
                                                             const struct source_medium medium,
                                                             struct hip_scratch *scratch)
{
    const struct layout &layout = args.layout;
    REAL *field = static_cast<REAL *>(args.d_field);
    tally sum = {};
    int64_t cell_index[AXIS_COUNT];
    if (cell_at(args.box, first_cell<INDEX>(), cell_index)) {
        const int64_t i = cell_index[AXIS_X];
        const int64_t j = cell_index[AXIS_Y];
        const int64_t k = cell_index[AXIS_Z];
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
    finish(args.d_sum, sum, scratch);
}

template <typename REAL> static void launch(struct queue *queue, const struct add_source_args *args)
{
    const int64_t cells = box_cells(&args->box);
    const unsigned nblocks = (unsigned)((cells + THREADS - 1) / THREADS);
    struct source_medium medium = {};
    if (args->medium != nullptr) {
        medium = {args->medium->layout, args->medium->d_class, args->medium->d_table,
                  args->medium->mask};
    }
    if (cells <= INT32_MAX - THREADS) {
        add_source<REAL, int32_t>
            <<<nblocks, THREADS, 0, queue->stream>>>(*args, medium, queue->d_scratch);
    } else {
        add_source<REAL, int64_t>
            <<<nblocks, THREADS, 0, queue->stream>>>(*args, medium, queue->d_scratch);
    }
}

enum status hip_add_source(struct queue *queue, const struct add_source_args *args)
{
    if (box_is_empty(&args->box)) {
        return STATUS_OK;
    }
    if (args->layout.precision == PRECISION_FLOAT64) {
        launch<double>(queue, args);
    } else {
        launch<float>(queue, args);
    }
    return hip_check(hipGetLastError(), "add_source");
}

template <typename REAL, typename INDEX>
static __global__ __launch_bounds__(THREADS) void sum_perfusion(const grid_view<REAL> view,
                                                                const nonlinear<REAL> m,
                                                                const struct box box,
                                                                struct exact_sum *d_sum,
                                                                struct hip_scratch *scratch)
{
    tally sum = {};
    int64_t cell[AXIS_COUNT];
    const INDEX stride = (INDEX)gridDim.x * THREADS;
    for (INDEX n = first_cell<INDEX>(); cell_at(box, n, cell); n += stride) {
        const int c = m.class_at(cell[0], cell[1], cell[2]);
        const REAL *of_class = m.numbers() + (int64_t)NONLINEAR_NUMBERS * c;
        if (of_class[NONLINEAR_PERFUSION] > 0) {
            const REAL *segments = m.segments() + nonlinear_pitch(m.count) * c;
            const REAL u = view.in[view.at(cell[0], cell[1], cell[2])];
            sum.add(nonlinear_perfusion(of_class, nonlinear_at(segments, m.count, u).temperature));
        }
    }
    finish(d_sum, sum, scratch);
}

template <typename REAL>
static void launch_perfusion(struct queue *queue, const struct sum_perfusion_args *args)
{
    const int64_t cells = box_cells(&args->box);
    const int64_t wanted = (cells + SUM_BLOCK_CELLS - 1) / SUM_BLOCK_CELLS;
    const unsigned nblocks = (unsigned)(wanted < SUM_BLOCKS_MAX ? wanted : (int64_t)SUM_BLOCKS_MAX);
    const grid_view<REAL> view = view_of<REAL>(&args->layout, nullptr, args->d_field);
    const nonlinear<REAL> m = nonlinear_of<REAL>(args->medium);
    if (cells <= INT32_MAX - THREADS * SUM_BLOCKS_MAX) {
        sum_perfusion<REAL, int32_t><<<nblocks, THREADS, 0, queue->stream>>>(
            view, m, args->box, args->d_sum, queue->d_scratch);
    } else {
        sum_perfusion<REAL, int64_t><<<nblocks, THREADS, 0, queue->stream>>>(
            view, m, args->box, args->d_sum, queue->d_scratch);
    }
}

enum status hip_sum_perfusion(struct queue *queue, const struct sum_perfusion_args *args)
{
    if (box_is_empty(&args->box)) {
        return STATUS_OK;
    }
    if (args->layout.precision == PRECISION_FLOAT64) {
        launch_perfusion<double>(queue, args);
    } else {
        launch_perfusion<float>(queue, args);
    }
    return hip_check(hipGetLastError(), "sum_perfusion");
}
