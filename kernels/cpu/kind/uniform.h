/* The update of a cell with uniform coefficients, for the rows of lines.h. */
#pragma once

#include "base/box.h"
#include "kernels/cell/heat_cell.h"
#include "kernels/cpu/schedule/real.h"

struct cell_numbers {
    REAL r[AXIS_COUNT];
};
#define STEP_MEMBERS                                                                               \
    struct cell_numbers k;                                                                         \
    REAL a[FACE_COUNT];                                                                            \
    REAL b[FACE_COUNT];
#define CELL(base, row, i, k)                                                                      \
    NAMED(heat_cell)                                                                               \
    (base, row.centre[i], row.xm[i], row.xp[i], row.ym[i], row.yp[i], row.zm[i], row.zp[i],        \
     k.r[AXIS_X], k.r[AXIS_Y], k.r[AXIS_Z])
