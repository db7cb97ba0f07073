/* Numbers with a unit, such as "5 mm", by UDUNITS-2. */
#pragma once

#include <stdbool.h>

#include "base/status.h"
#include "config/schema/schema.h"

struct units; /* the database of units */

/* False in a build without UDUNITS: units_convert then fails with that reason. */
bool units_supported(void);

/* Convert a decimal number in a unit called `name` to a number of `unit`. A factor that is a power
 * of ten moves the decimal point, so that "5 mm" gives the bits of 0.005; other factors and zero
 * points are multiplied and added in extended precision, and the result is rounded. `has_zero`: the
 * unit has a zero point of its own, as degC has. *units, NULL at first, keeps the database for the
 * next call. STATUS_INPUT with what is wrong: "not a length". */
enum status units_convert(struct units **units, const char *number, const char *name,
                          const struct schema_unit *unit, double *value, bool *has_zero);
void units_destroy(struct units *units); /* takes NULL */
