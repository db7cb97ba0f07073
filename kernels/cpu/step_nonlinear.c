/* The step kernel where properties depend on temperature: tiles that march through z, in which each
 * cell's temperature and conductivity are evaluated once. */
#include <string.h>

#include <omp.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/permute.h"
#include "kernels/cpu/share.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/tally.h"
#include "kernels/derived_cell.h"
#include "kernels/nonlinear_cell.h"

/* Two rows of a tile fit the L1 cache with all that a step reads of them, its planes the L2 cache.
 */
enum { TILE_X_BYTES = 2048, TILE_Y = 24, LOOKUPS = 4 };

/* The end of the complete lines from cell i on, before n, whose cells have all the class of i. */
static int64_t alike_until(const uint8_t *classes, int64_t i, int64_t n, int line, int mask)
{
    enum { MANY = STREAM_LINE_BYTES };
    const uint64_t masks = stream_eight((uint8_t)mask);
    const int64_t end = i + (n - i) / line * line;
    const uint8_t own = classes[i];
    int64_t at = i;
    for (; at + MANY <= end; at += MANY) {
        uint64_t other = 0;
        for (int word = 0; word < MANY; word += 8) {
            other |= stream_other_bits(classes + at + word, own);
        }
        if ((other & masks) != 0) {
            break;
        }
    }
    while (at < end && (stream_other_bits(classes + at, own) & masks) == 0) {
        at += 8;
    }
    return i + (at - i) / line * line;
}

#define REAL double
#define FMA fma
#define NAMED(name) name##_float64
#include "kernels/cpu/nonlinear_lookup.h"
#include "kernels/cpu/step_nonlinear_rows.h"
#include "kernels/cpu/step_nonlinear_tiles.h"
#undef REAL
#undef FMA
#undef NAMED

#define REAL float
#define FMA fmaf
#define NAMED(name) name##_float32
#include "kernels/cpu/nonlinear_lookup.h"
#include "kernels/cpu/step_nonlinear_rows.h"
#include "kernels/cpu/step_nonlinear_tiles.h"
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
    stream_fence();
}

void cpu_step_nonlinear(const struct layout *layout, const struct step_args *args, void *out,
                        const void *in, const struct box *boxes, int nboxes)
{
#pragma omp parallel if (share_is_worthwhile(boxes, nboxes))
    {
        struct tally tally[FACE_COUNT];
        tally_begin(tally, args);
        step_thread(layout, args, out, in, boxes, nboxes, tally);
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
