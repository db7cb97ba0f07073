#include "app/plan_placement.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "machine/placement.h"

enum status plan_placement(const struct decomp *decomp, enum precision precision,
                           int ranks_per_node, int ranks_per_module)
{
    const int nranks = decomp->nranks;
    const double width = (double)precision_bytes(precision);
    char module[BYTES_TEXT];
    char node[BYTES_TEXT];
    char network[BYTES_TEXT];
    char reason[256];
    struct placement_order order;
    struct rank_place *places = malloc((size_t)nranks * sizeof *places);
    if (places == NULL) {
        return fail(STATUS_MEMORY, "no memory to place %d ranks", nranks);
    }
    placement_assume(nranks, ranks_per_node, ranks_per_module, places);
    const enum status status = placement_choose(decomp, places, &order);
    free(places);
    TRY(status);
    placement_reason(&order, reason, sizeof reason);
    printf("placement      %s\n", reason);
    printf("links a step   %s inside modules, %s inside nodes, %s between nodes, all ranks\n",
           bytes_text((double)order.link_cells[LINK_GROUP] * width, module),
           bytes_text((double)order.link_cells[LINK_NODE] * width, node),
           bytes_text((double)order.link_cells[LINK_NETWORK] * width, network));
    placement_free(&order);
    return STATUS_OK;
}
