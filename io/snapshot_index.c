#include "io/snapshot_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"

void snapshot_name(int64_t index, const char *suffix, char name[SNAPSHOT_NAME_BYTES])
{
    snprintf(name, SNAPSHOT_NAME_BYTES, "/snap/%" PRId64 "%s", index, suffix);
}

enum status snapshot_list_add(struct snapshot_list *list, int64_t step, double time)
{
    if (list->count == list->capacity) {
        const int64_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        int64_t *steps = realloc(list->steps, (size_t)capacity * sizeof *steps);
        if (steps != NULL) {
            list->steps = steps;
        }
        double *times = realloc(list->times, (size_t)capacity * sizeof *times);
        if (times != NULL) {
            list->times = times;
        }
        if (steps == NULL || times == NULL) {
            return fail(STATUS_MEMORY, "no memory for the list of snapshots");
        }
        list->capacity = capacity;
    }
    list->steps[list->count] = step;
    list->times[list->count] = time;
    list->count++;
    return STATUS_OK;
}

void snapshot_list_free(struct snapshot_list *list)
{
    free(list->steps);
    free(list->times);
    memset(list, 0, sizeof *list);
}

/* The geometry: points are the corners of cells, so 0..n for n cells, also where n is 1. */
static enum status write_geometry(hid_t group, const struct grid *grid)
{
    static const int64_t version[2] = {2, 0};
    static const double direction[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const int64_t extent[6] = {0, grid->cells[AXIS_X], 0, grid->cells[AXIS_Y],
                               0, grid->cells[AXIS_Z]};
    TRY(h5_attribute_int(group, "Version", version, 2, H5T_STD_I64LE));
    TRY(h5_attribute_string(group, "Type", "ImageData"));
    TRY(h5_attribute_int(group, "WholeExtent", extent, 6, H5T_STD_I64LE));
    TRY(h5_attribute_double(group, "Origin", grid->lower, AXIS_COUNT));
    TRY(h5_attribute_double(group, "Spacing", grid->spacing, AXIS_COUNT));
    return h5_attribute_double(group, "Direction", direction, 9);
}

hid_t snapshot_group_create(hid_t file, const char *name)
{
    enum { MOST_LINKS = 65000 };
    const hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_link_phase_change(creation, MOST_LINKS, MOST_LINKS - 1);
    const hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    return group;
}

static enum status make_group(hid_t file, const char *name)
{
    const hid_t group = snapshot_group_create(file, name);
    if (group < 0) {
        return h5_fail("cannot make the group %s", name);
    }
    H5Gclose(group);
    return STATUS_OK;
}

static enum status describe_temperature(hid_t dataset)
{
    TRY(h5_attribute_string(dataset, "units", "K"));
    return h5_attribute_string(dataset, "long_name", "temperature");
}

/* Block t of the virtual dataset is /snap/t/T of the same file; HDF5 finds by itself how many
 * there are. */
static enum status make_virtual_dataset(hid_t file, const struct grid *grid,
                                        enum precision precision)
{
    const hsize_t nz = (hsize_t)grid->cells[AXIS_Z];
    const hsize_t ny = (hsize_t)grid->cells[AXIS_Y];
    const hsize_t nx = (hsize_t)grid->cells[AXIS_X];
    const hsize_t source_shape[3] = {nz, ny, nx};
    const hsize_t shape[4] = {0, nz, ny, nx};
    const hsize_t largest[4] = {H5S_UNLIMITED, nz, ny, nx};
    const hsize_t start[4] = {0, 0, 0, 0};
    const hsize_t stride[4] = {1, nz, ny, nx};
    const hsize_t count[4] = {H5S_UNLIMITED, 1, 1, 1};
    const hsize_t block[4] = {1, nz, ny, nx};
    const hid_t source = H5Screate_simple(3, source_shape, NULL);
    const hid_t space = H5Screate_simple(4, shape, largest);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    hid_t dataset = H5I_INVALID_HID;
    enum status status = STATUS_OK;
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block) >= 0 &&
        H5Pset_virtual(creation, space, ".", "/snap/%b/T", source) >= 0) {
        dataset = H5Dcreate2(file, "/VTKHDF/CellData/T", h5_type(precision), space, H5P_DEFAULT,
                             creation, H5P_DEFAULT);
    }
    if (dataset < 0) {
        status = h5_fail("cannot make the virtual dataset");
    } else {
        status = describe_temperature(dataset);
        H5Dclose(dataset);
    }
    H5Pclose(creation);
    H5Sclose(space);
    H5Sclose(source);
    return status;
}

static enum status make_growing_dataset(hid_t file, const char *name, hid_t type)
{
    const hsize_t none = 0;
    const hsize_t unlimited = H5S_UNLIMITED;
    const hsize_t chunk = 512;
    const hid_t space = H5Screate_simple(1, &none, &unlimited);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &chunk);
    H5Pset_fletcher32(creation);
    const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    enum status status = STATUS_OK;
    if (dataset < 0) {
        status = h5_fail("cannot make the dataset %s", name);
    } else {
        H5Dclose(dataset);
    }
    H5Pclose(creation);
    H5Sclose(space);
    return status;
}

static enum status set_step_count(hid_t file, int64_t count)
{
    const hid_t group = H5Gopen2(file, "/VTKHDF/Steps", H5P_DEFAULT);
    if (group < 0) {
        return h5_fail("cannot open /VTKHDF/Steps");
    }
    const enum status status = h5_attribute_int(group, "NSteps", &count, 0, H5T_STD_I64LE);
    H5Gclose(group);
    return status;
}

static enum status write_growing_dataset(hid_t file, const char *name, hid_t type, int64_t count,
                                         const void *values)
{
    const hsize_t length = (hsize_t)count;
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    enum status status = STATUS_OK;
    if (dataset < 0 || H5Dset_extent(dataset, &length) < 0 ||
        (count > 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)) {
        status = h5_fail("cannot write %s", name);
    }
    if (dataset >= 0) {
        H5Dclose(dataset);
    }
    return status;
}

/* NSteps, Values and offsets for the list. One snapshot is entered twice: VTK's reader takes the
 * 4D array of a single step for a wrong one, and readers abort where Values is longer than
 * NSteps. */
static enum status write_steps(hid_t file, const struct snapshot_list *list)
{
    const int64_t count = list->count == 1 ? 2 : list->count;
    double *values = calloc((size_t)count + 1, sizeof *values);
    int64_t *offsets = calloc((size_t)count + 1, sizeof *offsets);
    enum status status = STATUS_OK;
    if (values == NULL || offsets == NULL) {
        status = fail(STATUS_MEMORY, "no memory for the list of snapshots");
    }
    for (int64_t i = 0; status == STATUS_OK && i < count; i++) {
        offsets[i] = i < list->count ? i : list->count - 1;
        values[i] = list->times[offsets[i]];
    }
    if (status == STATUS_OK) {
        status = write_growing_dataset(file, "/VTKHDF/Steps/CellDataOffsets/T", H5T_NATIVE_INT64,
                                       count, offsets);
    }
    if (status == STATUS_OK) {
        status =
            write_growing_dataset(file, "/VTKHDF/Steps/Values", H5T_NATIVE_DOUBLE, count, values);
    }
    if (status == STATUS_OK) {
        status = set_step_count(file, count);
    }
    free(values);
    free(offsets);
    return status;
}

static enum status write_root(hid_t file, const struct grid *grid, const char *title,
                              const char *config_text)
{
    TRY(h5_attribute_string(file, "title", title));
    TRY(h5_attribute_string(file, "isotherm_version", ISOTHERM_VERSION));
    TRY(h5_attribute_int(file, "cells", grid->cells, AXIS_COUNT, H5T_STD_I64LE));
    TRY(h5_attribute_double(file, "lower_m", grid->lower, AXIS_COUNT));
    TRY(h5_attribute_double(file, "upper_m", grid->upper, AXIS_COUNT));
    return h5_text_dataset(file, "/configuration", config_text);
}

static enum status write_structure(hid_t file, const struct grid *grid, enum precision precision,
                                   const char *title, const char *config_text)
{
    TRY(write_root(file, grid, title, config_text));
    TRY(make_group(file, "/snap"));
    TRY(make_group(file, "/VTKHDF"));
    TRY(make_group(file, "/VTKHDF/CellData"));
    TRY(make_group(file, "/VTKHDF/Steps"));
    TRY(make_group(file, "/VTKHDF/Steps/CellDataOffsets"));
    TRY(make_virtual_dataset(file, grid, precision));
    TRY(make_growing_dataset(file, "/VTKHDF/Steps/Values", H5T_NATIVE_DOUBLE));
    TRY(make_growing_dataset(file, "/VTKHDF/Steps/CellDataOffsets/T", H5T_STD_I64LE));
    TRY(set_step_count(file, 0));
    const hid_t group = H5Gopen2(file, "/VTKHDF", H5P_DEFAULT);
    if (group < 0) {
        return h5_fail("cannot open /VTKHDF");
    }
    const enum status status = write_geometry(group, grid);
    H5Gclose(group);
    return status;
}

/* Close, flushed to the disk when all went well. */
static enum status finish(hid_t file, const char *path, enum status status)
{
    if (status != STATUS_OK) {
        h5_close(file);
        return status;
    }
    TRY(h5_close_flushed(file, path));
    return h5_sync_to_disk(path);
}

enum status snapshot_index_create(const char *path, const struct grid *grid,
                                  enum precision precision, const char *title,
                                  const char *config_text)
{
    hid_t file = H5I_INVALID_HID;
    TRY(h5_create_memory(0, &file));
    const enum status status = write_structure(file, grid, precision, title, config_text);
    if (status != STATUS_OK) {
        h5_close(file);
        return status;
    }
    return h5_save_memory(file, path);
}

static enum status check_grid(hid_t file, const struct grid *grid)
{
    int64_t cells[AXIS_COUNT];
    double lower[AXIS_COUNT];
    double upper[AXIS_COUNT];
    TRY(h5_get_int(file, "cells", cells, AXIS_COUNT));
    TRY(h5_get_double(file, "lower_m", lower, AXIS_COUNT));
    TRY(h5_get_double(file, "upper_m", upper, AXIS_COUNT));
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (cells[a] != grid->cells[a] || lower[a] != grid->lower[a] ||
            upper[a] != grid->upper[a]) {
            return fail(STATUS_INPUT,
                        "it holds snapshots of another grid: on the %s axis %" PRId64
                        " cells from %.17g to %.17g m, and %" PRId64
                        " from %.17g to %.17g m in the configuration; choose another output "
                        "folder",
                        axis_name((enum axis)a), cells[a], lower[a], upper[a], grid->cells[a],
                        grid->lower[a], grid->upper[a]);
        }
    }
    return STATUS_OK;
}

static enum status read_precision(hid_t file, enum precision *precision)
{
    const hid_t dataset = H5Dopen2(file, "/VTKHDF/CellData/T", H5P_DEFAULT);
    if (dataset < 0) {
        return h5_fail("it has no dataset /VTKHDF/CellData/T");
    }
    const hid_t type = H5Dget_type(dataset);
    *precision = H5Tget_size(type) == sizeof(float) ? PRECISION_FLOAT32 : PRECISION_FLOAT64;
    H5Tclose(type);
    H5Dclose(dataset);
    return STATUS_OK;
}

/* Is snapshot `index` there and finished? Its step is written last: a kill leaves it without. */
static bool read_entry(hid_t file, int64_t index, int64_t *step, double *time)
{
    char name[SNAPSHOT_NAME_BYTES];
    snapshot_name(index, "/T", name);
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (dataset < 0) {
        return false;
    }
    const bool whole = h5_get_int(dataset, "step", step, 0) == STATUS_OK &&
                       h5_get_double(dataset, "time_s", time, 0) == STATUS_OK;
    H5Dclose(dataset);
    return whole;
}

/* The snapshots that count: from the first one on without a gap, steps rising. */
static enum status read_entries(hid_t file, int64_t restart_step, struct snapshot_list *list)
{
    int64_t step = 0;
    double time = 0;
    while (read_entry(file, list->count, &step, &time) && step <= restart_step &&
           (list->count == 0 || step > list->steps[list->count - 1])) {
        TRY(snapshot_list_add(list, step, time));
    }
    fail_clear();
    return STATUS_OK;
}

/* Put aside what a kill left: HDF5 can take it apart only where it is whole, and it need not be.
 * A rename does not look at it. */
static enum status put_aside(hid_t file, const char *name)
{
    char aside[2 * SNAPSHOT_NAME_BYTES];
    if (H5Lexists(file, "/unfinished", H5P_DEFAULT) <= 0) {
        TRY(make_group(file, "/unfinished"));
    }
    for (int n = 0;; n++) {
        snprintf(aside, sizeof aside, "/unfinished/%s_%d", strrchr(name, '/') + 1, n);
        if (H5Lexists(file, aside, H5P_DEFAULT) <= 0) {
            break;
        }
    }
    if (H5Lmove(file, name, file, aside, H5P_DEFAULT, H5P_DEFAULT) < 0) {
        return h5_fail("cannot put aside the unfinished snapshot %s", name);
    }
    return STATUS_OK;
}

static enum status drop(hid_t file, int64_t index)
{
    char name[SNAPSHOT_NAME_BYTES];
    int64_t step = 0;
    double time = 0;
    snapshot_name(index, "", name);
    if (!read_entry(file, index, &step, &time)) {
        return put_aside(file, name);
    }
    if (H5Ldelete(file, name, H5P_DEFAULT) < 0) {
        return h5_fail("cannot drop the snapshot %s", name);
    }
    return STATUS_OK;
}

/* Remove every group of /snap that the list does not count. */
static enum status drop_others(hid_t file, const struct snapshot_list *list)
{
    const hid_t snap = H5Gopen2(file, "/snap", H5P_DEFAULT);
    H5G_info_t info;
    if (snap < 0 || H5Gget_info(snap, &info) < 0) {
        return h5_fail("it has no group /snap");
    }
    H5Gclose(snap);
    for (int64_t index = (int64_t)info.nlinks - 1; index >= list->count; index--) {
        TRY(drop(file, index));
    }
    return STATUS_OK;
}

static enum status resume(hid_t file, const struct grid *grid, int64_t restart_step,
                          struct snapshot_list *list)
{
    TRY(check_grid(file, grid));
    TRY(read_precision(file, &list->precision));
    TRY(read_entries(file, restart_step, list));
    TRY(drop_others(file, list));
    return write_steps(file, list);
}

enum status snapshot_index_resume(const char *path, const struct grid *grid, int64_t restart_step,
                                  struct snapshot_list *list)
{
    hid_t file = H5I_INVALID_HID;
    enum status status = h5_open_plain(path, true, &file);
    if (status == STATUS_OK) {
        status = finish(file, path, resume(file, grid, restart_step, list));
    }
    if (status == STATUS_FILE) {
        fail_prefix(status,
                    "the snapshots of the earlier run cannot be continued (move %s away, then "
                    "the restart begins a new file): ",
                    path);
    } else if (status != STATUS_OK) {
        fail_prefix(status, "%s: ", path);
    }
    return status;
}

static enum status append(hid_t file, const struct snapshot_list *list)
{
    const int64_t last = list->count - 1;
    char name[SNAPSHOT_NAME_BYTES];
    snapshot_name(last, "/T", name);
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (dataset < 0) {
        return h5_fail("cannot open %s", name);
    }
    enum status status = describe_temperature(dataset);
    if (status == STATUS_OK) {
        status = h5_attribute_double(dataset, "time_s", &list->times[last], 0);
    }
    if (status == STATUS_OK) {
        status = h5_attribute_int(dataset, "step", &list->steps[last], 0, H5T_STD_I64LE);
    }
    H5Dclose(dataset);
    /* flushed by itself: a kill must not leave an entry for a snapshot that cannot be read */
    if (status == STATUS_OK && H5Fflush(file, H5F_SCOPE_LOCAL) < 0) {
        status = h5_fail("cannot flush %s", name);
    }
    TRY(status);
    return write_steps(file, list);
}

enum status snapshot_index_append(const char *path, const struct snapshot_list *list)
{
    hid_t file = H5I_INVALID_HID;
    TRY(h5_open_plain(path, true, &file));
    return finish(file, path, append(file, list));
}

void snapshot_index_drop(const char *path, const struct snapshot_list *list)
{
    char name[SNAPSHOT_NAME_BYTES];
    char reason[STATUS_MESSAGE_BYTES];
    hid_t file = H5I_INVALID_HID;
    snprintf(reason, sizeof reason, "%s", fail_message());
    snapshot_name(list->count, "", name);
    if (h5_open_plain(path, true, &file) == STATUS_OK) {
        H5Ldelete(file, name, H5P_DEFAULT);
        if (write_steps(file, list) != STATUS_OK) {
            fail_clear();
        }
        h5_close(file);
    }
    fail_set_agreed(reason);
}
