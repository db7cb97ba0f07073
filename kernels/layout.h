/* How a subdomain's field lies in memory: [z][y][x] with halo layers, x fastest. */
#ifndef ISOTHERM_KERNELS_LAYOUT_H
#define ISOTHERM_KERNELS_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/box.h"
#include "base/precision.h"
#include "base/status.h"

/* Cell (0, 0, 0) of every row starts on such a boundary: full-width aligned stores. */
enum { LAYOUT_ALIGN_BYTES = 64 };

/* Strides count elements. Owned cells have local indices 0 <= i < cells[axis]; halo cells
 * -halo[axis] <= i < 0 and cells[axis] <= i < cells[axis] + halo[axis]. */
struct layout {
    enum precision precision;
    int64_t cells[AXIS_COUNT]; /* owned by this rank */
    int halo[AXIS_COUNT];      /* layers on either side; 0 on an axis that is not in use */
    int64_t origin;            /* element of the owned cell (0, 0, 0) */
    int64_t pitch_y;           /* elements from j to j + 1 */
    int64_t pitch_z;           /* elements from k to k + 1 */
    int64_t elements;          /* in all, with halo and padding */
};

/* Compute the layout. Rows are padded on both sides, so that owned cells start aligned, and so that
 * the pitch is no large power of two (rows of neighbouring planes would share cache sets). Returns
 * STATUS_INPUT when the element count does not fit 63 bits. */
enum status layout_create(const int64_t cells[AXIS_COUNT], const int halo[AXIS_COUNT],
                          enum precision precision, struct layout *layout) MUST_CHECK;

/* Take the padding out of a fresh layout where nothing needs it: no halo in x, and rows short
 * enough that the end of one matters. A processor's own fetching ahead then goes on from row to row
 * (docs/kernels_cpu.md). Planes are moved against each other instead, out of common cache sets.
 * Memory is still there for a line in front of the first row and behind the last. */
void layout_close_rows(struct layout *layout);

static inline size_t layout_bytes(const struct layout *layout)
{
    return (size_t)layout->elements * precision_bytes(layout->precision);
}

/* Element of local cell (i, j, k), halo included. */
static inline int64_t layout_index(const struct layout *layout, int64_t i, int64_t j, int64_t k)
{
    return layout->origin + i + j * layout->pitch_y + k * layout->pitch_z;
}

/* All owned cells. */
static inline struct box layout_owned(const struct layout *layout)
{
    return box_of_cells(layout->cells);
}

#endif
