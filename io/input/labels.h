/* Labels of cells from files other than HDF5. */
#pragma once

#include "model/space/grid.h"

/* Not collective. The integers (`floats`: the numbers) of `box` (global indices), as [z][y][x],
 * from an array of NumPy of the grid's shape (nz, ny, nx), in 2D also (ny, nx), in C order and
 * little-endian; or from a TIFF file with a page per plane of z, whose first row is that of y = 0,
 * of 8 or 16 bits; or from a volume of NIfTI-1 (.nii, .nii.gz) in the orientation nearest to its
 * sform or qform (without one its first axis is x), with its scl_slope and scl_inter. Without
 * `floats` its voxels must have the size of the cells. STATUS_FILE when it cannot be read,
 * STATUS_INPUT (message without origin) for another type or shape, and for TIFF or NIfTI in a build
 * without the library. */
enum status labels_read_npy(const char *path, bool floats, const struct grid *grid,
                            const struct box *box, float *values);
enum status labels_read_tiff(const char *path, const struct grid *grid, const struct box *box,
                             float *values);
enum status labels_read_nifti(const char *path, bool floats, const struct grid *grid,
                              const struct box *box, float *values);

/* A little-endian number of `bytes` bytes: 'i', 'u' and 'b' integers, 'f' floating-point. */
double labels_number(char type, int bytes, const void *at);
