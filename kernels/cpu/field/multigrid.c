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

/* The cells of a row, with the index of each and its element. */
#define FOR_CELLS(layout, j, k, cell, element)                                                     \
    for (int64_t cell[AXIS_COUNT] = {0, j, k}, element = layout_index(layout, 0, j, k);            \
         cell[AXIS_X] < (layout)->cells[AXIS_X]; cell[AXIS_X]++, element++)

KERNEL_INLINE double operand_at(const struct operand *operand, int64_t i, int64_t j, int64_t k,
                                double otherwise)
{
    const struct layout *layout = &operand->layout;
    if (operand->d_values == NULL) {
        return otherwise;
    }
    const int64_t at = layout_index(layout, i, j, k);
    return layout->precision == PRECISION_FLOAT64 ? ((const double *)operand->d_values)[at]
                                                  : (double)((const float *)operand->d_values)[at];
}

static void combine_row(const void *of, int64_t j, int64_t k)
{
    const struct combine_args *a = of;
    const struct device_medium *medium = a->medium;
    FOR_CELLS(&a->layout, j, k, cell, at)
    {
        const int64_t i = cell[AXIS_X];
        const double y =
            medium == NULL
                ? operand_at(&a->y, i, j, k, 1)
                : medium->d_weight[medium->d_class[layout_index(&medium->layout, i, j, k)] &
                                   medium->mask];
        const double value =
            fma(a->factor * operand_at(&a->x, i, j, k, 1), y, operand_at(&a->z, i, j, k, 0));
        if (a->layout.precision == PRECISION_FLOAT64) {
            ((double *)a->d_out)[at] = value;
        } else {
            ((float *)a->d_out)[at] = (float)value;
        }
    }
}

enum status cpu_combine(struct queue *queue, const struct combine_args *args)
{
    (void)queue;
    return for_rows(&args->layout, args, combine_row);
}

/* Cells [begin, end) of a row whose neighbours are at the same distances. */
static void relax_cells(const struct relax_args *a, const struct multigrid_around *around,
                        int64_t first, int64_t begin, int64_t end)
{
    const struct multigrid grid = a->grid; /* which the stores do not change */
    const struct multigrid_around at = *around;
    const float *e = a->d_e;
    const float *r = a->d_r;
    float *out = a->d_out;
    if (e != NULL && grid.active[AXIS_X] && grid.active[AXIS_Y] && grid.active[AXIS_Z]) {
#pragma omp simd
        for (int64_t i = first + begin; i < first + end; i++) {
            out[i] = multigrid_relaxed(&grid, e, r, a->weight, &at, i);
        }
        return;
    }
    for (int64_t i = first + begin; i < first + end; i++) {
        out[i] = multigrid_relaxed(&grid, e, r, a->weight, &at, i);
    }
}

static void relax_row(const void *of, int64_t j, int64_t k)
{
    const struct relax_args *a = of;
    const struct layout *layout = &a->grid.layout;
    const int64_t n = layout->cells[AXIS_X];
    const int64_t first = layout_index(layout, 0, j, k);
    const int64_t bounds[] = {0, n > 1 ? 1 : n, n > 1 ? n - 1 : n, n};
    for (int part = 0; part < 3; part++) { /* both ends of the row, which may meet, and between */
        const int64_t cell[AXIS_COUNT] = {bounds[part], j, k};
        const struct multigrid_around around = multigrid_around(&a->grid, cell);
        relax_cells(a, &around, first, bounds[part], bounds[part + 1]);
    }
}

enum status cpu_relax(struct queue *queue, const struct relax_args *args)
{
    (void)queue;
    return for_rows(&args->grid.layout, args, relax_row);
}

static void flow_out_row(const void *of, int64_t j, int64_t k)
{
    const struct flow_out_args *a = of;
    FOR_CELLS(&a->grid.layout, j, k, cell, at)
    {
        const struct multigrid_around around = multigrid_around(&a->grid, cell);
        a->d_out[at] = -multigrid_flow(&a->grid, a->d_e, &around, at).heat;
    }
}

enum status cpu_flow_out(struct queue *queue, const struct flow_out_args *args)
{
    (void)queue;
    return for_rows(&args->grid.layout, args, flow_out_row);
}

static void coarsen_row(const void *of, int64_t j, int64_t k)
{
    const struct coarsen_args *a = of;
    FOR_CELLS(&a->coarse.layout, j, k, cell, at)
    {
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            if (a->coarse.active[axis]) {
                multigrid_coarsen(&a->fine, &a->coarse, axis, cell, at);
            }
        }
    }
}

enum status cpu_coarsen(struct queue *queue, const struct coarsen_args *args)
{
    (void)queue;
    return for_rows(&args->coarse.layout, args, coarsen_row);
}

static void gather_up_row(const void *of, int64_t j, int64_t k)
{
    const struct gather_up_args *a = of;
    FOR_CELLS(&a->coarse.layout, j, k, cell, at)
    {
        a->d_out[at] = multigrid_gathered(&a->fine, &a->coarse, a->d_r, cell, at);
    }
}

enum status cpu_gather_up(struct queue *queue, const struct gather_up_args *args)
{
    (void)queue;
    return for_rows(&args->coarse.layout, args, gather_up_row);
}

static void interpolate_row(const void *of, int64_t j, int64_t k)
{
    const struct interpolate_args *a = of;
    FOR_CELLS(&a->fine.layout, j, k, cell, at)
    {
        a->d_out[at] = multigrid_interpolated(&a->coarse, a->d_e, cell);
    }
}

enum status cpu_interpolate(struct queue *queue, const struct interpolate_args *args)
{
    (void)queue;
    return for_rows(&args->fine.layout, args, interpolate_row);
}
