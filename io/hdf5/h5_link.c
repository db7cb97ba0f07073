#include "io/hdf5/h5_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINKS = 32 }; /* more are a circle */

/* ---- names ------------------------------------------------------------------------------------
 */

static enum status keep(char *to, size_t bytes, const char *text)
{
    if (snprintf(to, bytes, "%s", text) >= (int)bytes) {
        return fail(STATUS_INPUT, "the name %.60s... is too long", text);
    }
    return STATUS_OK;
}

enum status h5_place_set(const char *path, const char *name, struct h5_place *place)
{
    memset(place, 0, sizeof *place);
    TRY(keep(place->path, sizeof place->path, path));
    return keep(place->name, sizeof place->name, name);
}

/* The next part of *rest goes to the end of `name`, "/part"; *more false when there is none. */
static enum status take_part(const char **rest, char name[H5_NAME_BYTES], bool *more)
{
    const char *part = *rest;
    size_t length = 0;
    do {
        part += length;
        part += strspn(part, "/");
        length = strcspn(part, "/");
    } while (length == 1 && part[0] == '.');
    *rest = part + length;
    *more = length > 0;
    const size_t used = strlen(name);
    if (*more && used + length + 2 > H5_NAME_BYTES) {
        return fail(STATUS_INPUT, "the name %.60s... is too long", name);
    }
    if (*more) {
        snprintf(name + used, H5_NAME_BYTES - used, "/%.*s", (int)length, part);
    }
    return STATUS_OK;
}

/* What a link stands for, and what came behind it. */
static enum status put_before(const char *target, const char *rest, char name[H5_NAME_BYTES])
{
    char joined[H5_NAME_BYTES];
    if (snprintf(joined, sizeof joined, "%s/%s", target, rest) >= (int)sizeof joined) {
        return fail(STATUS_INPUT, "the name %.60s... is too long", target);
    }
    memcpy(name, joined, strlen(joined) + 1);
    return STATUS_OK;
}

/* ---- links ------------------------------------------------------------------------------------
 */

static enum status beside(const char *file, const char *target, char path[PATH_BYTES])
{
    const char *slash = target[0] == '/' ? NULL : strrchr(file, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - file) + 1;
    if (snprintf(path, PATH_BYTES, "%.*s%s", folder, file, target) >= PATH_BYTES) {
        return fail(STATUS_INPUT, "the path of %.60s... is too long", target);
    }
    return STATUS_OK;
}

static enum status find_target(const char *file, const char *target, char path[PATH_BYTES])
{
    TRY(beside(file, target, path));
    char *real = file_exists(path) ? NULL : realpath(file, NULL);
    if (real == NULL) {
        return STATUS_OK; /* or it is missing: its reader will say so */
    }
    char other[PATH_BYTES];
    const enum status status = beside(real, target, other);
    free(real);
    if (status == STATUS_OK && file_exists(other)) {
        memcpy(path, other, strlen(other) + 1);
    }
    return status;
}

static enum status follow_external(const char *value, size_t bytes, const char *rest,
                                   struct h5_place *place)
{
    unsigned flags = 0;
    const char *target = NULL;
    const char *object = NULL;
    char path[PATH_BYTES];
    if (H5Lunpack_elink_val(value, bytes, &flags, &target, &object) < 0) {
        return h5_fail("cannot read a link of %s", place->path);
    }
    TRY(find_target(place->path, target, path));
    TRY(put_before(object, rest, place->name));
    memcpy(place->path, path, strlen(path) + 1);
    return STATUS_OK;
}

/* The last part of `name`, a link within the file, gives way to what it stands for. */
static enum status follow_soft(const char *value, const char *rest, const char *name,
                               struct h5_place *place)
{
    char target[H5_NAME_BYTES];
    const int group = value[0] == '/' ? 0 : (int)(strrchr(name, '/') - name);
    if (snprintf(target, sizeof target, "%.*s/%s", group, name, value) >= (int)sizeof target) {
        return fail(STATUS_INPUT, "the name %.60s... is too long", value);
    }
    return put_before(target, rest, place->name);
}

static enum status follow_link(hid_t file, const char *name, const H5L_info_t *link,
                               const char *rest, struct h5_place *place)
{
    const size_t bytes = link->u.val_size;
    char *value = calloc(bytes + 1, 1); /* what is damaged may have no end */
    enum status status = STATUS_OK;
    if (value == NULL) {
        return fail(STATUS_MEMORY, "no memory for a link of %s", place->path);
    }
    if (H5Lget_val(file, name, value, bytes, H5P_DEFAULT) < 0) {
        status = h5_fail("cannot read the link %s of %s", name, place->path);
    } else if (link->type == H5L_TYPE_EXTERNAL) {
        status = follow_external(value, bytes, rest, place);
    } else {
        status = follow_soft(value, rest, name, place);
    }
    free(value);
    return status;
}

/* To the first link of place->name: *type is hard when it has none, or is not there. */
static enum status walk(hid_t file, struct h5_place *place, H5L_type_t *type)
{
    char name[H5_NAME_BYTES] = "";
    const char *rest = place->name;
    bool more = false;
    *type = H5L_TYPE_HARD;
    TRY(take_part(&rest, name, &more));
    while (more) {
        H5L_info_t link;
        const htri_t there = H5Lexists(file, name, H5P_DEFAULT);
        if (there < 0 || (there > 0 && H5Lget_info(file, name, &link, H5P_DEFAULT) < 0)) {
            return h5_fail("cannot read %s of %s", name, place->path);
        }
        if (there == 0) {
            return STATUS_OK;
        }
        if (link.type == H5L_TYPE_SOFT || link.type == H5L_TYPE_EXTERNAL) {
            *type = link.type;
            return follow_link(file, name, &link, rest, place);
        }
        TRY(take_part(&rest, name, &more));
    }
    memcpy(place->name, name, strlen(name) + 1);
    return STATUS_OK;
}

enum status h5_follow(hid_t file, struct h5_place *place, bool *elsewhere)
{
    H5L_type_t type = H5L_TYPE_SOFT;
    for (int links = 0; type == H5L_TYPE_SOFT; links++) {
        if (links > MOST_LINKS) {
            return fail(STATUS_FILE, "the links of %s lead in a circle", place->path);
        }
        TRY(walk(file, place, &type));
    }
    *elsewhere = type == H5L_TYPE_EXTERNAL;
    return STATUS_OK;
}

enum status h5_open_place(struct h5_place *place, hid_t *file)
{
    bool elsewhere = true;
    for (int links = 0; elsewhere; links++) {
        hid_t opened = H5I_INVALID_HID;
        if (links > MOST_LINKS) {
            return fail(STATUS_FILE, "the links of %s lead in a circle", place->path);
        }
        TRY(h5_open_plain(place->path, false, &opened));
        const enum status status = h5_follow(opened, place, &elsewhere);
        if (status != STATUS_OK || elsewhere) {
            h5_close(opened);
        } else {
            *file = opened;
        }
        TRY(status);
    }
    return STATUS_OK;
}

/* ---- virtual datasets -------------------------------------------------------------------------
 */

static bool is_virtual(hid_t creation)
{
    return H5Pget_layout(creation) == H5D_VIRTUAL;
}

/* As HDF5 writes it: "." is the file itself. */
static enum status get_source(hid_t creation, size_t n, const struct h5_place *place,
                              struct h5_place *source)
{
    char target[PATH_BYTES];
    memset(source, 0, sizeof *source);
    const ssize_t path = H5Pget_virtual_filename(creation, n, target, sizeof target);
    const ssize_t name = H5Pget_virtual_dsetname(creation, n, source->name, sizeof source->name);
    if (path < 0 || name < 0 || path >= (ssize_t)sizeof target ||
        name >= (ssize_t)sizeof source->name) {
        return h5_fail("cannot read from where %s of %s takes its values", place->name,
                       place->path);
    }
    if (strchr(target, '%') != NULL || strchr(source->name, '%') != NULL) {
        return fail(STATUS_INPUT,
                    "the virtual dataset %s of %s takes its values from %s of %s: datasets that it "
                    "names one by one can be checked, a pattern cannot",
                    place->name, place->path, source->name, target);
    }
    if (strcmp(target, ".") == 0) {
        return keep(source->path, sizeof source->path, place->path);
    }
    const char *prefix = getenv("HDF5_VDS_PREFIX");
    if (prefix != NULL && prefix[0] != '\0') {
        return fail(STATUS_INPUT,
                    "the virtual dataset %s of %s takes its values from %s, which HDF5 may find "
                    "elsewhere, as HDF5_VDS_PREFIX is set; unset it",
                    place->name, place->path, target);
    }
    return beside(place->path, target, source->path);
}

/* From there HDF5 would go on by itself. */
static enum status check_plain(hid_t file, const struct h5_place *place,
                               const struct h5_place *source)
{
    const hid_t dataset = H5Dopen2(file, source->name, H5P_DEFAULT);
    if (dataset < 0) {
        return h5_fail("cannot open %s of %s, from which %s of %s takes its values", source->name,
                       source->path, place->name, place->path);
    }
    const hid_t creation = H5Dget_create_plist(dataset);
    const bool leads_on = is_virtual(creation);
    H5Pclose(creation);
    H5Dclose(dataset);
    if (leads_on) {
        return fail(STATUS_INPUT,
                    "%s of %s, from which %s of %s takes its values, is a virtual dataset, too; "
                    "name a dataset that holds values",
                    source->name, source->path, place->name, place->path);
    }
    return STATUS_OK;
}

static enum status check_source(const struct h5_place *place, struct h5_place *source)
{
    hid_t file = H5I_INVALID_HID;
    bool elsewhere = false;
    TRY(h5_open_plain(source->path, false, &file));
    enum status status = h5_follow(file, source, &elsewhere);
    if (status == STATUS_OK && elsewhere) {
        status = fail(STATUS_INPUT,
                      "the virtual dataset %s of %s takes its values by a link from %s; name the "
                      "dataset there",
                      place->name, place->path, source->path);
    }
    if (status == STATUS_OK) {
        status = check_plain(file, place, source);
    }
    h5_close(file);
    return status;
}

static enum status check_each_source(hid_t creation, const struct h5_place *place)
{
    size_t count = 0;
    if (H5Pget_virtual_count(creation, &count) < 0) {
        return h5_fail("cannot read from where %s of %s takes its values", place->name,
                       place->path);
    }
    for (size_t n = 0; n < count; n++) {
        struct h5_place source;
        TRY(get_source(creation, n, place, &source));
        TRY(check_source(place, &source));
    }
    return STATUS_OK;
}

enum status h5_check_sources(hid_t dataset, const struct h5_place *place)
{
    const hid_t creation = H5Dget_create_plist(dataset);
    const enum status status =
        is_virtual(creation) ? check_each_source(creation, place) : STATUS_OK;
    H5Pclose(creation);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static enum status open_dataset(const struct h5_place *place, struct h5_reader *reader)
{
    reader->dataset = H5Dopen2(reader->file, place->name, H5P_DEFAULT);
    return reader->dataset < 0
               ? h5_fail("cannot open the dataset %s of %s", place->name, place->path)
               : STATUS_OK;
}

static enum status hold_sources(hid_t creation, const struct h5_place *place,
                                struct h5_reader *reader)
{
    size_t count = 0;
    if (H5Pget_virtual_count(creation, &count) < 0) {
        return h5_fail("cannot read from where %s of %s takes its values", place->name,
                       place->path);
    }
    reader->source = calloc(count + 1, sizeof *reader->source);
    if (reader->source == NULL) {
        return fail(STATUS_MEMORY, "no memory for the sources of %s", place->path);
    }
    for (size_t n = 0; n < count; n++) {
        struct h5_place source;
        TRY(get_source(creation, n, place, &source));
        TRY(h5_open_as_source(source.path, &reader->source[n]));
        reader->nsources++;
    }
    return STATUS_OK;
}

/* The file again, as it may be a source of its own. */
static enum status open_virtual(hid_t creation, const struct h5_place *place,
                                struct h5_reader *reader)
{
    h5_reader_close(reader);
    TRY(h5_open_as_source(place->path, &reader->file));
    TRY(open_dataset(place, reader));
    return hold_sources(creation, place, reader);
}

enum status h5_reader_open(const struct h5_place *place, struct h5_reader *reader)
{
    *reader = (struct h5_reader){.file = H5I_INVALID_HID, .dataset = H5I_INVALID_HID};
    TRY(h5_open_plain(place->path, false, &reader->file));
    TRY(open_dataset(place, reader));
    const hid_t creation = H5Dget_create_plist(reader->dataset);
    const enum status status =
        is_virtual(creation) ? open_virtual(creation, place, reader) : STATUS_OK;
    H5Pclose(creation);
    return status;
}

void h5_reader_close(struct h5_reader *reader)
{
    if (reader->dataset >= 0) {
        H5Dclose(reader->dataset);
    }
    for (size_t n = 0; n < reader->nsources; n++) {
        h5_close(reader->source[n]);
    }
    free(reader->source);
    h5_close(reader->file);
    *reader = (struct h5_reader){.file = H5I_INVALID_HID, .dataset = H5I_INVALID_HID};
}
