/* The heat ledger: where the heat in the domain came from.
 *
 * What a step lets through a closed face is, cell by cell, rho c V r (outside - inside) with
 * outside = a inside + b; so a run needs the sum of the inside cells over the face and over the
 * steps, and the sum of b. Both are exact sums, so the ledger is the same to the last bit on any
 * decomposition and across restarts. Valid while a and r stay the same: `ledger_close` books
 * what came so far before they change. */
#ifndef ISOTHERM_MODEL_LEDGER_H
#define ISOTHERM_MODEL_LEDGER_H

#include "base/exact_sum.h"
#include "model/grid.h"
#include "model/operator.h"

/* Plain data, the same on all ranks: goes into checkpoints as it is. */
struct ledger {
    struct exact_sum start;                /* sum of T over all cells at step 0, K */
    struct exact_sum face_sum[FACE_COUNT]; /* inside cells, over face and steps, K */
    struct exact_sum b_sum[FACE_COUNT];    /* b over the steps, K */
    double booked_J;                       /* what came before the last change of r */
};

/* J, given the sum of T over all cells. */
double ledger_heat(const struct grid *grid, const struct medium *medium,
                   const struct exact_sum *sum);

/* Count one step's b. */
void ledger_add_step(struct ledger *ledger, const struct heat_operator *op);

/* J that came in through the boundary since step 0. `op`: any of the steps since the last
 * booking. */
double ledger_boundary_heat(const struct ledger *ledger, const struct grid *grid,
                            const struct medium *medium, const struct heat_operator *op);

/* The same without the signs: what the sum's rounding is relative to. */
double ledger_turnover(const struct ledger *ledger, const struct grid *grid,
                       const struct medium *medium, const struct heat_operator *op);

/* Book what came so far and start new sums: before a step of another length. */
void ledger_close(struct ledger *ledger, const struct grid *grid, const struct medium *medium,
                  const struct heat_operator *op);

/* Let a drift of so many J be none: move the start by as much. For a state that means another heat
 * than it did, in another material or on another grid. */
void ledger_forgive(struct ledger *ledger, const struct grid *grid, const struct medium *medium,
                    double drift_J);

#endif
