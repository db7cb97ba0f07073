/* Conversions between enthalpy and temperature where properties depend on temperature, and the
 * liquid fraction. */
#include "kernels/hip/kind/enthalpy.h"

#include "kernels/hip/device/visit.h"

enum { PART = 4 }; /* cells of a row that a thread reads at a time */

/* ONE_LINE: to temperatures, and is_line. */
template <typename REAL, bool ONE_LINE>
static __global__ __launch_bounds__(VISIT_THREADS) void convert(const cell_sweep s,
                                                                const grid_view<REAL> view,
                                                                const nonlinear<REAL> m,
                                                                enum enthalpy_conversion conversion)
{
    const only_line<REAL> of_line(ONE_LINE ? m.segments() : nullptr);
    visit_rows<PART>(s, [&](int64_t first, int64_t j, int64_t k) {
        REAL x[PART];
        for_part<PART>(s, first, [&](int c, int64_t i) { x[c] = view.in[view.at(i, j, k)]; });
        for_part<PART>(s, first, [&](int c, int64_t i) {
            const int of_class = ONE_LINE || m.of.n == 1 ? 0 : m.class_at(i, j, k);
            const REAL *segments = m.segments() + nonlinear_pitch(m.count) * of_class;
            view.out[view.at(i, j, k)] = ONE_LINE ? of_line.temperature(x[c])
                                         : conversion == CONVERT_TO_ENTHALPY
                                             ? nonlinear_enthalpy(segments, m.count, x[c])
                                             : m.temperature(of_class, x[c]);
        });
    });
}

enum status hip_convert(struct queue *queue, const struct convert_args *args)
{
    const struct box owned = layout_owned(&args->layout);
    const cell_sweep s = sweep_of(&owned, VISIT_BLOCKS_MOST, PART);
    const bool one_line = args->conversion == CONVERT_TO_TEMPERATURE && is_line(args->medium);
    return in_precision(args->layout.precision, [&](auto real) {
        using REAL = decltype(real);
        const auto kernel = one_line ? convert<REAL, true> : convert<REAL, false>;
        kernel<<<s.nblocks, VISIT_THREADS, 0, queue->stream>>>(
            s, view_of<REAL>(&args->layout, args->d_out, args->d_in),
            nonlinear_of<REAL>(args->medium), args->conversion);
        return hip_check(hipGetLastError(), "convert");
    });
}

template <typename REAL> struct liquid_cell {
    grid_view<REAL> view;
    nonlinear<REAL> m;
    struct layout kept;
    double *fraction;
    __device__ void operator()(int64_t i, int64_t j, int64_t k) const
    {
        fraction[element_at(kept, i, j, k)] = (double)nonlinear_liquid(
            m.numbers() + NONLINEAR_NUMBERS * m.class_at(i, j, k), view.in[view.at(i, j, k)]);
    }
};

enum status hip_liquid_fraction(struct queue *queue, const struct liquid_fraction_args *args)
{
    return in_precision(args->layout.precision, [&](auto real) {
        using REAL = decltype(real);
        return visit(queue, layout_owned(&args->layout),
                     liquid_cell<REAL>{view_of<REAL>(&args->layout, nullptr, args->d_field),
                                       nonlinear_of<REAL>(args->medium), args->kept,
                                       args->d_fraction},
                     "liquid_fraction");
    });
}
