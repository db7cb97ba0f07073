#include "io/picture/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/comm.h"
#include "base/file.h"
#include "model/field/quantity.h"

enum { INTERVALS = 16 };

/* Evenly spaced colours; interpolation is within 5/255 of the published tables. Inferno, magma
 * (S. van der Walt, N. Smith) and viridis (also E. Firing), CC0: perceptually uniform, with
 * increasing lightness. Coolwarm: K. Moreland, "Diverging Color Maps for Scientific Visualization",
 * 2009. */
static const uint32_t maps[][INTERVALS + 1] = {
    [COLORMAP_INFERNO] = {0x000004, 0x090723, 0x210d4b, 0x3d0867, 0x570f6e, 0x70196e, 0x89226a,
                          0xa32b62, 0xbb3655, 0xd14545, 0xe45932, 0xf1711f, 0xfa8d07, 0xfcab0c,
                          0xfaca31, 0xefe964, 0xfcffa4},
    [COLORMAP_MAGMA] = {0x000004, 0x090821, 0x1c1246, 0x350f6c, 0x51117d, 0x691c81, 0x822682,
                        0x9c2e80, 0xb6367a, 0xd04070, 0xe75063, 0xf5695b, 0xfc8760, 0xfea570,
                        0xfec387, 0xfde0a1, 0xfcfdbf},
    [COLORMAP_VIRIDIS] = {0x440154, 0x48186b, 0x472d7c, 0x424086, 0x3b528b, 0x33638e, 0x2c728e,
                          0x26818e, 0x20908d, 0x1e9f89, 0x26ae81, 0x3dbc74, 0x5cc963, 0x81d44d,
                          0xabdc32, 0xd5e216, 0xfde725},
    [COLORMAP_COOLWARM] = {0x3b4cc0, 0x4d68d8, 0x6282ea, 0x779af7, 0x8db0fe, 0xa3c2ff, 0xb8d0f9,
                           0xccd9ee, 0xdddddd, 0xecd3c6, 0xf5c5ad, 0xf8b194, 0xf59a7b, 0xec7f63,
                           0xde604c, 0xcb4138, 0xb40426},
};

uint32_t colormap_of(enum colormap map, double value, double low, double high)
{
    if (!isfinite(value)) {
        return COLORMAP_GREY;
    }
    const double place = fmin(fmax((value - low) / (high - low), 0.0), 1.0) * INTERVALS;
    const int below = (int)fmin(place, INTERVALS - 1);
    uint32_t color = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        const int a = maps[map][below] >> shift & 0xFF;
        const int b = maps[map][below + 1] >> shift & 0xFF;
        color = color << 8 | (uint32_t)(a + (b - a) * (place - below) + 0.5);
    }
    return color;
}

double picture_round_step(double least)
{
    const double power = pow(10.0, floor(log10(least)));
    const double factor = least / power / (1.0 + 1e-9); /* a rounding error above 2 is still 2 */
    return power * (factor <= 1.0 ? 1.0 : factor <= 2.0 ? 2.0 : factor <= 5.0 ? 5.0 : 10.0);
}

/* Cells read at once, where all rows are shown. */
enum { READ_CELLS = 1 << 22 };

static int64_t sample_cell(const struct picture_plane *plane, int direction, int64_t p)
{
    const struct grid *grid = &plane->grid;
    const enum axis axis = plane->axis[direction];
    if (grid->graded[axis].edges != NULL) {
        const double part = ((double)p + 0.5) / plane->samples[direction];
        return (int64_t)grid_in_cells(
            grid, axis, fma(part, grid->upper[axis] - grid->lower[axis], grid->lower[axis]));
    }
    return (2 * p + 1) * plane->cells[direction] / (2 * (int64_t)plane->samples[direction]);
}

static enum axis choose_normal(const struct grid *grid, enum axis wanted)
{
    if (grid->dimensions == AXIS_COUNT) {
        return wanted;
    }
    /* the last axis that is not in use: z in 2D, and in 1D along x */
    for (int axis = AXIS_Z; axis > AXIS_X; axis--) {
        if (!grid->used[axis]) {
            return (enum axis)axis;
        }
    }
    return AXIS_X;
}

static int64_t middle_cell(const struct grid *grid, enum axis axis)
{
    return grid->graded[axis].edges == NULL
               ? grid->cells[axis] / 2
               : (int64_t)grid_in_cells(grid, axis, (grid->lower[axis] + grid->upper[axis]) / 2);
}

struct picture_plane picture_plane_choose(const struct grid *grid, enum axis normal)
{
    struct picture_plane plane = {.normal = choose_normal(grid, normal), .grid = *grid};
    plane.level = middle_cell(grid, plane.normal);
    plane.axis[0] = plane.normal == AXIS_X ? AXIS_Y : AXIS_X;
    plane.axis[1] = plane.normal == AXIS_Z ? AXIS_Y : AXIS_Z;
    if (grid->dimensions == 1 && !grid->used[plane.axis[0]]) {
        const enum axis unused = plane.axis[0];
        plane.axis[0] = plane.axis[1];
        plane.axis[1] = unused;
    }
    for (int d = 0; d < 2; d++) {
        const enum axis axis = plane.axis[d];
        int64_t cells = grid->cells[axis];
        plane.cells[d] = cells;
        for (int64_t i = 0; grid->graded[axis].edges != NULL && i < plane.cells[d]; i++) {
            const double length = grid->upper[axis] - grid->lower[axis];
            cells =
                (int64_t)fmax((double)cells, ceil((1 - 1e-9) * length / grid_width(grid, axis, i)));
        }
        plane.samples[d] = cells < PICTURE_MAX_SAMPLES ? (int)cells : PICTURE_MAX_SAMPLES;
    }
    return plane;
}

enum status picture_read(const struct picture_plane *plane, const struct box *part,
                         picture_reader *read, void *context, double *values)
{
    const enum axis x = plane->axis[0]; /* the upward axis is the slower one in memory */
    const enum axis y = plane->axis[1];
    int first[2] = {0, 0};
    int last[2] = {0, 0};
    struct box box = *part;
    if (plane->level < part->lo[plane->normal] || plane->level >= part->hi[plane->normal]) {
        return STATUS_OK;
    }
    box.lo[plane->normal] = plane->level;
    box.hi[plane->normal] = plane->level + 1;
    for (int d = 0; d < 2; d++) {
        for (int p = 0; p < plane->samples[d]; p++) {
            first[d] += sample_cell(plane, d, p) < part->lo[plane->axis[d]];
            last[d] += sample_cell(plane, d, p) < part->hi[plane->axis[d]];
        }
    }
    const int64_t across = box_extent(part, x);
    const bool thinned = plane->samples[1] != plane->cells[1];
    const int64_t most = READ_CELLS / across > 1 && !thinned ? READ_CELLS / across : 1;
    const int nrows = most < last[1] - first[1] ? (int)most : last[1] - first[1];
    SCOPED_FREE double *cells = malloc((size_t)(nrows * across + 1) * sizeof *cells);
    TRY(CHECK_MEMORY(cells != NULL, "no memory to read a picture's plane"));
    for (int row = first[1]; row < last[1]; row += nrows) { /* n rows are contiguous */
        const int n = last[1] - row < nrows ? last[1] - row : nrows;
        box.lo[y] = sample_cell(plane, 1, row);
        box.hi[y] = box.lo[y] + n;
        TRY(read(context, &box, cells));
        for (int i = 0; i < n * (last[0] - first[0]); i++) {
            const int r = i / (last[0] - first[0]);
            const int p = first[0] + i % (last[0] - first[0]);
            values[(int64_t)(row + r) * plane->samples[0] + p] =
                cells[r * across + sample_cell(plane, 0, p) - box.lo[x]];
        }
    }
    return STATUS_OK;
}

static enum status read_field(void *context, const struct box *box, double *values)
{
    struct field *field = context;
    const int64_t count = box_cells(box);
    struct box local = *box;
    SCOPED_FREE void *h_cells = malloc((size_t)count * sizeof *values);
    TRY(CHECK_MEMORY(h_cells != NULL, "no memory to read a picture's plane"));
    for (int a = 0; a < AXIS_COUNT; a++) {
        local.lo[a] -= field->placement.offset[a];
        local.hi[a] -= field->placement.offset[a];
    }
    TRY(field_read(field, &local, h_cells));
    for (int64_t i = 0; i < count; i++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&local, i, cell);
        values[i] = field_is_gap(&field->gaps, cell)
                        ? NAN
                        : precision_get(field->layout.precision, h_cells, i);
    }
    return STATUS_OK;
}

void picture_widen(double range[2], double margin)
{
    if (!isfinite(range[0]) || !isfinite(range[1])) {
        range[0] = 0.0;
        range[1] = 1.0;
        return;
    }
    const double width = range[1] - range[0];
    const double least = 1e-9 * fmax(fabs(range[0]), fabs(range[1]));
    if (!(width > least)) {
        const double half = fmax(0.5, 1e-3 * fabs(range[0]));
        range[0] -= half;
        range[1] += half;
        return;
    }
    range[0] -= margin * width;
    range[1] += margin * width;
}

/* M. Okabe, K. Ito, "Color Universal Design", 2008; without their yellow, which is hard to see on
 * white. */
uint32_t picture_curve_color(int number)
{
    static const uint32_t colors[PICTURE_CURVE_COLORS] = {0xd55e00, 0x222228, 0x0072b2, 0x009e73,
                                                          0xcc79a7, 0xe69f00, 0x56b4e9};
    return colors[number % PICTURE_CURVE_COLORS];
}

struct picture_view picture_view_of(const struct grid *grid, const struct picture_plane *plane,
                                    const struct picture_setting *setting, double min, double max)
{
    const struct quantity_setting *quantity = quantity_used();
    struct picture_view view = {.min = min,
                                .max = max,
                                .colormap = setting->colormap,
                                .quantity = quantity->symbol,
                                .unit = quantity->unit};
    for (int d = 0; d < 2; d++) {
        view.axis[d] = plane->axis[d];
        view.samples[d] = plane->samples[d];
        view.lower[d] = grid->lower[plane->axis[d]];
        view.upper[d] = grid->upper[plane->axis[d]];
        view.color_range[d] = setting->range_auto ? (d == 0 ? min : max) : setting->range[d];
    }
    view.has_plane_at = grid->dimensions == AXIS_COUNT;
    view.plane_axis = plane->normal;
    view.plane_at = grid_center(grid, plane->normal, plane->level);
    /* a curve should not run along the frame */
    picture_widen(view.color_range, setting->range_auto && plane->samples[1] == 1 ? 0.05 : 0.0);
    return view;
}

/* On rank 0. */
static enum status write_file(const char *directory, const struct picture_view *view,
                              char path[PATH_BYTES])
{
    char folder[PATH_BYTES];
    char name[64];
    TRY(path_join(directory, "pictures", folder));
    TRY(directory_make(folder));
    snprintf(name, sizeof name, "step_%010" PRId64 ".png", view->step);
    TRY(path_join(folder, name, path));
    return picture_draw(view, path);
}

enum status picture_write(MPI_Comm comm, const char *directory, struct field *field,
                          const struct grid *grid, const struct picture_setting *setting,
                          const char *title, int64_t step, double time, double min, double max,
                          char *path)
{
    const bool root = comm_rank(comm) == 0;
    const struct picture_plane plane = picture_plane_choose(grid, setting->plane_normal);
    const int count = plane.samples[0] * plane.samples[1];
    double *values = calloc((size_t)count, sizeof *values);
    char file[PATH_BYTES];
    const struct box all = box_of_cells(field->layout.cells);
    const struct box mine = box_shift(&all, field->placement.offset);
    enum status status = values != NULL ? picture_read(&plane, &mine, read_field, field, values)
                                        : fail(STATUS_MEMORY, "no memory for a picture's plane");
    TRY_GOTO(status_agree(comm, status));
    /* each sample is on one rank and zero on all others: the bits do not change */
    TRY_GOTO(comm_check(MPI_Reduce(root ? MPI_IN_PLACE : values, root ? values : NULL, count,
                                   MPI_UINT64_T, MPI_BOR, 0, comm),
                        "MPI_Reduce"));
    if (root) {
        struct picture_view view = picture_view_of(grid, &plane, setting, min, max);
        view.title = title;
        view.step = step;
        view.time = time;
        view.values = values;
        status = write_file(directory, &view, path != NULL ? path : file);
    }
    status = status_agree(comm, status);
done:
    free(values);
    return status;
}
