/* What the numbers of a sound run can do between two looks at the field: how far temperatures can
 * go, and how far rounding can move the heat. docs/numerics.md gives the argument. */
#ifndef ISOTHERM_MODEL_LIMITS_H
#define ISOTHERM_MODEL_LIMITS_H

#include "model/grid.h"
#include "model/operator.h"

/* A range of temperatures and what widens it, since some moment. K; infinite on a side where a
 * flux lets heat in or out without bound. */
struct reach {
    double low, high;
    double overshoot; /* >= 1: how much further than the data a cell at a boundary can go */
    int64_t steps;
};

/* How much rounding there was, in cells and steps: u (of_magnitude A + of_range D + fixed), with A
 * the largest magnitude of a temperature and D the range of all. */
struct roundings {
    double of_magnitude, of_range;
    double fixed_K;
    double face_terms; /* terms of the ledger's sums */
};

struct limits {
    struct reach ever; /* from the first state on */
    struct reach last; /* from the last look on */
    struct roundings roundings;
};

/* Begin with a state's extremes, K. */
void limits_begin(struct limits *limits, double min, double max);

/* Count one step, made with this operator. */
void limits_step(struct limits *limits, const struct grid *grid, const struct heat_operator *op);

/* The range that no cell can have left, rounding allowed for. */
void limits_range(const struct limits *limits, enum precision precision, double *low, double *high);

/* By how much rounding can have changed the sum of all temperatures beside what the ledger books,
 * since the last look: K times cells. `min` and `max` are the present extremes. */
double limits_rounding(const struct limits *limits, const struct grid *grid,
                       enum precision precision, double min, double max);

/* A look found nothing wrong: the next one starts from these extremes. */
void limits_renew(struct limits *limits, double min, double max);

/* The factor for one step: 1 while every new value is a mean of old ones and boundary values. */
double limits_overshoot(const struct grid *grid, const struct heat_operator *op);

#endif
