/* The studies of this build, and their kernels by backend. */
#ifndef ISOTHERM_KERNELS_STUDY_STUDIES_H
#define ISOTHERM_KERNELS_STUDY_STUDIES_H

#include "kernels/study/jacobi.h"
#include "kernels/study/study.h"

/* The index-th study; NULL after the last. */
const struct study *study_at(int index);
/* The index-th of those without published cases, for `bench kernels`; NULL after the last. */
const struct study *study_of_any_size(int index);
/* The kernels of a backend for a study, ended by one without a name; none for NULL. */
const struct study_kernel *study_kernels(const struct study *study, const struct backend *backend);
/* The shapes to search, at most STUDY_MOST_SHAPES; 0: not a problem for this kernel. */
int study_shapes(const struct study_kernel *kernel, const struct study_problem *problem,
                 struct study_shape shapes[STUDY_MOST_SHAPES]);
/* Whether two elements of the results are as equal as the study demands. */
bool study_agrees(const struct study *study, enum precision precision, const void *a,
                  const void *b);

/* The index-th programming model of the Jacobi iteration; NULL after the last. */
const struct jacobi_model *study_jacobi(int index);

#endif
