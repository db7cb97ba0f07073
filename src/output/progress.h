/* The progress of the run: a line that is rewritten on a terminal, or an occasional line in a
 * log. */
#pragma once

#include "solve/observe/diagnostics.h"

struct progress {
    double started; /* wall clock, s */
    double shown;
    int64_t next_step; /* at which progress_show is due; the same on all ranks */
};

void progress_start(struct progress *progress, const struct state *state);
/* Collective. Print the line (rank 0) and agree on the step of the next one. */
enum status progress_show(struct progress *progress, const struct stepper *stepper,
                          const struct diagnostics *latest);
