/* Replaces units.c in builds without UDUNITS. */
#include "config/units.h"

bool units_supported(void)
{
    return false;
}

enum status units_convert(struct units **units, const char *number, const char *name,
                          const struct schema_unit *unit, double *value, bool *has_zero)
{
    return fail(STATUS_INPUT, "this build has no UDUNITS, which converts units");
}

void units_destroy(struct units *units)
{
}
