/* Checkpoints beyond what every output does: one can be asked for at any step. */
#ifndef ISOTHERM_OUTPUT_OUTPUT_CHECKPOINTS_H
#define ISOTHERM_OUTPUT_OUTPUT_CHECKPOINTS_H

#include "base/file.h"
#include "output/output.h"

extern const struct output_kind output_checkpoints;

/* What output_checkpoints opens. */
struct checkpoint_output {
    int64_t submitted_step; /* of the newest one handed to the writer, -1: none */
    /* the newest one that is valid: set by the write half; read it after writer_finish only */
    char valid[PATH_BYTES];
};

/* Collective. Capture the present state and hand it to the writer, unless that was done for this
 * step. in->summary is of this step. */
enum status checkpoint_output_submit(struct checkpoint_output *output,
                                     const struct output_context *in) MUST_CHECK;

#endif
