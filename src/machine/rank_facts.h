/* The host and device of each rank of a communicator: for report.json and `doctor`. */
#ifndef ISOTHERM_MACHINE_RANK_FACTS_H
#define ISOTHERM_MACHINE_RANK_FACTS_H

#include <mpi.h>

#include "base/text/json.h"
#include "kernels/backend.h"
#include "machine/machine.h"

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
                              const struct device_info *info, struct rank_facts **all) MUST_CHECK;

/* An array "rank_map" with an object per rank. */
void rank_facts_json(struct json *json, const struct rank_facts *all, int nranks);

/* The NUMA nodes of a mask: "0", "0-1", "0,3"; "?" for none. */
void numa_text(uint64_t numa, char *text, size_t bytes);

#endif
