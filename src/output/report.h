/* report.json: all facts of a run in one file. */
#pragma once

#include "machine/energy.h"
#include "output/writer.h"
#include "solve/observe/diagnostics.h"

/* Of the time loop, output included. */
struct run_cost {
    double wall_s;
    struct energy_total energy;
};

/* Call on rank 0. */
enum status report_write(const char *path, const struct stepper *stepper, struct writer *writer,
                         const struct diagnostics *final, uint64_t field_hash,
                         const struct run_cost *cost);

struct progress {
    double started; /* wall clock, s */
    double shown;
    int64_t next_step; /* at which progress_show is due; the same on all ranks */
};

void progress_start(struct progress *progress, const struct stepper *stepper);
/* Collective. Print the line (rank 0) and agree on the step of the next one. */
enum status progress_show(struct progress *progress, const struct stepper *stepper,
                          const struct diagnostics *latest);
