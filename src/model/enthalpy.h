/* The coefficients of a medium whose properties depend on temperature (kernels/nonlinear_cell.h),
 * from the curves of its materials. */
#ifndef ISOTHERM_MODEL_ENTHALPY_H
#define ISOTHERM_MODEL_ENTHALPY_H

#include "model/problem.h"

/* operator_table of such a medium, for a step of length dt from `time`, but q, which is that of
 * each class in the step. */
enum status enthalpy_table(const struct problem *problem, double time, double dt, const double *q,
                           void *table) MUST_CHECK;

/* The temperature, K, and the conductivity along x, W/(m K), of a cell of a class with the value u
 * of the field. */
struct nonlinear_float64 enthalpy_evaluate(const struct medium *medium, int of_class, double u);

/* Whether w is the same for all classes, and there are no contacts: `plain` of medium_args. */
bool enthalpy_is_plain(const struct medium *medium);

#endif
