/* The studies of this build, and the kernels that each backend has for them. */
#ifndef ISOTHERM_KERNELS_STUDY_STUDIES_H
#define ISOTHERM_KERNELS_STUDY_STUDIES_H

#include "kernels/study/study.h"

/* The index-th study; NULL behind the last. */
const struct study *study_at(int index);
/* The kernels that a backend has for a study, up to one without a name; none for NULL. */
const struct study_kernel *study_kernels(const struct study *study, const struct backend *backend);

#endif
