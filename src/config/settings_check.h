/* What must hold between the keys of a configuration. */
#ifndef ISOTHERM_CONFIG_SETTINGS_CHECK_H
#define ISOTHERM_CONFIG_SETTINGS_CHECK_H

#include "config/settings.h"
#include "config/settings_tree.h"

/* Check settings whose keys have each been read, and fill in what follows from which keys are
 * there (time.by_steps). STATUS_INPUT with the first problem. */
enum status settings_check(struct settings *settings) MUST_CHECK;
/* The part of it that looks at `output`. */
enum status settings_check_output(struct settings *settings) MUST_CHECK;

/* What both files use. The value of a key in the file; NULL when it is not there. */
const struct tree *settings_node(const struct settings *settings, const char *key);
/* A point has as many entries as grid.cells, or 3. */
enum status settings_check_point(const struct settings *settings, const char *key) MUST_CHECK;
/* The box whose corners stand at KEY.lower and KEY.upper has a volume, and lies in the grid. */
enum status settings_check_box(const struct settings *settings, const char *key,
                               const double box_lower[AXIS_COUNT],
                               const double box_upper[AXIS_COUNT]) MUST_CHECK;

#endif
