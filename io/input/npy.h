/* Labels of cells from files of NumPy. */
#pragma once

#include "model/space/grid.h"

/* Not collective. The integers of `box` (global indices), as [z][y][x], from a .npy file of the
 * grid's shape (nz, ny, nx), in 2D also (ny, nx), in C order and little-endian. STATUS_FILE when it
 * cannot be read, STATUS_INPUT (message without origin) for another type or shape. */
enum status npy_read_box(const char *path, const struct grid *grid, const struct box *box,
                         float *values);
