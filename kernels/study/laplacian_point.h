/* The Laplacian at one point: the expression that every Laplacian kernel evaluates, in the order of
 * the addresses, with explicit fma (see heat_cell.h). Included by C and by HIP sources. */
#ifndef ISOTHERM_KERNELS_STUDY_LAPLACIAN_POINT_H
#define ISOTHERM_KERNELS_STUDY_LAPLACIAN_POINT_H

#include "kernels/heat_cell.h"

/* The coefficient of the point itself, for the weights 1/h^2 of its neighbours. */
KERNEL_INLINE double laplacian_centre(double wx, double wy, double wz)
{
    return -2.0 * (wx + wy + wz);
}

/* c: the point; xm..zp: its six neighbours; wx, wy, wz: 1/h^2; wc: laplacian_centre. */
KERNEL_INLINE double laplacian_float64(double c, double xm, double xp, double ym, double yp,
                                       double zm, double zp, double wx, double wy, double wz,
                                       double wc)
{
    return fma(wz, zp, fma(wy, yp, fma(wx, xp, fma(wc, c, fma(wx, xm, fma(wy, ym, wz * zm))))));
}

KERNEL_INLINE float laplacian_float32(float c, float xm, float xp, float ym, float yp, float zm,
                                      float zp, float wx, float wy, float wz, float wc)
{
    return fmaf(wz, zp,
                fmaf(wy, yp, fmaf(wx, xp, fmaf(wc, c, fmaf(wx, xm, fmaf(wy, ym, wz * zm))))));
}

#endif
