/* What `run` and `plan` choose from the same settings, by the same rules and with the same words.
 */
#ifndef ISOTHERM_MODEL_PROBLEM_H
#define ISOTHERM_MODEL_PROBLEM_H

#include "config/settings.h"
#include "kernels/backend.h"
#include "model/boundary.h"
#include "model/decomp.h"
#include "model/grid.h"

/* The blocks for `nranks` ranks, with a halo as wide as the 7-point stencil reaches.
 * STATUS_INPUT names the line of run.decomposition, or of grid.cells when that is auto. */
enum status choose_decomp(const struct settings *settings, const struct grid *grid,
                          const struct boundary *boundary, int nranks,
                          struct decomp *decomp) MUST_CHECK;

/* The backend, and why (at least 256 bytes). STATUS_INPUT names the line of run.backend. */
enum status choose_backend(const struct settings *settings, const struct backend **backend,
                           char *why, size_t why_bytes) MUST_CHECK;

#endif
