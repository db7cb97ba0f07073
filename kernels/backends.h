/* The backends of this build: the only place that knows their names. */
#ifndef ISOTHERM_KERNELS_BACKENDS_H
#define ISOTHERM_KERNELS_BACKENDS_H

#include "kernels/backend.h"

/* The compiled-in backends, best first. */
int backend_count(void);
const struct backend *backend_at(int index);
/* NULL when there is none of that name. */
const struct backend *backend_find(const char *name);
/* What a user may ask backend_choose for: "auto", and the backends that are not for tests. */
const char *backend_names(void);
/* By name, or "auto": the first that can run here. Writes into `why` (at least 256 bytes) a
 * sentence on the choice. STATUS_INPUT for an unknown name, STATUS_DEVICE for one that cannot run
 * here. */
enum status backend_choose(const char *name, const struct backend **backend, char *why,
                           size_t why_bytes) MUST_CHECK;

#endif
