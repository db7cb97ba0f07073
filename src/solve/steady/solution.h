/* A solution while steady_solve looks for it: its residual, and sums over the cells. */
#pragma once

#include <math.h>

#include "solve/steady/steady.h"

struct solution {
    struct stepper *stepper;
    struct steady *steady;
    const struct steady_goal *goal;
    struct field *field;
    const struct layout *grid;          /* of the finest grid */
    const struct device_medium *medium; /* NULL: heat capacities are equal */
    struct field_summary lack;          /* the residual: K per step */
    double largest_lack;                /* K per step */
    double rounding;                    /* of one step, K; 0: not looked at */
    double scale;                       /* of the residual in the grids, which is about 1 at most */
    double step;  /* the factor of the last direction, in units of the grids */
    bool is_true; /* `lack` is that of the state, not of one before it */
};

enum { PRODUCTS_MOST = 3 };

static inline double largest(const struct field_summary *summary)
{
    return fmax(fabs(summary->min), fabs(summary->max));
}

static inline double sum_of(const struct field_summary *summary)
{
    return summary->bad_cells == 0 ? exact_sum_value(&summary->sum) : NAN;
}

/* Collective. The status of the rank that fails first. */
enum status solution_agree(const struct solution *s, enum status status);

/* Collective. Summarise the owned cells: with `medium` also their heat, weighted by the heat
 * capacities of its classes. */
enum status solution_summarise(const struct solution *s, const struct layout *layout,
                               const void *d_values, const struct device_medium *medium,
                               struct field_summary *all);

/* Collective. The products of an array of the finest grid with `count` others, PRODUCTS_MOST at
 * most, whose value is 1 where they are NULL: one wait for all. */
enum status solution_products(const struct solution *s, const float *d_a, const float *const d_b[],
                              int count, struct field_summary all[]);

/* The medium for sums of heat; NULL: heat capacities are equal, or values are heat itself. */
const struct device_medium *solution_weights(const struct solution *s);

/* Collective. The residual of the state, to d_next. */
enum status solution_residual(struct solution *s);

/* K per unit of the grids' e, where d_scale is 1. */
double solution_kelvins(const struct solution *s);

/* A scale for which the largest residual is about 1: a power of two. */
double solution_scale(const struct solution *s);

/* Queued. The residual in d_next as heat, in float32 and scaled, to the finest grid. */
enum status solution_send(struct solution *s, double scale);

/* Queued. The residual of the finest grid after the last step, in float32. */
enum status solution_follow(const struct solution *s);

/* Collective. From one temperature by full multigrid to a state near the solution, and its
 * residual. */
enum status solution_start(struct solution *s);
