/* The step kernel where properties depend on temperature: tiles that march through z, in which
 * theta of a cell is evaluated once. Also conversions, the liquid fraction and fluxes. */
#include <string.h>

#include <omp.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/share.h"
#include "kernels/cpu/step_schedule.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/tally.h"
#include "kernels/derived_cell.h"
#include "kernels/nonlinear_cell.h"

/* The planes of a tile fit the L2 cache; longer rows have fewer ends (docs/kernels_cpu.md). */
enum { TILE_X_BYTES = 8192, TILE_Y = 24, FETCH_ROWS = 2, LOOKUPS = 8 };

/* Of a line: within its curve, closed, or to another curve or a contact. */
enum nonlinear_face { FACE_OPEN, FACE_CLOSED, FACE_COUPLED };

struct step_scratch;

#define REAL double
#define FMA fma
#define NAMED(name) name##_float64
#include "kernels/cpu/nonlinear_lookup.h"

#include "kernels/cpu/nonlinear_cells.h"
#include "kernels/cpu/step_nonlinear_lines.h"
#include "kernels/cpu/step_nonlinear_rows.h"

#include "kernels/cpu/step_nonlinear_faces.h"
#include "kernels/cpu/step_nonlinear_tiles.h"
#undef REAL
#undef FMA
#undef NAMED

#define REAL float
#define FMA fmaf
#define NAMED(name) name##_float32
#include "kernels/cpu/nonlinear_lookup.h"

#include "kernels/cpu/nonlinear_cells.h"
#include "kernels/cpu/step_nonlinear_lines.h"
#include "kernels/cpu/step_nonlinear_rows.h"

#include "kernels/cpu/step_nonlinear_faces.h"
#include "kernels/cpu/step_nonlinear_tiles.h"
#undef REAL
#undef FMA
#undef NAMED

struct step_scratch {
    union { /* of the field's precision */
        struct scratch_float64 of_float64;
        struct scratch_float32 of_float32;
    } of;
};
#include "kernels/cpu/step_threads.h"

static void thread_nonlinear(const struct layout *layout, const struct step_args *args, void *out,
                             const void *in, const struct box *boxes, int nboxes,
                             int64_t tile_bytes, struct tally tally[FACE_COUNT])
{
    const struct schedule schedule = {.tile_bytes = tile_bytes};
    step_thread(layout, args, out, in, boxes, nboxes, schedule, tally);
}

void cpu_step_nonlinear(const struct layout *layout, const struct step_args *args, void *out,
                        const void *in, const struct box *boxes, int nboxes)
{
    step_parallel(thread_nonlinear, layout, args, out, in, boxes, nboxes, 0);
}

/* Call a function of one row with the stencil of the field's precision. */
#define OF_PRECISION(layout, args, out, in, function, ...)                                         \
    do {                                                                                           \
        if ((layout)->precision == PRECISION_FLOAT64) {                                            \
            const struct stencil_float64 s =                                                       \
                stencil_of_float64(layout, args, out, in, NULL, NULL);                             \
            function##_float64(&s, __VA_ARGS__);                                                   \
        } else {                                                                                   \
            const struct stencil_float32 s =                                                       \
                stencil_of_float32(layout, args, out, in, NULL, NULL);                             \
            function##_float32(&s, __VA_ARGS__);                                                   \
        }                                                                                          \
    } while (0)

void cpu_convert(const struct layout *layout, const struct medium_args *medium,
                 enum enthalpy_conversion conversion, const void *in, void *out)
{
    const struct step_args args = {.medium = medium};
    const struct box owned = layout_owned(layout);
    const int64_t ny = layout->cells[AXIS_Y];
    const int64_t nrows = ny * layout->cells[AXIS_Z];
#pragma omp parallel for schedule(static) if (share_is_worthwhile(&owned, 1))
    for (int64_t row = 0; row < nrows; row++) {
        OF_PRECISION(layout, &args, out, in, convert_row, conversion, row % ny, row / ny);
    }
}

void cpu_liquid_fraction(const struct layout *layout, const struct layout *kept,
                         const struct medium_args *medium, const void *field, double *fraction)
{
    const struct step_args args = {.medium = medium};
    const struct box owned = layout_owned(layout);
    const int64_t ny = layout->cells[AXIS_Y];
    const int64_t nrows = ny * layout->cells[AXIS_Z];
#pragma omp parallel for schedule(static) if (share_is_worthwhile(&owned, 1))
    for (int64_t row = 0; row < nrows; row++) {
        OF_PRECISION(layout, &args, NULL, field, liquid_row, row % ny, row / ny,
                     fraction + layout_index(kept, 0, row % ny, row / ny));
    }
}

void cpu_nonlinear_flux_row(const struct layout *layout, const struct flux_args *args,
                            const void *field, int64_t j, int64_t k, double *flux)
{
    struct step_args step = {.medium = args->medium};
    memcpy(step.closed, args->closed, sizeof step.closed);
    OF_PRECISION(layout, &step, NULL, field, flux_row, args->scale, j, k, flux);
}
