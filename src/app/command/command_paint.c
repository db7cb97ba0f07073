/* isotherm paint: the materials of a configuration on its grid, as numbers and as a snapshot. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/command/commands.h"
#include "app/simulate.h"
#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "io/input/field_file.h"
#include "io/input/solid_file.h"
#include "solve/medium/classes.h"

static struct {
    const char *config;
    struct option_list sets;
    const char *output;
    bool overwrite;
} options;

static const struct option option_table[] = {
    {OPTION_LIST, "--set", "KEY=VALUE", "override a key, as for run (repeatable)", &options.sets},
    {OPTION_STRING, "--output", "DIR", "folder (default: that of the run, with _paint)",
     &options.output},
    {OPTION_FLAG, "--overwrite", "", "replace the files in the folder", &options.overwrite},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

struct feature {
    int64_t cells; /* of the shortest runs that together hold 1 % of a material; 0: none yet */
    enum axis axis;
};

/* The measures of the whole grid. */
struct painted {
    const struct problem *problem;
    struct class_map map;
    int64_t cells[MOST_MATERIALS];
    double volume[MOST_MATERIALS];               /* m^3 */
    double area[MOST_MATERIALS][MOST_MATERIALS]; /* of cell faces, m^2: [lower][higher number] */
    struct feature thinnest[MOST_MATERIALS];
};

static void painted_destroy(struct painted **painted)
{
    if (*painted != NULL) {
        class_map_destroy(&(*painted)->map);
    }
    free(*painted);
}

static struct class_key key_at(const struct painted *p, const int64_t cell[AXIS_COUNT])
{
    const int64_t at = layout_index(&p->map.layout, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]);
    return class_map_key(&p->map, at);
}

/* Find cell `n` of line number `of` of an axis. */
static void cell_of_line(const struct grid *grid, enum axis axis, int64_t of, int64_t n,
                         int64_t cell[AXIS_COUNT])
{
    const int u = ((int)axis + 1) % AXIS_COUNT;
    const int v = ((int)axis + 2) % AXIS_COUNT;
    cell[axis] = n;
    cell[u] = of % grid->cells[u];
    cell[v] = of / grid->cells[u];
}

/* Adds to `held`, [material][length]: the cells in runs of each length along the axis. */
static void measure_line(struct painted *p, enum axis axis, int64_t of, int64_t *held)
{
    const struct grid *grid = &p->problem->grid;
    const int64_t count = grid->cells[axis];
    int64_t begin = 0;
    for (int64_t n = 0; n < count; n++) {
        int64_t cell[AXIS_COUNT];
        int64_t next[AXIS_COUNT];
        cell_of_line(grid, axis, of, n, cell);
        cell_of_line(grid, axis, of, n + 1, next);
        const struct class_key key = key_at(p, cell);
        const struct class_key beside = n + 1 < count ? key_at(p, next) : key;
        const int own = key.material;
        const int other = n + 1 < count ? beside.material : -1;
        if (axis == AXIS_X) {
            p->cells[own]++;
            p->volume[own] += grid_size_volume(grid, key.size) * grid_cell_volume(grid);
        }
        if (other == own) {
            continue;
        }
        if (other >= 0) {
            p->area[own < other ? own : other][own < other ? other : own] +=
                grid_size_face(grid, axis, key.size, beside.size) * grid_cell_face(grid, axis);
        }
        held[own * (count + 1) + n + 1 - begin] += n + 1 - begin;
        begin = n + 1;
    }
}

static enum status measure_axis(struct painted *p, enum axis axis)
{
    const struct grid *grid = &p->problem->grid;
    const int64_t count = grid->cells[axis];
    const int64_t lines = grid_total_cells(grid) / count;
    const int nmaterials = p->problem->medium.nmaterials;
    SCOPED_FREE int64_t *held = calloc((size_t)(nmaterials * (count + 1)), sizeof *held);
    TRY(CHECK_MEMORY(held != NULL, "no memory to measure materials"));
    for (int64_t of = 0; of < lines; of++) {
        measure_line(p, axis, of, held);
    }
    for (int m = 0; m < nmaterials && grid->used[axis]; m++) {
        int64_t sum = 0;
        int64_t cells = 0;
        while (cells < count && (sum == 0 || 100 * sum < p->cells[m])) {
            cells++;
            sum += held[m * (count + 1) + cells];
        }
        struct feature *thinnest = &p->thinnest[m];
        if (sum > 0 && (thinnest->cells == 0 || cells < thinnest->cells)) {
            *thinnest = (struct feature){cells, axis};
        }
    }
    return STATUS_OK;
}

static void print(const struct painted *p)
{
    const struct medium *medium = &p->problem->medium;
    log_info("%-20s %14s %14s  %s", "material", "cells", "volume (m^3)", "thinnest feature");
    for (int m = 0; m < medium->nmaterials; m++) {
        char thinnest[64] = "-";
        if (p->thinnest[m].cells > 0) {
            snprintf(thinnest, sizeof thinnest, "%" PRId64 " cell%s along %s", p->thinnest[m].cells,
                     p->thinnest[m].cells == 1 ? "" : "s", axis_name(p->thinnest[m].axis));
        }
        log_info("%-20s %14" PRId64 " %14.6g  %s", medium->materials[m].name, p->cells[m],
                 p->volume[m], thinnest);
    }
    for (int pair = 0; pair < medium->nmaterials * medium->nmaterials; pair++) {
        const int a = pair / medium->nmaterials;
        const int b = pair % medium->nmaterials;
        const int s = medium_surface(medium, a, b);
        char of_shape[64] = "";
        if (s >= 0 && medium->surfaces[s].area == AREA_SHAPE) {
            snprintf(of_shape, sizeof of_shape, ", of %.6g m^2 of the shape",
                     medium->surface_area[s]);
        }
        if (p->area[a][b] > 0) {
            log_info("%s | %s: %.6g m^2 of cell faces%s", medium->materials[a].name,
                     medium->materials[b].name, p->area[a][b], of_shape);
        }
    }
}

/* Print the measures; on one rank. */
static enum status measure(const struct settings *settings)
{
    SCOPED_BY(problem_destroy) struct problem problem = {0};
    SCOPED_BY(painted_destroy) struct painted *painted = calloc(1, sizeof *painted);
    TRY(CHECK_MEMORY(painted != NULL, "no memory to measure materials"));
    TRY(problem_create(settings, &problem));
    TRY(classes_survey_alone(&problem));
    const struct box all = box_of_cells(problem.grid.cells);
    painted->problem = &problem;
    TRY(class_map_create(&problem, &all, 1, field_file_read_box, solid_file_read, &painted->map));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        TRY(measure_axis(painted, (enum axis)axis));
    }
    print(painted);
    return STATUS_OK;
}

static enum status execute(void)
{
    static char folder[PATH_BYTES]; /* the settings have it */
    SCOPED_BY(configuration_release) struct settings *settings = NULL;
    const bool first = comm_rank(MPI_COMM_WORLD) == 0;
    TRY(configuration_read(MPI_COMM_WORLD, options.config, &options.sets, options.output, "cpu",
                           &settings));
    TRY(status_agree(
        MPI_COMM_WORLD,
        settings->nmaterials > 0
            ? STATUS_OK
            : settings_fail(settings, "materials", "missing; there is nothing to paint without")));
    TRY(status_agree(MPI_COMM_WORLD, first ? measure(settings) : STATUS_OK));
    TRY(path_print(folder, sizeof folder, "%s%s", settings->output.directory,
                   options.output != NULL ? "" : "_paint"));
    settings->output = (struct output_setting){
        .directory = folder,
        .snapshots = {.cadence = {.every = 1}, .derived = 1U << (unsigned)DERIVED_MATERIAL},
    };
    const struct simulate_options start = {
        .folder = options.overwrite ? OUTPUT_REPLACE : OUTPUT_FRESH, .start_only = true};
    return simulate(MPI_COMM_WORLD, settings, &start);
}

const struct command command_paint = {
    .name = "paint",
    .summary = "show the materials of a configuration on its grid",
    .uses_mpi = true,
    .line = {.usage = "isotherm paint CONFIG [options]",
             .about =
                 "Paint the materials on the grid, without a run: cells, volume and thinnest\n"
                 "feature of each, areas between them, and a snapshot with the field `material`\n"
                 "and the initial temperature.",
             .example =
                 "  $ isotherm paint configs/gallery/heat_sink.yaml\n"
                 "  $ isotherm plot out/heat_sink_paint snapshots --field material --plane y=0",
             .options = option_table,
             OPERAND_CONFIG},
    .execute = execute,
};
