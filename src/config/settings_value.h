/* One value of the configuration: from a node of the tree into the struct. */
#ifndef ISOTHERM_CONFIG_SETTINGS_VALUE_H
#define ISOTHERM_CONFIG_SETTINGS_VALUE_H

#include "config/schema.h"
#include "config/settings_tree.h"

/* Check the value of `node` (its full key is `key`) against `row`, any type but sections and
 * lists of them, and store it at row->offset from `base`. STATUS_INPUT with what would be right. */
enum status value_read(const struct settings_origin *origin, const struct schema_key *row,
                       const struct tree *node, const char *key, char *base) MUST_CHECK;

/* Record STATUS_INPUT: "KEY: WHAT (the value)MORE; give what the row expects". */
enum status value_fail(const struct settings_origin *origin, const struct schema_key *row,
                       const struct tree *node, const char *key, const char *what,
                       const char *more);

#endif
