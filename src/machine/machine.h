/* The place of this process: host, cores, NUMA nodes, and the device's distance from them. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include <mpi.h>

#include "base/status.h"
#include "kernels/backend.h"

struct machine {
    char host[64];
    char cpus[128];    /* CPUs of this process, in the format of taskset: "0-7,64-71" */
    cpu_set_t cores;   /* cores of these CPUs; hyperthreads of one core count once */
    int machine_cores; /* number of cores of the machine */
    int numa_nodes;    /* number of NUMA nodes of the machine */
    uint64_t numa;     /* bit n: NUMA node n has some of these CPUs */
    int device_numa;   /* NUMA node of the device; -1: none or unknown */
    int device_index;  /* among devices of its kind, by PCI address; -1: unknown */
};

/* Query hwloc. `pci`: the address of the device ("0000:c1:00.0"), "" for none. The CPUs are those
 * of all threads. Unknown values stay 0, "" or -1. The first result is cached: a query takes some
 * 30 ms. Not collective. */
void machine_examine(const char *pci, struct machine *machine);

/* ---- shared by the threads of the ranks of a node ---- */

/* Collective. The number of threads of this rank: the number of its cores `mine`, divided by the
 * largest number of ranks that share one of them. So a rank that the launcher has bound to separate
 * cores uses all of these. At least 1; 0 if `mine` is empty. */
enum status cores_divide(MPI_Comm comm, const cpu_set_t *mine, int *threads);

/* Collective, agreed, before the first OpenMP region. Set the number of OpenMP threads as by
 * cores_divide, unless the environment sets their number or places, and start them, so that
 * machine_examine finds the CPUs of all of them; and open this rank's device of the node; close it,
 * on failure too unless it is NULL. */
enum status device_open(MPI_Comm comm, const struct backend *backend, struct device **device,
                        struct device_info *info);

/* The number of OpenMP threads for work that is concurrent with the time steps: on a GPU all
 * threads of the caller but the one that drives it; else 1. */
int cores_beside(const struct backend *backend);

/* The cores that this process may use; at least 1. */
int cores_count(void);
