/* Cells of a field for a file: strided and converted. */
/* first: it defines KERNEL_INLINE */
#include "kernels/hip/device/arch.h"

#include "kernels/cell/extract_cell.h"
#include "kernels/hip/device/visit.h"

static __device__ __forceinline__ void convert_value(double value, double *to)
{
    *to = value;
}
static __device__ __forceinline__ void convert_value(float value, float *to)
{
    *to = value;
}
static __device__ __forceinline__ void convert_value(double value, float *to)
{
    *to = extract_narrow(value);
}
static __device__ __forceinline__ void convert_value(float value, double *to)
{
    *to = extract_widen(value);
}

/* ROOT: of float64. */
template <typename FROM, typename TO, bool ROOT> struct extract_cell {
    struct extract_args args;
    __device__ void operator()(int64_t i, int64_t j, int64_t k) const
    {
        const int64_t *first = args.first;
        const int64_t *stride = args.stride;
        FROM value = static_cast<const FROM *>(args.d_field)[element_at(
            args.layout, first[AXIS_X] + i * stride[AXIS_X], first[AXIS_Y] + j * stride[AXIS_Y],
            first[AXIS_Z] + k * stride[AXIS_Z])];
        if constexpr (ROOT) {
            value = extract_root(value);
        }
        convert_value(value, static_cast<TO *>(args.d_values) +
                                 (k * args.cells[AXIS_Y] + j) * args.cells[AXIS_X] + i);
    }
};

enum status hip_extract(struct queue *queue, const struct extract_args *args)
{
    const struct box cells = box_of_cells(args->cells);
    return in_precision(args->precision, [&](auto to) {
        using TO = decltype(to);
        if (args->layout.precision == PRECISION_FLOAT32) {
            return visit(queue, cells, extract_cell<float, TO, false>{*args}, "extract");
        }
        if (args->root) {
            return visit(queue, cells, extract_cell<double, TO, true>{*args}, "extract");
        }
        return visit(queue, cells, extract_cell<double, TO, false>{*args}, "extract");
    });
}
