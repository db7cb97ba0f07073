/* Which rank holds which block: the heaviest halo faces on the fastest links.
 *
 * The ranks come as the launcher started them. Where another order keeps more of the halo inside
 * a node, or between the two dies of a GPU module, the blocks are dealt out in that order. The
 * field does not depend on it. */
#ifndef ISOTHERM_MACHINE_PLACEMENT_H
#define ISOTHERM_MACHINE_PLACEMENT_H

#include <mpi.h>

#include "kernels/backend.h"
#include "machine/machine.h"
#include "model/decomp.h"

/* Where a rank runs, as far as links are concerned. */
struct rank_place {
    int node;  /* any number, the same for all ranks of a node */
    int group; /* within the node: those with a faster link between them; -1: no such group */
};

/* From the fastest to the slowest. */
enum link { LINK_SELF, LINK_GROUP, LINK_NODE, LINK_NETWORK, LINK_COUNT };

/* Time for a byte on each link, in units of the group's. Only the ratios matter. An MI250X node:
 * 142 GB/s between the dies of a module, 35 to 76 between modules (AMD, copies of 16 MiB), and
 * 25 GB/s of network a module. */
extern const int64_t link_cost[LINK_COUNT];

struct placement_order {
    int nranks;
    int *rank_of_block;
    char name[96];                  /* "natural", or how nodes and groups tile the blocks */
    int64_t link_cells[LINK_COUNT]; /* halo cells that a step sends over each link, all ranks */
    int64_t cost;                   /* sum of link_cells times link_cost */
    int64_t natural_cost;           /* of the ranks in their own order */
};

/* Compare the natural order (rank = block) with orders in which the ranks of a node, and of a
 * group in it, hold compact boxes of blocks; the cheapest, and the natural one unless another is
 * cheaper. Rank 0 keeps block 0. `places`: one a rank. The same result on all ranks. Free with
 * placement_free. Not collective. */
enum status placement_choose(const struct decomp *decomp, const struct rank_place *places,
                             struct placement_order *order) MUST_CHECK;
void placement_free(struct placement_order *order); /* takes a zeroed one */

/* Why this order, in a sentence: at least 256 bytes. */
void placement_reason(const struct placement_order *order, char *text, size_t bytes);

/* Natural order of `nranks` ranks as a launcher fills nodes and groups: for `plan`. */
void placement_assume(int nranks, int ranks_per_node, int ranks_per_group,
                      struct rank_place *places);

/* The group of a rank on this machine: its GPU module (two dies each on MI250X), or without a
 * GPU its NUMA node where there is more than one. */
int placement_group(const struct machine *machine, const struct backend *backend,
                    const struct device_info *info);

/* Collective over `comm`. Tell every rank where all of them run: places[size of comm]. */
enum status placement_gather(MPI_Comm comm, int group, struct rank_place *places) MUST_CHECK;

/* Collective. A communicator in which the rank is the block's number. */
enum status placement_communicator(MPI_Comm comm, const struct placement_order *order,
                                   MPI_Comm *ordered) MUST_CHECK;

#endif
