/* Replaces labels_nifti.c in builds without niftiio. */
#include "io/input/labels.h"

enum status labels_read_nifti(const char *path, bool floats, const struct grid *grid,
                              const struct box *box, float *values)
{
    (void)floats;
    (void)grid;
    (void)box;
    (void)values;
    return fail(STATUS_INPUT,
                "%.200s: this build has no niftiio, which reads NIfTI files; install libnifti-dev "
                "and build again, or convert the file to .npy",
                path);
}
