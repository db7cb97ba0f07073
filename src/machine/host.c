#include "machine/host.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/log.h"

bool host_has(const struct host *host, int rank)
{
    return strcmp(host->ranks[rank].machine.host, host->name) == 0;
}

struct host host_of(const struct rank_facts *ranks, int nranks, int first)
{
    struct host host = {.ranks = ranks,
                        .ranks_end = nranks,
                        .name = ranks[first].machine.host,
                        .first = first,
                        .machine_cores = ranks[first].machine.machine_cores};
    for (int rank = first; rank < nranks; rank++) {
        if (host_has(&host, rank)) {
            host.nranks++;
            host.threads += ranks[rank].threads > 0 ? ranks[rank].threads : 1;
            CPU_OR(&host.cores, &host.cores, &ranks[rank].machine.cores);
        }
    }
    return host;
}

int host_list(const struct host *host, host_question *is_one, const void *with, char text[128],
              int *first)
{
    enum { SHOWN = 6 };
    int count = 0;
    char names[96] = "";
    for (int rank = host->first; rank < host->ranks_end; rank++) {
        if (host_has(host, rank) && is_one(&host->ranks[rank], with)) {
            if (count < SHOWN) {
                text_add(names, sizeof names, ", ", "%d", rank);
            }
            if (count++ == 0 && first != NULL) {
                *first = rank;
            }
        }
    }
    if (count > SHOWN) {
        snprintf(text, 128, "ranks %s and %d more", names, count - SHOWN);
    } else {
        snprintf(text, 128, "rank%s %s", count == 1 ? "" : "s", names);
    }
    return count;
}

static bool has_too_few_cores(const struct rank_facts *rank, const void *unused)
{
    const int cores = CPU_COUNT(&rank->machine.cores);
    return cores > 0 && rank->threads > cores;
}

bool host_is_crowded(const struct host *host, struct crowd *crowd)
{
    const int cores = CPU_COUNT(&host->cores);
    char who[128];
    int rank = 0;
    if (host_list(host, has_too_few_cores, NULL, who, &rank) > 0) {
        const struct rank_facts *example = &host->ranks[rank];
        const int has = CPU_COUNT(&example->machine.cores);
        *crowd = (struct crowd){
            .fix = "give each rank as many cores as threads: mpirun --map-by slot:PE=THREADS, or "
                   "--bind-to none; srun -c THREADS; or set OMP_NUM_THREADS to the number of "
                   "cores"};
        snprintf(crowd->what, sizeof crowd->what,
                 "%s on %s: more threads than cores (rank %d: %d threads, bound to %d core%s)", who,
                 host->name, rank, example->threads, has, has == 1 ? "" : "s");
        return true;
    }
    if (cores > 0 && host->threads > cores) {
        *crowd = (struct crowd){
            .fix = "start fewer ranks or threads (OMP_NUM_THREADS), or bind the ranks to cores of "
                   "their own (mpirun --map-by slot:PE=THREADS, srun -c THREADS); if that is not "
                   "possible, set OMPI_MCA_mpi_yield_when_idle=1: by default Open MPI busy-waits"};
        snprintf(crowd->what, sizeof crowd->what, "the %d rank%s of %s run %d threads on %d core%s",
                 host->nranks, host->nranks == 1 ? "" : "s", host->name, host->threads, cores,
                 cores == 1 ? "" : "s");
        return true;
    }
    return false;
}

void host_warn_of_crowd(const struct rank_facts *ranks, int nranks)
{
    const struct host host = host_of(ranks, nranks, 0);
    const char *yield = getenv("OMPI_MCA_mpi_yield_when_idle");
    const bool yields = yield != NULL && strcmp(yield, "0") != 0 && host.threads == host.nranks;
    struct crowd crowd;
    if (!yields && host_is_crowded(&host, &crowd)) {
        log_warn("%s; %s", crowd.what, crowd.fix);
    }
}

static void need(bool needed, const char *name, const char *setting, char text[LAUNCH_BYTES])
{
    if (needed && getenv(name) == NULL) {
        text_add(text, LAUNCH_BYTES, ", and ", "%s", setting);
    }
}

void host_launch_settings(int nranks, int cores, char text[LAUNCH_BYTES])
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    text[0] = '\0';
    const bool is_open_mpi = MPI_Get_library_version(library, &length) == MPI_SUCCESS &&
                             strstr(library, "Open MPI") != NULL;
    if (!is_open_mpi || nranks == 1 || getenv("SLURM_JOB_ID") != NULL) {
        return;
    }
    need(nranks > cores, "OMPI_MCA_rmaps_base_oversubscribe",
         "OMPI_MCA_rmaps_base_oversubscribe=1 for more ranks than cores (with "
         "OMPI_MCA_mpi_yield_when_idle=1)",
         text);
    need(geteuid() == 0, "OMPI_ALLOW_RUN_AS_ROOT",
         "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 for root", text);
}

enum status rank_facts_gather(MPI_Comm comm, const struct machine *machine,
                              const struct device_info *info, struct rank_facts **all)
{
    const int nranks = comm_size(comm);
    struct rank_facts mine;
    SCOPED_FREE struct rank_facts *built = NULL;
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
        status = CHECK_MEMORY(built != NULL, "no memory for a list of %d ranks", nranks);
    }
    TRY(status_agree(comm, status));
    TRY_MPI(
        MPI_Gather(&mine, (int)sizeof mine, MPI_BYTE, built, (int)sizeof mine, MPI_BYTE, 0, comm));
    *all = built;
    built = NULL;
    return STATUS_OK;
}

void numa_text(uint64_t numa, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", numa == 0 ? "?" : "");
    for (int node = 0; node < 64; node++) {
        if ((numa >> node & 1) == 0) {
            continue;
        }
        int last = node;
        while (last < 63 && (numa >> (last + 1) & 1) != 0) {
            last++;
        }
        text_add(text, bytes, ",", "%d", node);
        if (last > node) {
            text_add(text, bytes, "-", "%d", last);
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
        json_int(json, "cores", CPU_COUNT(&facts->machine.cores));
        json_int(json, "threads", facts->threads);
        json_end(json, '}');
    }
    json_end(json, ']');
}
