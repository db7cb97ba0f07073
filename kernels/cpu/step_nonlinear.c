/* The step kernel where properties depend on temperature, conversions and the liquid fraction. */
#include <omp.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/share.h"
#include "kernels/cpu/tally.h"
#include "kernels/derived_cell.h"
#include "kernels/nonlinear_cell.h"

#define REAL double
#define NAMED(name) name##_float64
#include "kernels/cpu/nonlinear_cells.h"
#undef REAL
#undef NAMED

#define REAL float
#define NAMED(name) name##_float32
#include "kernels/cpu/nonlinear_cells.h"
#undef REAL
#undef NAMED

/* Call a function of one row with the stencil of the field's precision. */
#define OF_PRECISION(precision, function, make, ...)                                               \
    do {                                                                                           \
        if ((precision) == PRECISION_FLOAT64) {                                                    \
            const struct stencil_float64 s = stencil_of_float64 make;                              \
            function##_float64(&s, __VA_ARGS__);                                                   \
        } else {                                                                                   \
            const struct stencil_float32 s = stencil_of_float32 make;                              \
            function##_float32(&s, __VA_ARGS__);                                                   \
        }                                                                                          \
    } while (0)

static void step_piece(const struct layout *layout, const struct step_args *args, void *out,
                       const void *in, const struct box *piece, struct tally *tally)
{
    for (int64_t k = piece->lo[AXIS_Z]; k < piece->hi[AXIS_Z]; k++) {
        for (int64_t j = piece->lo[AXIS_Y]; j < piece->hi[AXIS_Y]; j++) {
            for (int64_t i = piece->lo[AXIS_X]; i < piece->hi[AXIS_X]; i++) {
                OF_PRECISION(layout->precision, step_one,
                             (layout, args->medium, args->closed, in, out, tally), i, j, k);
            }
        }
    }
}

void cpu_step_nonlinear(const struct layout *layout, const struct step_args *args, void *out,
                        const void *in, const struct box *boxes, int nboxes)
{
#pragma omp parallel if (share_is_worthwhile(boxes, nboxes))
    {
        struct tally tally[FACE_COUNT];
        tally_begin(tally, args);
        for (int b = 0; b < nboxes; b++) {
            struct box pieces[SHARE_PIECES];
            const int npieces =
                share_box(&boxes[b], omp_get_thread_num(), omp_get_num_threads(), pieces);
            for (int p = 0; p < npieces; p++) {
                step_piece(layout, args, out, in, &pieces[p], tally);
            }
        }
#pragma omp critical(step_tally)
        tally_end(tally);
    }
}

void cpu_convert(const struct layout *layout, const struct medium_args *medium,
                 enum enthalpy_conversion conversion, const void *in, void *out)
{
    const struct box owned = layout_owned(layout);
    const int64_t ny = layout->cells[AXIS_Y];
    const int64_t nrows = ny * layout->cells[AXIS_Z];
#pragma omp parallel for schedule(static) if (share_is_worthwhile(&owned, 1))
    for (int64_t row = 0; row < nrows; row++) {
        OF_PRECISION(layout->precision, convert_row, (layout, medium, NULL, in, out, NULL),
                     conversion, row % ny, row / ny);
    }
}

void cpu_liquid_fraction(const struct layout *layout, const struct layout *kept,
                         const struct medium_args *medium, const void *field, double *fraction)
{
    const struct box owned = layout_owned(layout);
    const int64_t ny = layout->cells[AXIS_Y];
    const int64_t nrows = ny * layout->cells[AXIS_Z];
#pragma omp parallel for schedule(static) if (share_is_worthwhile(&owned, 1))
    for (int64_t row = 0; row < nrows; row++) {
        OF_PRECISION(layout->precision, liquid_row, (layout, medium, NULL, field, NULL, NULL),
                     row % ny, row / ny, fraction + layout_index(kept, 0, row % ny, row / ny));
    }
}

void cpu_nonlinear_flux_row(const struct layout *layout, const struct flux_args *args,
                            const void *field, int64_t j, int64_t k, double *flux)
{
    OF_PRECISION(layout->precision, flux_row,
                 (layout, args->medium, args->closed, field, NULL, NULL), args->scale, j, k, flux);
}
