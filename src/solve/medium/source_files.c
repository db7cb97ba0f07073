#include "solve/medium/source_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "io/input/field_file.h"
#include "model/medium/moving.h"
#include "model/space/shape.h"

static bool has_values(const struct problem *problem, int s)
{
    return source_has_values(problem->sources.source[s].setting);
}

uint64_t source_files_bytes(const struct problem *problem, const struct box *owned)
{
    uint64_t bytes = 0;
    for (int s = 0; s < problem->sources.count; s++) {
        const bool has_table = problem->sources.source[s].setting->density_table != NULL;
        bytes += has_values(problem, s) ? (uint64_t)box_cells(owned) * sizeof(float) : 0;
        bytes += has_table ? sizeof(struct source_curve) : 0;
    }
    return bytes;
}

static enum status read_values(const struct problem *problem, int s, const struct box *owned,
                               float *values, struct source_file *file)
{
    const struct shape_setting *shape = &problem->sources.source[s].setting->shape;
    TRY(field_file_read_box(shape, &problem->grid, owned, values));
    for (int64_t c = 0; c < box_cells(owned); c++) {
        const double value = (double)values[c];
        if (!(fabs(value) <= 1e30)) {
            int64_t at[AXIS_COUNT];
            box_cell(owned, c, at);
            return fail(STATUS_INPUT,
                        "%.200s holds %g at [z][y][x] = [%" PRId64 "][%" PRId64 "][%" PRId64
                        "]; a density must be finite and at most 1e30 W/m^3",
                        shape->path, value, at[AXIS_Z], at[AXIS_Y], at[AXIS_X]);
        }
        file->least = fmin(file->least, value);
        file->most = fmax(file->most, value);
    }
    return STATUS_OK;
}

static void profile_release(struct expression **profile)
{
    expression_destroy(*profile);
}

static enum status profile_at(const struct source_setting *setting, struct expression *profile,
                              const struct grid *grid, const int64_t cell[AXIS_COUNT], float *value)
{
    double at[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        at[a] = grid_center(grid, (enum axis)a, cell[a]);
    }
    const double found = expression_evaluate(profile, at);
    *value = (float)found;
    return fabs(found) <= 1e30
               ? STATUS_OK
               : fail(STATUS_INPUT,
                      "\"%.200s\" gives %g at x = %.9g, y = %.9g, z = %.9g m; give values of at "
                      "most 1e30",
                      setting->profile, isnan(found) ? NAN : found, at[0], at[1], at[2]);
}

/* 1 or the profile in the cells of the source, else 0. */
static enum status paint_values(const struct problem *problem, int s, const struct box *owned,
                                const struct classes *classes, float *values,
                                struct source_file *file)
{
    const struct source_setting *setting = problem->sources.source[s].setting;
    const struct class_map *map = &classes->map;
    memset(values, 0, (size_t)box_cells(owned) * sizeof *values);
    TRY(shape_paint(&problem->grid, &setting->shape, owned, PRECISION_FLOAT32, values));
    SCOPED_BY(profile_release) struct expression *profile = NULL;
    if (setting->profile != NULL) {
        TRY(shape_formula(&(struct shape_setting){.expression = setting->profile}, &profile));
    }
    for (int64_t c = 0; c < box_cells(owned); c++) {
        int64_t at[AXIS_COUNT];
        box_cell(owned, c, at);
        if (setting->material >= 0 && map->h_class != NULL) {
            const int64_t element =
                layout_index(&map->layout, at[AXIS_X] - owned->lo[AXIS_X],
                             at[AXIS_Y] - owned->lo[AXIS_Y], at[AXIS_Z] - owned->lo[AXIS_Z]);
            const int of_class = map->h_class[element] & classes->args.mask;
            const bool same = problem->medium.classes[of_class].key.material == setting->material;
            values[c] = same ? values[c] : 0;
        }
        file->painted = file->painted || values[c] != 0;
        if (values[c] != 0 && profile != NULL) {
            TRY(profile_at(setting, profile, &problem->grid, at, &values[c]));
        }
        file->least = fmin(file->least, (double)values[c]);
        file->most = fmax(file->most, (double)values[c]);
    }
    return STATUS_OK;
}

static enum status load(const struct problem *problem, int s, const struct box *owned,
                        struct engine *engine, const struct classes *classes, float *values,
                        struct source_file *file)
{
    const struct source_setting *setting = problem->sources.source[s].setting;
    const size_t bytes = (size_t)box_cells(owned) * sizeof(float);
    void *d_values = NULL;
    TRY(CHECK_MEMORY(values != NULL, "no memory to read a source"));
    if (setting->shape.kind == INITIAL_FILE) {
        TRY(settings_place(problem->origin, read_values(problem, s, owned, values, file),
                           "sources[%d].file", s));
    } else {
        TRY(settings_place(problem->origin, paint_values(problem, s, owned, classes, values, file),
                           "sources[%d]", s));
    }
    if (setting->density_table != NULL) {
        struct source_curve curve;
        void *d_curve = NULL;
        source_curve_of(setting, &curve);
        TRY(engine_send(engine, &curve, sizeof curve, &d_curve));
        file->d_curve = d_curve;
    }
    const enum status sent = engine_send(engine, values, bytes, &d_values);
    file->d_values = (float *)d_values;
    return sent;
}

/* After reduce, the same on all ranks: the extremes with a curve. */
static enum status finish(const struct problem *problem, int s, struct source_file *file)
{
    const struct source_setting *setting = problem->sources.source[s].setting;
    const struct table_setting *table = setting->density_table;
    char key[32];
    snprintf(key, sizeof key, "sources[%d]", s);
    FAIL_IF(setting->shape.kind != INITIAL_FILE && !file->painted,
            settings_fail(problem->settings, key, "contains no cell centre, so it heats nothing"));
    for (int row = 0; table != NULL && row < table->nrows; row++) {
        file->least = fmin(row > 0 ? file->least : 0, table->row[row][1]);
        file->most = fmax(row > 0 ? file->most : 0, table->row[row][1]);
        file->total = NAN;
    }
    return STATUS_OK;
}

/* Collective. Over all ranks: the extremes, and the exact sum in units of a power of two that no
 * value reaches. */
static enum status reduce(const struct grid *grid, const struct team *team, const float *values,
                          int64_t count, struct source_file *file)
{
    double extremes[3] = {-file->least, file->most, file->painted ? 1 : 0};
    struct exact_sum sum[2] = {{{0}}}; /* and of the magnitudes */
    int unit = 0;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, extremes, 3, MPI_DOUBLE, MPI_MAX, team->comm));
    file->least = -extremes[0];
    file->most = extremes[1];
    file->painted = extremes[2] > 0;
    (void)frexp(fmax(fabs(file->least), fabs(file->most)), &unit);
    for (int64_t c = 0; c < count;) {
        struct exact_parts parts[2] = {{{0}}};
        const int64_t left = count - c;
        const int64_t end = c + (left < EXACT_PARTS_MAX_TERMS ? left : EXACT_PARTS_MAX_TERMS);
        for (; c < end; c++) {
            exact_parts_add(&parts[0], ldexp((double)values[c], -unit));
            exact_parts_add(&parts[1], fabs(ldexp((double)values[c], -unit)));
        }
        exact_sum_add_parts(&sum[0], &parts[0]);
        exact_sum_add_parts(&sum[1], &parts[1]);
    }
    TRY(exact_sums_reduce(team->comm, sum, 2));
    file->total = ldexp(exact_sum_value(&sum[0]), unit) * grid_cell_volume(grid);
    file->gross = ldexp(exact_sum_value(&sum[1]), unit) * grid_cell_volume(grid);
    return STATUS_OK;
}

enum status source_files_open(const struct problem *problem, const struct team *team,
                              struct engine *engine, const struct classes *classes,
                              struct source_files *files)
{
    const struct box owned = decomp_owned(&team->decomp, team->rank);
    *files = (struct source_files){.count = problem->sources.count};
    if (source_files_bytes(problem, &owned) == 0) {
        return STATUS_OK;
    }
    files->file = calloc((size_t)files->count, sizeof *files->file);
    TRY(status_agree(team->comm,
                     CHECK_MEMORY(files->file != NULL, "no memory for sources from files")));
    for (int s = 0; s < files->count; s++) {
        struct source_file *file = &files->file[s];
        if (has_values(problem, s)) {
            file->least = INFINITY;
            file->most = -INFINITY;
            SCOPED_FREE float *values = malloc((size_t)box_cells(&owned) * sizeof *values);
            TRY(status_agree(team->comm, load(problem, s, &owned, engine, classes, values, file)));
            TRY(reduce(&problem->grid, team, values, box_cells(&owned), file));
            TRY(finish(problem, s, file));
        }
    }
    return STATUS_OK;
}

enum status source_files_power(const struct source_files *files, const struct problem *problem,
                               const struct heat_operator *op, int s, double *watts)
{
    const struct source *source = &problem->sources.source[s];
    if (source_has_values(source->setting)) {
        *watts = op->source[s] * files->file[s].total;
        return STATUS_OK;
    }
    if (!source_is_painted(source->setting)) {
        return moving_power(problem, op, s, watts);
    }
    *watts = op->source[s] * source->volume;
    return STATUS_OK;
}

double source_files_gross(const struct source_files *files, const struct problem *problem,
                          const struct heat_operator *op)
{
    double sum = 0;
    for (int s = 0; s < problem->sources.count; s++) {
        double watts = 0;
        if (source_has_values(problem->sources.source[s].setting)) {
            watts = op->source[s] * files->file[s].gross;
        } else if (source_files_power(files, problem, op, s, &watts) != STATUS_OK) {
            fail_clear(); /* a step fails alike */
        }
        sum += fabs(watts);
    }
    return sum;
}

void source_files_close(struct source_files *files, struct engine *engine)
{
    for (int s = 0; files->file != NULL && s < files->count; s++) {
        if (files->file[s].d_values != NULL) {
            engine->runtime->memory_free(engine->device, files->file[s].d_values);
            engine->runtime->memory_free(engine->device, files->file[s].d_curve);
        }
    }
    free(files->file);
    *files = (struct source_files){0};
}
