/* One multigrid cycle: residuals go down to one cell, and corrections come up, smoothed on each
 * grid. It contains no reduction. */
#include "solve/steady/grids.h"

enum { SMOOTHING_STEPS = 8 };

/* 1 / (1 - cos(2 pi j / (2 n + 1))), j = 1 to n: Chebyshev polynomials of the fourth kind (J.
 * Lottes, "Optimal polynomial smoothers for multigrid V-cycles", 2023). */
static const float weights[SMOOTHING_STEPS] = {14.8087223F,  3.83154853F,  1.80420206F,
                                               1.10164718F,  0.785137048F, 0.623972537F,
                                               0.540477104F, 0.504293276F};

static enum status relax(struct steady_grids *grids, struct steady_grid *grid, float weight,
                         const float *d_e, float *d_out)
{
    return ENQUEUE(grids->engine->operations, relax, grids->engine->bulk_queue, .grid = grid->m,
                   .weight = weight, .d_r = grid->d_r, .d_e = d_e, .d_out = d_out);
}

static enum status smooth(struct steady_grids *grids, struct steady_grid *grid)
{
    for (int step = 0; step < SMOOTHING_STEPS; step++) {
        float *before = grid->d_e;
        TRY(steady_grid_exchange(grids, grid, before));
        TRY(relax(grids, grid, weights[step], before, grid->d_other));
        grid->d_e = grid->d_other;
        grid->d_other = before;
    }
    return STATUS_OK;
}

static enum status descend(struct steady_grids *grids, struct steady_grid *fine,
                           struct steady_grid *coarse)
{
    if (coarse->copies) {
        return steady_grid_collect(grids, fine, fine->d_r, coarse, coarse->d_r);
    }
    TRY(steady_grid_exchange(grids, fine, fine->d_r));
    return ENQUEUE(grids->engine->operations, gather_up, grids->engine->bulk_queue, .fine = fine->m,
                   .coarse = coarse->m, .d_r = fine->d_r, .d_out = coarse->d_r);
}

static enum status ascend(struct steady_grids *grids, struct steady_grid *fine,
                          struct steady_grid *coarse)
{
    if (coarse->copies) {
        return steady_grid_select(grids, coarse, coarse->d_e, fine, fine->d_e);
    }
    TRY(steady_grid_exchange(grids, coarse, coarse->d_e));
    TRY(ENQUEUE(grids->engine->operations, interpolate, grids->engine->bulk_queue, .fine = fine->m,
                .coarse = coarse->m, .d_e = coarse->d_e, .d_out = fine->d_e));
    return smooth(grids, fine);
}

enum status steady_cycle(struct steady_grids *grids)
{
    const int last = grids->count - 1;
    struct steady_grid *one_cell = &grids->grid[last];
    for (int n = 0; n < last; n++) {
        TRY(descend(grids, &grids->grid[n], &grids->grid[n + 1]));
    }
    TRY(relax(grids, one_cell, 1, NULL, one_cell->d_e));
    for (int n = last - 1; n >= 0; n--) {
        TRY(ascend(grids, &grids->grid[n], &grids->grid[n + 1]));
    }
    return STATUS_OK;
}
