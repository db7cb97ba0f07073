/* The study `xcorr`: cross-correlation in one dimension with weights of 1, so that an output is the
 * sum of 2 radius + 1 inputs, added in the order of their addresses. */
#ifndef ISOTHERM_KERNELS_STUDY_XCORR_H
#define ISOTHERM_KERNELS_STUDY_XCORR_H

#include "kernels/study/study.h"

extern const struct study study_xcorr;
extern const struct study_kernel xcorr_cpu[], xcorr_guard[], xcorr_hip[];

#endif
