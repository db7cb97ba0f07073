/* What a run would need, for `plan` and `check`. No MPI. */
#pragma once

#include "app/simulate.h"
#include "base/text/options.h"
#include "kernels/backend.h"
#include "machine/model.h"
#include "model/problem.h"
#include "solve/scheme/steps_per_pass.h"

struct plan {
    const struct backend *backend;
    struct problem problem;
    struct decomp decomp;
    int64_t min_cells, max_cells; /* per rank */
    struct pass_plan passes;
    int64_t min_halo, max_halo; /* bytes per exchange */
    int max_messages;
    uint64_t max_bytes;        /* device memory, largest of all ranks */
    uint64_t max_output_bytes; /* host memory for outputs, likewise */
    uint64_t max_class_bytes;  /* host memory for materials and properties of cells, likewise */
    uint64_t max_patch_bytes;  /* host memory for maps on faces, likewise */
    uint64_t max_copy_bytes;   /* device memory for background copies, likewise */
    int warnings;
};

/* All checks of a run that need neither its ranks nor its output folder. STATUS_INPUT, with the
 * line of the configuration, for the first that fails. Destroy it, on failure too. */
enum status plan_create(const struct settings *settings, int64_t nranks, struct plan *plan);
void plan_destroy(struct plan *plan);

void plan_print_time(const struct plan *plan);

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

/* The numbers of --machine: names of jobscripts/machines, or files. STATUS_INPUT when one is wrong
 * or missing. Destroy the machine, on failure too. */
enum status plan_read_machine(const struct option_list *names, struct machine_model *machine);
/* The wall time on it, its parts, and rows for other numbers of nodes. */
enum status plan_print_machine(const struct machine_model *machine, const struct plan *plan);
