/* The wall time of a run, from a rehearsal of its beginning. */
#pragma once

#include "app/command/plan.h"
#include "app/simulate.h"

struct wall_time {
    struct rehearsal rehearsal;         /* no cells: it failed */
    int together;                       /* ranks per node: by default one per core */
    char unknown[STATUS_MESSAGE_BYTES]; /* why it failed */
};

/* Run the beginning of the problem on one rank with all cores or one GPU of this node, for about a
 * second, with its outputs in a temporary folder beside the configured one. A grid above what a
 * node has of it, or above some million cells, is coarsened. A process of its own does it, which
 * starts MPI: that of the caller must have used neither MPI nor a device. Not collective. */
void wall_time_measure(const struct settings *settings, int64_t nranks, int64_t ranks_per_node,
                       struct wall_time *wall_time);

/* One line: steps and outputs of the plan on nodes like this one. */
void wall_time_print(const struct wall_time *wall_time, const struct plan *plan);
