/* One simulation on one communicator: its objects, its clock, its outputs. */
#ifndef ISOTHERM_SOLVE_SOLVER_H
#define ISOTHERM_SOLVE_SOLVER_H

#include <mpi.h>

#include "base/file.h"
#include "config/settings.h"
#include "config/settings_changes.h"
#include "halo/exchange.h"
#include "kernels/backend.h"
#include "machine/placement.h"
#include "machine/rank_facts.h"
#include "model/boundary.h"
#include "model/decomp.h"
#include "model/field.h"
#include "model/grid.h"
#include "model/ledger.h"
#include "model/timeline.h"
#include "solve/numerics_check.h"

/* Where the host's time goes; the report's shares. */
#define PHASE_LIST(X)                                                                              \
    X(HALO_BEGIN, "halo_begin")                                                                    \
    X(INTERIOR, "interior")                                                                        \
    X(HALO_END, "halo_end")                                                                        \
    X(SHELL, "shell")                                                                              \
    X(DIAGNOSTICS, "diagnostics")                                                                  \
    X(SNAPSHOTS, "snapshots")                                                                      \
    X(CHECKPOINTS, "checkpoints")                                                                  \
    X(PICTURES, "pictures")                                                                        \
    X(PROBES, "probes")                                                                            \
    X(WRITER, "writer")

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
struct stop;   /* stop.h */
struct watchdog;

/* Steps that the host may have queued and the device not done: enough to hide the host's time, few
 * enough that a stop or a failure is noticed soon. */
enum { STEPS_AHEAD = 4 };

struct run {
    const struct settings *settings; /* borrowed */
    MPI_Comm comm; /* the ranks in the order of their blocks: borrowed, or `ordered` */
    MPI_Comm ordered;
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
    bool room_for_copies; /* on the device, for outputs on their way (memory_check) */
    struct machine machine;
    struct placement_order placement;
    struct rank_facts *rank_facts; /* of all ranks; rank 0 */
    struct queue *bulk_queue;      /* interior kernels, reductions */
    struct queue *output_queue;    /* copies for output: low priority, the field's own queue */
    struct queue *halo_queue;      /* pack, unpack, shell: high priority */
    struct event *bulk_done;
    struct event *halo_done;
    struct event *step_done[STEPS_AHEAD]; /* of the last steps, in turn */
    struct field *field;
    struct halo_plan plan;
    struct halo *halo; /* NULL when there is nothing to exchange */
    bool overlap;
    struct exact_sum *d_face_sum; /* FACE_COUNT sums of this rank since the last gathering */
    struct ledger ledger;         /* all ranks, as of the last gathering */

    struct watch watch;

    int64_t first_step;              /* 0, or the checkpoint's */
    int64_t step;                    /* steps done */
    char restarted_from[PATH_BYTES]; /* "" for a fresh run */
    struct settings_changes changes; /* since that checkpoint; rank 0 */
    double phase_seconds[PHASE_COUNT];
    struct stop *stop;         /* NULL: nothing ends the run before its time */
    struct watchdog *watchdog; /* NULL: nobody watches */
};

/* Collective. Build everything up to a field full of NaN; nothing is written anywhere.
 * On failure *run is NULL. `settings` must outlive the run. */
enum status run_create(MPI_Comm comm, const struct settings *settings, struct run **run) MUST_CHECK;
void run_destroy(struct run *run); /* takes NULL and half-built objects */

/* Collective. Find out where the ranks run, and let the rank number of run->comm be the block's:
 * the heaviest faces on the fastest links (placement_run.c). */
enum status run_place(struct run *run) MUST_CHECK;

/* Collective. The initial state from the settings' shapes, step 0. */
enum status run_initialise(struct run *run) MUST_CHECK;

/* Collective. Advance to the end of the timeline; after each step, and before the first,
 * `output` (may be NULL) sees to what is due. STATUS_STOPPED when the run was asked to end before
 * (stop.h) and a checkpoint of the present step is there. */
enum status run_advance(struct run *run, struct output *output) MUST_CHECK;

/* Simulated time of the present step, s. */
double run_time(const struct run *run);

/* Collective. Wait for all queues and collect the ledger and the field's summary.
 * STATUS_NUMERICS, naming step, cell and rank, when a cell is NaN, infinite or beyond 1.1e12 K. */
enum status diagnostics_take(struct run *run, struct diagnostics *diagnostics) MUST_CHECK;

/* Queued: what is put on bulk_queue or output_queue from now on sees all cells of the present step,
 * those of the shell too, and what bulk_queue has made of them. Not collective. diagnostics_take
 * does as much. */
enum status run_settle(struct run *run) MUST_CHECK;

/* Collective. 64 bits over global indices and temperatures; see kernels/heat_cell.h. */
enum status run_field_hash(struct run *run, uint64_t *hash) MUST_CHECK;

/* Collective. Add the device's face sums to run->ledger and start them anew. */
enum status ledger_gather(struct run *run) MUST_CHECK;

/* Queue one step from the present one and swap (step.c). Collective through the halo. */
enum status step_advance(struct run *run) MUST_CHECK;

/* The same work without the exchange: for measurements, since the values are wrong. */
enum status step_alone(struct run *run) MUST_CHECK;

/* The closure of all faces and r = alpha dt / h^2, rounded as the kernel uses them, for the step
 * that starts at `step`. STATUS_NUMERICS, agreed, when a formula has no finite value then. */
enum status step_coefficients(const struct run *run, int64_t step, struct closure *closure,
                              double r[AXIS_COUNT]) MUST_CHECK;

/* What the kernel of this rank needs for the step that starts at `step`, where the shorter last
 * step does not matter. Fails as step_coefficients, agreed. */
enum status step_arguments(const struct run *run, int64_t step, struct step_args *args) MUST_CHECK;

#endif
