/* Where each rank of a communicator runs and on what: for report.json and `doctor`. */
#ifndef ISOTHERM_MACHINE_RANK_FACTS_H
#define ISOTHERM_MACHINE_RANK_FACTS_H

#include <mpi.h>

#include "base/json.h"
#include "kernels/backend.h"
#include "machine/machine.h"

struct rank_facts {
    struct machine machine;
    char device[128]; /* name */
    char pci[32];     /* address; "" where there is none */
    int devices;      /* that the process could have opened; 0: the backend has none */
    int threads;      /* of the kernels; 0 for a GPU */
};

/* Collective. All ranks' facts on rank 0, to be freed; *all is NULL on the others. The outcome is
 * agreed. */
enum status rank_facts_gather(MPI_Comm comm, const struct machine *machine,
                              const struct device_info *info, struct rank_facts **all) MUST_CHECK;

/* An array "rank_map" with an object each. */
void rank_facts_json(struct json *json, const struct rank_facts *all, int nranks);

/* The NUMA nodes of a mask as text: "0", "0-1", "0,3"; "?" for none. */
void numa_text(uint64_t numa, char *text, size_t bytes);

#endif
