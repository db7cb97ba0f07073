/* How threads share a box: contiguous pieces in memory order, so that the thread that first
 * touches a page is the one that works on it later. */
#ifndef ISOTHERM_KERNELS_CPU_SHARE_H
#define ISOTHERM_KERNELS_CPU_SHARE_H

#include "base/box.h"

enum {
    SHARE_PIECES = 3,
    /* fewer cells than this are not worth waking the other threads */
    SHARE_MIN_CELLS = 8192
};

/* Where part `part` of `nparts` of the range [0, n) begins; differs by at most 1 in length. */
static inline int64_t share_begin(int64_t n, int part, int nparts)
{
    return n / nparts * part + (part < n % nparts ? part : n % nparts);
}

/* The part of `box` that thread `part` of `nparts` works on, as at most SHARE_PIECES disjoint
 * boxes (some whole planes, and a piece of a plane before and after). A box of few rows is cut
 * along x, at multiples of 64 cells so that no two threads write one cache line. Returns how many
 * pieces there are, none of them empty. */
int share_box(const struct box *box, int part, int nparts, struct box pieces[SHARE_PIECES]);

/* Whether these boxes hold enough work for more than one thread. */
bool share_is_worthwhile(const struct box *boxes, int nboxes);

#endif
