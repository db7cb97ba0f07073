/* The checkpoints of a run: captured on the step loop, written by the writer. */
#ifndef ISOTHERM_OUTPUT_CHECKPOINT_OUTPUT_H
#define ISOTHERM_OUTPUT_CHECKPOINT_OUTPUT_H

#include "output/writer.h"
#include "solve/solver.h"

struct checkpoint_output {
    int64_t submitted_step; /* of the newest one handed in, -1: none */
    /* the newest one that is good: set by the write half; read it after writer_finish only */
    char good[PATH_BYTES];
};

/* Collective. Capture the present state and hand it in, unless that was done for this step.
 * `boundary_heat` is the ledger's, J. */
enum status checkpoint_output_submit(struct checkpoint_output *output, struct writer *writer,
                                     struct run *run, double boundary_heat) MUST_CHECK;

#endif
