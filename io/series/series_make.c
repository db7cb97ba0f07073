/* New lists in probes.h5. */
#include "io/series/series_make.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/version.h"

/* What rows hold that were never written, or not wholly taken back: the lengths of a dataset and
 * its values reach the disk one after the other, and something may come between. */
static void fill_with_nothing(hid_t creation, hid_t type)
{
    const int64_t no_step = -1;
    const double no_value = NAN;
    if (H5Tget_class(type) == H5T_INTEGER) {
        H5Pset_fill_value(creation, H5T_NATIVE_INT64, &no_step);
    } else {
        H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &no_value);
    }
}

/* A growing dataset of rows of `columns` values; 0: of single values. */
static enum status make_rows(hid_t group, const char *name, hid_t type, int64_t columns,
                             const char *units, const char *long_name)
{
    enum { CHUNK_VALUES = 1 << 14 };
    const int rank = columns > 0 ? 2 : 1;
    const int64_t width = columns > 0 ? columns : 1;
    const int64_t high = CHUNK_VALUES / width;
    const hsize_t shape[2] = {0, (hsize_t)width};
    const hsize_t largest[2] = {H5S_UNLIMITED, (hsize_t)width};
    const hsize_t chunk[2] = {high < 1 ? 1 : high < 512 ? (hsize_t)high : 512, (hsize_t)width};
    const hid_t space = H5Screate_simple(rank, shape, largest);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, rank, chunk);
    H5Pset_fletcher32(creation);
    fill_with_nothing(creation, type);
    const hid_t dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    enum status status = STATUS_OK;
    if (dataset < 0) {
        status = h5_fail("cannot make the dataset %s", name);
    }
    if (status == STATUS_OK) {
        status = h5_attribute_string(dataset, "units", units);
    }
    if (status == STATUS_OK) {
        status = h5_attribute_string(dataset, "long_name", long_name);
    }
    if (dataset >= 0) {
        H5Dclose(dataset);
    }
    H5Pclose(creation);
    H5Sclose(space);
    return status;
}

static enum status write_positions(hid_t group, const struct series_setup *setup)
{
    const hsize_t shape[2] = {(hsize_t)setup->npoints, 3};
    const hid_t space = H5Screate_simple(2, shape, NULL);
    const hid_t dataset = H5Dcreate2(group, "position", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
                                     H5P_DEFAULT, H5P_DEFAULT);
    enum status status = STATUS_OK;
    if (dataset < 0 ||
        H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, setup->points) < 0) {
        status = h5_fail("cannot write the positions");
    }
    if (status == STATUS_OK) {
        status = h5_attribute_string(dataset, "units", "m");
    }
    if (status == STATUS_OK) {
        status = h5_attribute_string(dataset, "long_name", "x, y, z of the points");
    }
    if (dataset >= 0) {
        H5Dclose(dataset);
    }
    H5Sclose(space);
    return status;
}

/* As text of equal length, which every reader takes. */
static enum status write_names(hid_t group, const struct series_setup *setup)
{
    const hsize_t count = (hsize_t)setup->npoints;
    char *text = calloc((size_t)count, SERIES_NAME_BYTES);
    if (text == NULL) {
        return fail(STATUS_MEMORY, "no memory for the names of probes");
    }
    for (hsize_t p = 0; p < count; p++) {
        snprintf(text + p * SERIES_NAME_BYTES, SERIES_NAME_BYTES, "%s", setup->names[p]);
    }
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, SERIES_NAME_BYTES);
    const hid_t space = H5Screate_simple(1, &count, NULL);
    const hid_t dataset =
        H5Dcreate2(group, "name", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    enum status status = STATUS_OK;
    if (dataset < 0 || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0) {
        status = h5_fail("cannot write the names");
    }
    if (dataset >= 0) {
        H5Dclose(dataset);
    }
    H5Sclose(space);
    H5Tclose(type);
    free(text);
    return status;
}

static enum status fill_group(hid_t group, const struct series_setup *setup)
{
    TRY(make_rows(group, "step", H5T_STD_I64LE, 0, "1", "steps done"));
    TRY(make_rows(group, "time_s", H5T_NATIVE_DOUBLE, 0, "s", "simulated time"));
    TRY(make_rows(group, "T", H5T_NATIVE_DOUBLE, setup->npoints, "K", "temperature"));
    TRY(write_positions(group, setup));
    return setup->names != NULL ? write_names(group, setup) : STATUS_OK;
}

enum status series_make_group(hid_t file, const struct series_setup *setup)
{
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    const hid_t group = H5Gcreate2(file, setup->group, links, H5P_DEFAULT, H5P_DEFAULT);
    enum status status =
        group < 0 ? h5_fail("cannot make the group %s", setup->group) : fill_group(group, setup);
    if (group >= 0) {
        H5Gclose(group);
    }
    H5Pclose(links);
    return status;
}

enum status series_make_file(const char *path, const struct series_setup *setup)
{
    hid_t file = H5I_INVALID_HID;
    TRY(h5_create_memory(0, &file));
    enum status status = h5_attribute_string(file, "title", setup->title);
    if (status == STATUS_OK) {
        status = h5_attribute_string(file, "isotherm_version", ISOTHERM_VERSION);
    }
    if (status == STATUS_OK) {
        status = h5_text_dataset(file, "/configuration", setup->config_text);
    }
    if (status != STATUS_OK) {
        h5_close(file);
        return status;
    }
    return h5_save_memory(file, path);
}
