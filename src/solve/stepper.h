/* What advances a state: its neighbours' halos, the scheme, and the limits of what a sound step can
 * do. It borrows the problem, the team, the engine, the state and the phases; what works on a
 * present state (diagnostics, outputs) reaches them through it. */
#ifndef ISOTHERM_SOLVE_STEPPER_H
#define ISOTHERM_SOLVE_STEPPER_H

#include "halo/exchange.h"
#include "model/limits.h"
#include "model/operator.h"
#include "solve/engine.h"
#include "solve/phases.h"
#include "solve/scheme.h"
#include "solve/state.h"

/* What numerics_check.h remembers from look to look; zeroed memory has not begun. The same on all
 * ranks. */
struct numerics_check {
    bool begun;
    struct limits limits; /* counts every step */
    int64_t step;         /* of the last look */
    double drift;         /* J, the ledger's then */
    double slack;         /* J, how far arithmetic in doubles can have put it off */
};

struct stepper {
    const struct problem *problem; /* borrowed, and so are the next four */
    const struct team *team;
    struct engine *engine;
    struct state *state;
    struct phases *phases;
    const struct scheme *scheme;
    struct halo_plan plan;
    struct halo *halo; /* NULL when there is nothing to exchange */
    bool overlap;      /* the exchange with the interior */
    struct numerics_check check;
};

/* Collective. Open the halo's transport and choose the overlap. The outcome is agreed. */
enum status stepper_create(const struct problem *problem, const struct team *team,
                           struct engine *engine, struct state *state, struct phases *phases,
                           struct stepper *stepper) MUST_CHECK;
void stepper_destroy(struct stepper *stepper); /* takes a zeroed one */

/* Collective through the halo; queued. Advance the state by `steps` steps. */
enum status stepper_advance(struct stepper *stepper, int64_t steps) MUST_CHECK;

/* Collective through the halo; queued. Fill the halo of the present field on halo_queue, after what
 * bulk_queue holds. Nothing when there is nothing to exchange. */
enum status stepper_exchange(struct stepper *stepper) MUST_CHECK;

/* The operator of the step that starts at the present state, and of the one that ended there (at
 * step 0: of the first one). The same on all ranks, and so is their STATUS_NUMERICS, agreed, when a
 * boundary formula has no finite value. */
enum status stepper_operator(const struct stepper *stepper, struct heat_operator *op) MUST_CHECK;
enum status stepper_operator_before(const struct stepper *stepper,
                                    struct heat_operator *op) MUST_CHECK;

#endif
