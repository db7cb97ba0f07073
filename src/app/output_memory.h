/* The host memory that outputs take while they are being written. */
#ifndef ISOTHERM_APP_OUTPUT_MEMORY_H
#define ISOTHERM_APP_OUTPUT_MEMORY_H

#include "app/snapshot_outputs.h"
#include "app/writer.h"
#include "model/decomp.h"
#include "model/grid.h"
#include "model/settings.h"

/* Pinned bytes on one rank: the largest that any snapshot or checkpoint captures there, once for
 * each place of the writer. Not collective. */
enum status output_memory_bytes(const struct settings *settings, const struct grid *grid,
                                const struct decomp *decomp, int rank, uint64_t *bytes) MUST_CHECK;

/* Give the writer as much, before the first step. Not collective. */
enum status output_memory_prepare(const struct run *run, const struct snapshot_outputs *snapshots,
                                  struct writer *writer) MUST_CHECK;

#endif
