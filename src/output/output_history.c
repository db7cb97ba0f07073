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
#include "solve/faces.h"
#include "solve/materials.h"
#include "solve/melt_pool.h"

struct history_output {
    struct history *history; /* rank 0 */
    char *more;              /* the columns of materials, patches and the melt pool */
    bool has_more;           /* the file has them; the same on all ranks */
    int nmaterials;          /* with columns; 0 for a single one */
    int npatches;            /* named ones */
    struct material_diagnostics *materials;
    double (*patches)[2];
    struct melt_pool *pool; /* NULL: no columns of it */
    double *values;         /* of `more` */
};

/* --- the columns of materials, patches and the melt pool ------------------------------------- */

enum { NAME_BYTES = 64, MATERIAL_COLUMNS = 4, PATCH_COLUMNS = 2, POOL_COLUMNS = AXIS_COUNT + 1 };

/* A name as a part of a column: other characters than letters, digits, '_', '-' and '.' become
 * '_'. */
static const char *column_name(const char *name, char text[NAME_BYTES])
{
    size_t n = 0;
    for (; n < NAME_BYTES - 1 && name[n] != '\0'; n++) {
        const char c = name[n];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '.';
        text[n] = plain ? c : '_';
    }
    text[n] = '\0';
    return text;
}

static int count_materials(const struct problem *problem)
{
    const bool wanted = problem->output.history_materials == TRUTH_YES;
    return wanted && problem->medium.nmaterials > 1 ? problem->medium.nmaterials : 0;
}

static int count_patches(const struct problem *problem)
{
    int count = 0;
    int face = 0;
    int patch = 0;
    while (boundary_next_named(&problem->boundary, &face, &patch)) {
        count++;
    }
    return count;
}

static bool wants_pool(const struct problem *problem)
{
    return problem->output.history_melt_pool == TRUTH_YES;
}

static int count_pool(const struct problem *problem)
{
    return wants_pool(problem) ? problem->grid.dimensions + 1 : 0;
}

/* ",min_a_K,max_a_K,mean_a_K,heat_a_J,flow_b_W,T_b_K,pool_x_m,pool_volume_m3"; caller frees. */
static enum status list_more(const struct problem *problem, char **more)
{
    const int nmaterials = count_materials(problem);
    const size_t parts = (size_t)nmaterials + (size_t)count_patches(problem) + 1;
    const size_t room = 1 + parts * MATERIAL_COLUMNS * (NAME_BYTES + 8);
    char name[NAME_BYTES];
    size_t used = 0;
    int face = 0;
    int patch = 0;
    *more = calloc(1, room);
    TRY(CHECK_MEMORY(*more != NULL, "no memory for the columns of history.csv"));
    for (int m = 0; m < nmaterials; m++) {
        column_name(problem->medium.materials[m].name, name);
        used += (size_t)snprintf(*more + used, room - used,
                                 ",min_%s_K,max_%s_K,mean_%s_K,heat_%s_J", name, name, name, name);
    }
    while (boundary_next_named(&problem->boundary, &face, &patch)) {
        column_name(problem->boundary.face[face][patch].name, name);
        used += (size_t)snprintf(*more + used, room - used, ",flow_%s_W,T_%s_K", name, name);
    }
    for (int a = 0; a < AXIS_COUNT && wants_pool(problem); a++) {
        if (problem->grid.used[a]) {
            used +=
                (size_t)snprintf(*more + used, room - used, ",pool_%s_m", axis_name((enum axis)a));
        }
    }
    if (wants_pool(problem)) {
        snprintf(*more + used, room - used, ",pool_volume_m3");
    }
    return STATUS_OK;
}

/* Collective. */
static enum status take_pool(const struct history_output *output, const struct output_context *in,
                             double *value)
{
    struct melt_pool_diagnostics found;
    TRY(melt_pool_take(output->pool, in->stepper, &found));
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (in->problem->grid.used[a]) {
            *value++ = found.extent[a];
        }
    }
    *value = found.volume;
    return STATUS_OK;
}

/* Collective. In the order of list_more. */
static enum status take_more(struct history_output *output, const struct output_context *in)
{
    double *value = output->values;
    if (!output->has_more || output->nmaterials == 0) {
        value += MATERIAL_COLUMNS * output->nmaterials;
    } else {
        TRY(materials_take(in->stepper, output->materials));
        for (int m = 0; m < output->nmaterials; m++) {
            const struct material_diagnostics *d = &output->materials[m];
            *value++ = d->min;
            *value++ = d->max;
            *value++ = d->mean;
            *value++ = d->heat;
        }
    }
    for (int p = 0; p < PATCH_COLUMNS * output->npatches; p++) {
        *value++ = output->patches[p / PATCH_COLUMNS][p % PATCH_COLUMNS];
    }
    return output->has_more && output->pool != NULL ? take_pool(output, in, value) : STATUS_OK;
}

static enum status make_more(const struct output_context *in, struct history_output *output)
{
    const struct problem *problem = in->problem;
    output->nmaterials = count_materials(problem);
    output->npatches = count_patches(problem);
    /* one more: an allocation of nothing may be NULL */
    output->materials = calloc((size_t)output->nmaterials + 1, sizeof *output->materials);
    output->patches = calloc((size_t)output->npatches + 1, sizeof *output->patches);
    const size_t columns = MATERIAL_COLUMNS * (size_t)output->nmaterials +
                           PATCH_COLUMNS * (size_t)output->npatches + POOL_COLUMNS;
    output->values = calloc(columns, sizeof *output->values);
    const bool enough =
        output->materials != NULL && output->patches != NULL && output->values != NULL;
    TRY(CHECK_MEMORY(enough, "no memory for history.csv"));
    if (wants_pool(problem)) {
        TRY(melt_pool_open(in->stepper, &output->pool));
    }
    return list_more(problem, &output->more);
}

/* --- the file -------------------------------------------------------------------------------- */

static enum status check(const struct output_context *in)
{
    char *more = NULL;
    TRY(list_more(in->problem, &more));
    const enum status status =
        history_check(in->problem->output.directory, more[0] != '\0' ? more : NULL);
    free(more);
    return status;
}

static void list_columns(const struct problem *problem, struct history_columns *columns)
{
    columns->sources = problem_has_sources(problem);
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        columns->faces[f] = problem->grid.used[axis] && !problem->boundary.periodic[axis];
    }
}

/* Rank 0. */
static enum status open_file(const struct output_context *in, struct history_output *output)
{
    struct history_columns wanted = {0};
    list_columns(in->problem, &wanted);
    wanted.more = output->more[0] != '\0' ? output->more : NULL;
    TRY(history_open(in->problem->output.directory, &wanted, in->restart_step, &output->history));
    const struct history_columns *has = history_columns_of(output->history);
    bool all = (has->sources || !wanted.sources) && has->more == wanted.more;
    output->has_more = has->more != NULL;
    for (int f = 0; f < FACE_COUNT; f++) {
        all = all && (has->faces[f] || !wanted.faces[f]);
    }
    if (!all) {
        log_info(
            "history.csv keeps its columns, which are not those of all faces, sources, "
            "materials, patches and the melt pool; move it elsewhere to begin one that has them");
    }
    return STATUS_OK;
}

static void free_output(struct history_output *output)
{
    if (output != NULL) {
        free(output->more);
        free(output->materials);
        free(output->patches);
        melt_pool_close(output->pool);
        free(output->values);
        free(output);
    }
}

static enum status open_history(const struct output_context *in, void **object)
{
    const struct output_setting *requests = &in->problem->output;
    MPI_Comm comm = in->team->comm;
    if (!cadence_is_on(&requests->history)) {
        return STATUS_OK;
    }
    struct history_output *built = calloc(1, sizeof *built);
    enum status status = CHECK_MEMORY(built != NULL, "no memory for history.csv");
    if (status == STATUS_OK) {
        status = make_more(in, built);
    }
    if (status == STATUS_OK && in->team->rank == 0) {
        status = open_file(in, built);
    }
    *object = built;
    TRY(status_agree(comm, status));
    TRY_MPI(MPI_Bcast(&built->has_more, (int)sizeof built->has_more, MPI_BYTE, 0, comm));
    return STATUS_OK;
}

static void close_history(void *object)
{
    struct history_output *output = object;
    if (history_close(output->history) != STATUS_OK) {
        log_warn("%s", fail_message());
    }
    free_output(output);
}

static enum status write_row(void *object, const struct output_context *in)
{
    struct history_output *output = object;
    const struct diagnostics *d = in->summary;
    struct face_diagnostics faces = {.patches = output->patches};
    enum status status = STATUS_OK;
    TRY(faces_take(in->stepper, &faces));
    TRY(take_more(output, in));
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
            .more = output->values,
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
    log_info("  history      %s/history.csv", in->problem->output.directory);
}

static double plan(const struct problem *problem)
{
    const struct cadence *cadence = &problem->output.history;
    const int64_t rows = timeline_count_due(&problem->timeline, cadence);
    printf("history        %lld row%s\n", (long long)rows, rows == 1 ? "" : "s");
    struct history_columns columns;
    list_columns(problem, &columns);
    int ncolumns = columns.sources ? 10 : 9;
    for (int f = 0; f < FACE_COUNT; f++) {
        ncolumns += columns.faces[f] ? 2 : 0;
    }
    ncolumns += MATERIAL_COLUMNS * count_materials(problem);
    ncolumns += PATCH_COLUMNS * count_patches(problem) + count_pool(problem);
    return 20.0 * ncolumns * (double)rows;
}

static uint64_t kept_bytes(const struct problem *problem, const struct box *owned)
{
    const bool on = cadence_is_on(&problem->output.history) && wants_pool(problem);
    return on ? melt_pool_bytes(owned) : 0;
}

static enum status visit(const struct output_setting *requests, output_visitor *visitor,
                         void *context)
{
    return folder_visit_file(requests->directory, "history.csv", visitor, context);
}

static enum status roll_back(const struct output_setting *requests, int64_t step)
{
    return cadence_is_on(&requests->history)
               ? STATUS_OK
               : folder_cut_csv(requests->directory, "history.csv", step);
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
    .kept_bytes = kept_bytes,
    .plan = plan,
    .visit = visit,
    .roll_back = roll_back,
};
