/* The study `laplacian`: f = lap(u), the kernels that docs/laplacian_study.md describes, and their
 * traffic model. The weight of an axis is 1/h^2, 1/m^2. */
#ifndef ISOTHERM_KERNELS_STUDY_LAPLACIAN_H
#define ISOTHERM_KERNELS_STUDY_LAPLACIAN_H

#include "kernels/study/study.h"

extern const struct study study_laplacian;
extern const struct study_kernel laplacian_cpu[], laplacian_guard[], laplacian_hip[];

#endif
