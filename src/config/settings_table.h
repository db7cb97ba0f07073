/* A number of the configuration that may also be a table over temperature (SCHEMA_OR_TABLE). */
#ifndef ISOTHERM_CONFIG_SETTINGS_TABLE_H
#define ISOTHERM_CONFIG_SETTINGS_TABLE_H

#include "config/read/settings_value.h"
#include "config/settings.h"

/* Whether a node is meant as a table: a mapping, or a list of lists. */
bool table_is_given(const struct tree *node);

/* Read it into a new struct table_setting, to which row->alternative then points. */
enum status table_read(const struct item *item) MUST_CHECK;

bool table_same(const struct table_setting *a, const struct table_setting *b); /* take NULL */

#endif
