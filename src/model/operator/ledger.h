/* The heat ledger: the heat that entered through the boundary, and that of sources.
 *
 * In a step the heat through a closed face is, per cell, rho c V r (outside - inside) with outside
 * = a inside + b. So a run needs the sum of the inside cells over face and steps, and the sum of b.
 * Both are exact sums: the ledger is bitwise the same on any decomposition and across restarts. It
 * is valid while a and r are constant; call `ledger_close` before they change.
 *
 * With a wider stencil the kernel sums the inward flux itself, r times which is the heat in units
 * of rho c V. With classes the kernel sums g (outside - inside) itself, which is in units of the
 * reference heat capacity times the cell volume; and a sum of temperatures is that of T / sigma.
 * The heat through surfaces between a body and ambients, in the same units, counts as heat through
 * the boundary.
 * The heat of sources is in the same units: what the kernels added, as they rounded it. */
#pragma once

#include "base/exact_sum.h"
#include "model/operator/operator.h"

/* Plain data, the same on all ranks; stored in checkpoints. */
struct ledger {
    struct exact_sum start;                /* sum of T over all cells at step 0, K */
    struct exact_sum face_sum[FACE_COUNT]; /* inside cells, over face and steps, K */
    struct exact_sum b_sum[FACE_COUNT];    /* b over the steps, K */
    double booked_J;                       /* heat before the last change of r */
    struct exact_sum source_sum;           /* by sources, over cells and steps, K */
    double source_booked_J;                /* heat before the last change of the heat capacity */
    struct exact_sum surface_sum;          /* through surfaces, over faces and steps, K */
};

/* J, given the sum of T over all cells. */
double ledger_heat(const struct problem *problem, const struct exact_sum *sum);

/* Add the b of one step. */
void ledger_add_step(struct ledger *ledger, const struct heat_operator *op);

/* The heat capacity per volume that operator_class_source counts with, over the reference one: of
 * the class with lines; 0 of an ambient, which takes no heat. */
double ledger_source_capacity(const struct problem *problem, int of_class);

/* Add the heat of painted sources in one step. */
void ledger_add_sources(struct ledger *ledger, const struct problem *problem,
                        const struct heat_operator *op);

/* The heat in J that sources have added since step 0. */
double ledger_source_heat(const struct ledger *ledger, const struct problem *problem);

/* The heat in J that entered through the boundary since step 0. `op`: of any step since the last
 * ledger_close. */
double ledger_boundary_heat(const struct ledger *ledger, const struct problem *problem,
                            const struct heat_operator *op);

/* The part of one face since the last ledger_close; 0 for one that is not closed. */
double ledger_face_heat(const struct ledger *ledger, const struct problem *problem,
                        const struct heat_operator *op, enum face face);

/* The sum of the magnitudes: the scale of the rounding error. */
double ledger_turnover(const struct ledger *ledger, const struct problem *problem,
                       const struct heat_operator *op);

/* Add the sums to booked_J and restart them: before a step of another length. */
void ledger_close(struct ledger *ledger, const struct problem *problem,
                  const struct heat_operator *op);

/* Shift the start so that a drift of `drift_J` becomes 0. For a state whose heat is redefined by
 * another material or grid. */
void ledger_forgive(struct ledger *ledger, const struct problem *problem, double drift_J);
