/* The highest value of each plane of cells. A block of threads covers THREADS cells of x and ROWS
 * rows. Integers and extremes: the order does not matter. */
#include "kernels/hip/device/arch.h"

#include "kernels/class_summary.h"
#include "kernels/hip/host/device_hip.h"

enum { THREADS = 256, ROWS = 32, MOST_BLOCKS = 65535 };

typedef unsigned long long key_type;

/* Most cells raise nothing: they cost no atomic operation. */
static __device__ __forceinline__ void raise(key_type *plane, key_type key)
{
    if (key > *const_cast<volatile key_type *>(plane)) {
        atomicMax(plane, key);
    }
}

/* `planes` begins with the number of cells above `limit`. */
template <typename REAL>
static __global__ __launch_bounds__(THREADS) void plane_maxima(const struct layout layout,
                                                               const REAL *field, double limit,
                                                               key_type *planes)
{
    __shared__ key_type of_row[ROWS];
    const int64_t nx = layout.cells[AXIS_X];
    const int64_t ny = layout.cells[AXIS_Y];
    const int64_t nrows = ny * layout.cells[AXIS_Z];
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    key_type of_column = 0;
    key_type above = 0;
    for (int64_t begin = (int64_t)blockIdx.y * ROWS; begin < nrows;
         begin += (int64_t)gridDim.y * ROWS) {
        if (threadIdx.x < ROWS) {
            of_row[threadIdx.x] = 0;
        }
        __syncthreads();
        for (int r = 0; r < ROWS && begin + r < nrows && i < nx; r++) {
            const int64_t k = (begin + r) / ny;
            const int64_t j = begin + r - k * ny;
            const double value =
                (double)field[layout.origin + i + j * layout.pitch_y + k * layout.pitch_z];
            const key_type key = class_key_of(value);
            of_column = key > of_column ? key : of_column;
            above += value > limit ? 1 : 0;
            raise(&of_row[r], key);
        }
        __syncthreads();
        const int64_t row = begin + threadIdx.x;
        if (threadIdx.x < ROWS && row < nrows) {
            const int64_t k = row / ny;
            raise(&planes[1 + nx + (row - k * ny)], of_row[threadIdx.x]);
            raise(&planes[1 + nx + ny + k], of_row[threadIdx.x]);
        }
        __syncthreads();
    }
    if (i < nx) {
        raise(&planes[1 + i], of_column);
    }
    if (above > 0) {
        atomicAdd(&planes[0], above);
    }
}

enum status hip_plane_maxima(struct queue *queue, const struct plane_maxima_args *args)
{
    const int64_t *n = args->layout.cells;
    const int64_t across = (n[AXIS_X] + THREADS - 1) / THREADS;
    const int64_t nblocks = (n[AXIS_Y] * n[AXIS_Z] + ROWS - 1) / ROWS;
    const dim3 grid((unsigned)across,
                    (unsigned)(nblocks < MOST_BLOCKS ? nblocks : (int64_t)MOST_BLOCKS));
    return in_precision(args->layout.precision, [&](auto real) {
        plane_maxima<<<grid, THREADS, 0, queue->stream>>>(
            args->layout, static_cast<const decltype(real) *>(args->d_field), args->limit,
            reinterpret_cast<key_type *>(args->d_planes));
        return hip_check(hipGetLastError(), "plane_maxima");
    });
}
