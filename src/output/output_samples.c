/* Output kind: probes and lines, each series with its own cadence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "io/series/sampler.h"
#include "io/series/series.h"
#include "output/folder.h"
#include "output/impedances.h"
#include "output/output.h"
#include "solve/faces.h"

struct sample_output {
    const struct cadence *cadence; /* borrowed, as is the name */
    const char *name;              /* NULL: the probes */
    struct sampler *sampler;
    struct series *series;        /* rank 0 */
    struct impedances impedances; /* of the probes */
};

struct sample_outputs {
    int count;
    struct sample_output output[];
};

/* `count` points, x, y, z each; on unused axes the centre of the cell. */
struct points {
    double *at;
    const char **names; /* NULL for a line */
    int64_t count;
};

static void points_free(struct points *points)
{
    free(points->at);
    free(points->names);
}

static enum status points_alloc(int64_t count, bool named, struct points *points)
{
    points->count = count;
    points->at = calloc((size_t)count * AXIS_COUNT, sizeof *points->at);
    points->names = named ? calloc((size_t)count, sizeof *points->names) : NULL;
    if (points->at == NULL || (named && points->names == NULL)) {
        return fail(STATUS_MEMORY, "no memory for the points of probes and lines");
    }
    return STATUS_OK;
}

static void put(const struct grid *grid, const double at[AXIS_COUNT], double *point)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        point[a] = grid->used[a] ? at[a] : grid_center(grid, (enum axis)a, 0);
    }
}

static enum status probe_points(const struct output_setting *requests, const struct grid *grid,
                                struct points *points)
{
    TRY(points_alloc(requests->probes.npoints, true, points));
    for (int64_t p = 0; p < points->count; p++) {
        const struct probe_setting *probe = &requests->probes.points[p];
        points->names[p] = probe->name;
        put(grid, probe->at, points->at + p * AXIS_COUNT);
    }
    return STATUS_OK;
}

static enum status line_points(const struct line_setting *line, const struct grid *grid,
                               struct points *points)
{
    TRY(points_alloc(line->points, false, points));
    const double last = (double)(points->count - 1);
    for (int64_t p = 0; p < points->count; p++) {
        double at[AXIS_COUNT];
        for (int a = 0; a < AXIS_COUNT; a++) {
            /* exact at both ends */
            const double part = (double)p / last;
            at[a] = p == points->count - 1 ? line->to[a]
                                           : line->from[a] + part * (line->to[a] - line->from[a]);
        }
        put(grid, at, points->at + p * AXIS_COUNT);
    }
    return STATUS_OK;
}

/* Series number `index`, the probes (*line NULL) before the lines; false after the last. */
static bool find_series(const struct output_setting *requests, int index,
                        const struct line_setting **line, const struct cadence **cadence)
{
    *line = index > 0 ? &requests->lines[index - 1] : NULL;
    if (index > requests->nlines) {
        return false;
    }
    *cadence = *line != NULL ? &(*line)->cadence : &requests->probes.cadence;
    return true;
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

enum { NAME_BYTES = 128 };

/* `csv_name`: storage for the name. Free `points` and `impedances` also after a failure. */
static enum status make_setup(const struct output_context *in, const struct line_setting *line,
                              struct points *points, struct impedances *impedances,
                              char csv_name[NAME_BYTES], struct series_setup *setup)
{
    const struct problem *problem = in->problem;
    if (line == NULL) {
        TRY(impedances_create(&problem->output, impedances));
    }
    TRY(line != NULL ? line_points(line, &problem->grid, points)
                     : probe_points(&problem->output, &problem->grid, points));
    snprintf(csv_name, NAME_BYTES, "%s.csv", line != NULL ? line->name : "probes");
    *setup = (struct series_setup){.directory = problem->output.directory,
                                   .csv_name = csv_name,
                                   .names = points->names,
                                   .points = points->at,
                                   .npoints = points->count,
                                   .more = (const char *const *)impedances->columns,
                                   .nmore = impedances->count,
                                   .notes = impedances->notes,
                                   .other_points = has_other_points(&in->state->changes)};
    return STATUS_OK;
}

static enum status check(const struct output_context *in)
{
    const struct line_setting *line = NULL;
    const struct cadence *cadence = NULL;
    enum status status = STATUS_OK;
    for (int i = 0; find_series(&in->problem->output, i, &line, &cadence); i++) {
        struct points points = {0};
        struct impedances impedances = {0};
        struct series_setup setup;
        char name[NAME_BYTES];
        if (status == STATUS_OK && cadence_is_on(cadence)) {
            status = make_setup(in, line, &points, &impedances, name, &setup);
            status = status == STATUS_OK ? series_check(&setup) : status;
        }
        points_free(&points);
        impedances_destroy(&impedances);
    }
    return status;
}

static enum status open_series(const struct output_context *in, const struct line_setting *line,
                               struct sample_output *output)
{
    const struct problem *problem = in->problem;
    struct points points = {0};
    struct series_setup setup;
    char name[NAME_BYTES];
    enum status status = STATUS_OK;
    output->name = line != NULL ? line->name : NULL;
    TRY_GOTO(make_setup(in, line, &points, &output->impedances, name, &setup));
    TRY_GOTO(sampler_create(in->stepper->level->field, &problem->grid, problem->boundary.periodic,
                            points.at, points.count, &output->sampler));
    if (in->team->rank == 0) {
        TRY_GOTO(series_open(&setup, in->restart_step, &output->series));
    }
done:
    points_free(&points);
    return status_agree(in->team->comm, status);
}

static void close_outputs(void *object)
{
    struct sample_outputs *outputs = object;
    for (int i = 0; i < outputs->count; i++) {
        sampler_destroy(outputs->output[i].sampler);
        series_close(outputs->output[i].series);
        impedances_destroy(&outputs->output[i].impedances);
    }
    free(outputs);
}

static enum status open_outputs(const struct output_context *in, void **object)
{
    const struct output_setting *requests = &in->problem->output;
    const size_t most = (size_t)requests->nlines + 1;
    struct sample_outputs *outputs =
        calloc(1, sizeof *outputs + most * sizeof(struct sample_output));
    const struct line_setting *line = NULL;
    const struct cadence *cadence = NULL;
    TRY(status_agree(in->team->comm, outputs == NULL
                                         ? fail(STATUS_MEMORY, "no memory for the list of outputs")
                                         : STATUS_OK));
    *object = outputs;
    for (int i = 0; find_series(requests, i, &line, &cadence); i++) {
        if (cadence_is_on(cadence)) {
            outputs->output[outputs->count].cadence = cadence;
            TRY(open_series(in, line, &outputs->output[outputs->count++]));
        }
    }
    return STATUS_OK;
}

/* Rank 0. Write one row, or (values NULL) flush all rows. */
static enum status write_series(struct series *series, const struct output_context *in,
                                const double *values)
{
    const double since = MPI_Wtime();
    const double disk_since = file_disk_seconds();
    const uint64_t bytes = series_bytes(series);
    TRY(values != NULL ? series_write(series, in->state->step, in->state->time, values)
                       : series_flush(series));
    writer_count(in->writer, in->kind, values != NULL ? 1 : 0, series_bytes(series) - bytes, since,
                 disk_since);
    return STATUS_OK;
}

static enum status write_values(struct sample_outputs *outputs, const struct output_context *in,
                                const struct face_closures *closures)
{
    MPI_Comm comm = in->team->comm;
    for (int i = 0; i < outputs->count; i++) {
        struct sample_output *output = &outputs->output[i];
        const double *values = NULL;
        if (!timeline_is_due(&in->problem->timeline, output->cadence, in->state->step)) {
            continue;
        }
        TRY(status_agree(comm, engine_settle(in->engine)));
        TRY(sampler_take(comm, output->sampler, in->stepper->level->field, faces_closure_at,
                         closures, &values));
        TRY(impedances_take(&output->impedances, in->stepper, values));
        values = output->impedances.count > 0 ? output->impedances.row : values;
        TRY(status_agree(comm, output->series != NULL ? write_series(output->series, in, values)
                                                      : STATUS_OK));
    }
    return STATUS_OK;
}

static enum status write_due(void *object, const struct output_context *in)
{
    struct face_closures closures;
    TRY(faces_closures(in->stepper, &closures));
    const enum status status = write_values(object, in, &closures);
    faces_closures_free(&closures);
    return status;
}

static enum status flush(void *object, const struct output_context *in)
{
    const struct sample_outputs *outputs = object;
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < outputs->count; i++) {
        if (outputs->output[i].series != NULL) {
            status = write_series(outputs->output[i].series, in, NULL);
        }
    }
    return status_agree(in->team->comm, status);
}

static void list(const void *object, const struct output_context *in)
{
    const struct sample_outputs *outputs = object;
    for (int i = 0; i < outputs->count; i++) {
        const char *name = outputs->output[i].name;
        log_info("  %-11s  %s/%s.csv", name != NULL ? "line" : "probes",
                 in->problem->output.directory, name != NULL ? name : "probes");
    }
}

/* As if this rank owned all corners. */
static uint64_t kept_bytes(const struct problem *problem, const struct box *owned)
{
    const struct output_setting *requests = &problem->output;
    const struct line_setting *line = NULL;
    const struct cadence *cadence = NULL;
    uint64_t bytes = 0;
    (void)owned;
    for (int i = 0; find_series(requests, i, &line, &cadence); i++) {
        const int64_t points = line != NULL ? line->points : requests->probes.npoints;
        bytes += cadence_is_on(cadence) ? sampler_bytes(points, problem->precision) : 0;
    }
    return bytes;
}

static double plan(const struct problem *problem)
{
    const struct line_setting *line = NULL;
    const struct cadence *cadence = NULL;
    double total = 0;
    for (int i = 0; find_series(&problem->output, i, &line, &cadence); i++) {
        const int64_t steps = timeline_count_due(&problem->timeline, cadence);
        const int64_t points = line != NULL ? line->points : problem->output.probes.npoints;
        if (cadence_is_on(cadence)) {
            printf("%-14s %lld time%s %lld point%s\n", line != NULL ? line->name : "probes",
                   (long long)steps, steps == 1 ? "" : "s", (long long)points,
                   points == 1 ? "" : "s");
            for (int64_t p = 0; p < points && line == NULL; p++) {
                total += problem->output.probes.points[p].has_impedance ? 25.0 * (double)steps : 0;
            }
            /* the rows of a line also have the position */
            total += (double)(steps * points) * (line != NULL ? 110.0 : 25.0);
        }
    }
    return total;
}

struct walk {
    const struct output_setting *requests;
    output_visitor *visit;
    void *context;
    int64_t step;
};

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

static enum status visit_entry(void *context, const char *entry)
{
    const struct walk *walk = context;
    const char *directory = walk->requests->directory;
    return is_line(directory, entry)
               ? folder_visit_file(directory, entry, walk->visit, walk->context)
               : STATUS_OK;
}

static void csv_name(const struct line_setting *line, char name[PATH_BYTES])
{
    snprintf(name, PATH_BYTES, "%.200s.csv", line->name);
}

/* Includes the files of these outputs, even if incomplete. probes.h5: from version 0.1.0. */
static enum status visit(const struct output_setting *requests, output_visitor *visitor,
                         void *context)
{
    const char *directory = requests->directory;
    struct walk walk = {.requests = requests, .visit = visitor, .context = context};
    TRY(folder_scan(directory, visit_entry, &walk));
    for (int i = 0; i < requests->nlines; i++) {
        char name[PATH_BYTES];
        csv_name(&requests->lines[i], name);
        TRY(folder_visit_file(directory, name, visitor, context));
    }
    TRY(folder_visit_file(directory, "probes.csv", visitor, context));
    return folder_visit_file(directory, "probes.h5", visitor, context);
}

static bool is_written(const struct output_setting *requests, const char *entry)
{
    for (int i = 0; i < requests->nlines; i++) {
        char name[PATH_BYTES];
        csv_name(&requests->lines[i], name);
        if (strcmp(entry, name) == 0) {
            return cadence_is_on(&requests->lines[i].cadence);
        }
    }
    return false;
}

static enum status cut_entry(void *context, const char *entry)
{
    const struct walk *walk = context;
    const char *directory = walk->requests->directory;
    return is_line(directory, entry) && !is_written(walk->requests, entry)
               ? folder_cut_csv(directory, entry, walk->step)
               : STATUS_OK;
}

static enum status roll_back(const struct output_setting *requests, int64_t step)
{
    const char *directory = requests->directory;
    struct walk walk = {.requests = requests, .step = step};
    TRY(folder_scan(directory, cut_entry, &walk));
    return cadence_is_on(&requests->probes.cadence) ? STATUS_OK
                                                    : folder_cut_csv(directory, "probes.csv", step);
}

extern const struct output_kind output_samples;
const struct output_kind output_samples = {
    .name = "probes",
    .section = {{"output.probes", "rows of probes", 1000000},
                {"output.lines", "rows of a line", 1000000}},
    .summary = SUMMARY_NEVER,
    .check = check,
    .open = open_outputs,
    .close = close_outputs,
    .write = write_due,
    .flush = flush,
    .list = list,
    .kept_bytes = kept_bytes,
    .plan = plan,
    .visit = visit,
    .roll_back = roll_back,
};
