/* Charts of history.csv, probes.csv and lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/picture/picture.h"
#include "io/series/csv.h"
#include "model/field/quantity.h"
#include "plot/plot.h"

enum { NOTE_BYTES = 512, RUNS = 2, PROFILES = 6 };

/* ---- a chart in the making ------------------------------------------------------------------- */

struct curves {
    const struct plot *plot;
    const struct picture_axis *axis; /* of the chart */
    struct picture_curve curve[PICTURE_MAX_CURVES];
    char name[PICTURE_MAX_CURVES][CSV_NAME_BYTES];
    int count;
    int wanted; /* more than there is room for, perhaps */
    double range[2][2];
};

static void curves_begin(struct curves *curves, const struct plot *plot,
                         const struct picture_chart *chart)
{
    *curves =
        (struct curves){plot, chart->axis, .range = {{INFINITY, -INFINITY}, {INFINITY, -INFINITY}}};
}

static void curves_free(struct curves *curves)
{
    for (int i = 0; i < curves->count; i++) {
        free((double *)(uintptr_t)curves->curve[i].x);
    }
}

/* Rows of a table; `since_start`: minus the first value. The colour and the dashes are chosen by
 * the caller. */
struct selection {
    const struct csv_table *table;
    int64_t first, nrows;
    int x, y; /* columns */
    bool since_start;
    const char *name;
    uint32_t color;
    bool dashed;
};

/* Is it one of the curves of --curve, a list with commas? */
static bool is_chosen(const struct plot *plot, const char *name)
{
    const size_t length = strlen(name);
    const char *at = plot->curve;
    while (at != NULL && !(strncmp(at, name, length) == 0 && strchr(",", at[length]) != NULL)) {
        at = strchr(at, ',');
        at += at != NULL ? 1 : 0;
    }
    return plot->curve == NULL || at != NULL;
}

static enum status curves_add(struct curves *curves, const struct selection *from)
{
    if (from->nrows == 0) {
        return STATUS_OK;
    }
    if (++curves->wanted > PICTURE_MAX_CURVES) {
        return STATUS_OK;
    }
    const size_t count = (size_t)from->nrows;
    double *x = malloc((2 * count + 1) * sizeof *x);
    TRY(CHECK_MEMORY(x != NULL, "no memory for a curve of %zu points", count));
    double *y = x + count;
    const struct csv_table *table = from->table;
    const double *row = table->values + from->first * table->ncolumns;
    const double start = from->since_start                        ? table->values[from->y]
                         : strcmp(curves->axis[1].unit, "K") == 0 ? plot_celsius(curves->plot)
                                                                  : 0.0;
    for (size_t i = 0; i < count; i++, row += table->ncolumns) {
        x[i] = curves->axis[0].logarithmic ? log10(row[from->x]) : row[from->x];
        y[i] = isfinite(x[i]) ? row[from->y] - start : NAN; /* no logarithm of t = 0 */
        plot_extend(curves->range[0], x[i]);
        plot_extend(curves->range[1], y[i]);
    }
    const int n = curves->count++;
    snprintf(curves->name[n], CSV_NAME_BYTES, "%s", from->name);
    curves->curve[n] =
        (struct picture_curve){curves->name[n], x, y, from->nrows, from->color, from->dashed};
    return STATUS_OK;
}

/* The title, and the labels of the quantity in use. */
static void label(const struct plot *plot, struct picture_chart *chart, const char *name,
                  char title[PLOT_TEXT_BYTES])
{
    static char unit[SCHEMA_UNIT_BYTES];
    char what[NOTE_BYTES];
    const struct quantity_setting *q = quantity_used();
    struct picture_axis *y = &chart->axis[1];
    snprintf(what, sizeof what, "%.100s: %.200s", q->name, name);
    chart->title = plot_title(plot, q->given ? what : chart->title, title);
    y->name = strcmp(y->name, "T") == 0 ? q->symbol : y->name;
    y->name = strcmp(y->name, "heat") == 0 ? quantity_content() : y->name;
    y->unit = plot_celsius(plot) != 0 && strcmp(y->unit, "K") == 0 ? PLOT_CELSIUS
                                                                   : quantity_unit(y->unit, unit);
}

static enum status curves_draw(struct plot *plot, struct curves *curves, const char *name,
                               const struct picture_chart *form)
{
    char path[PATH_BYTES];
    char note[NOTE_BYTES];
    char footer[NOTE_BYTES] = "";
    char title[PLOT_TEXT_BYTES];
    struct picture_chart chart = *form;
    if (plot->with != NULL) {
        snprintf(note, sizeof note, "%.200s (lines)    %.200s (dashes)", plot->directory,
                 plot->with);
    } else {
        snprintf(note, sizeof note, "%.400s", plot->directory);
    }
    label(plot, &chart, name, title);
    const bool empty = !(curves->range[1][0] <= curves->range[1][1]);
    const int n =
        empty ? 0
              : snprintf(footer, sizeof footer, "min %.6g %s    max %.6g %s", curves->range[1][0],
                         chart.axis[1].unit, curves->range[1][1], chart.axis[1].unit);
    if (curves->wanted > curves->count) {
        snprintf(&footer[n], sizeof footer - (size_t)n, "    the first %d of %d curves",
                 curves->count, curves->wanted);
    }
    if (chart.axis[0].logarithmic) { /* whole decades */
        curves->range[0][0] = floor(curves->range[0][0]);
        curves->range[0][1] = ceil(curves->range[0][1]);
    }
    picture_widen(curves->range[0], 0.0);
    picture_widen(curves->range[1], 0.05);
    chart.note = note;
    chart.footer = footer;
    chart.curves = curves->curve;
    chart.ncurves = curves->count;
    for (int d = 0; d < 2; d++) {
        chart.axis[d].lower = curves->range[d][0];
        chart.axis[d].upper = curves->range[d][1];
    }
    TRY(plot_path(plot, name, path));
    TRY(picture_draw_chart(&chart, path));
    plot_done(plot, path);
    return STATUS_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct tables {
    struct csv_table run[RUNS];
    int count; /* 2 for a comparison, 0 when there is nothing to plot */
};

static void tables_free(struct tables *tables)
{
    for (int r = 0; r < RUNS; r++) {
        csv_table_free(&tables->run[r]);
    }
}

/* NAME.csv of the run, and of the one to compare with. A run that has just begun has no rows. */
static enum status tables_read(const struct plot *plot, const char *name, struct tables *tables)
{
    const char *const folders[RUNS] = {plot->directory, plot->with};
    char file[CSV_NAME_BYTES];
    char path[PATH_BYTES];
    *tables = (struct tables){.count = 0};
    snprintf(file, sizeof file, "%s.csv", name);
    for (int r = 0; r < (plot->with != NULL ? 2 : 1); r++) {
        TRY(path_join(folders[r], file, path));
        if (!file_exists(path)) {
            tables->count = 0;
            return plot_leave_out(plot, name, fail(STATUS_INPUT, "%s does not exist", path));
        }
        TRY(csv_read(path, &tables->run[r]));
        if (tables->run[r].nrows == 0) {
            tables->count = 0;
            return plot_leave_out(plot, name, fail(STATUS_INPUT, "%s has no rows yet", path));
        }
        tables->count++;
    }
    return STATUS_OK;
}

static double time_of(const struct csv_table *table, int64_t row)
{
    return table->values[row * table->ncolumns + 1];
}

/* The states from --from to --to, of `rows` rows each. */
static int64_t states_shown(const struct plot *plot, const struct csv_table *table, int64_t rows,
                            int64_t *first)
{
    const int64_t states = table->nrows / rows;
    int64_t end = 0;
    *first = 0;
    for (int64_t s = 0; s < states; s++) {
        *first += time_of(table, s * rows) < plot->from ? 1 : 0;
        end += time_of(table, s * rows) > plot->to ? 0 : 1;
    }
    return end > *first ? end - *first : 0;
}

/* One column over time, of all runs. */
static enum status add_column(const struct tables *tables, const char *column, const char *label,
                              bool since_start, bool dashed, struct curves *curves)
{
    const uint32_t color = picture_curve_color(curves->wanted / tables->count);
    if (!is_chosen(curves->plot, label)) {
        return STATUS_OK;
    }
    for (int r = 0; r < tables->count; r++) {
        const struct csv_table *table = &tables->run[r];
        struct selection from = {.table = table,
                                 .x = csv_column(table, "time_s"),
                                 .y = csv_column(table, column),
                                 .since_start = since_start,
                                 .name = label,
                                 .color = color,
                                 .dashed = r > 0 || (dashed && tables->count == 1)};
        from.nrows = states_shown(curves->plot, table, 1, &from.first);
        if (from.x >= 0 && from.y >= 0) {
            TRY(curves_add(curves, &from));
        }
    }
    return STATUS_OK;
}

/* All columns NAME that begin and end so, with what is between as label. */
static enum status add_columns(const struct tables *tables, const char *begin, const char *end,
                               bool paired, struct curves *curves)
{
    const struct csv_table *table = &tables->run[0];
    for (int c = 0; c < table->ncolumns; c++) {
        char name[CSV_NAME_BYTES];
        char label[CSV_NAME_BYTES];
        TRY(csv_column_name(table, c, name));
        if (strncmp(name, begin, strlen(begin)) == 0 && path_ends_in(name, end)) {
            const int length = (int)(strlen(name) - strlen(begin) - strlen(end));
            snprintf(label, sizeof label, "%.*s", length, name + strlen(begin));
            const bool dashed =
                curves->wanted >= PICTURE_CURVE_COLORS || (paired && curves->wanted % 2 == 1);
            TRY(add_column(tables, name, label, false, dashed, curves));
        }
    }
    return STATUS_OK;
}

/* ---- values over time ------------------------------------------------------------------------ */

struct time_chart {
    const char *file;
    const char *name;
    const char *title;
    const char *quantity;
    const char *unit;
    const char *column[3]; /* with their labels; or ... */
    const char *label[3];
    const char *begin, *end; /* ... all columns that begin and end so */
    bool paired;             /* opposite faces: they may have the same curve */
    bool since_start;
    bool logarithmic; /* the axis of time */
};

static const struct time_chart time_charts[] = {
    {"history", "history", "Temperature", "T", "K", .column = {"max_K", "mean_K", "min_K"},
     .label = {"highest", "mean", "lowest"}},
    {"history", "heat", "Heat since the start", "heat", "J",
     .column = {"heat_J", "boundary_heat_J", "source_heat_J"},
     .label = {"in the body", "came in through the faces", "came from sources"},
     .since_start = true},
    {"history", "faces", "Mean temperature of the faces", "T", "K", .begin = "T_", .end = "_K",
     .paired = true},
    {"history", "flows", "Heat flow through the faces, into the body", "flow", "W",
     .begin = "flow_", .end = "_W", .paired = true},
    {"history", "melt_pool", "Extents of the melt pool", "extent", "m",
     .column = {"pool_x_m", "pool_y_m", "pool_z_m"}, .label = {"along x", "along y", "along z"}},
    {"history", "melt_pool_volume", "Volume of the melt pool", "volume", "m^3",
     .column = {"pool_volume_m3"}, .label = {"melt pool"}},
    {"probes", "probes", "Temperature of the probes", "T", "K", .begin = "", .end = "_K"},
    {"probes", "zth", "Thermal impedance", "Zth", "K/W", .begin = "Zth_", .end = "_K_per_W",
     .logarithmic = true},
};
enum { TIME_CHARTS = sizeof time_charts / sizeof time_charts[0] };

static enum status draw_times(struct plot *plot, const struct tables *tables,
                              const struct time_chart *what)
{
    SCOPED_BY(curves_free) struct curves curves;
    struct picture_chart chart = {
        .title = what->title,
        .axis = {{.name = "t", .unit = "s", .logarithmic = what->logarithmic},
                 {.name = what->quantity, .unit = what->unit}}};
    curves_begin(&curves, plot, &chart);
    for (int c = 0; c < 3 && what->column[c] != NULL; c++) {
        TRY(add_column(tables, what->column[c], what->label[c], what->since_start,
                       what->since_start && c > 0, &curves));
    }
    if (what->begin != NULL) {
        TRY(add_columns(tables, what->begin, what->end, what->paired, &curves));
    }
    return curves.count > 0 ? curves_draw(plot, &curves, what->name, &chart) : STATUS_OK;
}

static bool is_drawn(const struct plot *plot, const struct time_chart *chart, const char *file)
{
    return strcmp(chart->file, file) == 0 &&
           (plot->only == NULL || strcmp(plot->only, chart->name) == 0);
}

enum status plot_times(struct plot *plot, const char *file)
{
    SCOPED_BY(tables_free) struct tables tables = {.count = 0};
    for (int c = 0; c < TIME_CHARTS; c++) {
        if (!is_drawn(plot, &time_charts[c], file)) {
            continue;
        }
        TRY(tables.count > 0 ? STATUS_OK : tables_read(plot, file, &tables));
        if (tables.count == 0) {
            break;
        }
        TRY(draw_times(plot, &tables, &time_charts[c]));
    }
    return STATUS_OK;
}

/* ---- lines ------------------------------------------------------------------------------------
 */

/* Rows of a step are contiguous; an incomplete last step, of a run that is writing it, is left
 * out. */
static int64_t rows_of_step(const struct csv_table *table)
{
    int64_t n = 1;
    while (n < table->nrows && table->values[n * table->ncolumns] == table->values[0]) {
        n++;
    }
    return n;
}

static int64_t nearest_state(const struct csv_table *table, int64_t rows, double time)
{
    int64_t best = 0;
    for (int64_t s = 1; s < table->nrows / rows; s++) {
        const double apart = fabs(time_of(table, s * rows) - time);
        best = apart <= fabs(time_of(table, best * rows) - time) ? s : best;
    }
    return best;
}

/* The profile nearest to a time. */
static enum status add_profile(const struct csv_table *table, double time, uint32_t color,
                               bool dashed, struct curves *curves)
{
    char name[CSV_NAME_BYTES];
    const int64_t rows = rows_of_step(table);
    const int64_t first = nearest_state(table, rows, time) * rows;
    snprintf(name, sizeof name, "t = %.6g s", time_of(table, first));
    const struct selection from = {.table = table,
                                   .first = first,
                                   .nrows = rows,
                                   .x = csv_column(table, "distance_m"),
                                   .y = csv_column(table, "T_K"),
                                   .name = name,
                                   .color = color,
                                   .dashed = dashed};
    return curves_add(curves, &from);
}

/* Evenly spread over the saved times, or the one that is asked for. */
static enum status add_profiles(const struct plot *plot, const struct tables *tables,
                                struct curves *curves)
{
    const struct csv_table *table = &tables->run[0];
    const int64_t rows = rows_of_step(table);
    int64_t first = 0;
    const int64_t states = states_shown(plot, table, rows, &first);
    const bool all = isnan(plot->time);
    const int64_t count = !all ? 1 : states < PROFILES ? states : PROFILES;
    for (int64_t i = 0; i < count; i++) {
        const int64_t state = !all        ? nearest_state(table, rows, plot->time)
                              : count > 1 ? first + i * (states - 1) / (count - 1)
                                          : first;
        const double time = time_of(table, state * rows);
        /* in order of time; the light end of the map is hard to see on white */
        const uint32_t color =
            colormap_of(COLORMAP_VIRIDIS, (double)i, 0, 1.15 * (double)(count > 1 ? count - 1 : 1));
        for (int r = 0; r < tables->count; r++) {
            TRY(add_profile(&tables->run[r], time, color, r > 0, curves));
        }
    }
    return STATUS_OK;
}

enum status plot_line(struct plot *plot, const char *name)
{
    SCOPED_BY(tables_free) struct tables tables = {.count = 0};
    SCOPED_BY(curves_free) struct curves curves;
    char title[CSV_NAME_BYTES + 32];
    struct picture_chart chart = {
        .title = title, .axis = {{.name = "distance", .unit = "m"}, {.name = "T", .unit = "K"}}};
    snprintf(title, sizeof title, "Temperature along %s", name);
    curves_begin(&curves, plot, &chart);
    TRY(tables_read(plot, name, &tables));
    if (tables.count == 0) {
        return STATUS_OK;
    }
    TRY(add_profiles(plot, &tables, &curves));
    return curves.count > 0 ? curves_draw(plot, &curves, name, &chart) : STATUS_OK;
}
