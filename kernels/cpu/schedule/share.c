#include "kernels/cpu/schedule/share.h"

static int share_along_x(const struct box *box, int part, int nparts, struct box *piece)
{
    const int64_t unit = 64;
    const int64_t first = box->lo[AXIS_X] / unit; /* indices are not negative */
    const int64_t nunits = (box->hi[AXIS_X] + unit - 1) / unit - first;
    const int64_t lo = (first + share_begin(nunits, part, nparts)) * unit;
    const int64_t hi = (first + share_begin(nunits, part + 1, nparts)) * unit;
    *piece = *box;
    piece->lo[AXIS_X] = lo > box->lo[AXIS_X] ? lo : box->lo[AXIS_X];
    piece->hi[AXIS_X] = hi < box->hi[AXIS_X] ? hi : box->hi[AXIS_X];
    return !box_is_empty(piece);
}

int64_t share_take(struct share_taken *taken, int64_t n, int part, int nparts)
{
    for (int p = 0; p < nparts; p++) {
        const int of = (part + p) % nparts;
        const int64_t begin = share_begin(n, of, nparts);
        const int64_t left = share_begin(n, of + 1, nparts) - begin;
        int64_t at;
#pragma omp atomic read
        at = taken[of].pieces;
        if (at >= left) {
            continue;
        }
#pragma omp atomic capture
        at = taken[of].pieces++;
        if (at < left) {
            return begin + at;
        }
    }
    return -1;
}

int share_box(const struct box *box, int part, int nparts, struct box pieces[SHARE_PIECES])
{
    const int64_t ny = box_extent(box, AXIS_Y);
    const int64_t nrows = ny * box_extent(box, AXIS_Z);
    if (nparts > 1 && nrows < 4 * (int64_t)nparts) {
        return share_along_x(box, part, nparts, pieces);
    }
    int64_t row = share_begin(nrows, part, nparts);
    const int64_t end = share_begin(nrows, part + 1, nparts);
    int npieces = 0;
    while (row < end) {
        const int64_t j = row % ny;
        const int64_t left = end - row;
        /* whole planes, or the rest of this plane */
        const int64_t nplanes = j == 0 && left >= ny ? left / ny : 1;
        const int64_t in_plane = left < ny - j ? left : ny - j;
        struct box piece = *box;
        piece.lo[AXIS_Y] = box->lo[AXIS_Y] + j;
        piece.hi[AXIS_Y] = piece.lo[AXIS_Y] + in_plane;
        piece.lo[AXIS_Z] = box->lo[AXIS_Z] + row / ny;
        piece.hi[AXIS_Z] = piece.lo[AXIS_Z] + nplanes;
        row += in_plane * nplanes;
        if (!box_is_empty(&piece)) {
            pieces[npieces++] = piece;
        }
    }
    return npieces;
}

bool share_is_worthwhile(const struct box *boxes, int nboxes)
{
    int64_t cells = 0;
    for (int b = 0; b < nboxes; b++) {
        cells += box_cells(&boxes[b]);
    }
    return cells >= SHARE_MIN_CELLS;
}

enum status share_rows(const struct layout *layout, const void *args, row_function *row)
{
    const struct box owned = layout_owned(layout);
    const int64_t ny = layout->cells[AXIS_Y];
    const int64_t nrows = ny * layout->cells[AXIS_Z];
    if (!share_is_worthwhile(&owned, 1)) { /* without the cost of a team of one thread */
        for (int64_t r = 0; r < nrows; r++) {
            row(args, r % ny, r / ny);
        }
        return STATUS_OK;
    }
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < nrows; r++) {
        row(args, r % ny, r / ny);
    }
    return STATUS_OK;
}
