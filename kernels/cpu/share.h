/* Division of a box among threads: contiguous pieces in memory order, so that the thread that first
 * touches a page also works on it later. */
#ifndef ISOTHERM_KERNELS_CPU_SHARE_H
#define ISOTHERM_KERNELS_CPU_SHARE_H

#include "base/box.h"

enum {
    SHARE_PIECES = 3,
    /* fewer cells are left to one thread */
    SHARE_MIN_CELLS = 8192
};

/* Where part `part` of `nparts` of the range [0, n) begins; differs by at most 1 in length. */
static inline int64_t share_begin(int64_t n, int part, int nparts)
{
    return n / nparts * part + (part < n % nparts ? part : n % nparts);
}

/* The part of `box` for thread `part` of `nparts`, as at most SHARE_PIECES disjoint boxes (whole
 * planes, and part of a plane before and after). A box of few rows is divided along x at multiples
 * of 64 cells, so that no two threads write to one cache line. Returns the number of pieces, none
 * of them empty. */
int share_box(const struct box *box, int part, int nparts, struct box pieces[SHARE_PIECES]);

/* Do these boxes have enough cells for more than one thread? */
bool share_is_worthwhile(const struct box *boxes, int nboxes);

#endif
