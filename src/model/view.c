#include "model/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cpu/stream.h"

void view_whole(const struct grid *grid, struct view *view)
{
    *view = (struct view){.grid = *grid, .stride = {1, 1, 1}};
}

/* The cell that holds a position inside the grid. */
static int64_t cell_at(const struct grid *grid, enum axis axis, double position)
{
    const double cells = (position - grid->lower[axis]) / grid->spacing[axis];
    const int64_t index = (int64_t)floor(cells);
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
        /* the plane lies in the box, its cell's centre perhaps just outside */
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
            continue; /* the corners as they are, to the last bit */
        }
        const double h = grid->spacing[axis];
        const double stride = (double)view->stride[axis];
        own->spacing[axis] = stride * h;
        own->lower[axis] = grid->lower[axis] + ((double)view->first[axis] - 0.5 * (stride - 1)) * h;
        own->upper[axis] = own->lower[axis] + (double)n * own->spacing[axis];
    }
}

/* A box between two centres, or a stride that steps over it. */
enum status view_check_regions(const struct settings *settings)
{
    struct grid grid;
    grid_create(settings, &grid);
    for (int i = 0; i < settings->output.nregions; i++) {
        const struct region_setting *region = &settings->output.regions[i];
        struct view view;
        view_create(&grid, region, &view);
        for (int a = 0; a < AXIS_COUNT; a++) {
            if (view.grid.cells[a] > 0) {
                continue;
            }
            const bool thinned = region->stride[a] > 1;
            char key[48];
            snprintf(key, sizeof key, "output.regions[%d].%s", i, thinned ? "stride" : "box");
            return settings_fail(
                settings, key,
                "no cell is left in %s; the cells are %g m long there, and those %s count",
                axis_name((enum axis)a), grid.spacing[a],
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

/* How many of the view's cells lie below a global index. */
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

/* Local index of the part's first cell. */
static void first_cell(const struct view *view, const struct field *field, const struct box *part,
                       int64_t at[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        at[a] = view->first[a] + part->lo[a] * view->stride[a] - field->placement.offset[a];
    }
}

/* The part as a field of its own: strides along y and z are larger pitches, so that only rows that
 * are wanted leave the device. Along x the rows are dense; thinned out on the host. */
static void make_rows(const struct view *view, const struct field *field,
                      const struct layout *layout, const struct box *part, struct layout *rows)
{
    int64_t at[AXIS_COUNT];
    first_cell(view, field, part, at);
    *rows = *layout;
    rows->origin = layout_index(layout, at[AXIS_X], at[AXIS_Y], at[AXIS_Z]);
    rows->pitch_y = layout->pitch_y * view->stride[AXIS_Y];
    rows->pitch_z = layout->pitch_z * view->stride[AXIS_Z];
    rows->cells[AXIS_X] = (box_extent(part, AXIS_X) - 1) * view->stride[AXIS_X] + 1;
    rows->cells[AXIS_Y] = box_extent(part, AXIS_Y);
    rows->cells[AXIS_Z] = box_extent(part, AXIS_Z);
}

/* What becomes of the values of one row: every stride-th of `elements`. */
struct row_form {
    enum precision from, to;
    enum view_values which;
    int64_t stride, elements;
};

static int64_t row_cells(const struct row_form *form)
{
    return (form->elements + form->stride - 1) / form->stride;
}

static void copy_float32(const struct row_form *form, const float *in, void *out)
{
    const int64_t cells = row_cells(form);
    for (int64_t i = 0; i < cells; i++) {
        if (form->to == PRECISION_FLOAT32) {
            ((float *)out)[i] = in[i * form->stride];
        } else {
            ((double *)out)[i] = (double)in[i * form->stride];
        }
    }
}

/* The common one by itself, with a stride that the compiler knows; past the cache, because nobody
 * reads it before the whole rank's part has gone through there. The processor alone does not fetch
 * far enough ahead; rows mostly follow each other, so the next one may be fetched from this. */
static void narrow(const double *restrict in, float *restrict out, int64_t cells)
{
    enum { PART = STREAM_PART_BYTES / sizeof(float), AHEAD = 256 };
    const int64_t front = stream_cells_to_line(out, sizeof *out);
    const int64_t begin = front < cells ? front : cells;
    const int64_t end = begin + (cells - begin) / (2 * PART) * (2 * PART);
    for (int64_t i = 0; i < begin; i++) {
        out[i] = (float)in[i];
    }
    for (int64_t i = begin; i < end; i += PART) {
        float part[PART];
        stream_fetch(STREAM_FIRST_LEVEL, in + i + AHEAD);
        for (int n = 0; n < PART; n++) {
            part[n] = (float)in[i + n];
        }
        stream_part(out + i, part);
    }
    for (int64_t i = end; i < cells; i++) {
        out[i] = (float)in[i];
    }
}

static void copy_float64(const struct row_form *form, const double *in, void *out)
{
    const int64_t cells = row_cells(form);
    if (form->to == PRECISION_FLOAT32 && form->stride == 1 && form->which == VIEW_AS_IT_IS) {
        narrow(in, out, cells);
        return;
    }
    for (int64_t i = 0; i < cells; i++) {
        const double read = in[i * form->stride];
        const double value = form->which == VIEW_ROOT ? sqrt(read) : read;
        if (form->to == PRECISION_FLOAT32) {
            ((float *)out)[i] = (float)value;
        } else {
            ((double *)out)[i] = value;
        }
    }
}

static void copy_row(const struct row_form *form, const void *in, void *out)
{
    if (form->from == form->to && form->stride == 1 && form->which == VIEW_AS_IT_IS) {
        memcpy(out, in, (size_t)form->elements * precision_bytes(form->from));
    } else if (form->from == PRECISION_FLOAT64) {
        copy_float64(form, in, out);
    } else {
        copy_float32(form, in, out);
    }
}

/* Host code may read the memory: once through it, by all threads. */
static enum status read_here(struct field *field, const struct layout *rows, const void *memory,
                             const struct row_form *form, char *to)
{
    const size_t from_bytes = precision_bytes(form->from);
    const size_t row_bytes = (size_t)row_cells(form) * precision_bytes(form->to);
    const int64_t ny = rows->cells[AXIS_Y];
    const int64_t nrows = ny * rows->cells[AXIS_Z];
    TRY(field->backend->runtime->queue_wait(field->queue));
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t row = 0; row < nrows; row++) {
            const int64_t at = rows->origin + row / ny * rows->pitch_z + row % ny * rows->pitch_y;
            copy_row(form, (const char *)memory + (size_t)at * from_bytes,
                     to + (size_t)row * row_bytes);
        }
        stream_fence();
    }
    return STATUS_OK;
}

/* Through the staging buffers. */
static enum status read_staged(struct field *field, const struct layout *rows, const void *d_memory,
                               const struct row_form *form, char *to)
{
    const struct backend *backend = field->backend;
    const size_t bytes = precision_bytes(form->from);
    const size_t row_bytes = (size_t)row_cells(form) * precision_bytes(form->to);
    const int64_t row = rows->cells[AXIS_X];
    const int64_t capacity = (int64_t)(field->stage_bytes / bytes) / row;
    const int64_t planes = capacity / rows->cells[AXIS_Y];
    const struct box all = box_of_cells(rows->cells);
    const int64_t kstep = planes > 1 ? planes : 1;
    const int64_t jstep = planes > 0 ? rows->cells[AXIS_Y] : capacity;
    for (int64_t k = 0; k < rows->cells[AXIS_Z]; k += kstep) {
        for (int64_t j = 0; j < rows->cells[AXIS_Y]; j += jstep) {
            struct box piece = {{0, j, k}, {row, j + jstep, k + kstep}};
            piece = box_intersect(&piece, &all);
            const int64_t cells = box_cells(&piece);
            TRY(backend->operations->pack(field->queue, rows, d_memory, &piece, field->d_stage));
            TRY(backend->runtime->copy_to_host(field->queue, field->h_stage, field->d_stage,
                                               (size_t)cells * bytes));
            TRY(backend->runtime->queue_wait(field->queue));
            for (int64_t c = 0; c < cells; c += row, to += row_bytes) {
                copy_row(form, (const char *)field->h_stage + (size_t)c * bytes, to);
            }
        }
    }
    stream_fence();
    return STATUS_OK;
}

enum status view_read(const struct view *view, struct field *field, const struct layout *layout,
                      const void *d_memory, const struct box *part, enum view_values which,
                      enum precision precision, void *h_values)
{
    struct layout rows;
    if (box_is_empty(part)) {
        return STATUS_OK;
    }
    make_rows(view, field, layout, part, &rows);
    const struct row_form form = {.from = layout->precision,
                                  .to = precision,
                                  .which = which,
                                  .stride = view->stride[AXIS_X],
                                  .elements = rows.cells[AXIS_X]};
    return field->backend->host_accessible ? read_here(field, &rows, d_memory, &form, h_values)
                                           : read_staged(field, &rows, d_memory, &form, h_values);
}

enum status view_send(const struct view *view, struct copy_out *copy_out, const struct field *field,
                      const struct layout *layout, const void *d_memory, enum view_values which,
                      enum precision precision, void *h_values)
{
    const struct box cells = layout_owned(&field->layout);
    const struct box owned = box_shift(&cells, field->placement.offset);
    const struct box part = view_part(view, &owned);
    struct extract_args args = {.root = which == VIEW_ROOT, .precision = precision};
    if (box_is_empty(&part)) {
        return STATUS_OK;
    }
    first_cell(view, field, &part, args.first);
    for (int a = 0; a < AXIS_COUNT; a++) {
        args.stride[a] = view->stride[a];
        args.cells[a] = box_extent(&part, (enum axis)a);
    }
    return copy_out_add(copy_out, layout, &args, d_memory, h_values);
}
