/* Output kind: probes and lines, each series with its own cadence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "io/series/csv.h"
#include "io/series/sampler.h"
#include "output/kind/impedances.h"
#include "output/output.h"
#include "output/run_folder.h"
#include "solve/observe/diagnostics.h"

enum { NAME_BYTES = 128 };

/* A series in the configuration: the probes, or a line. */
struct sampled {
    const struct line_setting *line; /* NULL: the probes */
    const struct cadence *cadence;
    const char *name;
    int64_t points;
};

struct sample_output {
    struct sampled sampled;
    char csv_name[NAME_BYTES];
    double *points;     /* x, y, z each; on unused axes the centre of the cell */
    const char **names; /* of probes */
    bool *above;        /* of probes: a point between two cells belongs to the upper one */
    struct impedances impedances;
    struct series series; /* of all these */
    struct sampler *sampler;
    struct csv csv; /* rank 0 */
};

struct sample_outputs {
    int count;
    struct sample_output output[];
};

/* The next series that is on, from number *index, the probes before the lines; false after the
 * last. */
static bool next_series(const struct output_setting *requests, int *index, struct sampled *sampled)
{
    while (*index <= requests->nlines) {
        const struct line_setting *line = *index > 0 ? &requests->lines[*index - 1] : NULL;
        *sampled = line != NULL ? (struct sampled){line, &line->cadence, line->name, line->points}
                                : (struct sampled){.cadence = &requests->probes.cadence,
                                                   .name = "probes",
                                                   .points = requests->probes.npoints};
        (*index)++;
        if (cadence_is_on(sampled->cadence)) {
            return true;
        }
    }
    return false;
}

static void put(const struct grid *grid, const double at[AXIS_COUNT], double *point)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        point[a] = grid->used[a] ? at[a] : grid_center(grid, (enum axis)a, 0);
    }
}

static void line_points(const struct line_setting *line, const struct grid *grid, double *points)
{
    const int64_t last = line->points - 1;
    for (int64_t p = 0; p <= last; p++) {
        const double part = (double)p / (double)last;
        double at[AXIS_COUNT];
        for (int a = 0; a < AXIS_COUNT; a++) {
            /* exact at both ends */
            at[a] = p == last ? line->to[a] : line->from[a] + part * (line->to[a] - line->from[a]);
        }
        put(grid, at, points + p * AXIS_COUNT);
    }
}

/* True when a restart has other points than the run before. */
static bool has_other_points(const struct settings_changes *changes)
{
    static const char key[] = "output.probes.points";
    for (int i = 0; i < changes->count; i++) {
        if (strncmp(changes->change[i].key, key, sizeof key - 1) == 0) {
            return true;
        }
    }
    return false;
}

static enum status probe_points(const struct output_setting *requests, const struct grid *grid,
                                struct sample_output *output)
{
    output->names = calloc((size_t)output->sampled.points, sizeof *output->names);
    output->above = calloc((size_t)output->sampled.points, sizeof *output->above);
    TRY(CHECK_MEMORY(output->names != NULL && output->above != NULL,
                     "no memory for the points of probes and lines"));
    for (int64_t p = 0; p < output->sampled.points; p++) {
        output->names[p] = requests->probes.points[p].name;
        output->above[p] = requests->probes.points[p].side == SIDE_MAX;
        put(grid, requests->probes.points[p].at, output->points + p * AXIS_COUNT);
    }
    return impedances_create(requests, &output->impedances);
}

/* All of the output but what a run holds open. End it also after a failure. */
static enum status output_begin(const struct output_context *in, const struct sampled *sampled,
                                struct sample_output *output)
{
    const struct problem *problem = in->problem;
    *output = (struct sample_output){.sampled = *sampled};
    output->points = calloc((size_t)sampled->points * AXIS_COUNT, sizeof *output->points);
    TRY(CHECK_MEMORY(output->points != NULL, "no memory for the points of probes and lines"));
    if (sampled->line != NULL) {
        line_points(sampled->line, &problem->grid, output->points);
    } else {
        TRY(probe_points(&problem->output, &problem->grid, output));
    }
    snprintf(output->csv_name, sizeof output->csv_name, "%s.csv", sampled->name);
    output->series = (struct series){.directory = problem->output.directory,
                                     .csv_name = output->csv_name,
                                     .names = output->names,
                                     .points = output->points,
                                     .npoints = sampled->points,
                                     .more = output->impedances.columns,
                                     .notes = output->impedances.notes,
                                     .other_points = has_other_points(&in->state->changes)};
    return STATUS_OK;
}

static void output_end(struct sample_output *output)
{
    csv_close(&output->csv);
    sampler_destroy(output->sampler);
    impedances_destroy(&output->impedances);
    free(output->above);
    free(output->names);
    free(output->points);
}

static enum status check(const struct output_context *in)
{
    struct sampled sampled;
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && next_series(&in->problem->output, &i, &sampled);) {
        struct sample_output output;
        status = output_begin(in, &sampled, &output);
        status = status == STATUS_OK ? series_check(&output.series) : status;
        output_end(&output);
    }
    return status;
}

static enum status open_series(const struct output_context *in, const struct sampled *sampled,
                               struct sample_output *output)
{
    const struct problem *problem = in->problem;
    TRY(output_begin(in, sampled, output));
    const struct level *level = in->stepper->level;
    const struct sampler_points points = {sampled->points, output->points, output->above};
    const struct layout *classes = &level->classes->args.layout;
    TRY(sampler_create(level->field, &problem->grid, problem->boundary.periodic,
                       problem->medium.nclasses > 0 ? classes : NULL,
                       problem->medium.nmaterials > 1 || grid_is_graded(&problem->grid), &points,
                       &output->sampler));
    if (in->team->rank == 0) {
        TRY(series_open(&output->series, in->restart_step, &output->csv));
        folder_report_gap(in, sampled->cadence, &output->csv);
    }
    return STATUS_OK;
}

static void close_outputs(void *object)
{
    struct sample_outputs *outputs = object;
    for (int i = 0; i < outputs->count; i++) {
        output_end(&outputs->output[i]);
    }
    free(outputs);
}

static enum status open_outputs(const struct output_context *in, void **object)
{
    const struct output_setting *requests = &in->problem->output;
    const size_t most = (size_t)requests->nlines + 1;
    struct sample_outputs *outputs =
        calloc(1, sizeof *outputs + most * sizeof(struct sample_output));
    struct sampled sampled;
    TRY(status_agree(in->team->comm,
                     CHECK_MEMORY(outputs != NULL, "no memory for the list of outputs")));
    *object = outputs;
    for (int i = 0; next_series(requests, &i, &sampled);) {
        TRY(status_agree(in->team->comm,
                         open_series(in, &sampled, &outputs->output[outputs->count++])));
    }
    return STATUS_OK;
}

/* Rank 0. Write one row. */
static enum status write_series(struct sample_output *output, const struct output_context *in,
                                const double *values)
{
    const double since = MPI_Wtime();
    const double disk_since = file_disk_seconds();
    const uint64_t bytes = output->csv.bytes;
    TRY(series_write(&output->series, &output->csv, in->state->step, in->state->time, values,
                     output->sampled.points + output->impedances.count));
    writer_count(in->writer, in->kind, 1, output->csv.bytes - bytes, since, disk_since);
    return STATUS_OK;
}

static enum status write_due(void *object, const struct output_context *in)
{
    struct sample_outputs *outputs = object;
    SCOPED_BY(faces_closures_free) struct face_closures closures = {0};
    MPI_Comm comm = in->team->comm;
    unsigned faces = 0;
    for (int i = 0; i < outputs->count; i++) {
        faces |= sampler_faces(outputs->output[i].sampler);
    }
    TRY(status_agree(comm, engine_settle(in->engine)));
    TRY(faces_closures(in->stepper, faces, &closures));
    const struct level *level = in->stepper->level;
    const struct sampler_space space = {&closures,
                                        faces_closure_at,
                                        faces_share_between,
                                        &level->classes->args,
                                        stepper_hides(in->stepper),
                                        level->field->gaps.is_gap};
    for (int i = 0; i < outputs->count; i++) {
        struct sample_output *output = &outputs->output[i];
        const double *values = NULL;
        if (!timeline_is_due(&in->problem->timeline, output->sampled.cadence, in->state->step)) {
            continue;
        }
        TRY(sampler_take(comm, output->sampler, level->field, &space, &values));
        TRY(impedances_take(&output->impedances, in->stepper, values));
        values = output->impedances.count > 0 ? output->impedances.row : values;
        TRY(status_agree(comm, in->team->rank == 0 ? write_series(output, in, values) : STATUS_OK));
    }
    return STATUS_OK;
}

static enum status flush(const void *object)
{
    const struct sample_outputs *outputs = object;
    for (int i = 0; i < outputs->count; i++) {
        TRY(csv_flush(&outputs->output[i].csv));
    }
    return STATUS_OK;
}

static void list(const void *object, const struct output_context *in)
{
    const struct sample_outputs *outputs = object;
    for (int i = 0; i < outputs->count; i++) {
        const struct sample_output *output = &outputs->output[i];
        log_info("  %-11s  %s/%s", output->sampled.line != NULL ? "line" : "probes",
                 in->problem->output.directory, output->csv_name);
    }
}

/* As if this rank owned all corners. */
static uint64_t kept_bytes(const struct problem *problem, const struct box *owned)
{
    const struct output_setting *requests = &problem->output;
    struct sampled sampled;
    uint64_t bytes = 0;
    for (int i = 0; next_series(requests, &i, &sampled);) {
        bytes += sampler_bytes(sampled.points, problem->precision);
    }
    return bytes;
}

static double plan(const struct problem *problem)
{
    struct sampled sampled;
    double total = 0;
    for (int i = 0; next_series(&problem->output, &i, &sampled);) {
        const int64_t steps = timeline_count_due(&problem->timeline, sampled.cadence);
        printf("%-14s %lld time%s %lld point%s\n", sampled.name, (long long)steps,
               steps == 1 ? "" : "s", (long long)sampled.points, sampled.points == 1 ? "" : "s");
        for (int64_t p = 0; p < sampled.points && sampled.line == NULL; p++) {
            const bool has = problem->output.probes.points[p].has_impedance;
            total += has ? 25.0 * (double)steps : 0;
        }
        /* the rows of a line also have the position */
        total += (double)(steps * sampled.points) * (sampled.line != NULL ? 110.0 : 25.0);
    }
    return total;
}

static bool is_line(const char *directory, const char *entry)
{
    char path[PATH_BYTES];
    bool is = false;
    if (!path_ends_in(entry, ".csv") || path_join(directory, entry, path) != STATUS_OK ||
        series_is_line(path, &is) != STATUS_OK) {
        fail_clear(); /* not readable: not a file of ours */
        return false;
    }
    return is;
}

/* Includes the files of these outputs, even if incomplete. probes.h5: from version 0.1.0. */
static enum status files(const struct output_setting *requests, struct path_list *found)
{
    const char *directory = requests->directory;
    SCOPED_BY(path_list_free) struct path_list names = {0};
    TRY(directory_list(directory, &names));
    for (int i = 0; i < names.count; i++) {
        const char *name = names.path[i];
        TRY(is_line(directory, name) ? folder_add_file(directory, name, found) : STATUS_OK);
    }
    for (int i = 0; i < requests->nlines; i++) {
        char name[PATH_BYTES];
        snprintf(name, sizeof name, "%.200s.csv", requests->lines[i].name);
        TRY(folder_add_file(directory, name, found));
    }
    TRY(folder_add_file(directory, "probes.csv", found));
    return folder_add_file(directory, "probes.h5", found);
}

static bool is_written(const struct output_setting *requests, const char *entry)
{
    struct sampled sampled;
    for (int i = 0; next_series(requests, &i, &sampled);) {
        char name[PATH_BYTES];
        snprintf(name, sizeof name, "%.200s.csv", sampled.name);
        if (strcmp(entry, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum status roll_back(const struct output_setting *requests, int64_t step)
{
    const char *directory = requests->directory;
    SCOPED_BY(path_list_free) struct path_list names = {0};
    TRY(directory_list(directory, &names));
    for (int i = 0; i < names.count; i++) {
        const char *name = names.path[i];
        if (!is_written(requests, name) &&
            (is_line(directory, name) || strcmp(name, "probes.csv") == 0)) {
            TRY(folder_cut_csv(directory, name, step));
        }
    }
    return STATUS_OK;
}

extern const struct output_kind output_samples;
const struct output_kind output_samples = {
    .name = "probes",
    .section = {{"output.probes", "rows of probes", 1000000},
                {"output.lines", "rows of a line", 1000000}},
    .summary = SUMMARY_NEVER,
    .reads_enthalpy = true,
    .check = check,
    .open = open_outputs,
    .close = close_outputs,
    .write = write_due,
    .flush = flush,
    .list = list,
    .kept_bytes = kept_bytes,
    .plan = plan,
    .files = files,
    .roll_back = roll_back,
};
