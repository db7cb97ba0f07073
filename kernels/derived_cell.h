/* What derived fields make of one cell: the expressions that every backend evaluates, as
 * heat_cell.h has the update. Comparisons, and arithmetic whose every rounding is spelled out; so
 * the results are the same bits everywhere. Included by C and by HIP sources. */
#ifndef ISOTHERM_KERNELS_DERIVED_CELL_H
#define ISOTHERM_KERNELS_DERIVED_CELL_H

#include <stdbool.h>

#include "kernels/heat_cell.h"

/* The highest temperature so far; `highest` is NaN before the first sample. K. */
KERNEL_INLINE double derived_highest(double highest, double temperature)
{
    return highest >= temperature ? highest : temperature;
}

/* When a cell was first found at or above the isotherm; NaN until then. s. */
KERNEL_INLINE double derived_arrival(double arrival, double temperature, double isotherm,
                                     double time)
{
    const bool there = arrival <= time; /* false for NaN */
    return !there && temperature >= isotherm ? time : arrival;
}

/* How long it has been above the threshold: what the sample stands for, counted when it is. s. */
KERNEL_INLINE double derived_above(double above, double temperature, double threshold,
                                   double weight)
{
    return temperature > threshold ? above + weight : above;
}

/* The square of the heat flux, W^2/m^4. scale: k / (2 h) per axis, W/(m^2 K): the mean of the
 * fluxes through the two faces of the cell, which are k (T - T+) / h each. The root is the
 * host's: not every device rounds it as IEEE 754 asks. */
KERNEL_INLINE double derived_flux_squared(double xm, double xp, double ym, double yp, double zm,
                                          double zp, double sx, double sy, double sz)
{
    const double qx = sx * (xm - xp);
    const double qy = sy * (ym - yp);
    const double qz = sz * (zm - zp);
    return fma(qx, qx, fma(qy, qy, qz * qz));
}

#endif
