/* A view: the part of the grid that one output shows. Cells of a box, every so manieth of them, as
 * a grid of their own. */
#ifndef ISOTHERM_MODEL_VIEW_H
#define ISOTHERM_MODEL_VIEW_H

#include "model/copy_out.h"
#include "model/field.h"
#include "model/grid.h"

struct view {
    /* As viewers see it: the count of cells, and corners so that the centre of each lies at the
     * centre of the cell that it stands for. With a stride the cells are that much larger, and
     * the first and last may reach over the edge of the real grid. */
    struct grid grid;
    int64_t first[AXIS_COUNT]; /* global index of the view's cell 0 */
    int64_t stride[AXIS_COUNT];
};

/* All cells. */
void view_whole(const struct grid *grid, struct view *view);

/* Those of a region whose box lies in the grid: cells with their centre in the box; of these the
 * one layer that holds `slice_at` (between two the upper one); of these the ones whose index is a
 * multiple of the stride (on axes in use). May be empty on an axis. */
void view_create(const struct grid *grid, const struct region_setting *region, struct view *view);

/* Every region of the settings holds a cell. STATUS_INPUT naming the first that does not. */
enum status view_check_regions(const struct settings *settings) MUST_CHECK;

/* The cells of the view that lie in `owned` (global indices), in the view's own indices. */
struct box view_part(const struct view *view, const struct box *owned);

/* Of values in float64, their square roots instead. */
enum view_values { VIEW_AS_IT_IS, VIEW_ROOT };

/* Copy the part `part` of the view, which this rank owns, from a field in device memory to
 * h_values [z][y][x], converted to `precision` on the way. Blocks until done; where kernels
 * cannot write to h_values it goes through the staging buffers of `field` in pieces. `layout`
 * describes d_memory and has the owned cells of `field`. */
enum status view_read(const struct view *view, struct field *field, const struct layout *layout,
                      const void *d_memory, const struct box *part, enum view_values which,
                      enum precision precision, void *h_values) MUST_CHECK;

/* The same of the cells that `field` owns, through `copy_out` (which has begun): only queued, from
 * what the queue of the steps sees now. h_values is pinned, and [z][y][x] as view_read leaves it
 * when copy_out_done says so. */
enum status view_send(const struct view *view, struct copy_out *copy_out, const struct field *field,
                      const struct layout *layout, const void *d_memory, enum view_values which,
                      enum precision precision, void *h_values) MUST_CHECK;

#endif
