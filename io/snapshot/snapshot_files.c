/* The files with the data of snapshots. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/hdf5/step_files.h"
#include "io/snapshot/snapshot_index.h"

enum status snapshot_series_name(const char *directory, const char *name,
                                 struct snapshot_series *series)
{
    char file[sizeof series->name + 8];
    snprintf(series->name, sizeof series->name, "%s", name);
    TRY(path_join(directory, name, series->folder));
    snprintf(file, sizeof file, "%s.vtkhdf", name);
    TRY(path_join(directory, file, series->path));
    snprintf(file, sizeof file, "%s.xdmf", name);
    return path_join(directory, file, series->xdmf_path);
}

void snapshot_series_free(struct snapshot_series *series)
{
    free(series->title);
    free(series->config_text);
    if (series->owns_grid) {
        h5_grid_free(&series->grid);
    }
    series->title = NULL;
    series->config_text = NULL;
}

enum status snapshot_lists_write(const struct snapshot_series *series,
                                 const struct snapshot_list *list, struct snapshot_index *index)
{
    if (list->count == 0) {
        TRY(file_remove(series->xdmf_path));
        return file_remove(series->path);
    }
    TRY(snapshot_index_write(series, list, index));
    return xdmf_write(series, list);
}

void snapshot_index_close(struct snapshot_index *index)
{
    if (index->file != 0) {
        h5_close(index->file);
    }
    *index = (struct snapshot_index){0};
}

/* Add the centres of the cells and the time, for xarray. */
static enum status make_coordinates(hid_t file, const struct grid *grid, double time)
{
    static const char *const long_names[AXIS_COUNT] = {
        "x of the cell centers", "y of the cell centers", "z of the cell centers"};
    TRY(h5_scale(file, "time", &time, 0, "s", "time"));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t n = grid->cells[axis];
        SCOPED_FREE double *center = malloc((size_t)n * sizeof *center);
        TRY(CHECK_MEMORY(center != NULL, "no memory for coordinates"));
        for (int64_t i = 0; i < n; i++) {
            center[i] = grid_center(grid, (enum axis)axis, i);
        }
        TRY(h5_scale(file, axis_name((enum axis)axis), center, n, "m", long_names[axis]));
    }
    return STATUS_OK;
}

/* For xarray and others that read netCDF's conventions: where there is no value. */
static enum status write_missing(hid_t dataset)
{
    static const double missing = NAN;
    SCOPED_H5 const hid_t type = H5Dget_type(dataset);
    SCOPED_H5 const hid_t space = H5Screate(H5S_SCALAR);
    SCOPED_H5 const hid_t attribute =
        H5Acreate2(dataset, "_FillValue", type, space, H5P_DEFAULT, H5P_DEFAULT);
    return H5Awrite(attribute, H5T_NATIVE_DOUBLE, &missing) < 0
               ? h5_fail("cannot create the attribute _FillValue")
               : STATUS_OK;
}

static enum status describe_dataset(hid_t file, const struct derived_label *label, bool has_gaps,
                                    int64_t step, double time)
{
    static const char *const axes[AXIS_COUNT] = {"z", "y", "x"};
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    TRY(h5_dataset_open(file, label->name, &dataset));
    TRY(h5_attribute_label(dataset, label->units, label->long_name));
    TRY(has_gaps ? write_missing(dataset) : STATUS_OK);
    TRY(h5_attribute_string(dataset, "coordinates", "time"));
    TRY(h5_attach_scales(file, dataset, axes, AXIS_COUNT));
    TRY(h5_attribute_double(dataset, "time_s", &time, 0));
    return h5_attribute_int(dataset, "step", &step, 0);
}

/* Create contiguous datasets, if `places` is not NULL, and add coordinates and attributes. */
static enum status make_contents(hid_t file, const struct snapshot_series *series,
                                 enum precision precision, int64_t step, double time,
                                 struct raw_place *places)
{
    const struct derived_label *label = NULL;
    TRY(make_coordinates(file, &series->grid, time));
    for (int n = 0; (label = snapshot_content(series->derived, n)) != NULL; n++) {
        if (places != NULL) {
            TRY(h5_raw_make(file, label->name, series->grid.cells, precision, &places[n]));
        }
        TRY(describe_dataset(file, label, series->has_gaps, step, time));
    }
    return STATUS_OK;
}

enum status snapshot_file_start(const struct snapshot_series *series, const char *path,
                                uint64_t bytes)
{
    hid_t file = H5I_INVALID_HID;
    TRY(h5_create_memory(0, &file));
    TRY(h5_save_temporary(file, path, false, snapshot_write_root(file, series)));
    return h5_reserve(path, bytes);
}

enum status snapshot_file_describe(const struct snapshot_series *series, const char *path,
                                   enum precision precision, int64_t step, double time,
                                   struct raw_place *places)
{
    hid_t file = H5I_INVALID_HID;
    TRY(h5_open_plain(path, true, &file));
    return h5_close_flushed(file, path, make_contents(file, series, precision, step, time, places));
}

static bool is_listed(const struct snapshot_list *list, int64_t step)
{
    for (int64_t i = list->count - 1; i >= 0 && list->steps[i] >= step; i--) {
        if (list->steps[i] == step) {
            return true;
        }
    }
    return false;
}

enum status snapshot_files_drop_others(const struct snapshot_series *series,
                                       const struct snapshot_list *list)
{
    SCOPED_FREE int64_t *steps = NULL;
    int count = 0;
    TRY(step_files_remove_temporaries(series->folder));
    TRY(step_files_list(series->folder, &steps, &count));
    for (int i = 0; i < count; i++) {
        char path[PATH_BYTES];
        if (!is_listed(list, steps[i])) {
            TRY(snapshot_file_path(series, steps[i], "", path));
            TRY(file_remove(path));
        }
    }
    return STATUS_OK;
}
