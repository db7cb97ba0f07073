/* The backends of this build. */
#pragma once

#include "kernels/backend.h"

/* The compiled-in backends, best first. */
int backend_count(void);
const struct backend *backend_at(int index);
/* NULL when there is none of that name. */
const struct backend *backend_find(const char *name);
/* The names that backend_choose takes from users: "auto", and the backends that are not for tests.
 */
const char *backend_names(void);
/* By name, or "auto": the first that can run here. `why` receives the reason (at least 256 bytes).
 * STATUS_INPUT for an unknown name, STATUS_DEVICE for one that cannot run here. */
enum status backend_choose(const char *name, const struct backend **backend, char *why,
                           size_t why_bytes);
