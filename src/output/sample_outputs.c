#include "output/sample_outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"

/* npoints points, x, y, z each; the coordinates of axes that are not in use are their middle. */
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

static enum status probe_points(const struct settings *settings, const struct grid *grid,
                                struct points *points)
{
    TRY(points_alloc(settings->output.probes.npoints, true, points));
    for (int64_t p = 0; p < points->count; p++) {
        const struct probe_setting *probe = &settings->output.probes.points[p];
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
            /* the ends exactly */
            const double part = (double)p / last;
            at[a] = p == points->count - 1 ? line->to[a]
                                           : line->from[a] + part * (line->to[a] - line->from[a]);
        }
        put(grid, at, points->at + p * AXIS_COUNT);
    }
    return STATUS_OK;
}

/* What a series is; `group` and `csv_name` are room for its names. */
struct names {
    char group[128];
    char csv_name[128];
};

/* A restart: than the run before. */
static bool has_other_points(const struct run *run)
{
    static const char key[] = "output.probes.points";
    for (int i = 0; i < run->changes.count; i++) {
        if (strncmp(run->changes.change[i].key, key, sizeof key - 1) == 0) {
            return true;
        }
    }
    return false;
}

static struct series_setup make_setup(const struct run *run, const struct points *points,
                                      const char *name, struct names *names)
{
    snprintf(names->group, sizeof names->group, "/probes");
    snprintf(names->csv_name, sizeof names->csv_name, "probes.csv");
    if (name != NULL) {
        snprintf(names->group, sizeof names->group, "/lines/%s", name);
        snprintf(names->csv_name, sizeof names->csv_name, "%s.csv", name);
    }
    return (struct series_setup){.directory = run->settings->output.directory,
                                 .group = names->group,
                                 .csv_name = names->csv_name,
                                 .names = points->names,
                                 .points = points->at,
                                 .npoints = points->count,
                                 .other_points = has_other_points(run),
                                 .title = run->settings->title,
                                 .config_text = run->settings->text};
}

static enum status make_points(const struct run *run, const struct line_setting *line,
                               struct points *points)
{
    return line != NULL ? line_points(line, &run->grid, points)
                        : probe_points(run->settings, &run->grid, points);
}

/* Rank 0: is what a restart goes on with whole? */
static enum status check_one(const struct run *run, const struct line_setting *line, bool *damaged)
{
    struct points points = {0};
    struct names names;
    bool here = false;
    enum status status = make_points(run, line, &points);
    if (status == STATUS_OK) {
        const struct series_setup setup =
            make_setup(run, &points, line != NULL ? line->name : NULL, &names);
        status = series_check(&setup, &here);
    }
    *damaged = *damaged || here;
    points_free(&points);
    return status;
}

static enum status check_all(const struct run *run, bool *damaged)
{
    const struct settings *settings = run->settings;
    *damaged = false;
    if (cadence_is_on(&settings->output.probes.cadence)) {
        TRY(check_one(run, NULL, damaged));
    }
    for (int i = 0; i < settings->output.nlines; i++) {
        if (cadence_is_on(&settings->output.lines[i].cadence)) {
            TRY(check_one(run, &settings->output.lines[i], damaged));
        }
    }
    return STATUS_OK;
}

enum status sample_outputs_check(const struct run *run)
{
    bool damaged = false;
    return check_all(run, &damaged);
}

/* Rank 0. */
static enum status drop_damaged(const struct run *run)
{
    bool damaged = false;
    TRY(check_all(run, &damaged));
    if (damaged) {
        log_warn("probes.h5 is damaged (%s): it is made anew from the CSV files", fail_message());
        fail_clear();
        return series_drop_file(run->settings->output.directory);
    }
    return STATUS_OK;
}

/* Collective. `line` NULL: the probes. */
static enum status open_one(const struct run *run, const struct line_setting *line,
                            int64_t restart_step, struct sample_output *output)
{
    const struct settings *settings = run->settings;
    struct points points = {0};
    struct names names;
    output->name = line != NULL ? line->name : NULL;
    output->cadence = line != NULL ? &line->cadence : &settings->output.probes.cadence;
    enum status status = make_points(run, line, &points);
    if (status == STATUS_OK) {
        status = sampler_create(run->field, &run->grid, run->boundary.periodic, points.at,
                                points.count, &output->sampler);
    }
    if (status == STATUS_OK && run->rank == 0) {
        const struct series_setup setup = make_setup(run, &points, output->name, &names);
        status = series_open(&setup, restart_step, &output->series);
    }
    points_free(&points);
    return status_agree(run->comm, status);
}

enum status sample_outputs_open(const struct run *run, int64_t restart_step,
                                struct sample_outputs *outputs)
{
    const struct settings *settings = run->settings;
    const size_t most = (size_t)settings->output.nlines + 1;
    *outputs = (struct sample_outputs){.output = calloc(most, sizeof *outputs->output)};
    enum status status = STATUS_OK;
    if (outputs->output == NULL) {
        status = fail(STATUS_MEMORY, "no memory for the list of outputs");
    } else if (run->rank == 0 && restart_step >= 0) {
        status = drop_damaged(run);
    }
    TRY(status_agree(run->comm, status));
    if (cadence_is_on(&settings->output.probes.cadence)) {
        TRY(open_one(run, NULL, restart_step, &outputs->output[outputs->count++]));
    }
    for (int i = 0; i < settings->output.nlines; i++) {
        if (cadence_is_on(&settings->output.lines[i].cadence)) {
            TRY(open_one(run, &settings->output.lines[i], restart_step,
                         &outputs->output[outputs->count++]));
        }
    }
    return STATUS_OK;
}

void sample_outputs_close(struct sample_outputs *outputs)
{
    for (int i = 0; i < outputs->count; i++) {
        sampler_destroy(outputs->output[i].sampler);
        series_close(outputs->output[i].series);
    }
    free(outputs->output);
    *outputs = (struct sample_outputs){0};
}

/* Collective. All ranks wait where rank 0 has to. */
static enum status wait_when_full(const struct sample_output *output, struct writer *writer,
                                  const struct run *run)
{
    int full = output->series != NULL && series_is_full(output->series) ? 1 : 0;
    if (writer_is_busy(writer)) {
        TRY_MPI(MPI_Bcast(&full, 1, MPI_INT, 0, run->comm));
        if (full != 0) {
            writer_quiesce(writer);
        }
    }
    return STATUS_OK;
}

bool sample_outputs_due(const struct sample_outputs *outputs, const struct run *run)
{
    bool due = false;
    for (int i = 0; i < outputs->count; i++) {
        due = due || timeline_is_due(&run->timeline, outputs->output[i].cadence, run->step);
    }
    return due;
}

/* One row, or (values NULL) what waits; on rank 0. */
static enum status write_series(struct series *series, struct writer *writer, const struct run *run,
                                const double *values)
{
    const double since = MPI_Wtime();
    const double disk_since = file_disk_seconds();
    const uint64_t bytes = series_bytes(series);
    TRY(values != NULL ? series_write(series, run->step, run_time(run), values)
                       : series_flush(series));
    writer_count(writer, WRITER_PROBES, values != NULL ? 1 : 0, series_bytes(series) - bytes, since,
                 disk_since);
    return STATUS_OK;
}

enum status sample_outputs_take(struct sample_outputs *outputs, struct writer *writer,
                                struct run *run)
{
    for (int i = 0; i < outputs->count; i++) {
        struct sample_output *output = &outputs->output[i];
        const double *values = NULL;
        if (!timeline_is_due(&run->timeline, output->cadence, run->step)) {
            continue;
        }
        TRY(status_agree(run->comm, run_settle(run)));
        TRY(sampler_take(run->comm, output->sampler, run->field, &values));
        enum status status = STATUS_OK;
        TRY(wait_when_full(output, writer, run));
        if (output->series != NULL) {
            status = write_series(output->series, writer, run, values);
        }
        TRY(status_agree(run->comm, status));
    }
    return STATUS_OK;
}

enum status sample_outputs_flush(struct sample_outputs *outputs, struct writer *writer,
                                 const struct run *run)
{
    enum status status = STATUS_OK;
    if (outputs->count == 0) {
        return STATUS_OK;
    }
    writer_quiesce(writer);
    for (int i = 0; status == STATUS_OK && i < outputs->count; i++) {
        if (outputs->output[i].series != NULL) {
            status = write_series(outputs->output[i].series, writer, run, NULL);
        }
    }
    return status_agree(run->comm, status);
}
