/* Output kind: history.csv, lines of diagnostics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "io/series/csv.h"
#include "io/series/history.h"
#include "output/folder.h"
#include "output/output.h"

struct history_output {
    struct history *history; /* rank 0 */
};

static enum status check(const struct output_context *in)
{
    return history_check(in->problem->settings->output.directory);
}

static void list_columns(const struct problem *problem, struct history_columns *columns)
{
    columns->sources = problem->sources.count > 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        columns->faces[f] = problem->grid.used[axis] && !problem->boundary.periodic[axis];
    }
}

/* Rank 0. */
static enum status open_file(const struct output_context *in, struct history **history)
{
    struct history_columns wanted;
    list_columns(in->problem, &wanted);
    TRY(history_open(in->problem->settings->output.directory, &wanted, in->restart_step, history));
    const struct history_columns *has = history_columns_of(*history);
    bool all = has->sources || !wanted.sources;
    for (int f = 0; f < FACE_COUNT; f++) {
        all = all && (has->faces[f] || !wanted.faces[f]);
    }
    if (!all) {
        log_info("history.csv keeps its columns, which are not those of all faces and sources; "
                 "move it elsewhere to begin one that has them");
    }
    return STATUS_OK;
}

static enum status open_history(const struct output_context *in, void **object)
{
    const struct settings *settings = in->problem->settings;
    if (!cadence_is_on(&settings->output.history)) {
        return STATUS_OK;
    }
    struct history_output *built = calloc(1, sizeof *built);
    enum status status = STATUS_OK;
    if (built == NULL) {
        status = fail(STATUS_MEMORY, "no memory for history.csv");
    } else if (in->team->rank == 0) {
        status = open_file(in, &built->history);
    }
    *object = built;
    return status_agree(in->team->comm, status);
}

static void close_history(void *object)
{
    struct history_output *output = object;
    if (history_close(output->history) != STATUS_OK) {
        log_warn("%s", fail_message());
    }
    free(output);
}

static enum status write_row(void *object, const struct output_context *in)
{
    struct history_output *output = object;
    const struct diagnostics *d = in->summary;
    struct face_diagnostics faces;
    enum status status = STATUS_OK;
    TRY(diagnostics_take_faces(in->stepper, &faces));
    if (output->history != NULL) {
        struct history_row row = {
            .step = d->step,
            .time = d->time,
            .dt = timeline_dt_before(&in->problem->timeline, d->step),
            .min = d->min,
            .max = d->max,
            .mean = d->mean,
            .heat = d->heat,
            .boundary_heat = d->boundary_heat,
            .heat_drift = d->heat_drift,
            .source_heat = d->source_heat,
        };
        memcpy(row.flow, faces.flow, sizeof row.flow);
        memcpy(row.face_mean, faces.mean, sizeof row.face_mean);
        status = history_write(output->history, &row);
    }
    return status_agree(in->team->comm, status);
}

static enum status flush(void *object, const struct output_context *in)
{
    const struct history_output *output = object;
    return status_agree(in->team->comm, history_flush(output->history));
}

static void list(const void *object, const struct output_context *in)
{
    (void)object;
    log_info("  history      %s/history.csv", in->problem->settings->output.directory);
}

static double plan(const struct problem *problem)
{
    const struct cadence *cadence = &problem->settings->output.history;
    const int64_t rows = timeline_count_due(&problem->timeline, cadence);
    printf("history        %lld row%s\n", (long long)rows, rows == 1 ? "" : "s");
    struct history_columns columns;
    list_columns(problem, &columns);
    int ncolumns = columns.sources ? 10 : 9;
    for (int f = 0; f < FACE_COUNT; f++) {
        ncolumns += columns.faces[f] ? 2 : 0;
    }
    return 20.0 * ncolumns * (double)rows;
}

static enum status visit(const struct settings *settings, output_visitor *visitor, void *context)
{
    return folder_visit_file(settings->output.directory, "history.csv", visitor, context);
}

static enum status roll_back(const struct settings *settings, int64_t step)
{
    return cadence_is_on(&settings->output.history)
               ? STATUS_OK
               : folder_cut_csv(settings->output.directory, "history.csv", step);
}

extern const struct output_kind output_history;
const struct output_kind output_history = {
    .name = "history",
    .section = {{"output.history", "rows of history", 1000000}},
    .summary = SUMMARY_ALWAYS,
    .check = check,
    .open = open_history,
    .close = close_history,
    .write = write_row,
    .flush = flush,
    .list = list,
    .plan = plan,
    .visit = visit,
    .roll_back = roll_back,
};
