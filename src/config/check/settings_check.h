/* The checks in the `check` member of the schema's rows. STATUS_INPUT with the problem. */
#ifndef ISOTHERM_CONFIG_SETTINGS_CHECK_H
#define ISOTHERM_CONFIG_SETTINGS_CHECK_H

#include "config/read/settings_value.h"
#include "config/settings.h"

/* All checks, after all keys have been read. */
enum status settings_check(struct settings *settings) MUST_CHECK;

#define SETTINGS_CHECK(name)                                                                       \
    enum status settings_check_##name(const struct settings *settings, const struct item *item)
/* Sections, and entries of lists: */
SETTINGS_CHECK(material) MUST_CHECK;
SETTINGS_CHECK(materials) MUST_CHECK;
SETTINGS_CHECK(part) MUST_CHECK;
SETTINGS_CHECK(contact) MUST_CHECK;
SETTINGS_CHECK(source) MUST_CHECK;
SETTINGS_CHECK(sphere) MUST_CHECK;
SETTINGS_CHECK(layer) MUST_CHECK;
SETTINGS_CHECK(box) MUST_CHECK;
SETTINGS_CHECK(face) MUST_CHECK;
SETTINGS_CHECK(patch) MUST_CHECK;
SETTINGS_CHECK(file) MUST_CHECK;
SETTINGS_CHECK(slice) MUST_CHECK;
SETTINGS_CHECK(probe) MUST_CHECK;
SETTINGS_CHECK(impedance) MUST_CHECK;
/* Values: */
SETTINGS_CHECK(part_material) MUST_CHECK;
SETTINGS_CHECK(source_material) MUST_CHECK;
SETTINGS_CHECK(source_surface) MUST_CHECK;
SETTINGS_CHECK(source_radius) MUST_CHECK;
SETTINGS_CHECK(source_position) MUST_CHECK;
SETTINGS_CHECK(adaptation) MUST_CHECK;
SETTINGS_CHECK(scheme) MUST_CHECK;
SETTINGS_CHECK(stages) MUST_CHECK;
SETTINGS_CHECK(impedance_to) MUST_CHECK;
SETTINGS_CHECK(impedance_source) MUST_CHECK;
SETTINGS_CHECK(inside) MUST_CHECK;
SETTINGS_CHECK(derived) MUST_CHECK;
SETTINGS_CHECK(melt_pool) MUST_CHECK;
SETTINGS_CHECK(kelvins) MUST_CHECK;
SETTINGS_CHECK(range) MUST_CHECK;

static inline bool settings_axis_used(const struct settings *settings, int axis)
{
    return settings->grid.cells[axis] > 1;
}

/* A coordinate on `axis`, the item itself or a key `below` it, is from `low` to `high`; else
 * `what` ("the plane lies outside the box") is the message. */
enum status settings_check_within(const struct item *item, const char *below, const char *what,
                                  int axis, double at, double low, double high) MUST_CHECK;

/* No earlier entry of the list has the name of this one, which is its first member; `compare` works
 * as strcmp. */
enum status settings_check_is_new(const struct item *entry,
                                  int (*compare)(const char *, const char *)) MUST_CHECK;

/* Names of `count` structs of `bytes`; `first`: of the first one. A name may be NULL. */
struct names {
    char *const *first;
    size_t bytes;
    int count;
    const char *noun; /* "material" */
};
/* The number of the struct with that name. STATUS_INPUT about item or key, with the names. */
enum status settings_look_up(const struct item *item, const char *below, const char *name,
                             const struct names *names, int *number) MUST_CHECK;

#endif
