/* Placement: which rank owns which block, with the largest halo faces on the fastest links.
 *
 * If another order than the launcher's keeps more of the halo inside a node, or between the two
 * dies of a GPU module, the blocks are assigned in that order. The field does not depend on it. */
#pragma once

#include <mpi.h>

#include "kernels/backend.h"
#include "machine/machine.h"
#include "model/space/decomp.h"

/* The node and group of a rank, which determine its links. */
struct rank_place {
    int node;  /* an identifier of the node */
    int group; /* ranks of the node with faster links between them; -1: none */
};

/* The kinds of links, fastest first. */
enum link { LINK_SELF, LINK_GROUP, LINK_NODE, LINK_NETWORK, LINK_COUNT };

/* The relative time per byte on each link. On an MI250X node: 142 GB/s between the dies of a
 * module, 35 to 76 between modules (AMD, copies of 16 MiB), and 25 GB/s of network per module. */
extern const int64_t link_cost[LINK_COUNT];

struct placement_order {
    int nranks;
    int *rank_of_block;
    char name[96];                  /* "natural", or the boxes of nodes and groups */
    int64_t link_cells[LINK_COUNT]; /* halo cells per step over each link, all ranks */
    int64_t cost;                   /* sum of link_cells times link_cost */
    int64_t natural_cost;           /* cost of the natural order */
};

/* Compare the natural order (rank = block) with orders in which the ranks of a node, and of a
 * group, own compact boxes of blocks; choose the cheapest, on a tie the natural one. Rank 0 keeps
 * block 0. `places`: one per rank. All ranks get the same result. Free with placement_free. Not
 * collective. */
enum status placement_choose(const struct decomp *decomp, const struct rank_place *places,
                             struct placement_order *order);
void placement_free(struct placement_order *order); /* takes a zeroed one */

/* The link between two ranks. */
enum link placement_link(const struct rank_place *places, int a, int b);

/* The reason for this order in one sentence: at least 256 bytes. */
void placement_reason(const struct placement_order *order, char *text, size_t bytes);

/* The places of `nranks` ranks if a launcher fills nodes and groups in order: for `plan`. */
void placement_assume(int nranks, int ranks_per_node, int ranks_per_group,
                      struct rank_place *places);

/* The group of this rank: its GPU module (two dies each on MI250X), or without a GPU its NUMA node
 * if there are several. */
int placement_group(const struct machine *machine, const struct backend *backend,
                    const struct device_info *info);

/* Collective over `comm`. The places of all ranks on every rank: places[size of comm]. */
enum status placement_gather(MPI_Comm comm, int group, struct rank_place *places);

/* Collective. A communicator in which rank n owns block n. */
enum status placement_communicator(MPI_Comm comm, const struct placement_order *order,
                                   MPI_Comm *ordered);
