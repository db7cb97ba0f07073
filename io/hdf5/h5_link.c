#include "io/hdf5/h5.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status h5_place_set(const char *path, const char *name, struct h5_place *place)
{
    memset(place, 0, sizeof *place);
    TRY(path_print(place->path, sizeof place->path, "%s", path));
    return path_print(place->name, sizeof place->name, "%s", name);
}

static enum status beside(const char *file, const char *target, char path[PATH_BYTES])
{
    const char *slash = target[0] == '/' ? NULL : strrchr(file, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - file) + 1;
    return path_print(path, PATH_BYTES, "%.*s%s", folder, file, target);
}

/* Next to the file or, where that is a symbolic link, next to the file that it points to. */
static enum status find_target(const char *file, const char *target, char path[PATH_BYTES])
{
    TRY(beside(file, target, path));
    SCOPED_FREE char *real = file_exists(path) ? NULL : realpath(file, NULL);
    if (real == NULL) {
        return STATUS_OK; /* a missing file is reported when it is opened */
    }
    char other[PATH_BYTES];
    const enum status status = beside(real, target, other);
    if (status == STATUS_OK && file_exists(other)) {
        memcpy(path, other, strlen(other) + 1);
    }
    return status;
}

enum status h5_find_snapshot(hid_t file, struct h5_place *place)
{
    int64_t number = 0;
    int used = 0;
    char link[64];
    char value[PATH_BYTES];
    char name[H5_NAME_BYTES];
    char path[PATH_BYTES];
    unsigned flags = 0;
    const char *target = NULL;
    const char *object = NULL;
    H5L_info_t info;
    const char *given = place->name + strspn(place->name, "/");
    if (sscanf(given, "snap/%" SCNd64 "%n", &number, &used) != 1 ||
        (given[used] != '/' && given[used] != '\0')) {
        return STATUS_OK;
    }
    snprintf(link, sizeof link, "/snap/%" PRId64, number);
    if (H5Lexists(file, "/snap", H5P_DEFAULT) <= 0 || H5Lexists(file, link, H5P_DEFAULT) <= 0) {
        return STATUS_OK;
    }
    FAIL_IF(H5Lget_info(file, link, &info, H5P_DEFAULT) < 0,
            h5_fail("cannot read the link %s of %s", link, place->path));
    if (info.type != H5L_TYPE_EXTERNAL) {
        return STATUS_OK;
    }
    FAIL_IF(info.u.val_size > sizeof value ||
                H5Lget_val(file, link, value, sizeof value, H5P_DEFAULT) < 0 ||
                H5Lunpack_elink_val(value, info.u.val_size, &flags, &target, &object) < 0,
            h5_fail("cannot read the link %s of %s", link, place->path));
    TRY(find_target(place->path, target, path));
    TRY(path_print(name, sizeof name, "%s%s", object + strspn(object, "/"), given + used));
    return h5_place_set(path, name, place);
}

/* HDF5 calls it before it follows a link into another file. */
static herr_t refuse_link(const char *file, const char *group, const char *target,
                          const char *object, unsigned *flags, hid_t access, void *refused)
{
    (void)file, (void)group, (void)flags, (void)access;
    struct h5_place *place = refused;
    snprintf(place->path, sizeof place->path, "%s", target);
    snprintf(place->name, sizeof place->name, "%s", object);
    return -1;
}

static enum status fail_elsewhere(const struct h5_place *place, const char *what,
                                  const struct h5_place *target)
{
    char path[PATH_BYTES];
    TRY(find_target(place->path, target->path, path));
    return fail(STATUS_INPUT, "%s of %s is %s %s of %s: name that file and dataset", place->name,
                place->path, what, target->name, path);
}

/* HDF5 looks for such values by itself, and returns constants where it finds none. */
static enum status check_own_values(hid_t dataset, const struct h5_place *place)
{
    struct h5_place source = {.path = ""};
    SCOPED_H5 const hid_t creation = H5Dget_create_plist(dataset);
    const bool is_virtual = H5Pget_layout(creation) == H5D_VIRTUAL;
    const bool is_raw = H5Pget_external_count(creation) > 0;
    if (is_virtual) {
        H5Pget_virtual_filename(creation, 0, source.path, sizeof source.path);
        H5Pget_virtual_dsetname(creation, 0, source.name, sizeof source.name);
    }
    if (strcmp(source.path, ".") == 0) {
        snprintf(source.path, sizeof source.path, "%s", place->path);
        return fail(STATUS_INPUT,
                    "%s of %s is a virtual dataset, whose values are in %s of the same file: name "
                    "that dataset",
                    place->name, place->path, source.name);
    }
    FAIL_IF(is_virtual, fail_elsewhere(place, "a virtual dataset, whose values are in", &source));
    return is_raw
               ? fail(STATUS_INPUT, "the values of %s of %s are in another file; copy the dataset",
                      place->name, place->path)
               : STATUS_OK;
}

enum status h5_open_dataset(hid_t file, const struct h5_place *place, hid_t *dataset)
{
    struct h5_place target = {.path = ""};
    SCOPED_H5 const hid_t access = H5Pcreate(H5P_LINK_ACCESS);
    H5Pset_elink_cb(access, refuse_link, &target);
    const hid_t object = H5Oopen(file, place->name, access);
    enum status status = STATUS_OK;
    if (target.path[0] != '\0') {
        status = fail_elsewhere(place, "a link to", &target);
    } else if (object < 0) {
        status = h5_fail("cannot open the dataset %s of %s", place->name, place->path);
    } else if (H5Iget_type(object) != H5I_DATASET) {
        status = fail(STATUS_INPUT, "%s of %s is not a dataset", place->name, place->path);
    } else {
        status = check_own_values(object, place);
    }
    if (status == STATUS_OK) {
        *dataset = object;
    } else if (object >= 0) {
        H5Oclose(object);
    }
    return status;
}

enum status h5_open_place(struct h5_place *place, hid_t *file, hid_t *dataset)
{
    SCOPED_H5_FILE hid_t opened = H5I_INVALID_HID;
    char listed[PATH_BYTES];
    memcpy(listed, place->path, sizeof listed);
    TRY(h5_open_plain(place->path, false, &opened));
    TRY(h5_find_snapshot(opened, place));
    if (strcmp(listed, place->path) != 0) {
        h5_close(opened);
        opened = H5I_INVALID_HID;
        TRY(h5_open_plain(place->path, false, &opened));
    }
    TRY(h5_open_dataset(opened, place, dataset));
    H5Iget_name(*dataset, place->name, sizeof place->name); /* "/a/b" for "a//./b/" */
    *file = opened;
    opened = H5I_INVALID_HID;
    return STATUS_OK;
}
