/* What a grid of a uniform medium takes of its neighbours' cells, and the tables along its axes. */
#include <stdlib.h>

#include "solve/steady/grids.h"

bool steady_grid_is_deep(const struct steady_grids *grids, const struct steady_grid *grid)
{
    enum axis axis;
    return grids->uniform && grid->shared && !decomp_exchanges(&grid->decomp, AXIS_X) &&
           decomp_thinnest(&grid->decomp, &axis) >= DEEP_LAYERS;
}

/* How many cells of a neighbour beyond a face ascend begins with: on a fine grid, or on the coarse
 * one of `children` cells each. */
static int layers_beyond(const struct steady_grid *grid, enum face face, int children)
{
    const bool is_shared = decomp_exchanges(&grid->decomp, face_axis(face));
    return is_shared && !grid->m.closed[face] ? DEEP_LAYERS / children : 0;
}

/* `m` with these cells as if they were the last ones. */
static struct multigrid grow(const struct steady_grid *grid, const int children[AXIS_COUNT])
{
    struct multigrid grown = grid->m;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        const int layers = layers_beyond(grid, (enum face)f, children[axis]);
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
    if (grid->deep) {
        grid->grown = grow(grid, (const int[]){1, 1, 1});
        grid->grown_coarse = is_finest ? grid->m : grow(grid, grid->m.children);
    }
}

/* To the device, of m with the first cell `lo` of all ranks'; `fine`: the axis of the grid before,
 * NULL: there are no children. */
static enum status send_table(struct steady_grids *grids, int axis, const struct steady_axis *fine,
                              int64_t lo, struct multigrid *m)
{
    const struct engine *engine = grids->engine;
    const int64_t n = m->layout.cells[axis];
    const size_t bytes = LINES * (size_t)n * sizeof(float);
    void *d_lines = NULL;
    float *h_lines = malloc(bytes);
    enum status status = CHECK_MEMORY(h_lines != NULL, "no memory for the axes of a grid");
    TRY_GOTO(status);
    steady_axis_tables(&grids->axis[axis], fine, lo, lo + n, h_lines);
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
    TRY(send_table(grids, axis, fine, lo, &grid->m));
    if (grid->deep) {
        TRY(send_table(grids, axis, fine, lo - layers_beyond(grid, low, 1), &grid->grown));
    }
    if (grid->deep && fine != NULL) {
        TRY(send_table(grids, axis, fine, lo - layers_beyond(grid, low, grid->m.children[axis]),
                       &grid->grown_coarse));
    }
    return STATUS_OK;
}
