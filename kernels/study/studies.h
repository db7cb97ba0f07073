/* The studies of this build, and their kernels by backend. */
#ifndef ISOTHERM_KERNELS_STUDY_STUDIES_H
#define ISOTHERM_KERNELS_STUDY_STUDIES_H

#include "kernels/study/study.h"

/* The index-th study; NULL after the last. */
const struct study *study_at(int index);
/* The kernels of a backend for a study, ended by one without a name; none for NULL. */
const struct study_kernel *study_kernels(const struct study *study, const struct backend *backend);

#endif
