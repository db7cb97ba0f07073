/* Checkpoints on request, at any step. */
#pragma once

#include "base/file.h"
#include "output/output.h"

extern const struct output_kind output_checkpoints;

/* The object of output_checkpoints. */
struct checkpoint_output {
    int64_t submitted_step; /* of the newest one submitted to the writer; -1: none */
    /* the newest valid one: set by the write half; read it after writer_finish only */
    char valid[PATH_BYTES];
    const char *directory; /* on rank 0, else NULL */
};

/* Collective. Capture the current state and submit it to the writer, unless done for this step.
 * in->summary is of this step. */
enum status checkpoint_output_submit(struct checkpoint_output *output,
                                     const struct output_context *in);
