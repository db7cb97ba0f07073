/* The cores of a node, shared by the threads of its ranks. */
#ifndef ISOTHERM_MACHINE_CORES_H
#define ISOTHERM_MACHINE_CORES_H

#include <mpi.h>

#include "base/status.h"
#include "machine/machine.h"

/* Collective. How many threads keep the cores `mine` busy when all ranks of the node use theirs:
 * its cores, divided by the most ranks that share one of them. So a rank that the launcher has
 * bound to cores of its own has them all. At least 1; 0 where `mine` is empty. */
enum status cores_divide(MPI_Comm comm, const struct core_set *mine, int *threads) MUST_CHECK;

/* Collective, before the first OpenMP region. Let this rank run as many OpenMP threads as
 * cores_divide says, unless the environment chooses their number or their places; and start them,
 * so that machine_examine finds the CPUs of all of them. */
enum status cores_share(MPI_Comm comm) MUST_CHECK;

#endif
