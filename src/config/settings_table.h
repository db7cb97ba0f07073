/* A number of the configuration that may also be a table over temperature (SCHEMA_OR_TABLE) or over
 * time (SCHEMA_OR_FORMULA); times of outputs. */
#pragma once

#include "config/read/settings_value.h"
#include "config/settings.h"

/* Whether a value is meant as a table: a mapping, or a list of lists, where a table may stand. */
bool table_is_given(const struct item *item);

/* Read it into a new struct table_setting, to which the number at row->alternative then points. */
enum status table_read(const struct item *item);

bool table_same(const struct table_setting *a, const struct table_setting *b); /* take NULL */

/* Read the times of a cadence: a list, or {from, to, per_decade}. */
enum status times_read(const struct item *item);
bool times_same(const struct cadence *a, const struct cadence *b);
