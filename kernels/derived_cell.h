/* Derived fields of one cell: the expressions that every backend evaluates. Comparisons, and
 * arithmetic in a fixed order with explicit fma, for the same bits everywhere (heat_cell.h).
 * Included by C and by HIP sources. */
#ifndef ISOTHERM_KERNELS_DERIVED_CELL_H
#define ISOTHERM_KERNELS_DERIVED_CELL_H

#include <stdbool.h>

#include "kernels/heat_cell.h"

/* The highest temperature so far; `highest` is NaN before the first sample. K. */
KERNEL_INLINE double derived_highest(double highest, double temperature)
{
    return highest >= temperature ? highest : temperature;
}

/* The time when a cell was first at or above the isotherm, s; NaN before. */
KERNEL_INLINE double derived_arrival(double arrival, double temperature, double isotherm,
                                     double time)
{
    const bool there = arrival <= time; /* false for NaN */
    return !there && temperature >= isotherm ? time : arrival;
}

/* The time above the threshold so far, s; `weight` is the time that the sample stands for. */
KERNEL_INLINE double derived_above(double above, double temperature, double threshold,
                                   double weight)
{
    return temperature > threshold ? above + weight : above;
}

KERNEL_INLINE double derived_square(double qx, double qy, double qz)
{
    return fma(qx, qx, fma(qy, qy, qz * qz));
}

/* The square of the heat flux, W^2/m^4. scale: k / (2 h) per axis, W/(m^2 K): the mean of the
 * fluxes k (T - T+) / h through the two faces of the cell. The root is taken by extract_root, since
 * not every device rounds it as IEEE 754 requires. */
KERNEL_INLINE double derived_flux_squared(double xm, double xp, double ym, double yp, double zm,
                                          double zp, double sx, double sy, double sz)
{
    const double qx = sx * (xm - xp);
    const double qy = sy * (ym - yp);
    const double qz = sz * (zm - zp);
    return derived_square(qx, qy, qz);
}

/* The same in a medium of classes, for one axis: scale (gm (c - m) + gp (p - c)), with the
 * conductances g of medium_cell.h to the neighbours m and p. The sign does not matter. */
KERNEL_INLINE double derived_flux_between(double c, double m, double p, double gm, double gp,
                                          double scale)
{
    return scale * fma(gm, c - m, gp * (p - c));
}

#endif
