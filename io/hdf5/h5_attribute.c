#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/h5.h"
#include "model/space/grid.h"

static enum status attribute_write(hid_t object, const char *name, hid_t file_type,
                                   hid_t memory_type, int count, const void *values)
{
    if (H5Aexists(object, name) > 0) {
        H5Adelete(object, name);
    }
    const hsize_t length = (hsize_t)count;
    SCOPED_H5 const hid_t space =
        count == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &length, NULL);
    SCOPED_H5 const hid_t attribute =
        H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    return attribute < 0 || H5Awrite(attribute, memory_type, values) < 0
               ? h5_fail("cannot write the attribute %s", name)
               : STATUS_OK;
}

/* `bytes` long; in ASCII or else UTF-8. */
static hid_t string_type(const char *text, size_t bytes, H5T_str_t padding)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, bytes > 0 ? bytes : 1);
    H5Tset_strpad(type, padding);
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c >= 128) {
            H5Tset_cset(type, H5T_CSET_UTF8);
        }
    }
    return type;
}

static enum status string_write(hid_t object, const char *name, const char *value, size_t bytes,
                                H5T_str_t padding)
{
    SCOPED_H5 const hid_t type = string_type(value, bytes, padding);
    return attribute_write(object, name, type, type, 0, value);
}

enum status h5_attribute_string(hid_t object, const char *name, const char *value)
{
    return string_write(object, name, value, strlen(value), H5T_STR_NULLPAD);
}

enum status h5_attribute_label(hid_t object, const char *units, const char *long_name)
{
    TRY(h5_attribute_string(object, "units", units));
    return h5_attribute_string(object, "long_name", long_name);
}

enum status h5_attribute_double(hid_t object, const char *name, const double *values, int count)
{
    return attribute_write(object, name, H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, count, values);
}

enum status h5_attribute_int(hid_t object, const char *name, const int64_t *values, int count)
{
    return attribute_write(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, count, values);
}

static enum status describe_scale(hid_t dataset, const char *name, const char *units,
                                  const char *long_name, bool is_scalar)
{
    static const char class[] = "DIMENSION_SCALE";
    TRY(h5_attribute_label(dataset, units, long_name));
    if (is_scalar) {
        return STATUS_OK;
    }
    /* terminated by zero, as the specification of dimension scales requires */
    TRY(string_write(dataset, "CLASS", class, sizeof class, H5T_STR_NULLTERM));
    return string_write(dataset, "NAME", name, strlen(name) + 1, H5T_STR_NULLTERM);
}

/* A dataset with `count` values, 0: a scalar. The caller closes it. */
static enum status dataset_write(hid_t file, const char *name, hid_t type, int64_t count,
                                 const void *values, hid_t *dataset)
{
    const hsize_t length = (hsize_t)count;
    SCOPED_H5 const hid_t space =
        count == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &length, NULL);
    SCOPED_H5 const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(creation, false);
    *dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    return *dataset < 0 || H5Dwrite(*dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0
               ? h5_fail("cannot write %s", name)
               : STATUS_OK;
}

enum status h5_scale(hid_t file, const char *name, const double *values, int64_t count,
                     const char *units, const char *long_name)
{
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    TRY(dataset_write(file, name, H5T_NATIVE_DOUBLE, count, values, &dataset));
    return describe_scale(dataset, name, units, long_name, count == 0);
}

enum status h5_attach_scales(hid_t file, hid_t dataset, const char *const names[], int count)
{
    hobj_ref_t scale[H5S_MAX_RANK];
    hvl_t lists[H5S_MAX_RANK]; /* a dimension may have several scales */
    for (int d = 0; d < count; d++) {
        lists[d] = (hvl_t){.len = 1, .p = &scale[d]};
        FAIL_IF(H5Rcreate(&scale[d], file, names[d], H5R_OBJECT, -1) < 0,
                h5_fail("cannot refer to %s", names[d]));
    }
    SCOPED_H5 const hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ);
    return attribute_write(dataset, "DIMENSION_LIST", type, type, count, lists);
}

/* `count` 0: a scalar. The caller closes both, on failure too. */
static enum status attribute_open(hid_t object, const char *name, H5T_class_t class, int count,
                                  hid_t *attribute, hid_t *type)
{
    *attribute = H5Aopen(object, name, H5P_DEFAULT);
    FAIL_IF(*attribute < 0, fail(STATUS_FILE, "the attribute %s is missing", name));
    SCOPED_H5 const hid_t space = H5Aget_space(*attribute);
    *type = H5Aget_type(*attribute);
    const bool fits = H5Sget_simple_extent_npoints(space) == (count > 0 ? count : 1) &&
                      H5Tget_class(*type) == class;
    return fits ? STATUS_OK
                : fail(STATUS_FILE, "the attribute %s has another shape or type than expected",
                       name);
}

static enum status attribute_read(hid_t object, const char *name, hid_t memory_type,
                                  H5T_class_t class, int count, void *values)
{
    SCOPED_H5 hid_t attribute = H5I_INVALID_HID;
    SCOPED_H5 hid_t type = H5I_INVALID_HID;
    TRY(attribute_open(object, name, class, count, &attribute, &type));
    return H5Aread(attribute, memory_type, values) < 0
               ? h5_fail("cannot read the attribute %s", name)
               : STATUS_OK;
}

enum status h5_get_double(hid_t object, const char *name, double *values, int count)
{
    return attribute_read(object, name, H5T_NATIVE_DOUBLE, H5T_FLOAT, count, values);
}

enum status h5_get_int(hid_t object, const char *name, int64_t *values, int count)
{
    return attribute_read(object, name, H5T_NATIVE_INT64, H5T_INTEGER, count, values);
}

bool h5_get_corners(hid_t object, double lower[AXIS_COUNT], double upper[AXIS_COUNT])
{
    const bool found = h5_get_double(object, "lower_m", lower, AXIS_COUNT) == STATUS_OK &&
                       h5_get_double(object, "upper_m", upper, AXIS_COUNT) == STATUS_OK;
    fail_clear();
    return found;
}

enum status h5_get_string(hid_t object, const char *name, char *value, size_t bytes)
{
    SCOPED_H5 hid_t attribute = H5I_INVALID_HID;
    SCOPED_H5 hid_t type = H5I_INVALID_HID;
    char *text = NULL; /* of variable length */
    TRY(attribute_open(object, name, H5T_STRING, 0, &attribute, &type));
    const bool variable = H5Tis_variable_str(type) > 0;
    SCOPED_H5 const hid_t memory = H5Tcopy(H5T_C_S1);
    H5Tset_size(memory, variable ? H5T_VARIABLE : bytes);
    H5Tset_cset(memory, H5Tget_cset(type)); /* HDF5 does not convert character sets */
    FAIL_IF(H5Aread(attribute, memory, variable ? (void *)&text : value) < 0,
            h5_fail("cannot read the attribute %s", name));
    if (variable) {
        snprintf(value, bytes, "%s", text != NULL ? text : "");
        H5free_memory(text);
    }
    return STATUS_OK;
}

static enum status hash(hid_t object, const char *name, uint64_t *hash, enum h5_direction direction)
{
    char digits[32] = "";
    if (direction == H5_WRITE) {
        snprintf(digits, sizeof digits, "%016" PRIx64, *hash);
        return h5_attribute_string(object, name, digits);
    }
    TRY(h5_get_string(object, name, digits, sizeof digits));
    return sscanf(digits, "%" SCNx64, hash) == 1
               ? STATUS_OK
               : fail(STATUS_FILE, "its attribute %s \"%s\" is not a hexadecimal number", name,
                      digits);
}

enum status h5_members(hid_t object, const struct h5_member *members, int nmembers, void *all,
                       enum h5_direction direction)
{
    for (const struct h5_member *m = members; m < members + nmembers; m++) {
        const bool real = m->kind == H5_DOUBLE;
        const hid_t type = real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64;
        void *values = (char *)all + m->offset;
        TRY(m->kind == H5_HASH ? hash(object, m->name, values, direction)
            : direction == H5_READ
                ? attribute_read(object, m->name, type, real ? H5T_FLOAT : H5T_INTEGER, m->count,
                                 values)
                : attribute_write(object, m->name, real ? type : H5T_STD_I64LE, type, m->count,
                                  values));
    }
    return STATUS_OK;
}

/* "x_edges_m" */
enum { EDGES_BYTES = 16 };
static const char *edges_name(int axis, char name[EDGES_BYTES])
{
    snprintf(name, EDGES_BYTES, "%s_edges_m", axis_name((enum axis)axis));
    return name;
}

bool h5_has_edges(hid_t object)
{
    char name[EDGES_BYTES];
    bool any = false;
    for (int a = 0; a < AXIS_COUNT; a++) {
        any = any || H5Aexists(object, edges_name(a, name)) > 0;
    }
    return any;
}

enum status h5_read_edges(hid_t object, const int64_t cells[AXIS_COUNT],
                          struct axis_cells graded[AXIS_COUNT])
{
    char name[EDGES_BYTES];
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (graded[a].edges == NULL && H5Aexists(object, edges_name(a, name)) > 0) {
            double *edges = calloc((size_t)cells[a] + 1, sizeof *edges);
            TRY(CHECK_MEMORY(edges != NULL, "no memory for the edges of %" PRId64 " cells",
                             cells[a]));
            graded[a].edges = edges;
            TRY(h5_get_double(object, name, edges, (int)cells[a] + 1));
        }
    }
    return STATUS_OK;
}

void h5_free_edges(struct axis_cells graded[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        free((void *)(uintptr_t)graded[a].edges);
        graded[a].edges = NULL;
    }
}

enum status h5_grid(hid_t object, struct grid *grid, enum h5_direction direction)
{
    static const struct h5_member members[] = {
        {"cells", H5_INT, AXIS_COUNT, offsetof(struct grid, cells)},
        {"lower_m", H5_DOUBLE, AXIS_COUNT, offsetof(struct grid, lower)},
        {"upper_m", H5_DOUBLE, AXIS_COUNT, offsetof(struct grid, upper)}};
    TRY(h5_members(object, members, 3, grid, direction));
    for (int a = 0; a < AXIS_COUNT && direction == H5_WRITE; a++) {
        char name[EDGES_BYTES];
        TRY(grid->graded[a].edges == NULL
                ? STATUS_OK
                : h5_attribute_double(object, edges_name(a, name), grid->graded[a].edges,
                                      (int)grid->cells[a] + 1));
    }
    return direction == H5_READ ? h5_read_edges(object, grid->cells, grid->graded) : STATUS_OK;
}

void h5_grid_free(struct grid *grid)
{
    h5_free_edges(grid->graded);
}

enum status h5_text_dataset(hid_t file, const char *name, const char *text)
{
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    SCOPED_H5 const hid_t type = string_type(text, strlen(text), H5T_STR_NULLPAD);
    return dataset_write(file, name, type, 0, text, &dataset);
}

enum status h5_get_text(hid_t file, const char *name, size_t most, char **text)
{
    *text = NULL;
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    TRY(h5_dataset_open(file, name, &dataset));
    SCOPED_H5 const hid_t type = H5Dget_type(dataset);
    SCOPED_H5 const hid_t space = H5Dget_space(dataset);
    const bool fixed = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0;
    const size_t bytes = fixed ? H5Tget_size(type) : 0;
    FAIL_IF(bytes == 0 || bytes > most || H5Sget_simple_extent_npoints(space) != 1,
            fail(STATUS_FILE, "%s is not a string of at most %zu bytes", name, most));
    *text = calloc(bytes + 1, 1);
    TRY(CHECK_MEMORY(*text != NULL, "no memory to read %s", name));
    return H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *text) < 0
               ? h5_fail("cannot read %s", name)
               : STATUS_OK;
}

enum status h5_get_list(hid_t file, const char *name, hid_t type, size_t bytes, void **values,
                        int64_t *count)
{
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    TRY(h5_dataset_open(file, name, &dataset));
    SCOPED_H5 const hid_t space = H5Dget_space(dataset);
    const hssize_t length = H5Sget_simple_extent_npoints(space);
    *values = length < 0 ? NULL : malloc(((size_t)length + 1) * bytes);
    *count = (int64_t)length;
    TRY(CHECK_MEMORY(*values != NULL, "no memory for %s", name));
    return H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *values) < 0
               ? h5_fail("cannot read %s", name)
               : STATUS_OK;
}
