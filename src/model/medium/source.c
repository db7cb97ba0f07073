#include "model/medium/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sorted.h"
#include "base/text/rows.h"

static const char *const kinds[] = {
    [INITIAL_UNIFORM] = "uniform", [INITIAL_SPHERE] = "sphere",
    [INITIAL_BOX] = "box",         [INITIAL_CYLINDER] = "cylinder",
    [INITIAL_LAYER] = "layer",     [INITIAL_EXPRESSION] = "expression",
    [INITIAL_FILE] = "file",       [SOURCE_GAUSSIAN] = "gaussian",
    [SOURCE_GOLDAK] = "goldak",
};

enum { KEY_BYTES = 64 };

/* "sources[2].box.factor" */
static const char *key_of(const struct sources *sources, int s, const char *member,
                          char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "sources[%d].%s%s%s", s, kinds[sources->source[s].setting->shape.kind],
             member[0] != '\0' ? "." : "", member);
    return key;
}

/* Does the bounding box of the rows touch the grid? */
static enum status check_path(const struct settings *settings, const struct grid *grid,
                              const struct path *path, const char *key)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        double low = INFINITY;
        double high = -INFINITY;
        for (int n = 0; n < path->count; n++) {
            low = fmin(low, path->rows[n].at[axis]);
            high = fmax(high, path->rows[n].at[axis]);
        }
        FAIL_IF(grid->used[axis] && (high < grid->lower[axis] || low > grid->upper[axis]),
                settings_fail(settings, key,
                              "the path lies outside the grid in %s (from %g to %g m); the grid "
                              "is from %g to %g m",
                              axis_name((enum axis)axis), low, high, grid->lower[axis],
                              grid->upper[axis]));
    }
    return STATUS_OK;
}

enum { MODE, AT, POWER = AT + AXIS_COUNT, PARAM, SEGMENT_COLUMNS };

static bool segment_valid(const double *row)
{
    return row[MODE] == 0 ? row[PARAM] > 0 : row[MODE] == 1 && row[PARAM] >= 0;
}

static const struct rows_format segments_format = {
    .columns = SEGMENT_COLUMNS,
    .least = 1,
    .any_order = true,
    .valid = segment_valid,
    .what = "6 numbers: mode (0: a line, 1: a spot), x, y, z, power, and the speed of a line "
            "(above 0) or the duration of a spot",
};

/* Whether a file has segments instead of rows of time, by its columns; and the unit of lengths, m.
 */
static enum status find_segments(const char *name, bool *segments, double *unit)
{
    enum { LIMIT_BYTES = 1 << 28 };
    SCOPED_BY(rows_close) struct rows rows;
    double row[SEGMENT_COLUMNS];
    *segments = false;
    *unit = 1;
    TRY(rows_open(name, LIMIT_BYTES, &rows));
    while (rows_next(&rows)) {
        if (rows_has_number(&rows)) {
            *segments = rows_numbers(&rows, SEGMENT_COLUMNS, row);
            break;
        }
        *unit = strstr(rows.line, "(mm)") != NULL ? 1e-3 : *unit;
    }
    return STATUS_OK;
}

/* Two rows for each segment that takes time. The first one begins at t = 0 and the origin. */
static enum status read_segments(const char *name, double unit, struct path *path)
{
    SCOPED_FREE double *numbers = NULL;
    struct path_row last = {0};
    int count = 0;
    TRY(rows_read(name, &segments_format, &numbers, &count));
    path->rows = calloc(2 * (size_t)count, sizeof *path->rows);
    TRY(CHECK_MEMORY(path->rows != NULL, "no memory for a path"));
    for (int n = 0; n < count; n++) {
        const double *segment = numbers + (size_t)n * SEGMENT_COLUMNS;
        struct path_row next = {.t = last.t, .power = segment[POWER]};
        double square = 0;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            next.at[axis] = unit * segment[AT + axis];
            square += (next.at[axis] - last.at[axis]) * (next.at[axis] - last.at[axis]);
        }
        next.t += segment[MODE] == 0 ? sqrt(square) / segment[PARAM] : segment[PARAM];
        if (next.t > last.t) {
            struct path_row from = segment[MODE] == 0 ? last : next;
            from.t = last.t;
            from.power = next.power;
            path->rows[path->count++] = from;
            path->rows[path->count++] = next;
        }
        last = next;
    }
    return path->count > 0 ? STATUS_OK
                           : fail(STATUS_INPUT, "%.400s: no segment takes any time", name);
}

/* Segments, or the rows t, x, y, z and, with `power`, power (base/text/rows.h): at least two, t
 * increases. */
static enum status read_rows(const char *name, bool power, struct path *path)
{
    struct rows_format format = {.columns = 5, .least = 2, .what = "5 numbers: t, x, y, z, power"};
    SCOPED_FREE double *numbers = NULL;
    double unit = 1;
    TRY(find_segments(name, &path->factors, &unit));
    if (path->factors) {
        return read_segments(name, unit, path);
    }
    if (!power) {
        format.columns = 4;
        format.what = "4 numbers: t, x, y, z (the configuration has the power)";
    }
    TRY(rows_read(name, &format, &numbers, &path->count));
    path->rows = calloc((size_t)path->count, sizeof *path->rows);
    for (int n = 0; path->rows != NULL && n < path->count; n++) {
        memcpy(&path->rows[n], numbers + (size_t)n * (size_t)format.columns,
               sizeof *numbers * (size_t)format.columns);
    }
    return CHECK_MEMORY(path->rows != NULL, "no memory for a path");
}

static enum status read_path(const struct settings *settings, const struct grid *grid,
                             const struct sources *sources, int s)
{
    struct source *source = &sources->source[s];
    char key[KEY_BYTES];
    if (source->setting->path == NULL) {
        return STATUS_OK;
    }
    const enum status status =
        read_rows(source->setting->path, !source->setting->by_power, &source->path);
    TRY(settings_place(settings->origin, status, "%s", key_of(sources, s, "path", key)));
    return check_path(settings, grid, &source->path, key);
}

enum status sources_create(const struct settings *settings, const struct grid *grid,
                           struct sources *sources)
{
    *sources = (struct sources){0};
    if (settings->nsources == 0) {
        return STATUS_OK;
    }
    SCOPED_BY(sources_destroy) struct sources built = {.count = settings->nsources};
    built.source = calloc((size_t)built.count, sizeof *built.source);
    TRY(CHECK_MEMORY(built.source != NULL, "no memory for %d sources", built.count));
    for (int s = 0; s < built.count; s++) {
        struct source *source = &built.source[s];
        source->setting = &settings->sources[s];
        source->density = source->setting->by_power ? 0 : source->setting->density;
        TRY(expression_of_number(&source->setting->factor, &source->factor));
        TRY(expression_of_number(&source->setting->power, &source->power));
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            TRY(expression_of_number(&source->setting->at[axis], &source->at[axis]));
        }
        TRY(read_path(settings, grid, &built, s));
    }
    *sources = built;
    built = (struct sources){0};
    return STATUS_OK;
}

void sources_destroy(struct sources *sources)
{
    for (int s = 0; s < sources->count; s++) {
        expression_destroy(sources->source[s].factor);
        expression_destroy(sources->source[s].power);
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            expression_destroy(sources->source[s].at[axis]);
        }
        free(sources->source[s].path.rows);
    }
    free(sources->source);
    *sources = (struct sources){0};
}

enum status sources_survey(struct sources *sources, const struct settings *settings,
                           const struct grid *grid, const struct medium *medium)
{
    char key[KEY_BYTES];
    for (int s = 0; s < sources->count; s++) {
        struct source *source = &sources->source[s];
        double volume = 0; /* in cells */
        if (!source_is_painted(source->setting)) {
            continue;
        }
        for (int c = 0; c < medium->nclasses; c++) {
            const struct medium_class *own = &medium->classes[c];
            volume +=
                class_key_has(&own->key, s)
                    ? own->amount * (medium->lines ? 1 : grid_size_volume(grid, own->key.size))
                    : 0;
        }
        FAIL_IF(volume == 0,
                settings_fail(settings, key_of(sources, s, "", key),
                              "contains no cell centre%s, so it heats nothing; the cells are "
                              "%.4g x %.4g x %.4g m large",
                              source->setting->material >= 0 ? " of that material" : "",
                              grid_width(grid, AXIS_X, 0), grid_width(grid, AXIS_Y, 0),
                              grid_width(grid, AXIS_Z, 0)));
        source->volume = volume * grid_cell_volume(grid);
        if (source->setting->by_power) {
            source->density = source->setting->power.value / source->volume;
        }
    }
    return STATUS_OK;
}

enum status source_number(const struct sources *sources, int s, const char *member,
                          const struct number_setting *number, struct expression *expression,
                          double t, double *value)
{
    char key[KEY_BYTES];
    *value = expression_number_at(number, expression, t);
    if (fabs(*value) <= 1e30) {
        return STATUS_OK;
    }
    return fail(STATUS_NUMERICS,
                "%s: \"%.200s\" gives %g at t = %.9g s; it must be finite and at most 1e30 in "
                "magnitude",
                key_of(sources, s, member, key), number->formula, isnan(*value) ? NAN : *value, t);
}

enum status sources_at(const struct sources *sources, double t, double *strength)
{
    for (int s = 0; s < sources->count; s++) {
        const struct source *source = &sources->source[s];
        TRY(source_number(sources, s, "factor", &source->setting->factor, source->factor, t,
                          &strength[s]));
        const bool has_density =
            source->setting->shape.kind < INITIAL_FILE && source->setting->density_table == NULL;
        strength[s] *= has_density ? source->density : 1;
    }
    return STATUS_OK;
}

void source_curve_of(const struct source_setting *setting, struct source_curve *curve)
{
    const struct table_setting *table = setting->density_table;
    const int last = table->nrows - 1;
    *curve = (struct source_curve){.count = table->nrows > 1 ? last : 1};
    curve->low = table->row[0][0];
    curve->high = table->row[last][0];
    for (int n = 0; n < curve->count; n++) {
        const double *row = table->row[n];
        const double *next = table->row[n < last ? n + 1 : last];
        curve->at[n] = row[0];
        curve->value[n] = row[1];
        curve->slope[n] = n < last ? (next[1] - row[1]) / (next[0] - row[0]) : 0;
    }
}

/* Its largest slope; *last: that of the last interval, with its sign. */
static double slope_of(const struct source_setting *setting, double *last)
{
    struct source_curve curve;
    double most = 0;
    source_curve_of(setting, &curve);
    for (int n = 0; n < curve.count; n++) {
        most = fmax(most, fabs(curve.slope[n] * setting->factor.value));
    }
    *last = curve.slope[curve.count - 1] * setting->factor.value;
    return most;
}

bool sources_depend(const struct sources *sources)
{
    bool any = false;
    for (int s = 0; s < sources->count; s++) {
        any = any || sources->source[s].setting->density_table != NULL;
    }
    return any;
}

double sources_slope(const struct sources *sources)
{
    double sum = 0;
    double last = 0;
    for (int s = 0; s < sources->count; s++) {
        const struct source_setting *setting = sources->source[s].setting;
        sum += setting->density_table != NULL ? slope_of(setting, &last) : 0;
    }
    return sum;
}

int sources_run_away(const struct sources *sources, double kelvins)
{
    for (int s = 0; s < sources->count; s++) {
        const struct source_setting *setting = sources->source[s].setting;
        const struct table_setting *table = setting->density_table;
        double last = 0;
        if (table != NULL && kelvins > table->row[table->nrows - 1][0]) {
            (void)slope_of(setting, &last);
            if (last > 0) {
                return s;
            }
        }
    }
    return -1;
}

bool sources_vary(const struct sources *sources)
{
    bool any = false;
    for (int s = 0; s < sources->count; s++) {
        any = any || (source_is_painted(sources->source[s].setting) &&
                      sources->source[s].setting->factor.formula != NULL);
    }
    return any;
}

int sources_moving(const struct sources *sources)
{
    int count = 0;
    for (int s = 0; s < sources->count; s++) {
        count += source_is_painted(sources->source[s].setting) ? 0 : 1;
    }
    return count;
}

bool path_at(const struct path *path, double t, struct path_row *row, int *segment)
{
    if (t < path->rows[0].t || t > path->rows[path->count - 1].t) {
        return false;
    }
    const int low =
        (int)sorted_interval(&path->rows[0].t, sizeof path->rows[0], path->count - 1, t);
    const struct path_row *a = &path->rows[low];
    const struct path_row *b = a + 1;
    const double share = (t - a->t) / (b->t - a->t);
    *segment = low;
    row->t = t;
    row->power = a->power + share * (b->power - a->power);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        row->at[axis] = a->at[axis] + share * (b->at[axis] - a->at[axis]);
    }
    return true;
}

/* The shortest time for which a path has power without a break, s; INFINITY: none. */
static double shortest_heat(const struct path *path)
{
    double shortest = INFINITY, on = 0;
    for (int n = 0; n + 1 < path->count; n++) {
        const struct path_row *row = &path->rows[n];
        const bool heats = row[0].power != 0 || row[1].power != 0;
        on = heats ? on + row[1].t - row[0].t : on;
        if ((!heats || n + 2 == path->count) && on > 0) {
            shortest = fmin(shortest, on);
            on = 0;
        }
    }
    return shortest;
}

void sources_warn(const struct sources *sources, double dt)
{
    char key[KEY_BYTES];
    for (int s = 0; s < sources->count; s++) {
        const double on = shortest_heat(&sources->source[s].path);
        if (on < dt) {
            log_warn("%s: its power is on for %.3g s at a time and steps of %.3g s take it at "
                     "their middle, so heat may be missing; give time.dt: %.2g",
                     key_of(sources, s, "path", key), on, dt, on / 5);
        }
    }
}
