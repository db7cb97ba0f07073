#include "model/medium/moving.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* The position and power at a time. */
static enum status locate(const struct sources *sources, int s, double t, struct path_row *row,
                          bool *on)
{
    const struct source *source = &sources->source[s];
    const struct source_setting *setting = source->setting;
    int segment = 0;
    *on = true;
    *row = (struct path_row){.t = t};
    if (setting->path != NULL) {
        *on = path_at(&source->path, t, row, &segment);
    }
    for (int axis = 0; axis < AXIS_COUNT && setting->path == NULL; axis++) {
        TRY(source_number(sources, s, axis_name((enum axis)axis), &setting->at[axis],
                          source->at[axis], t, &row->at[axis]));
    }
    if (setting->by_power) {
        const double factor = source->path.factors ? row->power : 1;
        TRY(source_number(sources, s, "power", &setting->power, source->power, t, &row->power));
        row->power *= factor;
    }
    return STATUS_OK;
}

/* Where the source moves to, along the face: a unit vector. On a path that of its segment, or of
 * the last one before in which it moved; of formulas the difference over the step. Else the next
 * axis. */
static enum status heading(const struct problem *problem, const struct heat_operator *op, int s,
                           double t, double ahead[AXIS_COUNT])
{
    const struct sources *sources = &problem->sources;
    const struct source *source = &sources->source[s];
    const enum axis normal = face_axis((enum face)source->setting->surface);
    const struct path_row *rows = source->path.rows;
    struct path_row ends[2];
    double length = 0;
    int segment = 0;
    bool on;
    if (source->setting->path != NULL) {
        (void)path_at(&source->path, t, &ends[0], &segment);
    } else {
        TRY(locate(sources, s, op->when.start, &ends[0], &on));
        TRY(locate(sources, s, op->when.start + op->when.length, &ends[1], &on));
        rows = ends;
    }
    for (; length == 0 && segment >= 0; segment--) {
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            ahead[axis] =
                axis == (int)normal ? 0 : rows[segment + 1].at[axis] - rows[segment].at[axis];
            length += ahead[axis] * ahead[axis];
        }
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool next = axis == ((int)normal + 1) % AXIS_COUNT;
        ahead[axis] = length > 0 ? ahead[axis] / sqrt(length) : next ? 1 : 0;
    }
    return STATUS_OK;
}

/* Integrals over the axes: of exp(-2 x^2 / r^2), of the one layer at a surface, of an unused axis.
 */
static void fill_gaussian(const struct grid *grid, const struct source_setting *setting,
                          double watts, struct source_shape *shape)
{
    double volume = 1;
    double rate[AXIS_COUNT] = {0};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool layer =
            setting->surface != NO_SURFACE && (int)face_axis((enum face)setting->surface) == axis;
        const double r = setting->radius[axis];
        shape->turn[axis][axis] = 1;
        if (layer || !grid->used[axis]) {
            volume *= grid_width(grid, (enum axis)axis, 0);
        } else {
            volume *= r * sqrt(PI / 2);
            rate[axis] = 2 / (r * r);
        }
    }
    shape->front = shape->rear = rate[AXIS_X];
    shape->side = rate[AXIS_Y];
    shape->deep = rate[AXIS_Z];
    shape->peak_front = shape->peak_rear = watts / volume;
}

/* J. Goldak, A. Chakravarti, M. Bibby, "A new finite element model for welding heat sources",
 * Metall. Trans. B 15, 1984: 6 sqrt(3) f P / (a b c pi sqrt(pi)) exp(-3 (u^2/a^2 + v^2/b^2 +
 * w^2/c^2)), f = f_front and f_rear with the sum 2. */
static void fill_goldak(const struct source_setting *setting, const double ahead[AXIS_COUNT],
                        double watts, struct source_shape *shape)
{
    const enum face face = (enum face)setting->surface;
    const int normal = (int)face_axis(face);
    const int next = (normal + 1) % AXIS_COUNT;
    const int last = (normal + 2) % AXIS_COUNT;
    const double share = setting->share_auto ? setting->front / (setting->front + setting->rear)
                                             : setting->front_share;
    const double scale =
        6 * sqrt(3.0) * 2 * watts / (setting->width * setting->depth * PI * sqrt(PI));
    memcpy(shape->turn[0], ahead, sizeof shape->turn[0]);
    shape->turn[1][next] = -ahead[last];
    shape->turn[1][last] = ahead[next];
    shape->turn[2][normal] = face == face_of((enum axis)normal, SIDE_MIN) ? 1 : -1;
    shape->half = true;
    shape->front = 3 / (setting->front * setting->front);
    shape->rear = 3 / (setting->rear * setting->rear);
    shape->side = 3 / (setting->width * setting->width);
    shape->deep = 3 / (setting->depth * setting->depth);
    shape->peak_front = scale * share / setting->front;
    shape->peak_rear = scale * (1 - share) / setting->rear;
}

/* The cells of one axis whose centres are within `reach` of the centre, and perhaps one more on
 * either side: the kernel decides. */
static void bound(const struct grid *grid, enum axis axis, double center, double reach,
                  struct box *box)
{
    const double cells = (double)grid->cells[axis];
    const double h = grid_width(grid, axis, 0);
    const double first = floor((center - reach - grid->lower[axis]) / h - 0.5);
    const double end = ceil((center + reach - grid->lower[axis]) / h - 0.5) + 1;
    box->lo[axis] = (int64_t)fmin(fmax(first, 0), cells);
    box->hi[axis] = (int64_t)fmax(fmin(end, cells), 0);
}

static void find_box(const struct grid *grid, const struct source_setting *setting,
                     const double at[AXIS_COUNT], const struct source_shape *shape, struct box *box)
{
    const double rate[3] = {fmin(shape->front, shape->rear), shape->side, shape->deep};
    *box = box_of_cells(grid->cells);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        double square = 0;
        if (!grid->used[axis]) {
            continue;
        }
        if (setting->shape.kind == SOURCE_GAUSSIAN && setting->surface != NO_SURFACE &&
            (int)face_axis((enum face)setting->surface) == axis) {
            const bool low = (enum face)setting->surface == face_of((enum axis)axis, SIDE_MIN);
            box->lo[axis] = low ? 0 : grid->cells[axis] - 1;
            box->hi[axis] = box->lo[axis] + 1;
            continue;
        }
        for (int row = 0; row < 3; row++) {
            const double part = shape->turn[row][axis];
            square += part != 0 ? part * part * SOURCE_CUT / rate[row] : 0;
        }
        bound(grid, (enum axis)axis, at[axis], sqrt(square), box);
    }
}

enum status moving_at(const struct problem *problem, const struct heat_operator *op, int s,
                      struct heat_source *source)
{
    const struct grid *grid = &problem->grid;
    const struct source_setting *setting = problem->sources.source[s].setting;
    const double t = op->middle;
    struct source_shape *shape = &source->shape;
    struct path_row row;
    bool on;
    *source = (struct heat_source){.box = {{0}}};
    if (source_has_values(setting)) {
        source->box = box_of_cells(grid->cells);
        shape->peak_front = op->source[s] * op->dt / problem->medium.heat_capacity_volume;
        return STATUS_OK;
    }
    TRY(locate(&problem->sources, s, t, &row, &on));
    const double kelvin = row.power * setting->absorptivity * op->source[s] * op->dt /
                          problem->medium.heat_capacity_volume;
    if (!on || kelvin == 0) {
        return STATUS_OK;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        shape->spacing[axis] = grid_width(grid, (enum axis)axis, 0);
        shape->start[axis] = grid->lower[axis] - row.at[axis];
    }
    if (setting->shape.kind == SOURCE_GOLDAK) {
        double ahead[AXIS_COUNT];
        TRY(heading(problem, op, s, t, ahead));
        fill_goldak(setting, ahead, kelvin, shape);
    } else {
        fill_gaussian(grid, setting, kelvin, shape);
    }
    find_box(grid, setting, row.at, shape, &source->box);
    return STATUS_OK;
}

enum status moving_power(const struct problem *problem, const struct heat_operator *op, int s,
                         double *watts)
{
    const struct source_setting *setting = problem->sources.source[s].setting;
    struct path_row row;
    bool on;
    TRY(locate(&problem->sources, s, op->middle, &row, &on));
    *watts = on ? row.power * setting->absorptivity * op->source[s] : 0;
    return STATUS_OK;
}
