#include "io/h5_link.h"

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
