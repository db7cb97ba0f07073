/* Charts of history.csv, probes.csv and lines. */
#include <inttypes.h>
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
    struct picture_curve curve[PICTURE_MAX_CURVES];
    char name[PICTURE_MAX_CURVES][CSV_NAME_BYTES];
    int count;
    int wanted; /* more than there is room for, perhaps */
    double range[2][2];
};

static void curves_begin(struct curves *curves)
{
    *curves = (struct curves){.range = {{INFINITY, -INFINITY}, {INFINITY, -INFINITY}}};
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

static void extend(double range[2], double value)
{
    if (isfinite(value)) {
        range[0] = fmin(range[0], value);
        range[1] = fmax(range[1], value);
    }
}

static enum status curves_add(struct curves *curves, const struct selection *from)
{
    if (++curves->wanted > PICTURE_MAX_CURVES) {
        return STATUS_OK;
    }
    const size_t count = (size_t)from->nrows;
    double *x = malloc((2 * count + 1) * sizeof *x);
    TRY(CHECK_MEMORY(x != NULL, "no memory for a curve of %zu points", count));
    double *y = x + count;
    const struct csv_table *table = from->table;
    const double *row = table->values + from->first * table->ncolumns;
    const double start = from->since_start ? row[from->y] : 0.0;
    for (size_t i = 0; i < count; i++, row += table->ncolumns) {
        x[i] = row[from->x];
        y[i] = row[from->y] - start;
        extend(curves->range[0], x[i]);
        extend(curves->range[1], y[i]);
    }
    const int n = curves->count++;
    snprintf(curves->name[n], CSV_NAME_BYTES, "%s", from->name);
    curves->curve[n] =
        (struct picture_curve){curves->name[n], x, y, from->nrows, from->color, from->dashed};
    return STATUS_OK;
}

/* The labels of a quantity that is not a temperature. */
static void label(struct picture_chart *chart, const char *name, char title[NOTE_BYTES])
{
    static char per_second[NOTE_BYTES];
    const struct quantity_setting *q = quantity_used();
    struct picture_axis *y = &chart->axis[1];
    if (!q->given) {
        return;
    }
    snprintf(title, NOTE_BYTES, "%s: %.200s", q->name, name);
    snprintf(per_second, sizeof per_second, "%s/s", q->content_unit);
    chart->title = title;
    y->name = strcmp(y->name, "T") == 0 ? q->symbol : y->name;
    y->name = strcmp(y->name, "heat") == 0 ? "content" : y->name;
    y->unit = strcmp(y->unit, "K") == 0   ? q->unit
              : strcmp(y->unit, "J") == 0 ? q->content_unit
              : strcmp(y->unit, "W") == 0 ? per_second
                                          : y->unit;
}

static enum status curves_draw(struct plot *plot, struct curves *curves, const char *name,
                               const struct picture_chart *form)
{
    char path[PATH_BYTES];
    char note[NOTE_BYTES];
    char footer[NOTE_BYTES] = "";
    char title[NOTE_BYTES];
    struct picture_chart chart = *form;
    if (plot->with != NULL) {
        snprintf(note, sizeof note, "%.200s (lines)    %.200s (dashes)", plot->directory,
                 plot->with);
    } else {
        snprintf(note, sizeof note, "%.400s", plot->directory);
    }
    if (curves->wanted > curves->count) {
        snprintf(footer, sizeof footer, "the first %d of %d curves", curves->count, curves->wanted);
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
    label(&chart, name, title);
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
            return plot_leave_out(plot, name, "%s does not exist", path);
        }
        TRY(csv_read(path, &tables->run[r]));
        if (tables->run[r].nrows == 0) {
            tables->count = 0;
            return plot_leave_out(plot, name, "%s has no rows yet", path);
        }
        tables->count++;
    }
    return STATUS_OK;
}

/* One column over time, of all runs. */
static enum status add_column(const struct tables *tables, const char *column, const char *label,
                              bool since_start, bool dashed, struct curves *curves)
{
    const uint32_t color = picture_curve_color(curves->wanted / tables->count);
    for (int r = 0; r < tables->count; r++) {
        const struct csv_table *table = &tables->run[r];
        struct selection from = {.table = table,
                                 .nrows = table->nrows,
                                 .x = csv_column(table, "time_s"),
                                 .y = csv_column(table, column),
                                 .since_start = since_start,
                                 .name = label,
                                 .color = color,
                                 .dashed = r > 0 || (dashed && tables->count == 1)};
        if (from.x >= 0 && from.y >= 0) {
            TRY(curves_add(curves, &from));
        }
    }
    return STATUS_OK;
}

/* All columns NAME that begin and end so, with what is between as label. */
static enum status add_columns(const struct tables *tables, const char *begin, const char *end,
                               struct curves *curves)
{
    const struct csv_table *table = &tables->run[0];
    for (int c = 0; c < table->ncolumns; c++) {
        char name[CSV_NAME_BYTES];
        char label[CSV_NAME_BYTES];
        TRY(csv_column_name(table, c, name));
        if (strncmp(name, begin, strlen(begin)) == 0 && path_ends_in(name, end)) {
            const int length = (int)(strlen(name) - strlen(begin) - strlen(end));
            snprintf(label, sizeof label, "%.*s", length, name + strlen(begin));
            /* opposite faces may have the same curve */
            const bool dashed = curves->wanted >= PICTURE_CURVE_COLORS ||
                                (begin[0] != '\0' && curves->wanted % 2 == 1);
            TRY(add_column(tables, name, label, false, dashed, curves));
        }
    }
    return STATUS_OK;
}

/* ---- history ----------------------------------------------------------------------------------
 */

struct history_chart {
    const char *name;
    const char *title;
    const char *quantity;
    const char *unit;
    const char *column[3]; /* with their labels; or ... */
    const char *label[3];
    const char *begin, *end; /* ... all columns that begin and end so */
    bool since_start;
};

static const struct history_chart history_charts[] = {
    {.name = "history",
     .title = "Temperature",
     .quantity = "T",
     .unit = "K",
     .column = {"max_K", "mean_K", "min_K"},
     .label = {"highest", "mean", "lowest"}},
    {.name = "heat",
     .title = "Heat since the start",
     .quantity = "heat",
     .unit = "J",
     .column = {"heat_J", "boundary_heat_J", "source_heat_J"},
     .label = {"in the body", "came in through the faces", "came from sources"},
     .since_start = true},
    {.name = "faces",
     .title = "Mean temperature of the faces",
     .quantity = "T",
     .unit = "K",
     .begin = "T_",
     .end = "_K"},
    {.name = "flows",
     .title = "Heat flow through the faces, into the body",
     .quantity = "flow",
     .unit = "W",
     .begin = "flow_",
     .end = "_W"},
    {.name = "melt_pool",
     .title = "Extents of the melt pool",
     .quantity = "extent",
     .unit = "m",
     .column = {"pool_x_m", "pool_y_m", "pool_z_m"},
     .label = {"along x", "along y", "along z"}},
    {.name = "melt_pool_volume",
     .title = "Volume of the melt pool",
     .quantity = "volume",
     .unit = "m\u00b3",
     .column = {"pool_volume_m3"},
     .label = {"melt pool"}},
};
enum { HISTORY_CHARTS = sizeof history_charts / sizeof history_charts[0] };

static enum status draw_history(struct plot *plot, const struct tables *tables,
                                const struct history_chart *what)
{
    struct curves curves;
    struct picture_chart chart = {
        .title = what->title,
        .axis = {{.name = "t", .unit = "s"}, {.name = what->quantity, .unit = what->unit}}};
    enum status status = STATUS_OK;
    curves_begin(&curves);
    for (int c = 0; c < 3 && what->column[c] != NULL; c++) {
        TRY_GOTO(add_column(tables, what->column[c], what->label[c], what->since_start,
                            what->since_start && c > 0, &curves));
    }
    if (what->begin != NULL) {
        TRY_GOTO(add_columns(tables, what->begin, what->end, &curves));
    }
    if (curves.count > 0) {
        status = curves_draw(plot, &curves, what->name, &chart);
    }
done:
    curves_free(&curves);
    return status;
}

enum status plot_history(struct plot *plot)
{
    struct tables tables;
    enum status status;
    bool asked = plot->only == NULL;
    for (int h = 0; h < HISTORY_CHARTS; h++) {
        asked = asked || strcmp(plot->only, history_charts[h].name) == 0;
    }
    if (!asked) {
        return STATUS_OK;
    }
    TRY_GOTO(tables_read(plot, "history", &tables));
    for (int h = 0; h < HISTORY_CHARTS && tables.count > 0; h++) {
        if (plot->only == NULL || strcmp(plot->only, history_charts[h].name) == 0) {
            TRY_GOTO(draw_history(plot, &tables, &history_charts[h]));
        }
    }
done:
    tables_free(&tables);
    return status;
}

/* ---- probes -----------------------------------------------------------------------------------
 */

enum status plot_probes(struct plot *plot)
{
    struct tables tables;
    struct curves curves;
    struct picture_chart chart = {.title = "Temperature of the probes",
                                  .axis = {{.name = "t", .unit = "s"}, {.name = "T", .unit = "K"}}};
    enum status status;
    curves_begin(&curves);
    TRY_GOTO(tables_read(plot, "probes", &tables));
    if (tables.count > 0) {
        TRY_GOTO(add_columns(&tables, "", "_K", &curves));
        TRY_GOTO(curves_draw(plot, &curves, "probes", &chart));
    }
done:
    curves_free(&curves);
    tables_free(&tables);
    return status;
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

static double time_of(const struct csv_table *table, int64_t row)
{
    return table->values[row * table->ncolumns + 1];
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
    const int64_t states = table->nrows / rows;
    const bool all = isnan(plot->time);
    const int64_t count = !all ? 1 : states < PROFILES ? states : PROFILES;
    for (int64_t i = 0; i < count; i++) {
        const int64_t state = !all        ? nearest_state(table, rows, plot->time)
                              : count > 1 ? i * (states - 1) / (count - 1)
                                          : 0;
        const double time = time_of(table, state * rows);
        for (int r = 0; r < tables->count; r++) {
            TRY(add_profile(&tables->run[r], time, picture_curve_color((int)i), r > 0, curves));
        }
    }
    return STATUS_OK;
}

enum status plot_line(struct plot *plot, const char *name)
{
    struct tables tables;
    struct curves curves;
    char title[CSV_NAME_BYTES + 32];
    struct picture_chart chart = {
        .title = title, .axis = {{.name = "distance", .unit = "m"}, {.name = "T", .unit = "K"}}};
    enum status status;
    snprintf(title, sizeof title, "Temperature along %s", name);
    curves_begin(&curves);
    TRY_GOTO(tables_read(plot, name, &tables));
    if (tables.count > 0) {
        TRY_GOTO(add_profiles(plot, &tables, &curves));
        TRY_GOTO(curves_draw(plot, &curves, name, &chart));
    }
done:
    curves_free(&curves);
    tables_free(&tables);
    return status;
}
