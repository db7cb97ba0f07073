/* Operations of the multigrid, row by row. */
#include <string.h>

#include "kernels/cell/multigrid_cell.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/share.h"

/* Most of the time: between the ends of a row neighbours are at the same distances, so that cells
 * are elements of vectors. */
static void relax_row(const void *of, int64_t j, int64_t k)
{
    const struct relax_args a = *(const struct relax_args *)of; /* which stores do not change */
    const int64_t n = a.grid.layout.cells[AXIS_X];
    const int64_t first = layout_index(&a.grid.layout, 0, j, k);
    const struct multigrid_around around =
        multigrid_around(&a.grid, (const int64_t[]){n > 2 ? 1 : 0, j, k});
    relax_cell(&a, (const int64_t[]){0, j, k}, first);
    relax_cell(&a, (const int64_t[]){n - 1, j, k}, first + n - 1);
#pragma omp simd
    for (int64_t i = first + 1; i < first + n - 1; i++) {
        a.d_out[i] = multigrid_relaxed(&a.grid, a.d_e, a.d_r, a.weight, &around,
                                       (const int64_t[]){i - first, j, k}, i);
    }
}

enum status cpu_relax(struct queue *queue, const struct relax_args *args)
{
    return share_rows(&args->grid.layout, args, relax_row);
}

#define DEFINE(name, layout_of)                                                                    \
    static void name##_row(const void *of, int64_t j, int64_t k)                                   \
    {                                                                                              \
        const struct name##_args *args = of;                                                       \
        const struct layout *layout = &args->layout_of;                                            \
        for (int64_t i = 0; i < layout->cells[AXIS_X]; i++) {                                      \
            name##_cell(args, (const int64_t[]){i, j, k}, layout_index(layout, i, j, k));          \
        }                                                                                          \
    }                                                                                              \
    enum status cpu_##name(struct queue *queue, const struct name##_args *args)                    \
    {                                                                                              \
        return share_rows(&args->layout_of, args, name##_row);                                     \
    }
MULTIGRID_OPERATIONS(DEFINE)

enum status cpu_ascend(struct queue *queue, const struct ascend_args *args)
{
    const struct interpolate_args start = {args->fine, args->coarse, args->factor, args->d_e,
                                           args->d_out};
    struct relax_args step = {.grid = args->fine, .d_r = args->d_r};
    TRY(cpu_interpolate(queue, &start));
    for (int n = 0; n < args->nsteps; n++) {
        step.weight = args->weight[n];
        step.d_e = n % 2 == 0 ? args->d_out : args->d_other;
        step.d_out = n % 2 == 0 ? args->d_other : args->d_out;
        TRY(cpu_relax(queue, &step));
    }
    return STATUS_OK;
}

enum status cpu_cycle(struct queue *queue, const struct cycle_args *args)
{
    const struct cycle_grid *grid = args->grid;
    const int last = args->count - 1;
    for (int n = 0; n < last; n++) {
        const struct average_args down = {grid[n].m, grid[n + 1].m, grid[n].d_r, grid[n + 1].d_r};
        TRY(cpu_average(queue, &down));
    }
    TRY(cpu_relax(queue, &(struct relax_args){.grid = grid[last].m,
                                              .weight = 1,
                                              .d_r = grid[last].d_r,
                                              .d_out = grid[last].d_e}));
    for (int n = last - 1; n >= 0; n--) {
        struct ascend_args up = {.fine = grid[n].m,
                                 .coarse = grid[n + 1].m,
                                 .factor = 1,
                                 .nsteps = sizeof args->weight / sizeof *args->weight,
                                 .d_r = grid[n].d_r,
                                 .d_e = grid[n + 1].d_e,
                                 .d_out = grid[n].d_e,
                                 .d_other = grid[n].d_other};
        memcpy(up.weight, args->weight, sizeof args->weight);
        TRY(cpu_ascend(queue, &up));
    }
    return STATUS_OK;
}

static void correct_row(const struct correct_args *args, int64_t j, int64_t k, uint32_t largest[2])
{
    const struct correct_args a = *args; /* which stores do not change */
    const int64_t n = a.layout.cells[AXIS_X];
    const int64_t x0 = layout_index(&a.layout, 0, j, k);
    const int64_t e0 = layout_index(&a.grid.layout, 0, j, k);
    uint32_t most_e = 0;
    uint32_t most_r = 0;
    for (int64_t begin = 0; begin < n;) { /* the ends, and the cells between them */
        const int64_t end = begin == 0 || begin == n - 1 ? begin + 1 : n - 1;
        struct correct_side side[FACE_COUNT];
        for (int f = 0; f < FACE_COUNT; f++) {
            side[f] = correct_side(&a, f, (const int64_t[]){begin, j, k});
        }
#pragma omp simd reduction(max : most_e, most_r)
        for (int64_t i = begin; i < end; i++) {
            const double c = correct_value(&a, x0 + i, e0 + i);
            const double change = heat_cell_float64(a.d_heat != NULL ? a.d_heat[x0 + i] : 0, c,
                                                    correct_beside(&a, &side[0], x0 + i, e0 + i),
                                                    correct_beside(&a, &side[1], x0 + i, e0 + i),
                                                    correct_beside(&a, &side[2], x0 + i, e0 + i),
                                                    correct_beside(&a, &side[3], x0 + i, e0 + i),
                                                    correct_beside(&a, &side[4], x0 + i, e0 + i),
                                                    correct_beside(&a, &side[5], x0 + i, e0 + i),
                                                    a.r[0], a.r[1], a.r[2]);
            const uint32_t r = correct_bits(a.d_r[e0 + i] = (float)change);
            most_r = r > most_r ? r : most_r;
            if (a.d_e != NULL) {
                const uint32_t e = correct_bits(a.d_e[e0 + i]);
                most_e = e > most_e ? e : most_e;
                a.d_out[x0 + i] = c;
            }
        }
        begin = end;
    }
    largest[0] = most_e > largest[0] ? most_e : largest[0];
    largest[1] = most_r > largest[1] ? most_r : largest[1];
}

enum status cpu_correct(struct queue *queue, const struct correct_args *args)
{
    const struct box owned = layout_owned(&args->layout);
    const int64_t ny = args->layout.cells[AXIS_Y];
    const int64_t nrows = ny * args->layout.cells[AXIS_Z];
    uint32_t most_e = args->d_largest[0];
    uint32_t most_r = args->d_largest[1];
#pragma omp parallel for schedule(static)                                                          \
    reduction(max                                                                                  \
              : most_e, most_r) if (share_is_worthwhile(&owned, 1))
    for (int64_t row = 0; row < nrows; row++) {
        uint32_t largest[2] = {most_e, most_r};
        correct_row(args, row % ny, row / ny, largest);
        most_e = largest[0];
        most_r = largest[1];
    }
    args->d_largest[0] = most_e;
    args->d_largest[1] = most_r;
    const struct average_args means = {args->grid, args->coarse, args->d_r, args->d_mean};
    return args->d_mean == NULL ? STATUS_OK : cpu_average(queue, &means);
}
