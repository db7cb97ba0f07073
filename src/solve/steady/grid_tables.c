/* What a grid of a uniform medium takes of its neighbours' cells, and the tables along its axes. */
#include <stdlib.h>

#include "solve/steady/grids.h"

/* Even, so that it has all children of coarse cells. */
static int even(int layers)
{
    return (layers + 1) / 2 * 2;
}

void steady_grid_deepen(const struct steady_grids *grids, const struct steady_grid *fine,
                        struct steady_grid *grid)
{
    enum axis thin;
    const int64_t thinnest = decomp_thinnest(&grid->decomp, &thin);
    grid->finer = fine != NULL ? fine->deep : 0;
    grid->needed = 1;
    for (int axis = 0; axis < AXIS_COUNT && fine != NULL; axis++) {
        const int children = grid->m.children[axis];
        const int below = grid->finer / children + (children == 2 ? 1 : 0);
        grid->needed = below > grid->needed ? below : grid->needed;
    }
    const int wanted = even(grid->needed + DEEP_STEPS);
    const int least = even(grid->needed > DEEP_STEPS ? grid->needed : DEEP_STEPS);
    grid->deep = wanted <= DEEP_MOST && wanted <= thinnest ? wanted : least;
    if (!grids->uniform || !grid->shared || decomp_exchanges(&grid->decomp, AXIS_X) ||
        thinnest < grid->deep) {
        grid->deep = 0;
    }
}

/* How many cells of a neighbour beyond a face ascend begins with: of this grid, or of this one
 * below those of the grid before. */
static int layers_beyond(const struct steady_grid *grid, enum face face, bool is_coarse)
{
    const enum axis axis = face_axis(face);
    const bool is_shared = decomp_exchanges(&grid->decomp, axis);
    const int layers = is_coarse ? grid->finer / grid->m.children[axis] : grid->deep;
    return is_shared && !grid->m.closed[face] ? layers : 0;
}

/* `m` with these cells as if they were the last ones. */
static struct multigrid grow(const struct steady_grid *grid, bool is_coarse)
{
    struct multigrid grown = grid->m;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        const int layers = layers_beyond(grid, (enum face)f, is_coarse);
        grown.layout.cells[axis] += layers;
        grown.closed[f] = grown.closed[f] || layers > 0;
        if (face_side((enum face)f) == SIDE_MIN) {
            grown.layout.origin -= layers * multigrid_step(&grid->m, axis);
        }
    }
    return grown;
}

void steady_grid_grow(struct steady_grid *grid)
{
    const bool is_finest = grid->m.children[0] == 0;
    if (grid->deep > 0) {
        grid->grown = grow(grid, false);
        grid->grown_coarse = is_finest ? grid->m : grow(grid, true);
    }
}

/* To the device, of m with the first cell `lo` of all ranks'; `fine`: the axis of the grid before,
 * NULL: there are no children. outer: NULL, or the conductances at the ends. */
static enum status send_table(struct steady_grids *grids, int axis, const struct steady_axis *fine,
                              int64_t lo, struct multigrid *m, float outer[SIDE_COUNT])
{
    const struct engine *engine = grids->engine;
    const int64_t n = m->layout.cells[axis];
    const size_t bytes = LINES * (size_t)n * sizeof(float);
    void *d_lines = NULL;
    float *h_lines = malloc(bytes);
    enum status status = CHECK_MEMORY(h_lines != NULL, "no memory for the axes of a grid");
    TRY_GOTO(status);
    steady_axis_tables(&grids->axis[axis], fine, lo, lo + n, h_lines);
    if (outer != NULL) {
        outer[0] = h_lines[LINE_LOW * n];
        outer[1] = h_lines[LINE_HIGH * n + n - 1];
    }
    TRY_GOTO(steady_grids_allocate(grids, bytes, &d_lines));
    m->d_line[axis] = d_lines;
    TRY_GOTO(engine->runtime->copy_to_device(engine->bulk_queue, d_lines, h_lines, bytes));
    TRY_GOTO(engine->runtime->queue_wait(engine->bulk_queue));
done:
    free(h_lines);
    return status;
}

enum status steady_grid_tables(struct steady_grids *grids, int axis, const struct steady_axis *fine)
{
    struct steady_grid *grid = &grids->grid[grids->count - 1];
    const enum face low = face_of((enum axis)axis, SIDE_MIN);
    const int64_t lo = grid->shared ? decomp_owned(&grid->decomp, grids->team->rank).lo[axis] : 0;
    TRY(send_table(grids, axis, fine, lo, &grid->m, &grid->outer[low]));
    if (grid->deep > 0) {
        TRY(send_table(grids, axis, fine, lo - layers_beyond(grid, low, false), &grid->grown,
                       NULL));
    }
    if (grid->deep > 0 && fine != NULL) {
        TRY(send_table(grids, axis, fine, lo - layers_beyond(grid, low, true), &grid->grown_coarse,
                       NULL));
    }
    return STATUS_OK;
}
