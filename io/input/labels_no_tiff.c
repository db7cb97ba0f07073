/* Replaces labels_tiff.c in builds without libtiff. */
#include "io/input/labels.h"

enum status labels_read_tiff(const char *path, const struct grid *grid, const struct box *box,
                             float *values)
{
    (void)grid;
    (void)box;
    (void)values;
    return fail(STATUS_INPUT,
                "%.200s: this build has no libtiff, which reads TIFF files; install libtiff-dev "
                "and build again, or convert the file to .npy",
                path);
}
