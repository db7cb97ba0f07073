/* The decomposition of the grid into one block per rank. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/status.h"

struct decomp {
    int nranks;
    int ranks[AXIS_COUNT]; /* blocks per axis; rank = (cz py + cy) px + cx */
    int64_t global_cells[AXIS_COUNT];
    bool periodic[AXIS_COUNT];
    bool used[AXIS_COUNT]; /* axes with more than one cell */
    int halo_width;
};

/* Choose the blocks. `wanted` NULL: of all factorizations whose blocks are at least `halo_width`
 * thick, the one that minimizes the largest decomp_cost of a rank; ties go to fewer blocks in x,
 * then in y. Otherwise these numbers of blocks per axis. STATUS_INPUT, with a valid choice, when
 * the product is not `nranks`, a block would be thinner than the halo, or there are more ranks than
 * cells. Not collective. */
enum status decomp_create(const int64_t cells[AXIS_COUNT], const bool periodic[AXIS_COUNT],
                          int nranks, int halo_width, const int *wanted, struct decomp *decomp);

/* Block sizes differ by at most one cell per axis; the larger ones come first. */
struct box decomp_owned(const struct decomp *decomp, int rank);
void decomp_coords(const struct decomp *decomp, int rank, int coords[AXIS_COUNT]);
/* Whether any block has a neighbour on this axis. */
bool decomp_exchanges(const struct decomp *decomp, enum axis axis);
/* The cells of the thinnest block on an axis with neighbours, and that axis; INT64_MAX: there is
 * none, and the axis stays. */
int64_t decomp_thinnest(const struct decomp *decomp, enum axis *axis);
/* The rank beyond `face`, -1 at a physical boundary. On a periodic axis with one block: the rank
 * itself. Unused axes have no neighbours, periodic or not. */
int decomp_neighbour(const struct decomp *decomp, int rank, enum face face);
/* The same for edges and corners: `toward` is -1, 0 or 1 per axis. -1 if any of the axes has no
 * neighbour there. */
int decomp_neighbour_toward(const struct decomp *decomp, int rank, const int toward[AXIS_COUNT]);

/* Cells that a rank sends per step, weighted: cells of x faces are strided in memory, each is in
 * another cache line. */
enum { DECOMP_X_FACE_WEIGHT = 4 };
int64_t decomp_cost(const struct decomp *decomp, int rank);
