/* Output kind: history.csv, lines of diagnostics. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "io/series/csv.h"
#include "model/field/quantity.h"
#include "output/output.h"
#include "output/run_folder.h"
#include "solve/observe/diagnostics.h"

static const char file_name[] = "history.csv";

/* A file has each group of columns or lacks it: earlier versions wrote the first group only, and a
 * configuration may have changed. */
enum { GROUP_FIRST, GROUP_SOURCES, GROUP_FACES, GROUP_MORE = GROUP_FACES + FACE_COUNT, GROUPS };
enum { NAME_BYTES = 64, FIRST_COLUMNS = 9, PATCH_COLUMNS = 2, POOL_COLUMNS = AXIS_COUNT + 1 };

struct history_output {
    struct csv csv;   /* rank 0 */
    bool has[GROUPS]; /* of the file; the same on all ranks */
    int nmaterials;   /* with columns; 0 for a single one */
    int npatches;     /* named ones */
    struct material_diagnostics *materials;
    double (*patches)[PATCH_COLUMNS];
    struct melt_pool *pool; /* NULL: no columns of it */
    double pool_columns[POOL_COLUMNS];
    struct surface_diagnostics surfaces[MOST_SURFACES];
    struct face_reading faces;
};

/* --- the columns ----------------------------------------------------------------------------- */

static int count_materials(const struct problem *problem)
{
    const bool wanted = problem->output.history_materials == TRUTH_YES;
    const int bodies = problem->medium.nmaterials - problem->medium.nambients;
    return wanted && bodies > 1 ? bodies : 0;
}

/* Entries of `surfaces` with a name. */
static int count_surfaces(const struct problem *problem)
{
    int count = 0;
    for (int s = 0; s < problem->medium.nsurfaces; s++) {
        count += problem->medium.surfaces[s].name != NULL ? 1 : 0;
    }
    return count;
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

static void find_wanted(const struct problem *problem, bool wanted[GROUPS])
{
    wanted[GROUP_FIRST] = true;
    wanted[GROUP_SOURCES] = problem_has_sources(problem);
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        wanted[GROUP_FACES + f] = problem->grid.used[axis] && !problem->boundary.periodic[axis];
    }
    wanted[GROUP_MORE] = true; /* may have no columns */
}

/* A name as a part of a column: other characters than letters, digits, '_', '-' and '.' become
 * '_'. */
static const char *column_name(const char *name, char text[NAME_BYTES])
{
    size_t n = 0;
    for (; n < NAME_BYTES - 1 && name[n] != '\0'; n++) {
        const char c = name[n];
        text[n] = (char)(isalnum((unsigned char)c) || c == '-' || c == '.' ? c : '_');
    }
    text[n] = '\0';
    return text;
}

static void print_more(FILE *out, const struct problem *problem)
{
    char text[NAME_BYTES];
    int face = 0;
    int patch = 0;
    for (int m = 0; m < count_materials(problem); m++) {
        const char *name = column_name(problem->medium.materials[m].name, text);
        fprintf(out, ",min_%s_K,max_%s_K,mean_%s_K,heat_%s_J", name, name, name, name);
    }
    while (boundary_next_named(&problem->boundary, &face, &patch)) {
        const char *name = column_name(problem->boundary.face[face][patch].name, text);
        fprintf(out, ",flow_%s_W,T_%s_K", name, name);
    }
    for (int s = 0; s < problem->medium.nsurfaces; s++) {
        if (problem->medium.surfaces[s].name != NULL) {
            const char *name = column_name(problem->medium.surfaces[s].name, text);
            fprintf(out, ",flow_%s_W,area_%s_m2,cell_area_%s_m2,T_%s_K", name, name, name, name);
        }
    }
    for (int a = 0; a < AXIS_COUNT && wants_pool(problem); a++) {
        if (problem->grid.used[a]) {
            fprintf(out, ",pool_%s_m", axis_name((enum axis)a));
        }
    }
    fputs(wants_pool(problem) ? ",pool_volume_m3" : "", out);
    fputs(problem->time.by_tolerance ? ",rejected,levels,error_K\n" : "\n", out);
}

/* The line of columns: of the existing file, or those wanted of a new one. Caller frees, after a
 * failure too. */
static enum status find_columns(const struct problem *problem, const char *path, bool has[GROUPS],
                                char **columns)
{
    size_t nbytes = 0;
    FILE *out = open_memstream(columns, &nbytes);
    TRY(CHECK_MEMORY(out != NULL, "no memory for the columns of %s", file_name));
    fputs("step,time_s,dt_s,min_K,max_K,mean_K,heat_J,boundary_heat_J,heat_drift_J\n"
          ",source_heat_J\n",
          out);
    for (int f = 0; f < FACE_COUNT; f++) {
        const char *name = face_name((enum face)f);
        fprintf(out, ",flow_%s_W,T_%s_K\n", name, name);
    }
    print_more(out, problem);
    TRY(CHECK_MEMORY(fclose(out) == 0, "no memory for the columns of %s", file_name));
    find_wanted(problem, has);
    char *own = quantity_columns(*columns, false);
    free(*columns);
    *columns = own;
    TRY(CHECK_MEMORY(own != NULL, "no memory for the columns of %s", file_name));
    TRY(csv_select_columns(path, *columns, has));
    char note[QUANTITY_NOTE_BYTES];
    const int room = (int)(strlen(own) + strlen(quantity_note(note)) + 1);
    own = realloc(own, (size_t)room);
    TRY(CHECK_MEMORY(own != NULL, "no memory for the columns of %s", file_name));
    *columns = own;
    snprintf(own + strlen(own), (size_t)room - strlen(own), "%s", note);
    return STATUS_OK;
}

/* --- the rows -------------------------------------------------------------------------------- */

/* Collective. The values of print_more, as far as they are not known yet. */
static enum status take_more(struct history_output *output, const struct output_context *in)
{
    struct melt_pool_diagnostics found;
    double *value = output->pool_columns;
    if (output->nmaterials > 0) {
        TRY(materials_take(in->stepper, output->materials));
    }
    if (output->pool != NULL) {
        TRY(melt_pool_take(output->pool, in->stepper, &found));
        for (int a = 0; a < AXIS_COUNT; a++) {
            if (in->problem->grid.used[a]) {
                *value++ = found.extent[a];
            }
        }
        *value = found.volume;
    }
    return STATUS_OK;
}

static void print_values(FILE *out, const double *values, int count)
{
    for (int n = 0; n < count; n++) {
        fprintf(out, ",%.17g", values[n]);
    }
}

static void print_row(struct history_output *output, const struct output_context *in,
                      const struct face_diagnostics *faces)
{
    const struct diagnostics *d = in->summary;
    const double first[FIRST_COLUMNS - 1] = {
        d->time,          timeline_dt_before(&in->problem->timeline, d->step),
        d->min,           d->max,
        d->mean,          d->heat,
        d->boundary_heat, d->heat_drift};
    FILE *out = csv_rows(&output->csv);
    fprintf(out, "%" PRId64, d->step);
    print_values(out, first, FIRST_COLUMNS - 1);
    print_values(out, &d->source_heat, output->has[GROUP_SOURCES] ? 1 : 0);
    for (int f = 0; f < FACE_COUNT; f++) {
        const double values[] = {faces->flow[f], faces->mean[f]};
        print_values(out, values, output->has[GROUP_FACES + f] ? 2 : 0);
    }
    if (output->has[GROUP_MORE]) {
        for (int m = 0; m < output->nmaterials; m++) {
            const struct material_diagnostics *of = &output->materials[m];
            const double values[] = {of->min, of->max, of->mean, of->heat};
            print_values(out, values, 4);
        }
        for (int p = 0; p < output->npatches; p++) {
            print_values(out, output->patches[p], PATCH_COLUMNS);
        }
        for (int s = 0; s < in->problem->medium.nsurfaces; s++) {
            const struct surface_diagnostics *of = &output->surfaces[s];
            const double values[] = {of->flow, of->area, of->cell_area, of->mean};
            const bool named = in->problem->medium.surfaces[s].name != NULL;
            print_values(out, values, named ? 4 : 0);
        }
        print_values(out, output->pool_columns,
                     output->pool != NULL ? in->problem->grid.dimensions + 1 : 0);
        const struct step_control *control = &in->stepper->state->control;
        const double values[] = {(double)control->rejected, (double)control->levels,
                                 control->last_error};
        print_values(out, values, in->problem->time.by_tolerance ? 3 : 0);
    }
    fputc('\n', out);
}

static enum status queue_row(void *object, const struct output_context *in)
{
    struct history_output *output = object;
    output->faces.of_surfaces = output->has[GROUP_MORE] && count_surfaces(in->problem) > 0;
    return faces_begin(in->stepper, &output->faces);
}

static enum status write_row(void *object, const struct output_context *in)
{
    struct history_output *output = object;
    struct face_diagnostics faces = {.patches = output->patches, .surfaces = output->surfaces};
    enum status status = STATUS_OK;
    TRY(faces_end(in->stepper, &output->faces, &faces));
    if (output->has[GROUP_MORE]) {
        TRY(take_more(output, in));
    }
    if (in->team->rank == 0) {
        print_row(output, in, &faces);
        status = csv_append(&output->csv, in->summary->step);
    }
    return status_agree(in->team->comm, status);
}

/* --- the file -------------------------------------------------------------------------------- */

static enum status check(const struct output_context *in)
{
    char path[PATH_BYTES];
    SCOPED_FREE char *columns = NULL;
    bool has[GROUPS];
    TRY(path_join(in->problem->output.directory, file_name, path));
    TRY(find_columns(in->problem, path, has, &columns));
    return csv_check(path, &(struct csv_format){.head = columns, .rows = 1});
}

/* Rank 0. */
static enum status open_file(const struct output_context *in, struct history_output *output)
{
    const char *directory = in->problem->output.directory;
    char path[PATH_BYTES];
    SCOPED_FREE char *columns = NULL;
    bool wanted[GROUPS];
    bool all = true;
    TRY(path_join(directory, file_name, path));
    TRY(find_columns(in->problem, in->restart_step >= 0 ? path : NULL, output->has, &columns));
    TRY(csv_open(directory, file_name, &(struct csv_format){.head = columns, .rows = 1},
                 in->restart_step, &output->csv));
    folder_report_gap(in, &in->problem->output.history, &output->csv);
    find_wanted(in->problem, wanted);
    for (int g = 0; g < GROUPS; g++) {
        all = all && (output->has[g] || !wanted[g]);
    }
    if (!all) {
        log_info("history.csv keeps its columns, which are not those of all faces, sources, "
                 "materials, patches, surfaces and the melt pool; move it elsewhere to begin one "
                 "that has them");
    }
    return STATUS_OK;
}

static enum status make_output(const struct output_context *in, struct history_output *output)
{
    const struct problem *problem = in->problem;
    output->nmaterials = count_materials(problem);
    output->npatches = count_patches(problem);
    /* one more: an allocation of nothing may be NULL */
    output->materials = calloc((size_t)output->nmaterials + 1, sizeof *output->materials);
    output->patches = calloc((size_t)output->npatches + 1, sizeof *output->patches);
    TRY(CHECK_MEMORY(output->materials != NULL && output->patches != NULL,
                     "no memory for history.csv"));
    TRY(wants_pool(problem) ? melt_pool_open(in->stepper, &output->pool) : STATUS_OK);
    return in->team->rank == 0 ? open_file(in, output) : STATUS_OK;
}

static enum status open_history(const struct output_context *in, void **object)
{
    if (!cadence_is_on(&in->problem->output.history)) {
        return STATUS_OK;
    }
    struct history_output *built = calloc(1, sizeof *built);
    *object = built;
    TRY(status_agree(in->team->comm, built != NULL
                                         ? make_output(in, built)
                                         : fail(STATUS_MEMORY, "no memory for history.csv")));
    TRY_MPI(MPI_Bcast(built->has, (int)sizeof built->has, MPI_BYTE, 0, in->team->comm));
    return STATUS_OK;
}

static void close_history(void *object)
{
    struct history_output *output = object;
    csv_close(&output->csv);
    faces_leave(&output->faces);
    free(output->materials);
    free(output->patches);
    melt_pool_close(output->pool);
    free(output);
}

static enum status flush(const void *object)
{
    const struct history_output *output = object;
    return csv_flush(&output->csv);
}

static void list(const void *object, const struct output_context *in)
{
    log_info("  history      %s/history.csv", in->problem->output.directory);
}

static double plan(const struct problem *problem)
{
    const struct cadence *cadence = &problem->output.history;
    const int64_t rows = timeline_count_due(&problem->timeline, cadence);
    printf("history        %lld row%s\n", (long long)rows, rows == 1 ? "" : "s");
    SCOPED_FREE char *columns = NULL;
    bool has[GROUPS];
    int ncolumns = 1;
    if (find_columns(problem, NULL, has, &columns) != STATUS_OK) {
        fail_clear();
    }
    for (const char *c = columns; c != NULL && *c != '\0'; c++) {
        ncolumns += *c == ',';
    }
    return 20.0 * ncolumns * (double)rows;
}

static uint64_t kept_bytes(const struct problem *problem, const struct box *owned)
{
    const bool on = cadence_is_on(&problem->output.history) && wants_pool(problem);
    return on ? melt_pool_bytes(owned) : 0;
}

static enum status files(const struct output_setting *requests, struct path_list *found)
{
    return folder_add_file(requests->directory, file_name, found);
}

static enum status roll_back(const struct output_setting *requests, int64_t step)
{
    return cadence_is_on(&requests->history) ? STATUS_OK
                                             : folder_cut_csv(requests->directory, file_name, step);
}

extern const struct output_kind output_history;
const struct output_kind output_history = {
    .name = "history",
    .section = {{"output.history", "rows of history", 1000000}},
    .summary = SUMMARY_ALWAYS,
    .check = check,
    .open = open_history,
    .close = close_history,
    .queue = queue_row,
    .write = write_row,
    .flush = flush,
    .list = list,
    .kept_bytes = kept_bytes,
    .plan = plan,
    .files = files,
    .roll_back = roll_back,
};
