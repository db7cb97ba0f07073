/* The checks in the `check` member of the schema's rows. STATUS_INPUT with the problem. */
#ifndef ISOTHERM_CONFIG_SETTINGS_CHECK_H
#define ISOTHERM_CONFIG_SETTINGS_CHECK_H

#include "config/settings.h"
#include "config/settings_value.h"

/* All checks, after all keys have been read. */
enum status settings_check(struct settings *settings) MUST_CHECK;

/* Either `material`, or `materials` and `parts`. */
enum status settings_check_medium(const struct settings *settings) MUST_CHECK;

#define SETTINGS_CHECK(name)                                                                       \
    enum status settings_check_##name(const struct settings *settings, const struct item *item)
SETTINGS_CHECK(material) MUST_CHECK; /* sections, and entries of lists */
SETTINGS_CHECK(materials) MUST_CHECK;
SETTINGS_CHECK(part) MUST_CHECK;
SETTINGS_CHECK(contact) MUST_CHECK;
SETTINGS_CHECK(source) MUST_CHECK;
SETTINGS_CHECK(sphere) MUST_CHECK;
SETTINGS_CHECK(layer) MUST_CHECK;
SETTINGS_CHECK(box) MUST_CHECK;
SETTINGS_CHECK(face) MUST_CHECK;
SETTINGS_CHECK(patch) MUST_CHECK;
SETTINGS_CHECK(time) MUST_CHECK;
SETTINGS_CHECK(cadence) MUST_CHECK;
SETTINGS_CHECK(file) MUST_CHECK;
SETTINGS_CHECK(slice) MUST_CHECK;
SETTINGS_CHECK(probe) MUST_CHECK;
SETTINGS_CHECK(impedance) MUST_CHECK;
SETTINGS_CHECK(inside) MUST_CHECK; /* values */
SETTINGS_CHECK(derived) MUST_CHECK;
SETTINGS_CHECK(melt_pool) MUST_CHECK;
SETTINGS_CHECK(kelvins) MUST_CHECK;
SETTINGS_CHECK(range) MUST_CHECK;

/* "SECTION.NAME", for messages. */
const char *settings_key_below(const struct item *section, const char *name,
                               char key[TREE_KEY_BYTES]);
/* A point has as many entries as grid.cells, or 3. */
enum status settings_check_point(const struct settings *settings, const char *key,
                                 const struct tree *node) MUST_CHECK;

#endif
