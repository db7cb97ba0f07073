/* The snapshot files of a run: the whole grid, and the regions, each with its own cadence. */
#ifndef ISOTHERM_OUTPUT_SNAPSHOT_OUTPUTS_H
#define ISOTHERM_OUTPUT_SNAPSHOT_OUTPUTS_H

#include "io/snapshot/snapshot.h"
#include "output/writer.h"
#include "solve/solver.h"

/* One of them, as the settings have it. */
struct snapshot_output {
    const char *name; /* borrowed */
    const struct snapshot_setting *setting;
    struct view view;
    struct snapshots *snapshots; /* NULL until opened */
};

struct snapshot_outputs {
    int count;
    struct snapshot_output *output;
};

/* List the outputs that are not turned off. Not collective; the same on all ranks. */
enum status snapshot_outputs_list(const struct settings *settings, const struct grid *grid,
                                  struct snapshot_outputs *outputs) MUST_CHECK;

/* Rank 0; nothing is changed. Can all go on with what a run left up to `restart_step`? */
enum status snapshot_outputs_check(const struct run *run, int64_t restart_step,
                                   const struct snapshot_outputs *outputs) MUST_CHECK;

/* Collective. Open the files of all, as snapshots_open does, on the writer's communicator. */
enum status snapshot_outputs_open(const struct run *run, const struct writer *writer,
                                  int64_t restart_step,
                                  struct snapshot_outputs *outputs) MUST_CHECK;
void snapshot_outputs_close(struct snapshot_outputs *outputs); /* takes a zeroed one */

/* What the largest of them captures on this rank. */
size_t snapshot_outputs_bytes(const struct snapshot_outputs *outputs, const struct field *field);

/* Is any of them due at the present step? */
bool snapshot_outputs_due(const struct snapshot_outputs *outputs, const struct run *run);

/* Collective. Capture those that are due and hand them to the writer. */
enum status snapshot_outputs_submit(struct snapshot_outputs *outputs, struct writer *writer,
                                    struct run *run) MUST_CHECK;

#endif
