/* The operator of one time step: all spatial data of the kernels. Built only here, from the
 * problem, a time and the length of the step. */
#ifndef ISOTHERM_MODEL_OPERATOR_OPERATOR_H
#define ISOTHERM_MODEL_OPERATOR_OPERATOR_H

#include <math.h>

#include "base/exact_sum.h"
#include "kernels/backend.h"
#include "model/medium/boundary.h"
#include "model/problem.h"
#include "model/space/decomp.h"

struct heat_operator {
    double time, dt; /* s: the start and the length of the step */
    int radius; /* of the stencil; above 1 the closures are those of model/operator/high_order.h */
    double r[AXIS_COUNT]; /* alpha dt / h^2 as in the kernel; 0 on an unused axis, and of classes */
    double source[MOST_SOURCES]; /* of a step: of each entry of `sources` its factor at mid-step, in
                                    W/m^3 where it is painted; else 0. Those after are not set */
    struct closure closure;      /* of the faces of the domain; of classes: `closed` only */
};

/* The kind of a problem's coefficients. */
enum kind operator_kind(const struct problem *problem);

/* For a step of length `dt` from `time`, s. Values are rounded to the precision of the run, so that
 * the ledger uses the kernel's. STATUS_NUMERICS when a formula is not finite at that time;
 * the same on all ranks. Not collective. */
enum status operator_create(const struct problem *problem, double time, double dt,
                            struct heat_operator *op) MUST_CHECK;

/* For the step that starts at `step`, with its sources. */
enum status operator_of_step(const struct problem *problem, int64_t step,
                             struct heat_operator *op) MUST_CHECK;

/* For the step that ended at `step`; at step 0 for the first one. */
enum status operator_before(const struct problem *problem, int64_t step,
                            struct heat_operator *op) MUST_CHECK;

/* The heat that painted sources and metabolism add to a cell of this class in the step, in K of the
 * reference heat capacity; as the kernel has it. */
double operator_class_source(const struct heat_operator *op, const struct problem *problem,
                             int of_class);

/* The closure of a face for cells of one class inside it, unrounded (kernels/cell/medium_cell.h).
 */
struct class_closure {
    double a, b, e;
    double conductance; /* of a cell and what is outside, W/K */
    struct face_exchange exchange;
};

/* The same where the cells inside have the conductivity k, not that of their class. */
struct class_closure class_closure_with(const struct class_closure *closure,
                                        const struct grid *grid, enum axis axis, double k);

/* The temperature of the face, K. */
static inline double class_closure_face(const struct class_closure *closure, double inside)
{
    if (closure->e == 0) {
        return 0.5 * fma(1 + closure->a, inside, closure->b);
    }
    return 0.5 * (inside + medium_outside_float64(inside, closure->a, closure->b, closure->e));
}

/* For every face: the largest number of conditions times that of classes. */
int operator_closure_count(const struct problem *problem);

/* Of all classes for each condition of the face: [condition][class], operator_closure_count of them
 * at most. Fails as operator_create. */
enum status operator_closures(const struct heat_operator *op, const struct problem *problem,
                              enum face face, struct class_closure *closures) MUST_CHECK;

int64_t operator_table_length(const struct problem *problem);

/* The table of coefficients of a medium of classes (kernels/cell/medium_cell.h), in the precision
 * of the run; operator_table_length values. `same_dt`: the table is that of another time with the
 * same dt. Fails as operator_create. */
enum status operator_table(const struct heat_operator *op, const struct problem *problem,
                           bool same_dt, void *table) MUST_CHECK;

/* The coefficients of the step on one rank; those of a medium are set by solve/medium/classes.h.
 * Closed faces are those at the edge of the domain. d_face_sum: FACE_COUNT sums in device memory,
 * for faces where the heat depends on the cells; NULL: none. Fails as operator_create. */
enum status operator_coefficients(const struct heat_operator *op, const struct problem *problem,
                                  const struct decomp *decomp, int rank,
                                  struct exact_sum *d_face_sum,
                                  struct coefficients *coefficients) MUST_CHECK;

/* The same for the heat flux kernel. */
void operator_flux_args(const struct heat_operator *op, const struct problem *problem,
                        const struct decomp *decomp, int rank, struct flux_args *args);

#endif
