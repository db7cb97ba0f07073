/* What must hold between the keys of a configuration. */
#ifndef ISOTHERM_MODEL_SETTINGS_CHECK_H
#define ISOTHERM_MODEL_SETTINGS_CHECK_H

#include "model/settings.h"

/* Check settings whose keys have each been read, and fill in what follows from which keys are
 * there (time.by_steps). STATUS_INPUT with the first problem. */
enum status settings_check(struct settings *settings) MUST_CHECK;

#endif
