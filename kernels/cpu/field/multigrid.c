/* Operations of the multigrid, row by row. */
#include "kernels/cell/multigrid_cell.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/share.h"

/* Row (j, k) of an operation. */
typedef void row_function(const void *args, int64_t j, int64_t k);

static enum status for_rows(const struct layout *layout, const void *args, row_function *row)
{
    const struct box owned = layout_owned(layout);
    const int64_t ny = layout->cells[AXIS_Y];
    const int64_t nrows = ny * layout->cells[AXIS_Z];
#pragma omp parallel for schedule(static) if (share_is_worthwhile(&owned, 1))
    for (int64_t r = 0; r < nrows; r++) {
        row(args, r % ny, r / ny);
    }
    return STATUS_OK;
}

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
        a.d_out[i] = multigrid_relaxed(&a.grid, a.d_e, a.d_r, a.weight, &around, i);
    }
}

enum status cpu_relax(struct queue *queue, const struct relax_args *args)
{
    (void)queue;
    return for_rows(&args->grid.layout, args, relax_row);
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
        (void)queue;                                                                               \
        return for_rows(&args->layout_of, args, name##_row);                                       \
    }
MULTIGRID_OPERATIONS(DEFINE)
