/* `initial: file`: the temperature from any HDF5 file. Every rank opens it through the plain
 * driver, which supports all filters. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "io/checkpoint/checkpoint.h"
#include "io/hdf5/h5_field.h"
#include "io/hdf5/h5_link.h"
#include "io/raw/h5_raw.h"

static const double LIMIT_K = 1e12; /* within the range of exact sums */

static void shape_text(const hsize_t *shape, int rank, char *text, size_t bytes)
{
    size_t used = 0;
    used += (size_t)snprintf(text, bytes, "(");
    for (int d = 0; d < rank && used < bytes; d++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s%llu", d > 0 ? ", " : "",
                                 (unsigned long long)shape[d]);
    }
    if (used < bytes) {
        snprintf(text + used, bytes - used, ")");
    }
}

/* The last axes must be the grid's; axes that the dataset lacks must have one cell. */
static bool shape_fits(const hsize_t *shape, int rank, const int64_t cells[AXIS_COUNT])
{
    if (rank < 1 || rank > AXIS_COUNT) {
        return false;
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int64_t n = a < rank ? (int64_t)shape[rank - 1 - a] : 1;
        if (n != cells[a]) {
            return false;
        }
    }
    return true;
}

static enum status check_shape(hid_t dataset, const char *path, const char *name,
                               const struct grid *grid)
{
    hsize_t shape[H5S_MAX_RANK];
    const hid_t space = H5Dget_space(dataset);
    const int rank = H5Sget_simple_extent_dims(space, shape, NULL);
    H5Sclose(space);
    if (shape_fits(shape, rank, grid->cells)) {
        return STATUS_OK;
    }
    char found[256];
    shape_text(shape, rank < 0 ? 0 : rank, found, sizeof found);
    return fail(STATUS_INPUT,
                "the dataset %s of %s has the shape %s; the grid needs (nz, ny, nx) = (%" PRId64
                ", %" PRId64 ", %" PRId64 ")",
                name, path, found, grid->cells[AXIS_Z], grid->cells[AXIS_Y], grid->cells[AXIS_X]);
}

static enum status check_type(hid_t dataset, const char *path, const char *name)
{
    const hid_t type = H5Dget_type(dataset);
    const H5T_class_t class = H5Tget_class(type);
    H5Tclose(type);
    if (class == H5T_FLOAT || class == H5T_INTEGER) {
        return STATUS_OK;
    }
    return fail(STATUS_INPUT, "the dataset %s of %s does not hold numbers", name, path);
}

static enum status check_values(const struct box *global, enum precision precision,
                                const void *values, const char *path, const char *name)
{
    const int64_t nx = box_extent(global, AXIS_X);
    const int64_t ny = box_extent(global, AXIS_Y);
    const int64_t cells = box_cells(global);
    for (int64_t c = 0; c < cells; c++) {
        const double value = precision == PRECISION_FLOAT64 ? ((const double *)values)[c]
                                                            : (double)((const float *)values)[c];
        if (!(fabs(value) < LIMIT_K)) {
            return fail(STATUS_INPUT,
                        "the dataset %s of %s holds %g at [z][y][x] = [%" PRId64 "][%" PRId64
                        "][%" PRId64 "]; temperatures must be numbers below 1e12 K",
                        name, path, value, global->lo[AXIS_Z] + c / (nx * ny),
                        global->lo[AXIS_Y] + c / nx % ny, global->lo[AXIS_X] + c % nx);
        }
    }
    return STATUS_OK;
}

static enum status read_pieces(hid_t dataset, const char *path, const char *name,
                               struct field *field, const struct pieces *pieces)
{
    const enum precision precision = field->layout.precision;
    void *values = malloc((size_t)pieces->piece_cells * precision_bytes(precision));
    enum status status = STATUS_OK;
    TRY(CHECK_MEMORY(values != NULL, "no memory to read %s", path));
    for (int64_t p = 0; p < pieces->count; p++) {
        const struct box local = pieces_box(pieces, p);
        const struct box global = box_shift(&local, field->placement.offset);
        if (box_is_empty(&local)) {
            continue;
        }
        TRY_GOTO(fail_prefix(h5_read_box(dataset, &global, precision, false, values),
                             "the dataset %s of %s: ", name, path));
        TRY_GOTO(check_values(&global, precision, values, path, name));
        TRY_GOTO(field_write(field, &local, values));
    }
done:
    free(values);
    return status;
}

/* The attribute's string, truncated to fit; "" without one. Of fixed or of variable length. */
static void read_units(hid_t dataset, char *units, size_t bytes)
{
    units[0] = '\0';
    if (H5Aexists(dataset, "units") <= 0) {
        return;
    }
    const hid_t attribute = H5Aopen(dataset, "units", H5P_DEFAULT);
    const hid_t type = H5Aget_type(attribute);
    const bool variable = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
    char *text = NULL;
    if (variable && H5Aread(attribute, type, (void *)&text) >= 0 && text != NULL) {
        snprintf(units, bytes, "%s", text);
        H5free_memory(text);
    }
    H5Tclose(type);
    H5Aclose(attribute);
    if (!variable && h5_get_string(dataset, "units", units, bytes) != STATUS_OK) {
        fail_clear(); /* not a string */
        units[0] = '\0';
    }
}

/* So that a flux, a time or degrees Celsius are not read as kelvins. The names are UDUNITS'. */
static enum status check_units(hid_t dataset, const char *path, const char *name)
{
    static const char *const kelvins[] = {"",     "K",       "kelvin",   "kelvins",       "Kelvin",
                                          "degK", "degreeK", "degree_K", "degree_Kelvin", "deg_K"};
    char units[64];
    read_units(dataset, units, sizeof units);
    for (size_t i = 0; i < sizeof kelvins / sizeof kelvins[0]; i++) {
        if (strcmp(units, kelvins[i]) == 0) {
            return STATUS_OK;
        }
    }
    return fail(STATUS_INPUT,
                "the dataset %s of %s has the units \"%s\"; temperatures in K are needed", name,
                path, units);
}

static enum status check_dataset(hid_t dataset, const char *path, const char *name,
                                 const struct grid *grid)
{
    TRY(check_type(dataset, path, name));
    TRY(check_shape(dataset, path, name, grid));
    return check_units(dataset, path, name);
}

static enum status read_mine(struct h5_place *place, struct field *field,
                             const struct pieces *pieces)
{
    hid_t file = H5I_INVALID_HID;
    hid_t dataset = H5I_INVALID_HID;
    TRY(h5_open_place(place, &file, &dataset));
    const enum status status = read_pieces(dataset, place->path, place->name, field, pieces);
    h5_close(file);
    return status;
}

/* Find the dataset and check that it fits. */
static enum status find(const char *path, const char *name, const struct grid *grid,
                        struct h5_place *place)
{
    hid_t file = H5I_INVALID_HID;
    hid_t dataset = H5I_INVALID_HID;
    TRY(h5_place_set(path, name, place));
    TRY(h5_open_place(place, &file, &dataset));
    const enum status status = check_dataset(dataset, place->path, place->name, grid);
    h5_close(file);
    return status;
}

enum status field_file_check(const char *path, const char *dataset, const struct grid *grid)
{
    struct h5_place place;
    h5_init();
    return find(path, dataset, grid, &place);
}

enum status field_file_read(MPI_Comm comm, const char *path, const char *dataset,
                            struct field *field, const struct grid *grid)
{
    struct h5_place place;
    struct pieces pieces;
    const int64_t limit = H5_FIELD_PIECE_BYTES / (int64_t)precision_bytes(field->layout.precision);
    h5_init();
    const bool first = comm_rank(comm) == 0;
    TRY(status_agree(comm, first ? find(path, dataset, grid, &place) : STATUS_OK));
    TRY_MPI(MPI_Bcast(&place, (int)sizeof place, MPI_BYTE, 0, comm));
    TRY(h5_raw_check(comm, place.path, place.name));
    TRY(pieces_create(comm, field->layout.cells, limit, &pieces));
    return status_agree(comm, read_mine(&place, field, &pieces));
}

enum status field_file_read_box(const char *path, const char *dataset, const struct grid *grid,
                                const struct box *box, float *values)
{
    struct h5_place place;
    hid_t file = H5I_INVALID_HID;
    hid_t opened = H5I_INVALID_HID;
    h5_init();
    TRY(h5_place_set(path, dataset, &place));
    TRY(h5_open_place(&place, &file, &opened));
    enum status status;
    TRY_GOTO(check_type(opened, place.path, place.name));
    TRY_GOTO(check_shape(opened, place.path, place.name, grid));
    status = fail_prefix(h5_read_box(opened, box, PRECISION_FLOAT32, false, values),
                         "the dataset %s of %s: ", place.name, place.path);
done:
    h5_close(file);
    return status;
}
