/* A view: the part of the grid that an output shows, as a grid of its own. The cells of a box, or
 * every n-th of them. */
#pragma once

#include "model/field/copy_out.h"
#include "model/field/field.h"
#include "model/space/grid.h"

struct view {
    /* The grid in the file: the cell count, and corners such that each centre is that of a cell of
     * the real grid. With a stride the cells are larger, and the first and last may extend beyond
     * the real grid. */
    struct grid grid;
    int64_t first[AXIS_COUNT]; /* global index of cell 0 */
    int64_t stride[AXIS_COUNT];
    bool has_gaps; /* the grid has cells of ambients, where outputs have no values */
};

/* All cells. */
void view_whole(const struct grid *grid, struct view *view);

/* The cells of a region, whose box lies in the grid: those with their centre in the box; of these
 * the layer that contains `slice_at` (between two the upper one); of these the ones whose index is
 * a multiple of the stride (on used axes). May be empty on an axis. */
void view_create(const struct grid *grid, const struct region_setting *region, struct view *view);

/* STATUS_INPUT naming the first region of the settings without cells. */
enum status view_check_regions(const struct settings *settings);

/* The cells of the view that lie in `owned` (global indices), in the indices of the view. */
struct box view_part(const struct view *view, const struct box *owned);

/* Which of `n` cells of the view from `cell` on along x, which this rank owns, are such: 1, else 0.
 * `offset`: of this rank. */
void view_gaps_of_row(const struct view *view, const struct field_gaps *gaps,
                      const int64_t offset[AXIS_COUNT], const int64_t cell[AXIS_COUNT], int64_t n,
                      uint8_t *is_gap);

/* VIEW_ROOT: the square roots of float64 values. */
enum view_values { VIEW_AS_IT_IS, VIEW_ROOT };

/* Copy the cells of the view that `field` owns from a field in device memory to h_values [z][y][x],
 * converted to `precision`. `layout` describes d_memory and has the owned cells of `field`. With
 * `copy_out`, which has begun: queued, from what the queue of the steps sees now; h_values is
 * pinned and complete when copy_out_done says so. NULL: blocks; uses the staging buffers of `field`
 * if kernels cannot write to h_values. */
enum status view_take(const struct view *view, struct copy_out *copy_out, struct field *field,
                      const struct layout *layout, const void *d_memory, enum view_values which,
                      enum precision precision, void *h_values);
