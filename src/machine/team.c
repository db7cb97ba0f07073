/* The placement of one run: who runs where, and which rank holds which block. */
#include <stdlib.h>

#include "base/comm.h"
#include "base/log.h"
#include "solve/solver.h"

static enum status choose_order(struct run *run, struct rank_place *places)
{
    const int group = placement_group(&run->machine, run->backend, &run->device_info);
    TRY(placement_gather(run->comm, group, places));
    return status_agree(run->comm, placement_choose(&run->decomp, places, &run->placement));
}

enum status run_place(struct run *run)
{
    machine_examine(run->device_info.address, &run->machine);
    struct rank_place *places = malloc((size_t)run->nranks * sizeof *places);
    enum status status = places != NULL
                             ? STATUS_OK
                             : fail(STATUS_MEMORY, "no memory to place %d ranks", run->nranks);
    status = status_agree(run->comm, status);
    if (status == STATUS_OK) {
        status = choose_order(run, places);
    }
    free(places);
    TRY(status);
    if (run->placement.cost < run->placement.natural_cost) {
        TRY(placement_communicator(run->comm, &run->placement, &run->ordered));
        run->comm = run->ordered;
        run->rank = comm_rank(run->ordered);
        char reason[256];
        placement_reason(&run->placement, reason, sizeof reason);
        log_info("placement: %s", reason);
    }
    return rank_facts_gather(run->comm, &run->machine, &run->device_info, &run->rank_facts);
}
