/* Conversions between enthalpy and temperature where properties depend on temperature, and the
 * liquid fraction. */
#include "kernels/hip/kind/enthalpy.h"

#include "kernels/hip/device/visit.h"

template <typename REAL> struct convert_cell {
    grid_view<REAL> view;
    nonlinear<REAL> m;
    enum enthalpy_conversion conversion;
    __device__ void operator()(int64_t i, int64_t j, int64_t k) const
    {
        const int of_class = m.of.n == 1 ? 0 : m.class_at(i, j, k);
        const REAL *segments = m.segments() + nonlinear_pitch(m.count) * of_class;
        const REAL x = view.in[view.at(i, j, k)];
        view.out[view.at(i, j, k)] = conversion == CONVERT_TO_ENTHALPY
                                         ? nonlinear_enthalpy(segments, m.count, x)
                                         : m.temperature(of_class, x);
    }
};

enum status hip_convert(struct queue *queue, const struct convert_args *args)
{
    return in_precision(args->layout.precision, [&](auto real) {
        using REAL = decltype(real);
        return visit(queue, layout_owned(&args->layout),
                     convert_cell<REAL>{view_of<REAL>(&args->layout, args->d_out, args->d_in),
                                        nonlinear_of<REAL>(args->medium), args->conversion},
                     "convert");
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
