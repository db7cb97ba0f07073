/* The step kernel where properties depend on temperature: tiles that march through z, in which each
 * cell's temperature and conductivity are evaluated once. */
#include <string.h>

#include <omp.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/share.h"
#include "kernels/cpu/tally.h"
#include "kernels/derived_cell.h"
#include "kernels/nonlinear_cell.h"

enum { TILE_X = 126, TILE_Y = 6 }; /* 3 planes of them fit the L2 cache, a row the L1 cache */

static bool classes_are_alike(const uint8_t *classes, int64_t n, int mask)
{
    int other = 0;
    for (int64_t i = 1; i < n; i++) {
        other |= classes[i] ^ classes[0];
    }
    return (other & mask) == 0;
}

#define REAL double
#define FMA fma
#define NAMED(name) name##_float64
#include "kernels/cpu/step_nonlinear_rows.h"
#undef REAL
#undef FMA
#undef NAMED

#define REAL float
#define FMA fmaf
#define NAMED(name) name##_float32
#include "kernels/cpu/step_nonlinear_rows.h"
#undef REAL
#undef FMA
#undef NAMED

/* All pieces of one thread. */
static void step_thread(const struct layout *layout, const struct step_args *args, void *out,
                        const void *in, const struct box *boxes, int nboxes, struct tally *tally)
{
    union {
        struct stencil_float64 of_float64;
        struct stencil_float32 of_float32;
    } s;
    const bool wide = layout->precision == PRECISION_FLOAT64;
    if (wide) {
        begin_float64(&s.of_float64, layout, args, out, in, tally);
    } else {
        begin_float32(&s.of_float32, layout, args, out, in, tally);
    }
    for (int b = 0; b < nboxes; b++) {
        struct box pieces[SHARE_PIECES];
        const int npieces =
            share_box(&boxes[b], omp_get_thread_num(), omp_get_num_threads(), pieces);
        for (int p = 0; p < npieces; p++) {
            if (wide) {
                step_piece_float64(&s.of_float64, &pieces[p]);
            } else {
                step_piece_float32(&s.of_float32, &pieces[p]);
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
        for (int face = 0; face < FACE_COUNT; face++) {
            tally[face] = (struct tally){.target = args->d_face_sum[face]};
        }
        step_thread(layout, args, out, in, boxes, nboxes, tally);
#pragma omp critical(step_tally)
        for (int face = 0; face < FACE_COUNT; face++) {
            if (tally[face].target != NULL) {
                tally_flush(&tally[face]);
                exact_sum_add(tally[face].target, &tally[face].sum);
            }
        }
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
        const int64_t j = row % ny;
        const int64_t k = row / ny;
        const int64_t at = layout_index(layout, 0, j, k);
        if (layout->precision == PRECISION_FLOAT64) {
            convert_row_float64(layout, medium, conversion, (const double *)in + at, j, k,
                                (double *)out + at);
        } else {
            convert_row_float32(layout, medium, conversion, (const float *)in + at, j, k,
                                (float *)out + at);
        }
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
        const int64_t j = row % ny;
        const int64_t k = row / ny;
        const int64_t at = layout_index(layout, 0, j, k);
        double *out = fraction + layout_index(kept, 0, j, k);
        if (layout->precision == PRECISION_FLOAT64) {
            liquid_row_float64(layout, medium, (const double *)field + at, j, k, out);
        } else {
            liquid_row_float32(layout, medium, (const float *)field + at, j, k, out);
        }
    }
}

void cpu_nonlinear_flux_row(const struct layout *layout, const struct flux_args *args,
                            const void *field, int64_t j, int64_t k, double *flux)
{
    for (int64_t i = 0; i < layout->cells[AXIS_X]; i++) {
        const int64_t cell[AXIS_COUNT] = {i, j, k};
        double along[AXIS_COUNT];
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            double g[SIDE_COUNT];
            double d[SIDE_COUNT];
            if (layout->precision == PRECISION_FLOAT64) {
                cell_sides_float64(layout, args->medium, args->closed, field, cell, axis, g, d);
            } else {
                cell_sides_float32(layout, args->medium, args->closed, field, cell, axis, g, d);
            }
            along[axis] = derived_flux_between(0, d[0], d[1], g[0], g[1], args->scale[axis]);
        }
        flux[i] = derived_square(along[0], along[1], along[2]);
    }
}
