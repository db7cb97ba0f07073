#include "model/field/view.h"

#include <math.h>
#include <stdio.h>

void view_whole(const struct grid *grid, struct view *view)
{
    *view = (struct view){.grid = *grid, .stride = {1, 1, 1}};
}

static int64_t cell_at(const struct grid *grid, enum axis axis, double position)
{
    const int64_t index = (int64_t)floor(grid_in_cells(grid, axis, position));
    const int64_t last = grid->cells[axis] - 1;
    return index < 0 ? 0 : index > last ? last : index;
}

static void choose_cells(const struct grid *grid, const struct region_setting *region,
                         struct view *view, enum axis axis)
{
    int64_t low = 0;
    int64_t high = grid->cells[axis];
    int64_t stride = grid->used[axis] ? region->stride[axis] : 1;
    if (region->has_box && grid->used[axis]) {
        const bool to_the_end = region->upper[axis] >= grid->upper[axis];
        low = grid_first_from(grid, axis, region->lower[axis]);
        high = to_the_end ? high : grid_first_from(grid, axis, region->upper[axis]);
    }
    if (region->has_slice && axis == region->slice_axis) {
        const int64_t index = cell_at(grid, axis, region->slice_at);
        /* the plane lies in the box, the centre of its cell perhaps outside */
        low = index;
        high = index + 1;
        stride = 1;
    }
    view->stride[axis] = stride;
    view->first[axis] = (low + stride - 1) / stride * stride;
    const int64_t span = high - view->first[axis];
    view->grid.cells[axis] = span > 0 ? (span + stride - 1) / stride : 0;
}

void view_create(const struct grid *grid, const struct region_setting *region, struct view *view)
{
    view_whole(grid, view);
    view->grid.dimensions = 0;
    for (int a = 0; a < AXIS_COUNT; a++) {
        const enum axis axis = (enum axis)a;
        choose_cells(grid, region, view, axis);
        struct grid *own = &view->grid;
        const int64_t n = own->cells[axis];
        own->used[axis] = n > 1;
        own->dimensions += n > 1 ? 1 : 0;
        if (n == grid->cells[axis] && view->stride[axis] == 1) {
            continue; /* keep the exact corners */
        }
        grid_cut(own, axis, view->first[axis], n, view->stride[axis]);
    }
}

/* Fails for a box between two centres, or a stride that skips it. */
enum status view_check_regions(const struct settings *settings)
{
    struct grid grid;
    grid_create(settings, &grid);
    for (int i = 0; i < settings->output.nregions; i++) {
        const struct region_setting *region = &settings->output.regions[i];
        struct view view;
        view_create(&grid, region, &view);
        for (int a = 0; a < AXIS_COUNT; a++) {
            const bool thinned = region->stride[a] > 1;
            char key[48];
            snprintf(key, sizeof key, "output.regions[%d].%s", i, thinned ? "stride" : "box");
            FAIL_IF(thinned && grid.graded[a].edges != NULL,
                    settings_fail(settings, key,
                                  "the %s axis is graded, so that all of its cells are written; "
                                  "give 1 there",
                                  axis_name((enum axis)a)));
            if (view.grid.cells[a] > 0) {
                continue;
            }
            return settings_fail(
                settings, key,
                "no cell is left in %s; the cells are %g m long, and those %s are selected",
                axis_name((enum axis)a), grid_width(&grid, (enum axis)a, 0),
                thinned ? "of the box whose index is a multiple of the stride"
                        : "whose centre lies in the box");
        }
    }
    return STATUS_OK;
}

static int64_t clamp(int64_t value, int64_t high)
{
    return value < 0 ? 0 : value > high ? high : value;
}

static int64_t cells_below(const struct view *view, int axis, int64_t index)
{
    const int64_t span = index - view->first[axis];
    const int64_t stride = view->stride[axis];
    return clamp(span > 0 ? (span + stride - 1) / stride : 0, view->grid.cells[axis]);
}

struct box view_part(const struct view *view, const struct box *owned)
{
    struct box part;
    for (int a = 0; a < AXIS_COUNT; a++) {
        part.lo[a] = cells_below(view, a, owned->lo[a]);
        part.hi[a] = cells_below(view, a, owned->hi[a]);
    }
    return part;
}

void view_gaps_of_row(const struct view *view, const struct field_gaps *gaps,
                      const int64_t offset[AXIS_COUNT], const int64_t cell[AXIS_COUNT], int64_t n,
                      uint8_t *is_gap)
{
    int64_t local[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        local[a] = view->first[a] + cell[a] * view->stride[a] - offset[a];
    }
    for (int64_t i = 0; i < n; i++) {
        is_gap[i] = field_is_gap(gaps, local);
        local[AXIS_X] += view->stride[AXIS_X];
    }
}

static struct extract_args args_of(const struct view *view, const struct field *field,
                                   const struct layout *layout, const void *d_memory,
                                   const struct box *part, enum view_values which,
                                   enum precision precision)
{
    struct extract_args args = {
        .layout = *layout, .root = which == VIEW_ROOT, .precision = precision, .d_field = d_memory};
    for (int a = 0; a < AXIS_COUNT; a++) {
        args.first[a] = view->first[a] + part->lo[a] * view->stride[a] - field->placement.offset[a];
        args.stride[a] = view->stride[a];
        args.cells[a] = box_extent(part, (enum axis)a);
    }
    return args;
}

enum status view_take(const struct view *view, struct copy_out *copy_out, struct field *field,
                      const struct layout *layout, const void *d_memory, enum view_values which,
                      enum precision precision, void *h_values)
{
    const struct box cells = layout_owned(&field->layout);
    const struct box owned = box_shift(&cells, field->placement.offset);
    const struct box part = view_part(view, &owned);
    if (box_is_empty(&part)) {
        return STATUS_OK;
    }
    const struct extract_args args =
        args_of(view, field, layout, d_memory, &part, which, precision);
    return copy_out != NULL ? copy_out_add(copy_out, &args, h_values)
                            : field_extract(field, &args, h_values);
}
