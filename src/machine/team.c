#include "machine/team.h"

#include <stdlib.h>

#include "base/comm.h"
#include "base/log.h"

enum status team_create(MPI_Comm comm, const struct problem *problem, struct team *team)
{
    *team = (struct team){
        .comm = comm,
        .ordered = MPI_COMM_NULL,
        .rank = comm_rank(comm),
        .nranks = comm_size(comm),
    };
    return status_agree(comm, problem_decompose(problem, team->nranks, &team->decomp));
}

void team_destroy(struct team *team)
{
    placement_free(&team->placement);
    free(team->rank_facts);
    comm_free(&team->ordered);
}

static enum status choose_order(struct team *team, int group, struct rank_place *places)
{
    TRY(status_agree(team->comm,
                     CHECK_MEMORY(places != NULL, "no memory to place %d ranks", team->nranks)));
    TRY(placement_gather(team->comm, group, places));
    return status_agree(team->comm, placement_choose(&team->decomp, places, &team->placement));
}

enum status team_place(struct team *team, const struct backend *backend,
                       const struct device_info *info)
{
    machine_examine(info->address, &team->machine);
    SCOPED_FREE struct rank_place *places = malloc((size_t)team->nranks * sizeof *places);
    const int group = placement_group(&team->machine, backend, info);
    TRY(choose_order(team, group, places));
    if (team->placement.cost < team->placement.natural_cost) {
        TRY(placement_communicator(team->comm, &team->placement, &team->ordered));
        team->comm = team->ordered;
        team->rank = comm_rank(team->ordered);
        char reason[256];
        placement_reason(&team->placement, reason, sizeof reason);
        log_info("placement: %s", reason);
    }
    return rank_facts_gather(team->comm, &team->machine, info, &team->rank_facts);
}
