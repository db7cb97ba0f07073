/* One simulation on one communicator: its objects, its clock, its outputs. */
#ifndef ISOTHERM_APP_RUN_H
#define ISOTHERM_APP_RUN_H

#include <mpi.h>

#include "base/file.h"
#include "halo/exchange.h"
#include "kernels/backend.h"
#include "model/boundary.h"
#include "model/decomp.h"
#include "model/field.h"
#include "model/grid.h"
#include "model/ledger.h"
#include "model/settings.h"

/* Where the host's time goes; the report's shares. */
#define PHASE_LIST(X)                                                                              \
    X(HALO_BEGIN, "halo_begin")                                                                    \
    X(INTERIOR, "interior")                                                                        \
    X(HALO_END, "halo_end")                                                                        \
    X(SHELL, "shell")                                                                              \
    X(DIAGNOSTICS, "diagnostics")                                                                  \
    X(SNAPSHOTS, "snapshots")                                                                      \
    X(CHECKPOINTS, "checkpoints")                                                                  \
    X(PICTURES, "pictures")

#define PHASE_ENUM(name, key) PHASE_##name,
enum phase { PHASE_LIST(PHASE_ENUM) PHASE_COUNT };
#undef PHASE_ENUM

/* What is known of the whole field at one step; the same on all ranks. */
struct diagnostics {
    int64_t step;
    double time;           /* s */
    double min, max, mean; /* K */
    double heat;           /* J */
    double boundary_heat;  /* J, in through the boundary since step 0 */
    double heat_drift;     /* J, heat - heat at the start - boundary_heat */
};

struct output; /* output.h */

struct run {
    const struct settings *settings; /* borrowed */
    MPI_Comm comm;                   /* borrowed */
    int rank, nranks;
    struct grid grid;
    struct material material;
    struct timeline timeline;
    struct boundary boundary;
    struct decomp decomp;
    const struct backend *backend;
    char backend_reason[256];
    struct device *device;
    struct device_info device_info;
    struct queue *bulk_queue; /* interior kernels, reductions, copies for output */
    struct queue *halo_queue; /* pack, unpack, shell: high priority */
    struct event *bulk_done;
    struct event *halo_done;
    struct field *field;
    struct halo_plan plan;
    struct halo *halo; /* NULL when there is nothing to exchange */
    bool overlap;
    struct exact_sum *d_face_sum; /* FACE_COUNT sums of this rank since the last gathering */
    struct ledger ledger;         /* all ranks, as of the last gathering */

    int64_t first_step;              /* 0, or the checkpoint's */
    int64_t step;                    /* steps done */
    char restarted_from[PATH_BYTES]; /* "" for a fresh run */
    double phase_seconds[PHASE_COUNT];
};

/* Collective. Build everything up to a field full of NaN; nothing is written anywhere.
 * On failure *run is NULL. `settings` must outlive the run. */
enum status run_create(MPI_Comm comm, const struct settings *settings, struct run **run) MUST_CHECK;
void run_destroy(struct run *run); /* takes NULL and half-built objects */

/* Collective. The initial state from the settings' shapes, step 0. */
enum status run_initialise(struct run *run) MUST_CHECK;

/* Collective. Advance to the end of the timeline; after each step, and before the first,
 * `output` (may be NULL) sees to what is due. */
enum status run_advance(struct run *run, struct output *output) MUST_CHECK;

/* Simulated time of the present step, s. */
double run_time(const struct run *run);

/* Collective. Wait for all queues and collect the ledger and the field's summary.
 * STATUS_NUMERICS, naming step, cell and rank, when a cell is NaN, infinite or beyond 1.1e12 K. */
enum status diagnostics_take(struct run *run, struct diagnostics *diagnostics) MUST_CHECK;

/* Collective. 64 bits over global indices and temperatures; see kernels/heat_cell.h. */
enum status run_field_hash(struct run *run, uint64_t *hash) MUST_CHECK;

/* Collective. Add the device's face sums to run->ledger and start them anew. */
enum status ledger_gather(struct run *run) MUST_CHECK;

/* Queue one step from the present one and swap (step.c). Collective through the halo. */
enum status step_advance(struct run *run) MUST_CHECK;

/* The closure of all faces and r = alpha dt / h^2, rounded as the kernel uses them, for the step
 * that starts at `step`. STATUS_NUMERICS, agreed, when a formula has no finite value then. */
enum status step_coefficients(const struct run *run, int64_t step, struct closure *closure,
                              double r[AXIS_COUNT]) MUST_CHECK;

#endif
