/* The step kernel where properties depend on temperature: tiles that march through z, in which
 * theta of a cell is evaluated once. Also conversions, the liquid fraction and fluxes. */
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "kernels/cell/derived_cell.h"
#include "kernels/cell/nonlinear_cell.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/threads.h"
#include "kernels/cpu/schedule/tiling.h"

/* The planes of a tile fit the L2 cache; longer rows have fewer ends (docs/records/kernels_cpu.md).
 */
enum { TILE_X_BYTES = 8192, TILE_Y = 24, FETCH_ROWS = 2, FETCH_LINES = 16, LOOKUPS = 8 };

/* The planes of a unit of work: two more are evaluated; and how many units a thread should have, so
 * that the last one is short, and at least. */
enum { UNIT_Z_LEAST = 16, UNIT_Z_MOST = 64, UNITS_WANTED = 16, UNITS_LEAST = 8 };

#define PRECISION_TEMPLATE "kernels/cpu/kind/enthalpy_tiles.h"
#include "kernels/cpu/schedule/precisions.h"

struct step_scratch {
    union { /* of the field's precision */
        struct scratch_float64 of_float64;
        struct scratch_float32 of_float32;
    } of;
};

static struct tiling tiling_of_rows(const struct box *box, size_t cell_bytes,
                                    struct schedule schedule)
{
    const int64_t row_bytes = box_extent(box, AXIS_X) * (int64_t)cell_bytes;
    return (struct tiling){(row_bytes + TILE_X_BYTES - 1) / TILE_X_BYTES,
                           (box_extent(box, AXIS_Y) + TILE_Y - 1) / TILE_Y, 1};
}

#define TILING tiling_of_rows
#include "kernels/cpu/schedule/pieces.h"

/* The parts of y and z that divide a box into units of work. Those of a thread are about the cells
 * that it touched first: there are as many parts of z as threads, or a multiple of it, where there
 * are planes enough. */
static struct tiling units_of(const struct box *box, int nthreads)
{
    const int64_t nz = box_extent(box, AXIS_Z);
    const int64_t ny = (box_extent(box, AXIS_Y) + TILE_Y - 1) / TILE_Y;
    const int64_t most = at_least_one(nz / UNIT_Z_LEAST);
    int64_t parts = nthreads;
    while (parts < most && (parts * UNIT_Z_MOST < nz || parts * ny < UNITS_WANTED * nthreads)) {
        parts += nthreads;
    }
    return (struct tiling){1, ny, parts < most ? parts : most};
}

/* The part of a thread: units of a single box, its own and then those that others have not begun;
 * or fixed shares of all boxes, where there are few units. */
static void thread_nonlinear(const struct step_call *c, struct tally *tally)
{
    const int nthreads = omp_get_num_threads();
    const struct schedule schedule = {.stream = true};
    const struct tiling units =
        c->taken != NULL ? units_of(&c->boxes[0], nthreads) : (struct tiling){0, 0, 0};
    const int64_t nunits = units.ny * units.nz;
    if (nthreads == 1 || nunits < (int64_t)UNITS_LEAST * nthreads) {
        step_thread(c, schedule, tally);
        return;
    }
    int64_t n;
    while ((n = share_take(c->taken, nunits, omp_get_thread_num(), nthreads)) >= 0) {
        const struct box unit = tile_at(&c->boxes[0], &units, 0, n % units.ny, n / units.ny);
        step_pieces(c, &unit, 1, schedule, tally);
    }
    stream_fence();
}

static void step(struct tile_tuner *tuner, struct step_call *call)
{
    /* without memory for it shares are fixed, as for the thin boxes of a shell */
    call->taken =
        call->nboxes == 1 ? calloc((size_t)omp_get_max_threads(), sizeof *call->taken) : NULL;
    step_parallel(thread_nonlinear, call);
    free(call->taken);
}

const struct step_kind step_enthalpy = {step, step_part};

/* Call a function of one row with the stencil of the field's precision. */
#define OF_PRECISION(field_layout, coefficients, to, from, function, ...)                          \
    do {                                                                                           \
        const struct step_call call = {                                                            \
            .layout = (field_layout), .args = (coefficients), .out = (to), .in = (from)};          \
        if (call.layout->precision == PRECISION_FLOAT64) {                                         \
            const struct stencil_float64 s = stencil_of_float64(&call, NULL, NULL);                \
            function##_float64(&s, __VA_ARGS__);                                                   \
        } else {                                                                                   \
            const struct stencil_float32 s = stencil_of_float32(&call, NULL, NULL);                \
            function##_float32(&s, __VA_ARGS__);                                                   \
        }                                                                                          \
    } while (0)

enum status cpu_convert(struct queue *queue, const struct convert_args *args)
{
    const struct layout *layout = &args->layout;
    const struct coefficients c = {.kind = KIND_ENTHALPY, .medium = *args->medium};
    const struct box owned = layout_owned(layout);
    const int64_t ny = layout->cells[AXIS_Y];
    const int64_t nrows = ny * layout->cells[AXIS_Z];
#pragma omp parallel for schedule(static) if (share_is_worthwhile(&owned, 1))
    for (int64_t row = 0; row < nrows; row++) {
        OF_PRECISION(layout, &c, args->d_out, args->d_in, convert_row, args->conversion, row % ny,
                     row / ny);
    }
    return STATUS_OK;
}

enum status cpu_liquid_fraction(struct queue *queue, const struct liquid_fraction_args *args)
{
    const struct layout *layout = &args->layout;
    const struct coefficients c = {.kind = KIND_ENTHALPY, .medium = *args->medium};
    const struct box owned = layout_owned(layout);
    const int64_t ny = layout->cells[AXIS_Y];
    const int64_t nrows = ny * layout->cells[AXIS_Z];
#pragma omp parallel for schedule(static) if (share_is_worthwhile(&owned, 1))
    for (int64_t row = 0; row < nrows; row++) {
        OF_PRECISION(layout, &c, NULL, args->d_field, liquid_row, row % ny, row / ny,
                     args->d_fraction + layout_index(&args->kept, 0, row % ny, row / ny));
    }
    return STATUS_OK;
}

void cpu_nonlinear_flux_row(const struct flux_squared_args *args, int64_t j, int64_t k,
                            double *flux)
{
    OF_PRECISION(&args->layout, args->around, NULL, args->d_field, flux_row, args->scale, j, k,
                 flux);
}
