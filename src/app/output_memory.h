/* The host memory that outputs take while they are being written. */
#ifndef ISOTHERM_APP_OUTPUT_MEMORY_H
#define ISOTHERM_APP_OUTPUT_MEMORY_H

#include "model/decomp.h"
#include "model/grid.h"
#include "model/settings.h"

/* Pinned bytes on one rank: the largest that any snapshot or checkpoint captures there, once for
 * each place of the writer. Not collective. */
enum status output_memory_bytes(const struct settings *settings, const struct grid *grid,
                                const struct decomp *decomp, int rank, uint64_t *bytes) MUST_CHECK;

#endif
