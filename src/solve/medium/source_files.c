#include "solve/medium/source_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/comm.h"
#include "io/input/field_file.h"
#include "model/medium/moving.h"

static bool is_file(const struct problem *problem, int s)
{
    return problem->sources.source[s].setting->shape.kind == INITIAL_FILE;
}

uint64_t source_files_bytes(const struct problem *problem, const struct box *owned)
{
    uint64_t bytes = 0;
    for (int s = 0; s < problem->sources.count; s++) {
        bytes += is_file(problem, s) ? (uint64_t)box_cells(owned) * sizeof(float) : 0;
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

static enum status load(const struct problem *problem, int s, const struct box *owned,
                        struct engine *engine, float *values, struct source_file *file)
{
    const size_t bytes = (size_t)box_cells(owned) * sizeof(float);
    void *d_values = NULL;
    TRY(CHECK_MEMORY(values != NULL, "no memory to read a source"));
    TRY(settings_place(problem->origin, read_values(problem, s, owned, values, file),
                       "sources[%d].file", s));
    const enum status sent = engine_send(engine, values, bytes, &d_values);
    file->d_values = (float *)d_values;
    return sent;
}

/* Collective. Over all ranks: the extremes, and the exact sum in units of a power of two that no
 * value reaches. */
static enum status reduce(const struct grid *grid, const struct team *team, const float *values,
                          int64_t count, struct source_file *file)
{
    double extremes[2] = {-file->least, file->most};
    struct exact_sum sum = {{0}};
    int unit = 0;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_DOUBLE, MPI_MAX, team->comm));
    file->least = -extremes[0];
    file->most = extremes[1];
    (void)frexp(fmax(fabs(file->least), fabs(file->most)), &unit);
    for (int64_t c = 0; c < count;) {
        struct exact_parts parts = {{0}};
        const int64_t left = count - c;
        const int64_t end = c + (left < EXACT_PARTS_MAX_TERMS ? left : EXACT_PARTS_MAX_TERMS);
        for (; c < end; c++) {
            exact_parts_add(&parts, ldexp((double)values[c], -unit));
        }
        exact_sum_add_parts(&sum, &parts);
    }
    TRY(exact_sums_reduce(team->comm, &sum, 1));
    file->total = ldexp(exact_sum_value(&sum), unit) * grid_cell_volume(grid);
    return STATUS_OK;
}

enum status source_files_open(const struct problem *problem, const struct team *team,
                              struct engine *engine, struct source_files *files)
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
        if (is_file(problem, s)) {
            file->least = INFINITY;
            file->most = -INFINITY;
            SCOPED_FREE float *values = malloc((size_t)box_cells(&owned) * sizeof *values);
            TRY(status_agree(team->comm, load(problem, s, &owned, engine, values, file)));
            TRY(reduce(&problem->grid, team, values, box_cells(&owned), file));
        }
    }
    return STATUS_OK;
}

enum status source_files_power(const struct source_files *files, const struct problem *problem,
                               const struct heat_operator *op, int s, double *watts)
{
    const struct source *source = &problem->sources.source[s];
    if (source->setting->shape.kind == INITIAL_FILE) {
        *watts = op->source[s] * files->file[s].total;
        return STATUS_OK;
    }
    if (!source_is_painted(source->setting)) {
        return moving_power(problem, op, s, watts);
    }
    *watts = op->source[s] * source->volume;
    return STATUS_OK;
}

void source_files_close(struct source_files *files, struct engine *engine)
{
    for (int s = 0; files->file != NULL && s < files->count; s++) {
        if (files->file[s].d_values != NULL) {
            engine->runtime->memory_free(engine->device, files->file[s].d_values);
        }
    }
    free(files->file);
    *files = (struct source_files){0};
}
