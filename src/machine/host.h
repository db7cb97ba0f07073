/* The ranks of one host, as rank 0 knows them: for `doctor`, and for the warning of `run`. Pure, so
 * that tests can define machines. */
#pragma once

#include <mpi.h>

#include "base/text/json.h"
#include "kernels/backend.h"
#include "machine/machine.h"

/* The host and device of each rank of a communicator: also for report.json. */
struct rank_facts {
    struct machine machine;
    char device[128]; /* name */
    char pci[32];     /* address; "" for none */
    int devices;      /* visible to the process; 0: the backend has none */
    int threads;      /* threads of the kernels; 0 for a GPU */
};

/* Collective. The facts of all ranks on rank 0, to be freed; *all is NULL on the others. The
 * outcome is agreed. */
enum status rank_facts_gather(MPI_Comm comm, const struct machine *machine,
                              const struct device_info *info, struct rank_facts **all);

/* An array "rank_map" with an object per rank. */
void rank_facts_json(struct json *json, const struct rank_facts *all, int nranks);

/* The NUMA nodes of a mask: "0", "0-1", "0,3"; "?" for none. */
void numa_text(uint64_t numa, char *text, size_t bytes);

struct host {
    const struct rank_facts *ranks; /* ranks of all hosts */
    int ranks_end;
    const char *name;
    int nranks; /* number of ranks on this host */
    int first;  /* the lowest of them */
    int machine_cores;
    cpu_set_t cores; /* cores of all its ranks */
    int threads;     /* threads of all its ranks, at least one each */
};

/* The host of rank `first`, the lowest there, of `nranks` ranks. */
struct host host_of(const struct rank_facts *ranks, int nranks, int first);
bool host_has(const struct host *host, int rank);

/* "rank 3", "ranks 0, 1, 4 and 12 more": the ranks of the host for which `is_one` holds.
 * Returns their number; *first (may be NULL): the first of them. */
typedef bool host_question(const struct rank_facts *rank, const void *with);
int host_list(const struct host *host, host_question *is_one, const void *with, char text[128],
              int *first);

/* More threads than cores on a rank, else on the host: the problem and its fix. */
struct crowd {
    char what[512];
    char fix[512];
};
bool host_is_crowded(const struct host *host, struct crowd *crowd);

/* Warn if the host of rank 0 is crowded: launchers fill the first host first. No warning if its
 * ranks have one thread each and MPI is set to yield. */
void host_warn_of_crowd(const struct rank_facts *ranks, int nranks);

/* The settings without which Open MPI's mpirun refuses to start that many ranks on this machine;
 * "" when none is missing, when Slurm starts the ranks, and for another MPI. Works before
 * MPI_Init. */
enum { LAUNCH_BYTES = 256 };
void host_launch_settings(int nranks, int cores, char text[LAUNCH_BYTES]);
