/* Conversions between enthalpy and temperature where properties depend on temperature, and the
 * liquid fraction. */
#include "kernels/hip/kind/enthalpy.h"

#include "kernels/hip/host/device_hip.h"

enum { CONVERT_THREADS = 256, MOST_BLOCKS = 1 << 20 };

template <typename REAL, typename VISIT>
static __device__ __forceinline__ void visit_cells(const grid_view<REAL> &view, VISIT visit)
{
    const int64_t nx = view.cells[0];
    const int64_t ny = view.cells[1];
    const int64_t total = nx * ny * view.cells[2];
    for (int64_t n = (int64_t)blockIdx.x * CONVERT_THREADS + threadIdx.x; n < total;
         n += (int64_t)gridDim.x * CONVERT_THREADS) {
        visit(n % nx, n / nx % ny, n / (nx * ny));
    }
}

static unsigned blocks_of(const struct layout *layout)
{
    const int64_t cells = layout->cells[0] * layout->cells[1] * layout->cells[2];
    const int64_t blocks = (cells + CONVERT_THREADS - 1) / CONVERT_THREADS;
    return (unsigned)(blocks < MOST_BLOCKS ? blocks : (int64_t)MOST_BLOCKS);
}

template <typename REAL>
static __global__ __launch_bounds__(CONVERT_THREADS) void convert(
    const grid_view<REAL> view, const nonlinear<REAL> m, enum enthalpy_conversion conversion)
{
    visit_cells(view, [&](int64_t i, int64_t j, int64_t k) {
        const int of_class = m.class_at(i, j, k);
        const REAL *segments = m.segments() + nonlinear_pitch(m.count) * of_class;
        const REAL x = view.in[view.at(i, j, k)];
        view.out[view.at(i, j, k)] = conversion == CONVERT_TO_ENTHALPY
                                         ? nonlinear_enthalpy(segments, m.count, x)
                                         : nonlinear_at(segments, m.count, x).temperature;
    });
}

template <typename REAL>
static void launch_convert(struct queue *queue, const struct convert_args *args)
{
    convert<REAL><<<blocks_of(&args->layout), CONVERT_THREADS, 0, queue->stream>>>(
        view_of<REAL>(&args->layout, args->d_out, args->d_in), nonlinear_of<REAL>(args->medium),
        args->conversion);
}

enum status hip_convert(struct queue *queue, const struct convert_args *args)
{
    if (args->layout.precision == PRECISION_FLOAT64) {
        launch_convert<double>(queue, args);
    } else {
        launch_convert<float>(queue, args);
    }
    return hip_check(hipGetLastError(), "convert");
}

/* `fraction` points to cell (0, 0, 0). */
template <typename REAL>
static __global__ __launch_bounds__(CONVERT_THREADS) void liquid(const grid_view<REAL> view,
                                                                 const nonlinear<REAL> m,
                                                                 double *fraction, int64_t pitch_y,
                                                                 int64_t pitch_z)
{
    visit_cells(view, [&](int64_t i, int64_t j, int64_t k) {
        fraction[i + j * pitch_y + k * pitch_z] = (double)nonlinear_liquid(
            m.numbers() + NONLINEAR_NUMBERS * m.class_at(i, j, k), view.in[view.at(i, j, k)]);
    });
}

template <typename REAL>
static void launch_liquid(struct queue *queue, const struct liquid_fraction_args *args)
{
    liquid<REAL><<<blocks_of(&args->layout), CONVERT_THREADS, 0, queue->stream>>>(
        view_of<REAL>(&args->layout, nullptr, args->d_field), nonlinear_of<REAL>(args->medium),
        args->d_fraction + args->kept.origin, args->kept.pitch_y, args->kept.pitch_z);
}

enum status hip_liquid_fraction(struct queue *queue, const struct liquid_fraction_args *args)
{
    if (args->layout.precision == PRECISION_FLOAT64) {
        launch_liquid<double>(queue, args);
    } else {
        launch_liquid<float>(queue, args);
    }
    return hip_check(hipGetLastError(), "liquid_fraction");
}
