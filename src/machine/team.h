/* The ranks of a run: their blocks, hosts and devices. */
#pragma once

#include <mpi.h>

#include "machine/host.h"
#include "machine/placement.h"
#include "model/problem.h"
#include "model/space/decomp.h"

struct team {
    MPI_Comm comm; /* ranks in the order of their blocks: borrowed, or `ordered` */
    MPI_Comm ordered;
    int rank, nranks;
    struct decomp decomp;
    struct machine machine;
    struct placement_order placement;
    struct rank_facts *rank_facts; /* facts of all ranks; on rank 0 */
};

/* Collective. The ranks of `comm` with their blocks of the grid, in the launcher's order. The
 * outcome is agreed. */
enum status team_create(MPI_Comm comm, const struct problem *problem, struct team *team);
void team_destroy(struct team *team); /* also after team_create failed */

/* Collective. Determine where the ranks run, and reorder team->comm so that rank n owns block n
 * with the largest halo faces on the fastest links. */
enum status team_place(struct team *team, const struct backend *backend,
                       const struct device_info *info);
