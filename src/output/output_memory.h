/* The memory that outputs take while they are being written. */
#ifndef ISOTHERM_OUTPUT_OUTPUT_MEMORY_H
#define ISOTHERM_OUTPUT_OUTPUT_MEMORY_H

#include "config/settings.h"
#include "model/decomp.h"
#include "model/grid.h"
#include "output/snapshot_outputs.h"
#include "output/writer.h"

/* The largest that any snapshot or checkpoint captures on one rank: so much host memory, pinned,
 * for each place of the writer, and so much device memory where captures travel beside the steps.
 * Not collective. */
enum status output_capture_bytes(const struct settings *settings, const struct grid *grid,
                                 const struct decomp *decomp, int rank, uint64_t *bytes) MUST_CHECK;

/* Pinned bytes on one rank: all places of the writer. Not collective. */
enum status output_memory_bytes(const struct settings *settings, const struct grid *grid,
                                const struct decomp *decomp, int rank, uint64_t *bytes) MUST_CHECK;

/* Collective. Give the writer as much, before the first step. */
enum status output_memory_prepare(const struct run *run, const struct snapshot_outputs *snapshots,
                                  struct writer *writer) MUST_CHECK;

#endif
