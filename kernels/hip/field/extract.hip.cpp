/* Cells of a field for a file: strided and converted. */
/* first: it defines KERNEL_INLINE */
#include "kernels/hip/device/arch.h"

#include "kernels/cell/extract_cell.h"
#include "kernels/hip/host/device_hip.h"

/* Threads of a block along a row, and its rows. */
enum { WIDE = 64, HIGH = 4, MOST_BLOCKS = 65535 };

template <typename FROM, typename TO> struct conversion;
template <typename SAME> struct conversion<SAME, SAME> {
    static __device__ __forceinline__ SAME of(SAME value)
    {
        return value;
    }
};
template <> struct conversion<double, float> {
    static __device__ __forceinline__ float of(double value)
    {
        return extract_narrow(value);
    }
};
template <> struct conversion<float, double> {
    static __device__ __forceinline__ double of(float value)
    {
        return extract_widen(value);
    }
};

template <bool ROOT, typename REAL> static __device__ __forceinline__ REAL root_of(REAL value)
{
    if constexpr (ROOT) {
        return extract_root(value);
    } else {
        return value;
    }
}

/* A block is part of a plane, which avoids divisions. */
template <typename FROM, typename TO, bool ROOT>
static __global__ __launch_bounds__(WIDE *HIGH) void extract_cells(const struct extract_args args)
{
    const struct layout &layout = args.layout;
    const FROM *field = static_cast<const FROM *>(args.d_field);
    TO *values = static_cast<TO *>(args.d_values);
    const int64_t nx = args.cells[AXIS_X];
    const int64_t ny = args.cells[AXIS_Y];
    const int64_t i = (int64_t)blockIdx.x * WIDE + threadIdx.x;
    if (i >= nx) {
        return;
    }
    const int64_t x = args.first[AXIS_X] + i * args.stride[AXIS_X];
    for (int64_t k = blockIdx.z; k < args.cells[AXIS_Z]; k += gridDim.z) {
        const int64_t z = args.first[AXIS_Z] + k * args.stride[AXIS_Z];
        for (int64_t j = (int64_t)blockIdx.y * HIGH + threadIdx.y; j < ny;
             j += (int64_t)gridDim.y * HIGH) {
            const int64_t y = args.first[AXIS_Y] + j * args.stride[AXIS_Y];
            const FROM value = field[layout.origin + x + y * layout.pitch_y + z * layout.pitch_z];
            values[(k * ny + j) * nx + i] = conversion<FROM, TO>::of(root_of<ROOT>(value));
        }
    }
}

static unsigned at_most(int64_t blocks)
{
    return (unsigned)(blocks < MOST_BLOCKS ? blocks : (int64_t)MOST_BLOCKS);
}

template <typename FROM, typename TO, bool ROOT>
static void launch(struct queue *queue, const struct extract_args *args)
{
    const dim3 grid((unsigned)((args->cells[AXIS_X] + WIDE - 1) / WIDE),
                    at_most((args->cells[AXIS_Y] + HIGH - 1) / HIGH), at_most(args->cells[AXIS_Z]));
    extract_cells<FROM, TO, ROOT><<<grid, dim3(WIDE, HIGH), 0, queue->stream>>>(*args);
}

enum status hip_extract(struct queue *queue, const struct extract_args *args)
{
    const bool to_float64 = args->precision == PRECISION_FLOAT64;
    if (args->layout.precision == PRECISION_FLOAT32) {
        if (to_float64) {
            launch<float, double, false>(queue, args);
        } else {
            launch<float, float, false>(queue, args);
        }
    } else if (args->root) {
        if (to_float64) {
            launch<double, double, true>(queue, args);
        } else {
            launch<double, float, true>(queue, args);
        }
    } else {
        if (to_float64) {
            launch<double, double, false>(queue, args);
        } else {
            launch<double, float, false>(queue, args);
        }
    }
    return hip_check(hipGetLastError(), "extract");
}
