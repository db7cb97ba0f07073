/* What a run would need, for `plan` and `check`. No MPI. */
#pragma once

#include "kernels/backend.h"
#include "model/problem.h"
#include "solve/steps_per_pass.h"

struct plan {
    const struct backend *backend;
    struct problem problem;
    struct decomp decomp;
    int64_t min_cells, max_cells; /* per rank */
    struct pass_plan passes;
    int64_t min_halo, max_halo; /* bytes per exchange */
    int max_messages;
    int64_t thinnest; /* of a block, on a divided axis */
    enum axis thinnest_axis;
    uint64_t max_bytes;        /* device memory, largest of all ranks */
    uint64_t max_output_bytes; /* host memory for outputs, likewise */
    uint64_t max_copy_bytes;   /* device memory for background copies, likewise */
    int warnings;
};

/* All checks of a run that need neither its ranks nor its output folder. STATUS_INPUT, with the
 * line of the configuration, for the first that fails. Destroy it, on failure too. */
enum status plan_create(const struct settings *settings, int64_t nranks, struct plan *plan);
void plan_destroy(struct plan *plan);

void plan_print_time(const struct plan *plan);

/* Is it a file that does not exist? An earlier job may create it. */
bool plan_is_missing(const struct shape_setting *shape);
