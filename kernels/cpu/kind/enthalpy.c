/* The step kernel where properties depend on temperature: tiles that march through z, in which
 * theta of a cell is evaluated once. Also conversions, the liquid fraction and fluxes. */
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "kernels/cell/derived_cell.h"
#include "kernels/cell/nonlinear_cell.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/real.h"
#include "kernels/cpu/schedule/threads.h"
#include "kernels/cpu/schedule/tiling.h"

/* The planes of a tile fit the L2 cache; longer rows have fewer ends (docs/records/kernels_cpu.md).
 */
enum { TILE_X_BYTES = 8192, TILE_Y = 24, FETCH_ROWS = 2, FETCH_LINES = 16, LOOKUPS = 8 };

/* The planes of a unit of work: two more are evaluated; and how many units a thread should have, so
 * that the last one is short, and at least. */
enum { UNIT_Z_LEAST = 16, UNIT_Z_MOST = 64, UNITS_WANTED = 16, UNITS_LEAST = 8 };

#include "kernels/cpu/kind/enthalpy_tiles.h"

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

const struct step_kind NAMED(step_enthalpy) = {step, step_part};

void NAMED(cpu_convert_row)(const void *of, int64_t j, int64_t k)
{
    const struct convert_args *args = of;
    const struct stencil s = cells_of(&args->layout, args->medium, NULL, args->d_out, args->d_in);
    const int count = s.medium->nsegments;
    const uint8_t *classes = s.medium->d_class + layout_index(&s.medium->layout, 0, j, k);
    const int64_t at = layout_index(s.layout, 0, j, k);
    for (int64_t i = 0; i < s.layout->cells[AXIS_X]; i++) {
        const int c = classes[i] & s.medium->mask;
        s.out[at + i] = args->conversion == CONVERT_TO_ENTHALPY
                            ? NAMED(nonlinear_enthalpy)(s.segments + nonlinear_pitch(count) * c,
                                                        count, s.in[at + i])
                            : evaluate(&s, c, s.in[at + i]).temperature;
    }
}

void NAMED(cpu_liquid_row)(const void *of, int64_t j, int64_t k)
{
    const struct liquid_fraction_args *args = of;
    const struct stencil s = cells_of(&args->layout, args->medium, NULL, NULL, args->d_field);
    const uint8_t *classes = s.medium->d_class + layout_index(&s.medium->layout, 0, j, k);
    const REAL *field = s.in + layout_index(s.layout, 0, j, k);
    double *fraction = args->d_fraction + layout_index(&args->kept, 0, j, k);
    for (int64_t i = 0; i < s.layout->cells[AXIS_X]; i++) {
        fraction[i] = (double)NAMED(nonlinear_liquid)(
            s.numbers + (int64_t)NONLINEAR_NUMBERS * (classes[i] & s.medium->mask), field[i]);
    }
}

void NAMED(cpu_nonlinear_flux_row)(const void *of, int64_t j, int64_t k)
{
    const struct flux_squared_args *args = of;
    const struct stencil s =
        cells_of(&args->layout, &args->around->medium, args->around->closed, NULL, args->d_field);
    double *flux = args->d_flux + layout_index(&args->kept, 0, j, k);
    for (int64_t i = 0; i < s.layout->cells[AXIS_X]; i++) {
        const struct cell cell = cell_at(&s, i, j, k);
        double along[AXIS_COUNT];
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            REAL d[SIDE_COUNT];
            const REAL low = cross(&s, &cell, 2 * axis, &d[SIDE_MIN]);
            const REAL high = cross(&s, &cell, 2 * axis + 1, &d[SIDE_MAX]);
            along[axis] = derived_flux_between(0, (double)d[SIDE_MIN], (double)d[SIDE_MAX],
                                               (double)low, (double)high, args->scale[axis]);
        }
        flux[i] = derived_square(along[0], along[1], along[2]);
    }
}
