/* Division of a box among threads: contiguous pieces in memory order, so that the thread that first
 * touches a page also works on it later. */
#pragma once

#include "base/box.h"
#include "kernels/layout.h"

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

/* How many pieces were taken of a thread's part of some work; initially 0. A line of its own. */
struct share_taken {
    int64_t pieces;
    char rest[56];
};

/* One of the pieces [0, n) of work that each of `nparts` threads calls this for until it returns
 * -1. A thread gets those of its own part first, in order, then what others have not begun: one of
 * them may be slower. */
int64_t share_take(struct share_taken *taken, int64_t n, int part, int nparts);

/* The part of `box` for thread `part` of `nparts`, as at most SHARE_PIECES disjoint boxes (whole
 * planes, and part of a plane before and after). A box of few rows is divided along x at multiples
 * of 64 cells, so that no two threads write to one cache line. Returns the number of pieces, none
 * of them empty. */
int share_box(const struct box *box, int part, int nparts, struct box pieces[SHARE_PIECES]);

/* Do these boxes have enough cells for more than one thread? */
bool share_is_worthwhile(const struct box *boxes, int nboxes);

/* Row (j, k) of an operation. */
typedef void row_function(const void *args, int64_t j, int64_t k);

/* All rows of the owned cells of `layout`; returns STATUS_OK. */
enum status share_rows(const struct layout *layout, const void *args, row_function *row);
