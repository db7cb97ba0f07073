/* Bounds of a correct solution between two checks: the range of temperatures, and the effect of
 * rounding on the heat. docs/reference/numerics.md gives the argument. */
#pragma once

#include "model/operator/operator.h"
#include "model/space/grid.h"

/* A range of temperatures, K, and how far it may be exceeded. Infinite on a side where a flux adds
 * or removes heat without bound. */
struct reach {
    double low, high;
    double overshoot; /* >= 1: the factor by which a cell can exceed the data */
    double inside;    /* of super steps: see superstep.h; for rounding errors */
    int64_t steps;
};

/* The accumulated rounding error, in K times cells: u (of_magnitude A + of_range D + fixed), with A
 * the largest magnitude and D the range of temperatures. */
struct roundings {
    double of_magnitude, of_range;
    double fixed_K;
    double face_terms; /* terms of the ledger's sums */
};

struct limits {
    struct reach ever; /* since the first state */
    struct reach last; /* since the last check */
    struct roundings roundings;
};

/* Start from the minimum and maximum of a state, K. */
void limits_begin(struct limits *limits, double min, double max);

/* Add one step with this operator, and its painted sources. */
void limits_step(struct limits *limits, const struct problem *problem,
                 const struct heat_operator *op);

/* In a medium of classes: as long as the operator is this one, cells stay between these and their
 * own extremes, where no step overshoots. Infinite where a flux, a source or a formula sets no
 * limit.
 */
void limits_outside(const struct problem *problem, const struct heat_operator *op, double *low,
                    double *high);

/* The same for a moving source, which adds between `least` and `most` K of the reference to each of
 * at most `cells` cells. */
void limits_add_moving(struct limits *limits, const struct medium *medium, double least,
                       double most, double cells);

/* The range that no cell can have left, including rounding errors. */
void limits_range(const struct limits *limits, enum precision precision, double *low, double *high);

/* The largest change of the sum of all temperatures by rounding since the last check, in K times
 * cells, not counting what the ledger includes. `min` and `max`: the current extremes. */
double limits_rounding(const struct limits *limits, const struct grid *grid,
                       enum precision precision, double min, double max);

/* After a check that passed: restart from these extremes. */
void limits_renew(struct limits *limits, double min, double max);
