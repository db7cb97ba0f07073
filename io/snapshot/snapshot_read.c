/* Reading a series of snapshots for a restart. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "io/hdf5/step_files.h"
#include "io/snapshot/snapshot.h"
#include "io/snapshot/snapshot_index.h"

#define LIST_FIELDS "/VTKHDF/CellData/"

static enum status check_grid(hid_t file, const struct grid *grid)
{
    SCOPED_BY(h5_grid_free) struct grid there = {.dimensions = 0};
    TRY(h5_grid(file, &there, H5_READ));
    for (int a = 0; a < AXIS_COUNT; a++) {
        FAIL_IF(!grid_same_axis(&there, grid, (enum axis)a),
                fail(STATUS_INPUT,
                     "it holds snapshots of another grid: on the %s axis %" PRId64
                     " cells from %.17g to %.17g m, and %" PRId64
                     " from %.17g to %.17g m in the configuration%s; choose another output "
                     "folder",
                     axis_name((enum axis)a), there.cells[a], there.lower[a], there.upper[a],
                     grid->cells[a], grid->lower[a], grid->upper[a],
                     there.graded[a].edges != NULL || grid->graded[a].edges != NULL
                         ? ", of other widths"
                         : ""));
    }
    return STATUS_OK;
}

/* Files of format 1 have no number. */
static enum status check_format(hid_t file)
{
    int64_t format = 1;
    if (H5Aexists(file, "format") > 0) {
        TRY(h5_get_int(file, "format", &format, 0));
    }
    FAIL_IF(format != SNAPSHOT_FORMAT,
            fail(STATUS_INPUT,
                 "it has format %" PRId64 " and this program writes format %d; choose another "
                 "output folder",
                 format, (int)SNAPSHOT_FORMAT));
    return STATUS_OK;
}

static bool has_field(hid_t file, const char *group, enum derived_kind kind)
{
    char path[SNAPSHOT_NAME_BYTES];
    snprintf(path, sizeof path, "%s%s", group, derived_label(kind)->name);
    return H5Lexists(file, path, H5P_DEFAULT) > 0;
}

/* Viewers expect the same fields in every snapshot. */
static enum status check_contents(hid_t file, const char *group, unsigned derived)
{
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        const char *name = derived_label((enum derived_kind)kind)->name;
        const bool there = has_field(file, group, (enum derived_kind)kind);
        FAIL_IF(there != derived_wants(derived, kind),
                fail(STATUS_INPUT,
                     "it holds snapshots %s %s, and the configuration asks for snapshots %s it; "
                     "choose another output folder",
                     there ? "with" : "without", name, there ? "without" : "with"));
    }
    return STATUS_OK;
}

static enum status read_precision(hid_t file, const char *name, enum precision *precision)
{
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    TRY(h5_dataset_open(file, name, &dataset));
    *precision = h5_form(dataset).bytes == sizeof(float) ? PRECISION_FLOAT32 : PRECISION_FLOAT64;
    return STATUS_OK;
}

static enum status add_entries(const struct snapshot_series *series, const int64_t *steps,
                               const double *times, int64_t count, int64_t restart_step,
                               struct snapshot_list *list)
{
    for (int64_t i = 0; i < count && steps[i] <= restart_step; i++) {
        char path[PATH_BYTES];
        TRY(snapshot_file_path(series, steps[i], "", path));
        FAIL_IF(!file_exists(path), fail(STATUS_FILE, "%s is missing", path));
        TRY(snapshot_list_add(list, steps[i], times[i]));
    }
    return STATUS_OK;
}

static enum status read_entries(hid_t file, const struct snapshot_series *series,
                                int64_t restart_step, struct snapshot_list *list)
{
    int64_t count = 0;
    int64_t ntimes = 0;
    SCOPED_FREE void *steps = NULL;
    SCOPED_FREE void *times = NULL;
    TRY(h5_get_list(file, "/steps", H5T_NATIVE_INT64, sizeof(int64_t), &steps, &count));
    TRY(h5_get_list(file, "/VTKHDF/Steps/Values", H5T_NATIVE_DOUBLE, sizeof(double), &times,
                    &ntimes));
    return ntimes < count ? fail(STATUS_FILE, "it lists %" PRId64 " steps and %" PRId64 " times",
                                 count, ntimes)
                          : add_entries(series, steps, times, count, restart_step, list);
}

static enum status read_index(hid_t file, const struct snapshot_series *series,
                              int64_t restart_step, struct snapshot_list *list)
{
    TRY(check_format(file));
    TRY(check_grid(file, &series->grid));
    TRY(check_contents(file, LIST_FIELDS, series->derived));
    TRY(read_precision(file, LIST_FIELDS "T", &list->precision));
    return read_entries(file, series, restart_step, list);
}

/* ---- without NAME.vtkhdf --------------------------------------------------------------------- */

/* The file of one snapshot; all must have the precision of the first. */
static enum status add_file(hid_t file, const struct snapshot_series *series,
                            struct snapshot_list *list)
{
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    enum precision precision = PRECISION_FLOAT64;
    int64_t step = 0;
    double time = 0;
    TRY(check_format(file));
    TRY(check_grid(file, &series->grid));
    TRY(check_contents(file, "/", series->derived));
    TRY(read_precision(file, "/T", &precision));
    FAIL_IF(list->count > 0 && precision != list->precision,
            fail(STATUS_INPUT,
                 "it has %s, and those before it have %s; choose another output "
                 "folder",
                 precision_name(precision), precision_name(list->precision)));
    TRY(h5_dataset_open(file, "/T", &dataset));
    TRY(h5_get_int(dataset, "step", &step, 0));
    TRY(h5_get_double(dataset, "time_s", &time, 0));
    list->precision = precision;
    return snapshot_list_add(list, step, time);
}

static enum status find_file(const struct snapshot_series *series, int64_t step,
                             struct snapshot_list *list)
{
    SCOPED_H5_FILE hid_t file = H5I_INVALID_HID;
    char path[PATH_BYTES];
    TRY(snapshot_file_path(series, step, "", path));
    const enum status status = h5_open_plain(path, false, &file);
    return fail_prefix(status == STATUS_OK ? add_file(file, series, list) : status, "%s: ", path);
}

static enum status find_files(const struct snapshot_series *series, int64_t restart_step,
                              struct snapshot_list *list)
{
    SCOPED_FREE int64_t *steps = NULL;
    int count = 0;
    TRY(step_files_list(series->folder, &steps, &count));
    for (int i = count - 1; i >= 0 && steps[i] <= restart_step; i--) {
        TRY(find_file(series, steps[i], list));
    }
    return STATUS_OK;
}

enum status snapshot_index_read(const struct snapshot_series *series, int64_t restart_step,
                                struct snapshot_list *list, bool *rebuilt)
{
    SCOPED_H5_FILE hid_t file = H5I_INVALID_HID;
    *rebuilt = !file_exists(series->path);
    if (*rebuilt) {
        return find_files(series, restart_step, list);
    }
    enum status status = h5_open_plain(series->path, false, &file);
    status = status == STATUS_OK ? read_index(file, series, restart_step, list) : status;
    return fail_prefix(status,
                       status == STATUS_FILE
                           ? "the snapshots of the earlier run cannot be continued (move %s to "
                             "another folder, and the restart rebuilds it): "
                           : "%s: ",
                       series->path);
}

/* ---- the description of a series ------------------------------------------------------------- */

static enum status read_grid(hid_t file, struct grid *grid)
{
    SCOPED_H5 const hid_t group = H5Gopen2(file, "/VTKHDF", H5P_DEFAULT);
    FAIL_IF(group < 0, h5_fail("it has no group /VTKHDF"));
    TRY(h5_grid(file, grid, H5_READ));
    grid_complete(grid);
    return grid_is_graded(grid) ? STATUS_OK
                                : h5_get_double(group, "Spacing", grid->spacing, AXIS_COUNT);
}

/* Fill in the rest of a series, whose names are set, from its NAME.vtkhdf. The caller frees it. */
static enum status snapshot_series_read(struct snapshot_series *series)
{
    enum { MOST_BYTES = 1 << 24, TITLE_BYTES = 1 << 17 };
    SCOPED_H5_FILE hid_t file = H5I_INVALID_HID;
    TRY(h5_open_plain(series->path, false, &file));
    TRY(check_format(file));
    series->owns_grid = true;
    TRY(read_grid(file, &series->grid));
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        if (has_field(file, LIST_FIELDS, (enum derived_kind)kind)) {
            series->derived |= 1U << (unsigned)kind;
        }
    }
    series->has_gaps = H5Lexists(file, LIST_FIELDS SNAPSHOT_GHOSTS, H5P_DEFAULT) > 0;
    series->title = malloc(TITLE_BYTES);
    TRY(CHECK_MEMORY(series->title != NULL, "no memory for a title"));
    TRY(h5_get_string(file, "title", series->title, TITLE_BYTES));
    return h5_get_text(file, "/configuration", MOST_BYTES, &series->config_text);
}

/* ---- before a run continues a series, or leaves it --------------------------------------------
 */

enum status snapshots_check(const char *directory, const char *name, const struct view *view,
                            const struct snapshot_setting *setting, int64_t restart_step)
{
    struct snapshot_series series = {.grid = view->grid, .derived = setting->derived};
    SCOPED_BY(snapshot_list_free)
    struct snapshot_list list = {.precision = setting->precision};
    bool rebuilt = false;
    h5_init();
    TRY(snapshot_series_name(directory, name, &series));
    return snapshot_index_read(&series, restart_step, &list, &rebuilt);
}

static enum status cut(const struct snapshot_series *series, int64_t step)
{
    SCOPED_BY(snapshot_list_free) struct snapshot_list list = {0};
    SCOPED_BY(snapshot_index_close) struct snapshot_index index = {0};
    bool rebuilt = false;
    TRY(snapshot_index_read(series, step, &list, &rebuilt));
    TRY(snapshot_lists_write(series, &list, &index));
    return snapshot_files_drop_others(series, &list);
}

enum status snapshots_cut(const char *directory, const char *name, int64_t step)
{
    SCOPED_BY(snapshot_series_free) struct snapshot_series series = {0};
    h5_init();
    TRY(snapshot_series_name(directory, name, &series));
    TRY(snapshot_series_read(&series));
    return cut(&series, step);
}
