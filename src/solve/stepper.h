/* The time stepper: halo exchange, time scheme and limits. It borrows the problem, the team, the
 * engine, the state and the phases; diagnostics and outputs reach them through it. */
#ifndef ISOTHERM_SOLVE_STEPPER_H
#define ISOTHERM_SOLVE_STEPPER_H

#include "halo/exchange.h"
#include "model/limits.h"
#include "model/moving.h"
#include "model/operator.h"
#include "solve/classes.h"
#include "solve/engine.h"
#include "solve/phases.h"
#include "solve/scheme.h"
#include "solve/source_files.h"
#include "solve/state.h"
#include "solve/steps_per_pass.h"

/* The state of numerics_check.h between checks, the same on all ranks. Starts zeroed. */
struct numerics_check {
    bool begun;
    struct limits limits; /* updated by every step */
    int64_t step;         /* of the last check */
    double drift;         /* J, of the ledger at that step */
    double slack;         /* J, its rounding error */
};

struct stepper {
    const struct problem *problem; /* borrowed, as are the next five */
    const struct team *team;
    struct engine *engine;
    struct classes *classes;
    struct state *state;
    struct phases *phases;
    const struct scheme *scheme;
    struct halo_plan plan;
    struct halo *halo;   /* NULL: nothing to exchange */
    bool overlap;        /* of the exchange with the interior */
    struct box interior; /* the cells that are computed meanwhile */
    struct pass_plan passes;
    int64_t passes_queued;
    int64_t exchanges;    /* of passes */
    int64_t summarise_at; /* diagnostics are taken there, so the pass may take the summary */
    struct numerics_check check;
    struct moving *moving; /* [step of a pass][entry of `sources`]; NULL: all are painted */
    struct source_files source_files;
};

/* Collective. Open the halo's transport and choose the overlap. The outcome is agreed. */
enum status stepper_create(const struct problem *problem, const struct team *team,
                           struct engine *engine, struct classes *classes, struct state *state,
                           struct phases *phases, struct stepper *stepper) MUST_CHECK;
void stepper_destroy(struct stepper *stepper); /* takes a zeroed one */

/* Divide the owned cells into those that are computed during the exchange and the others, at least
 * as thick as the halo; `thick`: about a quarter of the block. */
void stepper_divide(struct stepper *stepper, bool thick);

/* Not collective. Whether run.halo.overlap lets the interior be computed during the exchange; with
 * auto, whether it pays by rule. */
bool stepper_may_overlap(const struct stepper *stepper) MUST_CHECK;

/* Collective, agreed. Use another number of steps per pass, at most passes.most, with the same
 * transports. */
enum status stepper_use_passes(struct stepper *stepper, int steps) MUST_CHECK;

/* Collective through the halo; queued. Advance the state by `steps` steps. */
enum status stepper_advance(struct stepper *stepper, int64_t steps) MUST_CHECK;

/* Let outputs see the temperatures of the current step; after stepper_advance they do. Of an
 * enthalpy: convert it. `from_temperature`: first convert the field, which holds temperatures, to
 * it. Blocks; not collective, but it fails alike where a formula of time does. */
enum status stepper_show(struct stepper *stepper, bool from_temperature) MUST_CHECK;

/* Collective through the halo; queued. Fill the halo of the current field on halo_queue, after the
 * work on bulk_queue. No effect without a halo. */
enum status stepper_exchange(struct stepper *stepper) MUST_CHECK;

/* Agree on the status of something that depends on the time only, so that all ranks fail alike. */
enum status stepper_agree(const struct stepper *stepper, enum status status) MUST_CHECK;

/* The operator of the step that starts at the current state, and of the one that ended there (at
 * step 0: of the first one). The same on all ranks. STATUS_NUMERICS, agreed, when a boundary
 * formula is not finite. */
enum status stepper_operator(const struct stepper *stepper, struct heat_operator *op) MUST_CHECK;
enum status stepper_operator_before(const struct stepper *stepper,
                                    struct heat_operator *op) MUST_CHECK;
/* The operator at the time of the current state, for a step of 1 s: for outputs, which then do not
 * depend on the length of the next step. Where a formula has no finite value at that time, which
 * only the next step would need, that of the last step. */
enum status stepper_operator_per_second(const struct stepper *stepper,
                                        struct heat_operator *op) MUST_CHECK;

/* Find the sources, except painted ones, of the step `level` steps after the current state, and add
 * them to the limits. The same on all ranks; fails alike, agreed. */
enum status stepper_find_sources(struct stepper *stepper, const struct heat_operator *op,
                                 int level) MUST_CHECK;

/* Boxes of the next field that a step has computed. */
struct heated {
    int level;   /* as for stepper_find_sources */
    bool counts; /* for the ledger: owned cells */
    const struct coefficients *coefficients;
    const struct layout *layout; /* of the owned cells, or with some of the halo */
    const int64_t *shift;        /* from indices of the field to those of the layout */
    const struct box *boxes;     /* in those of the layout */
    int nboxes;
};
/* Queued. Add the sources to these boxes, after the step on the queue; and book the heat of
 * perfusion, which the step includes. */
enum status stepper_add_sources(const struct stepper *stepper, struct queue *queue,
                                const struct heated *heated) MUST_CHECK;

/* The coefficients of `op` on the device, for work that is then queued; NULL: uniform. Fails alike
 * on all ranks, agreed. */
enum status stepper_medium(const struct stepper *stepper, const struct heat_operator *op,
                           const struct device_medium **args) MUST_CHECK;

#endif
