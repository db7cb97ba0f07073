/* How the grid is cut into one block a rank. */
#ifndef ISOTHERM_MODEL_DECOMP_H
#define ISOTHERM_MODEL_DECOMP_H

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

/* Choose the blocks. `wanted` NULL: of all factorisations whose blocks are at least `halo_width`
 * thick, the one with the least weighted halo traffic of the busiest rank (decomp_cost); ties go
 * to fewer cuts in x, then in y. Else exactly that many blocks an axis.
 * STATUS_INPUT, with what would work, when the product is not `nranks`, or a block would be
 * thinner than the halo, or there are more ranks than cells. Not collective. */
enum status decomp_create(const int64_t cells[AXIS_COUNT], const bool periodic[AXIS_COUNT],
                          int nranks, int halo_width, const int *wanted,
                          struct decomp *decomp) MUST_CHECK;

/* The blocks' sizes differ by at most one cell an axis; the larger ones come first. */
struct box decomp_owned(const struct decomp *decomp, int rank);
void decomp_coords(const struct decomp *decomp, int rank, int coords[AXIS_COUNT]);
/* Do halos travel along this axis: has any block a neighbour on it? */
bool decomp_exchanges(const struct decomp *decomp, enum axis axis);
/* The rank beyond `face`, -1 at a physical boundary. On a periodic axis with one block that is the
 * rank itself. An axis that is not in use has no neighbours, periodic or not. */
int decomp_neighbour(const struct decomp *decomp, int rank, enum face face);
/* The same for edges and corners too: `toward` is -1, 0 or 1 an axis. -1 as soon as one of the
 * axes has nothing there. */
int decomp_neighbour_toward(const struct decomp *decomp, int rank, const int toward[AXIS_COUNT]);

/* Cells that a rank sends each step, plain and weighted (x faces are strided in memory: each cell
 * packed touches a cache line of its own). */
enum { DECOMP_X_FACE_WEIGHT = 4 };
int64_t decomp_halo_cells(const struct decomp *decomp, int rank);
int64_t decomp_cost(const struct decomp *decomp, int rank);

#endif
