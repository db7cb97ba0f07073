#include "machine/rank_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/comm.h"

enum status rank_facts_gather(MPI_Comm comm, const struct machine *machine,
                              const struct device_info *info, struct rank_facts **all)
{
    const int nranks = comm_size(comm);
    struct rank_facts mine;
    struct rank_facts *built = NULL;
    enum status status = STATUS_OK;
    *all = NULL;
    memset(&mine, 0, sizeof mine); /* its padding is sent, too */
    mine.machine = *machine;
    memcpy(mine.device, info->name, sizeof mine.device);
    memcpy(mine.pci, info->address, sizeof mine.pci);
    mine.devices = info->devices;
    mine.threads = info->threads;
    if (comm_rank(comm) == 0) {
        built = calloc((size_t)nranks, sizeof *built);
        if (built == NULL) {
            status = fail(STATUS_MEMORY, "no memory for a list of %d ranks", nranks);
        }
    }
    TRY_GOTO(status_agree(comm, status));
    TRY_GOTO(comm_check(
        MPI_Gather(&mine, (int)sizeof mine, MPI_BYTE, built, (int)sizeof mine, MPI_BYTE, 0, comm),
        "MPI_Gather"));
    *all = built;
    return STATUS_OK;
done:
    free(built);
    return status;
}

void numa_text(uint64_t numa, char *text, size_t bytes)
{
    size_t used = 0;
    snprintf(text, bytes, "?");
    for (int node = 0; node < 64; node++) {
        if ((numa >> node & 1) == 0) {
            continue;
        }
        int last = node;
        while (last < 63 && (numa >> (last + 1) & 1) != 0) {
            last++;
        }
        if (used < bytes) {
            const char *comma = used > 0 ? "," : "";
            used += (size_t)(last > node
                                 ? snprintf(text + used, bytes - used, "%s%d-%d", comma, node, last)
                                 : snprintf(text + used, bytes - used, "%s%d", comma, node));
        }
        node = last;
    }
}

void rank_facts_json(struct json *json, const struct rank_facts *all, int nranks)
{
    json_begin(json, "rank_map", '[');
    for (int rank = 0; rank < nranks; rank++) {
        const struct rank_facts *facts = &all[rank];
        char numa[64];
        numa_text(facts->machine.numa, numa, sizeof numa);
        json_begin(json, NULL, '{');
        json_int(json, "rank", rank);
        json_string(json, "host", facts->machine.host);
        json_string(json, "device", facts->device);
        json_string(json, "pci", facts->pci);
        json_int(json, "device_numa", facts->machine.device_numa);
        json_string(json, "numa", numa);
        json_string(json, "cpus", facts->machine.cpus);
        json_int(json, "cores", core_set_count(&facts->machine.cores));
        json_int(json, "threads", facts->threads);
        json_end(json, '}');
    }
    json_end(json, ']');
}
