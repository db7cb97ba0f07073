/* The ranks of a run: who they are, which block each holds, and where they run. */
#ifndef ISOTHERM_MACHINE_TEAM_H
#define ISOTHERM_MACHINE_TEAM_H

#include <mpi.h>

#include "machine/placement.h"
#include "machine/rank_facts.h"
#include "model/decomp.h"
#include "model/problem.h"

struct team {
    MPI_Comm comm; /* the ranks in the order of their blocks: borrowed, or `ordered` */
    MPI_Comm ordered;
    int rank, nranks;
    struct decomp decomp;
    struct machine machine;
    struct placement_order placement;
    struct rank_facts *rank_facts; /* of all ranks; rank 0 */
};

/* Collective. The ranks of `comm` with their blocks of the problem's grid, in the order in which
 * the launcher started them. The outcome is agreed. */
enum status team_create(MPI_Comm comm, const struct problem *problem, struct team *team) MUST_CHECK;
void team_destroy(struct team *team); /* takes a half-built one, from team_create on */

/* Collective. Find out where the ranks run, and let the rank number of team->comm be the block's:
 * the heaviest halo faces on the fastest links. */
enum status team_place(struct team *team, const struct backend *backend,
                       const struct device_info *info) MUST_CHECK;

#endif
