/* Heat sources: shapes of cells, which are classes of the medium, and moving ones. */
#pragma once

#include "config/expression.h"
#include "kernels/cell/source_cell.h"
#include "model/medium/medium.h"
#include "model/space/grid.h"

/* The path of a moving source, linear between rows: those of a CSV file, or two per segment of a
 * scan path. */
struct path_row {
    double t; /* s */
    double at[AXIS_COUNT];
    double power; /* W; 0 if the file has none; of a path of factors: a factor */
};

struct path {
    int count;
    struct path_row *rows; /* t increases; it may stay between two segments */
    bool factors;
};

struct source {
    const struct source_setting *setting; /* borrowed */
    struct expression *factor;            /* of t; NULL: the number */
    struct expression *power;             /* of t; NULL: the number, or the path's */
    struct expression *at[AXIS_COUNT];    /* the same */
    struct path path;                     /* if the setting has one */
    double density; /* W/m^3, painted; of a source with a power: after the survey */
    double volume;  /* m^3, of the cells of a painted one: after the survey */
};

struct sources {
    int count;
    struct source *source;
};

/* Reads paths. STATUS_INPUT or STATUS_FILE, with the line of the configuration, when one is invalid
 * or never in the grid; STATUS_MEMORY. */
enum status sources_create(const struct settings *settings, const struct grid *grid,
                           struct sources *sources);
void sources_destroy(struct sources *sources); /* takes a zeroed one */

/* Spread the powers over the cells of `medium`, as the survey counted them. STATUS_INPUT when a
 * painted source has no cell. */
enum status sources_survey(struct sources *sources, const struct settings *settings,
                           const struct grid *grid, const struct medium *medium);

/* The strength of each at time t: its factor, times the density (W/m^3) where it is painted.
 * STATUS_NUMERICS, the same on all ranks, when a formula has no finite value. */
enum status sources_at(const struct sources *sources, double t, double *strength);

/* The value of a number of entry `s`, whose name is `member`, at time t; fails as sources_at. */
enum status source_number(const struct sources *sources, int s, const char *member,
                          const struct number_setting *number, struct expression *expression,
                          double t, double *value);

/* To the log: paths with power for less than a step of dt s. */
void sources_warn(const struct sources *sources, double dt);

/* Whether the density of any depends on temperature. */
bool sources_depend(const struct sources *sources);

/* The largest change of a source's density per kelvin, of those whose density depends on
 * temperature, added up, W/(m^3 K); 0: none does. After settings_read_tables. */
double sources_slope(const struct sources *sources);

/* The first of these with a `high` below `kelvins` up to which its heat grows; -1: none. */
int sources_run_away(const struct sources *sources, double kelvins);

/* The curve of such a source. */
void source_curve_of(const struct source_setting *setting, struct source_curve *curve);

/* Whether the strength of a painted source depends on time. */
bool sources_vary(const struct sources *sources);
/* The number of those that are not painted. */
int sources_moving(const struct sources *sources);

/* The row at time t; false before the first and after the last. *segment: the number of the row
 * before it. */
bool path_at(const struct path *path, double t, struct path_row *row, int *segment);
