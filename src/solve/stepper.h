/* The time stepper: a level, its state, the time scheme and the sources. It borrows the problem,
 * the team, the level and the state; diagnostics and outputs reach them through it. */
#pragma once

#include <math.h>

#include "model/medium/moving.h"
#include "model/operator/operator.h"
#include "solve/medium/source_files.h"
#include "solve/pass.h"
#include "solve/scheme/scheme.h"
#include "solve/scheme/steps_per_pass.h"
#include "solve/state.h"

/* What self_check.h has done. */
struct self_check_counts {
    int64_t checks, steps; /* that were computed twice */
    int64_t on_host;       /* passes of which a tile was computed on the host, too */
    int64_t faults, repairs;
    bool is_over;   /* too many faults of one device */
    bool each_pass; /* the bits of the field are summed in each pass */
};

/* The ledger of one level of all super steps since the last reduction. */
struct ledger_slot {
    struct ledger ledger;    /* its sums only */
    struct heat_operator op; /* of the last such level */
};

/* A pass, and the operators of its steps. */
struct stepper_pass {
    struct pass pass;
    struct heat_operator op[STEPS_MOST];
    int slot; /* of the device's sums, where those of this pass begin; 0: forward Euler */
    const struct superstep_level *levels; /* of a super step: of each step; NULL: forward Euler */
};

struct stepper {
    const struct problem *problem; /* borrowed, as are the next three */
    const struct team *team;
    struct level *level;
    struct state *state;
    const struct scheme *scheme;
    struct pass_plan passes;
    int64_t passes_queued;
    struct self_check_counts checked;
    int64_t summarise_at;      /* diagnostics are taken there, so the pass may take the summary */
    int64_t ahead_to;          /* up to there a pass may be queued by diagnostics_take; 0: none */
    struct stepper_pass ahead; /* that pass, which the state does not count yet; of 0 steps: none */
    struct heat_source *sources; /* [step of a pass][entry that is not painted]; NULL: none */
    int nsources;
    struct source_files source_files;
    struct ledger_slot *slots; /* [SUPERSTEP_LEVELS_MOST]; NULL for forward Euler */
    int first_slot, nslots;    /* of the super step; those in use; 0: none yet */
    double slot_length;        /* s, of the super step */
    int equal_levels;          /* forward Euler's steps that the next super step is; 0: none */
    /* For step_control.h; NULL without a tolerance: the state before a super step, with its halo;
     * and that of the estimate where estimate_needs_field. */
    void *d_saved, *d_estimate;
    struct ledger ledger_before; /* of the state before a super step */
    void *d_keys;                /* uint64_t [DIFFERENCE_KEYS] */
    struct steady *steady;       /* NULL: no scheme has needed it so far; of solver_destroy */
};

/* The first step from `step` on where whole passes of forward Euler end: for events at any step. */
static inline int64_t stepper_round_up(const struct stepper *stepper, int64_t step)
{
    const int64_t n = stepper->slots == NULL ? stepper->passes.steps : 1;
    return (step + n - 1) / n * n;
}

/* Whether the estimate of a super step is taken by passes to a field of its own: moving sources
 * and surfaces heat cells after a step, `compare` has no stencils of high order, and that of an
 * implicit step is damped. */
static inline bool estimate_needs_field(const struct problem *problem)
{
    return problem->radius > 1 || sources_moving(&problem->sources) > 0 ||
           problem->boundary.nsurfaces > 0 || problem->time.scheme == SCHEME_IMPLICIT;
}

/* Whether outputs within super steps need that field for the temperatures of an enthalpy. */
static inline bool between_needs_field(const struct problem *problem)
{
    return problem->medium.curves != NULL &&
           timeline_next_between(&problem->timeline, 0) < HUGE_VAL;
}

static inline bool estimate_has_field(const struct problem *problem)
{
    return estimate_needs_field(problem) || between_needs_field(problem) ||
           problem->time.may_be_implicit;
}

/* Collective. Open the halo's transport and choose the overlap. The outcome is agreed. */
enum status stepper_create(const struct problem *problem, const struct team *team,
                           struct level *level, struct state *state, const struct pass_plan *passes,
                           struct stepper *stepper);
void stepper_destroy(struct stepper *stepper); /* takes a zeroed one */

/* Collective, agreed. Use another number of steps per pass, at most passes.most, with the same
 * transports. */
enum status stepper_use_passes(struct stepper *stepper, int steps);

/* Collective through the halo; queued. Advance the state by `steps` steps. Temperatures of an
 * enthalpy are shown on demand: by stepper_show_due. */
enum status stepper_advance(struct stepper *stepper, int64_t steps);

/* Whether a pass may be queued before the outputs of this step are written: they read nothing of
 * the field but what diagnostics_take and faces_begin queue. */
bool stepper_may_be_ahead(const struct stepper *stepper);

/* Drop a pass that was queued ahead: the field is that of the state again, and so are the sums of
 * the ledger, which diagnostics_take has read before it. Blocks. */
enum status stepper_drop_ahead(struct stepper *stepper);

/* Block until what diagnostics_take has queued is there. */
enum status stepper_wait_for_line(const struct stepper *stepper);

/* Queued on bulk_queue. *d_out = factor (*d_x) + (*d_z), fields; d_z may be NULL. */
enum status stepper_combine(struct stepper *stepper, void *d_out, double factor, const void *d_x,
                            const void *d_z);

/* Collective, agreed; queued on bulk_queue after all earlier work. Copy a field with its halo. */
enum status stepper_copy(struct stepper *stepper, void *d_to, const void *d_from);

/* With a tolerance, once all work is done: the state before a step, whose field is d_saved. */
void stepper_undo(struct stepper *stepper, const struct state *before);

/* For schemes: take `steps` steps one after another, each by `advance_once`, which changes the
 * field; the number and the time of the step follow. */
enum status stepper_advance_each(struct stepper *stepper, int64_t steps,
                                 enum status (*advance_once)(struct stepper *stepper));

/* Let outputs see the temperatures of the current step. Of an enthalpy: convert it.
 * `from_temperature`: first convert the field, which holds temperatures, to it. Blocks; not
 * collective, but it fails alike where a formula of time does. */
enum status stepper_show(struct stepper *stepper, bool from_temperature);

/* Is the field an enthalpy whose temperatures are not shown yet? */
static inline bool stepper_hides(const struct stepper *stepper)
{
    return stepper->problem->medium.curves != NULL && stepper->level->field->d_shown == NULL;
}

/* Collective, agreed. Show them if so. */
enum status stepper_show_due(struct stepper *stepper);

/* Agree on the status of something that depends on the time only, so that all ranks fail alike. */
enum status stepper_agree(const struct stepper *stepper, enum status status);

/* The operator of the step that starts at the current state, and of the one that ended there (at
 * step 0: of the first one). The same on all ranks. STATUS_NUMERICS, agreed, when a boundary
 * formula is not finite. */
enum status stepper_operator(const struct stepper *stepper, struct heat_operator *op);
enum status stepper_operator_before(const struct stepper *stepper, struct heat_operator *op);
/* The operator at the time of the current state, for a step of 1 s: for outputs, which then do not
 * depend on the length of the next step. Where a formula has no finite value at that time, which
 * only the next step would need, that of the last step. */
enum status stepper_operator_per_second(const struct stepper *stepper, struct heat_operator *op);

/* The coefficients of `op` on this rank, for work that is then queued, without moving sources.
 * d_sums: as for operator_coefficients. Not collective. */
enum status stepper_coefficients(const struct stepper *stepper, const struct heat_operator *op,
                                 struct exact_sum *d_sums, struct coefficients *coefficients);

/* --- for time schemes ------------------------------------------------------------------------ */

/* The operators of the next `nsteps` steps; fewer where a later one has none: its own pass then
 * fails. The same on all ranks. */
enum status stepper_find_operators(const struct stepper *stepper, int nsteps,
                                   struct stepper_pass *pass);

/* Collective. Before a super step of this length. r differs by level, and the ledger's sums are in
 * units of it. So each level has sums of its own, over all super steps of this length. */
enum status stepper_book_levels(struct stepper *stepper, int nlevels, double length);
/* Collective through the halo; queued. Some of its levels, as one pass. */
enum status stepper_advance_levels(struct stepper *stepper, double start, double length,
                                   const struct superstep_level *levels, int first, int nlevels);

/* Find the coefficients and sources of the pass, and add what they may do to the limits. */
enum status stepper_find_coefficients(struct stepper *stepper, struct stepper_pass *pass);

/* Collective through the halo; queued. The same, and queue the pass; at most PASSES_AHEAD passes
 * are in flight. */
enum status stepper_queue_pass(struct stepper *stepper, struct stepper_pass *pass);
