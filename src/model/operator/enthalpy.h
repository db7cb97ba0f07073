/* The coefficients of a medium whose properties depend on temperature
 * (kernels/cell/nonlinear_cell.h), from the curves of its materials. */
#ifndef ISOTHERM_MODEL_OPERATOR_ENTHALPY_H
#define ISOTHERM_MODEL_OPERATOR_ENTHALPY_H

#include "model/problem.h"

/* The operator_table of such a medium without its closures, for a step of length dt. q: of each
 * class in the step. */
void enthalpy_table(const struct problem *problem, double dt, const double *q, void *table);

/* The conductivity along x, W/(m K), of a cell of a class with the value u of the field. */
double enthalpy_conductivity(const struct medium *medium, int of_class, double u);

/* `one_curve` of medium_args. */
bool enthalpy_has_one_curve(const struct medium *medium);

#endif
