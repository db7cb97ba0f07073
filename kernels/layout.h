/* The layout of a subdomain's field in memory: [z][y][x] with halo layers, x fastest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/box.h"
#include "base/precision.h"
#include "base/status.h"

/* Owned cells of every row begin at a multiple of this: full-width aligned stores. */
enum { LAYOUT_ALIGN_BYTES = 64 };

/* Strides count elements. Owned cells have local indices 0 <= i < cells[axis]; halo cells
 * -halo[axis] <= i < 0 and cells[axis] <= i < cells[axis] + halo[axis]. */
struct layout {
    enum precision precision;
    int64_t cells[AXIS_COUNT]; /* owned by this rank */
    int halo[AXIS_COUNT];      /* layers on either side; 0 on an unused axis */
    int64_t origin;            /* element of the owned cell (0, 0, 0) */
    int64_t pitch_y;           /* elements from j to j + 1 */
    int64_t pitch_z;           /* elements from k to k + 1 */
    int64_t elements;          /* total, with halo and padding */
};

/* Compute the layout. Rows are padded on both sides, so that owned cells are aligned, and so that
 * the pitch is not a large power of two (rows of neighbouring planes would share cache sets).
 * Returns STATUS_INPUT when the element count does not fit 63 bits. */
enum status layout_create(const int64_t cells[AXIS_COUNT], const int halo[AXIS_COUNT],
                          enum precision precision, struct layout *layout);

/* The layout of a field's classes, one byte per cell, with `depth` (1 to CLASS_DEPTH_MOST) layers
 * of halo; see struct device_medium. Rows begin at multiples of LAYOUT_ALIGN_BYTES; the 16 bytes
 * before a row belong to it. `precision` has no meaning. */
enum { CLASS_DEPTH_MOST = 8 };
void layout_of_classes(const int64_t cells[AXIS_COUNT], const bool used[AXIS_COUNT], int depth,
                       struct layout *layout);

/* Set CLASS_FLAG in the classes of owned cells whose neighbours across all faces have their class:
 * then a kernel that reads a cell's byte needs no neighbour's. Number the rows, see
 * classes_row_number; in place of a number row -1 of each plane gets the plane's class plus 1, if
 * all its cells have one class, else 0. `classes`: complete with halo. Returns the mask that gives
 * the class: with more classes than fit beside the flag, none is set. */
enum { CLASS_FLAG = 0x80 };
uint8_t classes_flag(const struct layout *layout, int nclasses, uint8_t *classes);

/* The flags again, of the owned cells in the rows from j0 to before j1 and k0 to before k1, after
 * classes have changed there. Only where classes_flag has set some. */
void classes_flag_rows(const struct layout *layout, int64_t j0, int64_t j1, int64_t k0, int64_t k1,
                       uint8_t *classes);

/* The number of a row of owned cells, from 1 on, which lies in the bytes before it. Rows of one
 * number have the same classes, and so have the rows beside them, so that coefficients looked up
 * for one row serve all. `row`: the class of its cell 0. */
enum { CLASS_NUMBER_AT = -16 };
static inline int64_t classes_row_number(const uint8_t *row)
{
    int64_t number;
    memcpy(&number, row + CLASS_NUMBER_AT, sizeof number);
    return number;
}

/* Whether a table of coefficients (kernels/cell/medium_cell.h) has the same g, bit for bit, on
 * every axis: then a kernel needs those of one. */
bool classes_same_axes(const void *table, enum precision precision, int nclasses);

/* A bit of each face: a closure of it in the table has a term e of radiation. */
unsigned classes_radiating(const void *table, enum precision precision, int nclasses,
                           int nclosures);

/* Remove the padding from a fresh layout with short rows and without halo in x: the hardware
 * prefetcher then continues from row to row (docs/records/kernels_cpu.md). Planes are padded
 * instead. One cache line before the first row and after the last remains allocated. */
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
