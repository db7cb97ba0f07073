/* Both halves of writing a checkpoint. */
#pragma once

#include <stdlib.h>

#include "io/checkpoint/checkpoint.h"

static inline enum status checkpoint_write(MPI_Comm comm, const char *directory,
                                           struct field *field, const struct grid *grid,
                                           const struct medium *material,
                                           const struct checkpoint_state *state,
                                           const char *config_text, int keep)
{
    struct checkpoint_part part;
    void *memory = malloc(checkpoint_capture_bytes(field));
    enum status status = checkpoint_capture(field, NULL, memory, &part);
    if (status == STATUS_OK) {
        status = checkpoint_put(comm, directory, &part, grid, material, state, config_text, keep);
    }
    free(memory);
    return status;
}
