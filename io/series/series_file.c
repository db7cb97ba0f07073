#include "io/series/series_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "io/hdf5/h5.h"
#include "io/series/series_make.h"

/* ---- going on ---------------------------------------------------------------------------------
 */

static enum status read_all(hid_t group, const char *name, hid_t type, int64_t expected,
                            void *values)
{
    const hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    enum status status = STATUS_OK;
    if (dataset < 0) {
        return h5_fail("it has no dataset %s", name);
    }
    const hid_t space = H5Dget_space(dataset);
    if (H5Sget_simple_extent_npoints(space) != (hssize_t)expected) {
        status = fail(STATUS_FILE, "%s has another length than expected", name);
    } else if (expected > 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
        status = h5_fail("cannot read %s", name);
    }
    H5Sclose(space);
    H5Dclose(dataset);
    return status;
}

static int64_t rows_of(hid_t group, const char *name)
{
    hsize_t shape[2] = {0, 0};
    const hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    if (dataset < 0) {
        return 0;
    }
    const hid_t space = H5Dget_space(dataset);
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank == 1 || rank == 2) {
        H5Sget_simple_extent_dims(space, shape, NULL);
    }
    H5Sclose(space);
    H5Dclose(dataset);
    return (int64_t)shape[0];
}

static enum status check_points(hid_t group, const struct series_setup *setup)
{
    const int64_t count = 3 * setup->npoints;
    if (rows_of(group, "position") != setup->npoints) {
        return fail(STATUS_INPUT, "it holds other points");
    }
    double *points = malloc(((size_t)count + 1) * sizeof *points);
    if (points == NULL) {
        return fail(STATUS_MEMORY, "no memory for the points of a series");
    }
    enum status status = read_all(group, "position", H5T_NATIVE_DOUBLE, count, points);
    if (status == STATUS_OK && memcmp(points, setup->points, (size_t)count * sizeof *points) != 0) {
        status = fail(STATUS_INPUT, "it holds other points");
    }
    free(points);
    return status;
}

/* Names that are too long for their place are cut there. */
static enum status check_names(hid_t group, const struct series_setup *setup)
{
    char *names = calloc((size_t)setup->npoints + 1, SERIES_NAME_BYTES);
    if (names == NULL) {
        return fail(STATUS_MEMORY, "no memory for the names of probes");
    }
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, SERIES_NAME_BYTES);
    enum status status = read_all(group, "name", type, setup->npoints, names);
    for (int64_t p = 0; status == STATUS_OK && p < setup->npoints; p++) {
        if (strncmp(names + p * SERIES_NAME_BYTES, setup->names[p], SERIES_NAME_BYTES - 1) != 0) {
            status = fail(STATUS_INPUT, "it holds the probe %.*s where the configuration has %s",
                          SERIES_NAME_BYTES, names + p * SERIES_NAME_BYTES, setup->names[p]);
        }
    }
    H5Tclose(type);
    free(names);
    return status;
}

/* Rows leave HDF5's memory when their dataset is closed, and nothing else tells when that fails. */
static enum status close_rows(hid_t dataset, const char *name, enum status status)
{
    if (dataset >= 0 && H5Dclose(dataset) < 0 && status == STATUS_OK) {
        return h5_fail("cannot write %s", name);
    }
    return status;
}

static enum status set_rows(hid_t group, const char *name, int64_t rows, int64_t columns)
{
    const hsize_t shape[2] = {(hsize_t)rows, (hsize_t)columns};
    const hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    enum status status = STATUS_OK;
    if (dataset < 0 || H5Dset_extent(dataset, shape) < 0) {
        status = h5_fail("cannot change the length of %s", name);
    }
    return close_rows(dataset, name, status);
}

/* The rows that all three datasets have: a kill may come between them; steps are written last. */
static enum status cut_rows(hid_t group, int64_t restart_step, int64_t *last_step)
{
    const int64_t npoints = rows_of(group, "position");
    const int64_t there = rows_of(group, "step");
    int64_t kept = 0;
    int64_t *steps = malloc((size_t)(there + 1) * sizeof *steps);
    if (steps == NULL) {
        return fail(STATUS_MEMORY, "no memory for the steps of a series");
    }
    enum status status = read_all(group, "step", H5T_NATIVE_INT64, there, steps);
    if (status == STATUS_OK) {
        int64_t whole = rows_of(group, "T");
        whole = rows_of(group, "time_s") < whole ? rows_of(group, "time_s") : whole;
        whole = there < whole ? there : whole;
        while (kept < whole && steps[kept] <= restart_step) {
            *last_step = steps[kept++];
        }
    }
    free(steps);
    TRY(status);
    TRY(set_rows(group, "step", kept, 0));
    TRY(set_rows(group, "time_s", kept, 0));
    return set_rows(group, "T", kept, npoints);
}

static bool group_exists(hid_t file, const struct series_setup *setup)
{
    const bool below = strncmp(setup->group, "/lines/", 7) == 0;
    return (!below || H5Lexists(file, "/lines", H5P_DEFAULT) > 0) &&
           H5Lexists(file, setup->group, H5P_DEFAULT) > 0;
}

static enum status open_group(hid_t file, const struct series_setup *setup, int64_t restart_step,
                              int64_t *last_step)
{
    if (!group_exists(file, setup)) {
        return series_make_group(file, setup);
    }
    const hid_t group = H5Gopen2(file, setup->group, H5P_DEFAULT);
    if (group < 0) {
        return h5_fail("cannot open %s", setup->group);
    }
    enum status status = check_points(group, setup);
    if (status == STATUS_OK) {
        status = cut_rows(group, restart_step, last_step);
    }
    H5Gclose(group);
    return status;
}

/* The values of a list are there, and steps rise; `values` is what was read. */
static enum status check_values(const char *name, const void *values, int64_t count)
{
    const bool are_steps = strcmp(name, "step") == 0;
    const int64_t *steps = values;
    const double *numbers = values;
    bool good = true;
    for (int64_t n = 0; n < count; n++) {
        good = good && (are_steps ? steps[n] > (n > 0 ? steps[n - 1] : -1) : !isnan(numbers[n]));
    }
    return good ? STATUS_OK : fail(STATUS_FILE, "%s has rows that were never written", name);
}

static enum status check_list(hid_t group, const char *name, hid_t type, int64_t count,
                              void *values)
{
    TRY(read_all(group, name, type, count, values));
    return check_values(name, values, count);
}

/* Every list can be read, and they fit together. */
static enum status check_group(hid_t file, const struct series_setup *setup)
{
    const hid_t group = H5Gopen2(file, setup->group, H5P_DEFAULT);
    if (group < 0) {
        return h5_fail("cannot open %s", setup->group);
    }
    enum status status = check_points(group, setup);
    if (status == STATUS_OK && setup->names != NULL) {
        status = check_names(group, setup);
    }
    const int64_t rows = rows_of(group, "step");
    const int64_t values = rows * setup->npoints;
    double *numbers = malloc(((size_t)values + 1) * sizeof *numbers);
    if (numbers == NULL) {
        status = fail(STATUS_MEMORY, "no memory for the rows of a series");
    }
    if (status == STATUS_OK) {
        status = check_list(group, "step", H5T_NATIVE_INT64, rows, numbers);
    }
    if (status == STATUS_OK) {
        status = check_list(group, "time_s", H5T_NATIVE_DOUBLE, rows, numbers);
    }
    if (status == STATUS_OK) {
        status = check_list(group, "T", H5T_NATIVE_DOUBLE, values, numbers);
    }
    free(numbers);
    H5Gclose(group);
    return status;
}

enum status series_file_check(const char *path, const struct series_setup *setup)
{
    hid_t file = H5I_INVALID_HID;
    h5_init();
    if (!file_exists(path)) {
        return STATUS_OK;
    }
    TRY(h5_open_plain(path, false, &file));
    const enum status status = group_exists(file, setup) ? check_group(file, setup) : STATUS_OK;
    h5_close(file);
    return status;
}

static enum status finish(hid_t file, const char *path, enum status status)
{
    if (status != STATUS_OK) {
        h5_close(file);
        return status;
    }
    TRY(h5_close_flushed(file, path));
    return file_sync_named(path);
}

enum status series_file_open(const char *path, const struct series_setup *setup,
                             int64_t restart_step, int64_t *last_step)
{
    hid_t file = H5I_INVALID_HID;
    *last_step = -1;
    h5_init();
    if (!file_exists(path)) {
        TRY(series_make_file(path, setup));
    }
    enum status status = h5_open_plain(path, true, &file);
    if (status == STATUS_OK) {
        status = finish(file, path, open_group(file, setup, restart_step, last_step));
    }
    if (status != STATUS_OK) {
        fail_prefix(status, "the samples of %s cannot go into %s: ", setup->group + 1, path);
    }
    return status;
}

bool series_file_has(const char *path, const struct series_setup *setup)
{
    hid_t file = H5I_INVALID_HID;
    h5_init();
    if (!file_exists(path)) {
        return false;
    }
    if (h5_open_plain(path, false, &file) != STATUS_OK) {
        fail_clear();
        return false;
    }
    const bool has = group_exists(file, setup);
    h5_close(file);
    return has;
}

static enum status cut_named(hid_t parent, const char *name, int64_t step)
{
    int64_t last_step = -1;
    const hid_t group = H5Gopen2(parent, name, H5P_DEFAULT);
    if (group < 0) {
        return h5_fail("cannot open %s", name);
    }
    const enum status status = cut_rows(group, step, &last_step);
    H5Gclose(group);
    return status;
}

static enum status cut_lines(hid_t lines, int64_t step)
{
    H5G_info_t info;
    if (H5Gget_info(lines, &info) < 0) {
        return h5_fail("cannot list /lines");
    }
    for (hsize_t i = 0; i < info.nlinks; i++) {
        char name[256];
        if (H5Lget_name_by_idx(lines, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name,
                               H5P_DEFAULT) < 0) {
            return h5_fail("cannot list /lines");
        }
        TRY(cut_named(lines, name, step));
    }
    return STATUS_OK;
}

static enum status cut_groups(hid_t file, int64_t step)
{
    if (H5Lexists(file, "/probes", H5P_DEFAULT) > 0) {
        TRY(cut_named(file, "/probes", step));
    }
    if (H5Lexists(file, "/lines", H5P_DEFAULT) <= 0) {
        return STATUS_OK;
    }
    const hid_t lines = H5Gopen2(file, "/lines", H5P_DEFAULT);
    if (lines < 0) {
        return h5_fail("cannot open /lines");
    }
    const enum status status = cut_lines(lines, step);
    H5Gclose(lines);
    return status;
}

enum status series_file_cut(const char *path, int64_t step)
{
    hid_t file = H5I_INVALID_HID;
    h5_init();
    if (!file_exists(path)) {
        return STATUS_OK;
    }
    TRY(h5_open_plain(path, true, &file));
    return finish(file, path, cut_groups(file, step));
}

/* Append `count` rows of `columns` values (0: single values) behind `before` rows. */
static enum status append_rows(hid_t group, const char *name, hid_t type, int64_t before,
                               int64_t count, int64_t columns, const void *values)
{
    const int64_t width = columns > 0 ? columns : 1;
    const int rank = columns > 0 ? 2 : 1;
    const hsize_t start[2] = {(hsize_t)before, 0};
    const hsize_t block[2] = {(hsize_t)count, (hsize_t)width};
    TRY(set_rows(group, name, before + count, columns));
    const hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    if (dataset < 0) {
        return h5_fail("cannot open %s", name);
    }
    const hid_t space = H5Dget_space(dataset);
    const hid_t memory = H5Screate_simple(rank, block, NULL);
    enum status status = STATUS_OK;
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, block, NULL) < 0 ||
        H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, values) < 0) {
        status = h5_fail("cannot write %s", name);
    }
    H5Sclose(memory);
    H5Sclose(space);
    return close_rows(dataset, name, status);
}

static enum status append(hid_t group, const struct series_rows *rows)
{
    const int64_t before = rows_of(group, "step");
    TRY(append_rows(group, "T", H5T_NATIVE_DOUBLE, before, rows->count, rows->npoints,
                    rows->values));
    TRY(append_rows(group, "time_s", H5T_NATIVE_DOUBLE, before, rows->count, 0, rows->time));
    return append_rows(group, "step", H5T_NATIVE_INT64, before, rows->count, 0, rows->step);
}

enum status series_file_append(const char *path, const char *group_name,
                               const struct series_rows *rows)
{
    hid_t file = H5I_INVALID_HID;
    TRY(h5_open_plain(path, true, &file));
    const hid_t group = H5Gopen2(file, group_name, H5P_DEFAULT);
    enum status status = group < 0 ? h5_fail("cannot open %s", group_name) : append(group, rows);
    if (group >= 0) {
        H5Gclose(group);
    }
    return finish(file, path, status);
}
