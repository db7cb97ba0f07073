#include "io/snapshot/snapshot_index.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/version.h"
#include "io/hdf5/step_files.h"

enum status snapshot_file_path(const struct snapshot_series *series, int64_t step,
                               const char *suffix, char path[PATH_BYTES])
{
    char whole[PATH_BYTES];
    TRY(step_file_path(series->folder, step, whole));
    return path_print(path, PATH_BYTES, "%s%s", whole, suffix);
}

enum status snapshot_list_add(struct snapshot_list *list, int64_t step, double time)
{
    const size_t count = (size_t)list->count + 1;
    int64_t *steps = realloc(list->steps, count * sizeof *steps);
    list->steps = steps != NULL ? steps : list->steps;
    double *times = realloc(list->times, count * sizeof *times);
    list->times = times != NULL ? times : list->times;
    TRY(CHECK_MEMORY(steps != NULL && times != NULL, "no memory for the list of snapshots"));
    steps[list->count] = step;
    times[list->count] = time;
    list->count++;
    return STATUS_OK;
}

void snapshot_list_free(struct snapshot_list *list)
{
    free(list->steps);
    free(list->times);
    memset(list, 0, sizeof *list);
}

#define OFFSETS "/VTKHDF/Steps/CellDataOffsets/"

static const char *const coordinates[AXIS_COUNT] = {"XCoordinates", "YCoordinates", "ZCoordinates"};

/* VTK reads it from 9.7 on; xdmf.c refers to the coordinates. */
static enum status write_rectilinear(hid_t group, const struct grid *grid)
{
    static const int64_t version[2] = {2, 7};
    int64_t points[AXIS_COUNT];
    double shown[AXIS_COUNT];
    grid_shown_spacing(grid, shown);
    for (int a = 0; a < AXIS_COUNT; a++) {
        SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
        points[a] = grid->cells[a] + 1;
        SCOPED_FREE double *edges = malloc((size_t)points[a] * sizeof *edges);
        TRY(CHECK_MEMORY(edges != NULL, "no memory for coordinates"));
        for (int64_t i = 0; i < points[a]; i++) {
            edges[i] = grid->used[a] ? grid_edge(grid, (enum axis)a, i)
                                     : grid->lower[a] + (double)i * shown[a];
        }
        TRY(h5_scale(group, coordinates[a], edges, points[a], "m", coordinates[a]));
    }
    TRY(h5_attribute_int(group, "Version", version, 2));
    TRY(h5_attribute_string(group, "Type", "RectilinearGrid"));
    return h5_attribute_int(group, "Dimensions", points, AXIS_COUNT);
}

/* Points are the corners of cells: 0..n for n cells, also for n = 1. */
static enum status write_geometry(hid_t group, const struct grid *grid)
{
    static const int64_t version[2] = {2, 0};
    static const double direction[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const int64_t extent[6] = {0, grid->cells[AXIS_X], 0, grid->cells[AXIS_Y],
                               0, grid->cells[AXIS_Z]};
    double spacing[AXIS_COUNT];
    if (grid_is_graded(grid)) {
        return write_rectilinear(group, grid);
    }
    grid_shown_spacing(grid, spacing);
    TRY(h5_attribute_int(group, "Version", version, 2));
    TRY(h5_attribute_string(group, "Type", "ImageData"));
    TRY(h5_attribute_int(group, "WholeExtent", extent, 6));
    TRY(h5_attribute_double(group, "Origin", grid->lower, AXIS_COUNT));
    TRY(h5_attribute_double(group, "Spacing", spacing, AXIS_COUNT));
    return h5_attribute_double(group, "Direction", direction, 9);
}

/* Tracking the order selects the newer form of groups, half the size with many links. */
static enum status make_group(hid_t file, const char *name)
{
    SCOPED_H5 const hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED);
    SCOPED_H5 const hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, creation, H5P_DEFAULT);
    return group < 0 ? h5_fail("cannot create the group %s", name) : STATUS_OK;
}

const struct derived_label *snapshot_content(unsigned derived, int number)
{
    if (number == 0) {
        return derived_field_label();
    }
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        number -= derived_wants(derived, kind) ? 1 : 0;
        if (number == 0) {
            return derived_label((enum derived_kind)kind);
        }
    }
    return NULL;
}

/* Block t of the virtual dataset is /fields/NAME/t; HDF5 determines their number by looking for the
 * first missing one. Not /snap/t/NAME: HDF5 2.0 fails where the group is missing as well. Blocks
 * that cannot be opened later read as NaN, not as 0 K. */
static enum status make_virtual_dataset(hid_t file, const struct grid *grid,
                                        enum precision precision, const struct derived_label *label)
{
    static const double nothing = NAN;
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
    char source_name[SNAPSHOT_NAME_BYTES];
    char name[SNAPSHOT_NAME_BYTES];
    snprintf(source_name, sizeof source_name, "/fields/%s/%%b", label->name);
    snprintf(name, sizeof name, "/VTKHDF/CellData/%s", label->name);
    SCOPED_H5 const hid_t source = H5Screate_simple(3, source_shape, NULL);
    SCOPED_H5 const hid_t space = H5Screate_simple(4, shape, largest);
    SCOPED_H5 const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block) >= 0 &&
        H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &nothing) >= 0 &&
        H5Pset_virtual(creation, space, ".", source_name, source) >= 0) {
        dataset =
            H5Dcreate2(file, name, h5_type(precision), space, H5P_DEFAULT, creation, H5P_DEFAULT);
    }
    return dataset < 0 ? h5_fail("cannot create the virtual dataset %s", name)
                       : h5_attribute_label(dataset, label->units, label->long_name);
}

/* Create an empty dataset, chunked to have checksums. */
static enum status make_list(hid_t file, const char *name, hid_t type)
{
    const hsize_t length = 0;
    const hsize_t unlimited = H5S_UNLIMITED;
    const hsize_t chunk = 512;
    SCOPED_H5 const hid_t space = H5Screate_simple(1, &length, &unlimited);
    SCOPED_H5 const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &chunk);
    H5Pset_fletcher32(creation);
    SCOPED_H5 const hid_t dataset =
        H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    return dataset < 0 ? h5_fail("cannot create the dataset %s", name) : STATUS_OK;
}

/* The cells that viewers leave out, the same in all snapshots. */
static enum status make_ghosts(hid_t file, const struct snapshot_series *series)
{
    const int64_t *n = series->grid.cells;
    const hsize_t shape[4] = {1, (hsize_t)n[AXIS_Z], (hsize_t)n[AXIS_Y], (hsize_t)n[AXIS_X]};
    char target[SNAPSHOT_NAME_BYTES];
    snprintf(target, sizeof target, "%.150s/" STEP_FILES_GAPS, series->name);
    SCOPED_H5 const hid_t source = H5Screate_simple(AXIS_COUNT, shape + 1, NULL);
    SCOPED_H5 const hid_t space = H5Screate_simple(4, shape, NULL);
    SCOPED_H5 const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    if (H5Lcreate_external(target, "/" SNAPSHOT_GHOSTS, file, "/outside", H5P_DEFAULT,
                           H5P_DEFAULT) >= 0 &&
        H5Pset_virtual(creation, space, ".", "/outside", source) >= 0) {
        dataset = H5Dcreate2(file, "/VTKHDF/CellData/" SNAPSHOT_GHOSTS, H5T_NATIVE_UINT8, space,
                             H5P_DEFAULT, creation, H5P_DEFAULT);
    }
    return dataset < 0 ? h5_fail("cannot create the virtual dataset " SNAPSHOT_GHOSTS)
                       : make_list(file, OFFSETS SNAPSHOT_GHOSTS, H5T_STD_I64LE);
}

/* Set the elements from `first` on, which become the last ones. */
static enum status extend_list(hid_t file, const char *name, hid_t type, int64_t first,
                               int64_t count, const void *values)
{
    const hsize_t begin = (hsize_t)first;
    const hsize_t added = (hsize_t)count;
    const hsize_t length = begin + added;
    SCOPED_H5 const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    SCOPED_H5 const hid_t memory = H5Screate_simple(1, &added, NULL);
    SCOPED_H5 hid_t space = H5I_INVALID_HID;
    const bool failed =
        dataset < 0 || H5Dset_extent(dataset, &length) < 0 || (space = H5Dget_space(dataset)) < 0 ||
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, NULL, &added, NULL) < 0 ||
        H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, values) < 0;
    return failed ? h5_fail("cannot extend the list %s", name) : STATUS_OK;
}

static enum status make_fields(hid_t file, const struct snapshot_series *series,
                               enum precision precision)
{
    const struct derived_label *label = NULL;
    for (int n = 0; (label = snapshot_content(series->derived, n)) != NULL; n++) {
        char name[SNAPSHOT_NAME_BYTES];
        snprintf(name, sizeof name, "/fields/%s", label->name);
        TRY(make_group(file, name));
        snprintf(name, sizeof name, OFFSETS "%s", label->name);
        TRY(make_list(file, name, H5T_STD_I64LE));
        TRY(make_virtual_dataset(file, &series->grid, precision, label));
    }
    return STATUS_OK;
}

enum status snapshot_write_root(hid_t file, const struct snapshot_series *series)
{
    static const int64_t format = SNAPSHOT_FORMAT;
    struct grid grid = series->grid;
    TRY(h5_attribute_string(file, "title", series->title));
    TRY(h5_attribute_string(file, "isotherm_version", ISOTHERM_VERSION));
    TRY(h5_attribute_int(file, "format", &format, 0));
    TRY(h5_grid(file, &grid, H5_WRITE));
    return h5_text_dataset(file, "/configuration", series->config_text);
}

/* Create the file without snapshots. */
static enum status make_structure(hid_t file, const struct snapshot_series *series,
                                  enum precision precision)
{
    TRY(snapshot_write_root(file, series));
    TRY(make_list(file, "/steps", H5T_NATIVE_INT64));
    TRY(make_group(file, "/snap"));
    TRY(make_group(file, "/fields"));
    TRY(make_group(file, "/VTKHDF"));
    TRY(make_group(file, "/VTKHDF/CellData"));
    TRY(make_group(file, "/VTKHDF/Steps"));
    TRY(make_group(file, "/VTKHDF/Steps/CellDataOffsets"));
    TRY(make_list(file, "/VTKHDF/Steps/Values", H5T_NATIVE_DOUBLE));
    TRY(make_fields(file, series, precision));
    TRY(series->has_gaps ? make_ghosts(file, series) : STATUS_OK);
    SCOPED_H5 const hid_t group = H5Gopen2(file, "/VTKHDF", H5P_DEFAULT);
    FAIL_IF(group < 0, h5_fail("cannot open /VTKHDF"));
    return write_geometry(group, &series->grid);
}

/* The links of snapshot i: its file and its fields. */
static enum status add_links(hid_t file, const struct snapshot_series *series, int64_t step,
                             int64_t i)
{
    const struct derived_label *label = NULL;
    char name[SNAPSHOT_NAME_BYTES];
    char target[SNAPSHOT_NAME_BYTES];
    snprintf(name, sizeof name, "/snap/%" PRId64, i);
    snapshot_relative_path(series, step, target);
    FAIL_IF(H5Lcreate_external(target, "/", file, name, H5P_DEFAULT, H5P_DEFAULT) < 0,
            h5_fail("cannot create the link %s", name));
    for (int n = 0; (label = snapshot_content(series->derived, n)) != NULL; n++) {
        snprintf(name, sizeof name, "/fields/%s/%" PRId64, label->name, i);
        snprintf(target, sizeof target, "/snap/%" PRId64 "/%s", i, label->name);
        FAIL_IF(H5Lcreate_soft(target, file, name, H5P_DEFAULT, H5P_DEFAULT) < 0,
                h5_fail("cannot create the link %s", name));
    }
    return STATUS_OK;
}

/* Time steps of VTKHDF from `first` on: their times, and the snapshots that they show. */
static enum status add_time_steps(hid_t file, const struct snapshot_series *series, int64_t first,
                                  int64_t count, const double *times, const int64_t *shown)
{
    const struct derived_label *label = NULL;
    SCOPED_FREE int64_t *zeros = calloc((size_t)count, sizeof *zeros);
    TRY(CHECK_MEMORY(zeros != NULL, "no memory for the list of snapshots"));
    TRY(extend_list(file, "/VTKHDF/Steps/Values", H5T_NATIVE_DOUBLE, first, count, times));
    for (int n = 0; (label = snapshot_content(series->derived, n)) != NULL; n++) {
        char name[SNAPSHOT_NAME_BYTES];
        snprintf(name, sizeof name, OFFSETS "%s", label->name);
        TRY(extend_list(file, name, H5T_NATIVE_INT64, first, count, shown));
    }
    return !series->has_gaps
               ? STATUS_OK
               : extend_list(file, OFFSETS SNAPSHOT_GHOSTS, H5T_NATIVE_INT64, first, count, zeros);
}

static enum status set_step_count(hid_t file, int64_t count)
{
    SCOPED_H5 const hid_t group = H5Gopen2(file, "/VTKHDF/Steps", H5P_DEFAULT);
    FAIL_IF(group < 0, h5_fail("cannot open /VTKHDF/Steps"));
    return h5_attribute_int(group, "NSteps", &count, 0);
}

/* A single snapshot is entered twice: VTK's reader rejects the 4D array of a single step, and
 * readers abort where Values is longer than NSteps. */
static enum status add_lists(hid_t file, const struct snapshot_series *series,
                             const struct snapshot_list *list, int64_t first,
                             const int64_t *indices)
{
    const int64_t count = list->count - first;
    TRY(extend_list(file, "/steps", H5T_NATIVE_INT64, first, count, list->steps + first));
    TRY(add_time_steps(file, series, first, count, list->times + first, indices));
    if (list->count == 1) {
        TRY(add_time_steps(file, series, 1, 1, list->times, indices));
    }
    return set_step_count(file, list->count == 1 ? 2 : list->count);
}

static enum status add_snapshots(hid_t file, const struct snapshot_series *series,
                                 const struct snapshot_list *list, int64_t first)
{
    SCOPED_FREE int64_t *indices = malloc((size_t)(list->count - first) * sizeof *indices);
    TRY(CHECK_MEMORY(indices != NULL, "no memory for the list of snapshots"));
    for (int64_t i = first; i < list->count; i++) {
        indices[i - first] = i;
        TRY(add_links(file, series, list->steps[i], i));
    }
    return add_lists(file, series, list, first, indices);
}

enum status snapshot_index_write(const struct snapshot_series *series,
                                 const struct snapshot_list *list, struct snapshot_index *index)
{
    if (index->file == 0) {
        TRY(h5_create_memory(0, &index->file));
        TRY(make_structure(index->file, series, list->precision));
    }
    if (list->count > index->count) {
        TRY(add_snapshots(index->file, series, list, index->count));
        index->count = list->count;
    }
    return h5_copy_memory(index->file, series->path);
}
