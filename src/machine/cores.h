/* The cores of a node, shared by the threads of its ranks. */
#pragma once

#include <mpi.h>

#include "base/status.h"
#include "kernels/backend.h"
#include "machine/machine.h"

/* Collective. The number of threads of this rank: the number of its cores `mine`, divided by the
 * largest number of ranks that share one of them. So a rank that the launcher has bound to separate
 * cores uses all of these. At least 1; 0 if `mine` is empty. */
enum status cores_divide(MPI_Comm comm, const struct core_set *mine, int *threads);

/* Collective, before the first OpenMP region. Set the number of OpenMP threads as by
 * cores_divide, unless the environment sets their number or places; and start them, so that
 * machine_examine finds the CPUs of all of them. */
enum status cores_share(MPI_Comm comm);

/* The number of OpenMP threads for work that is concurrent with the time steps: on a GPU all
 * threads of the caller but the one that drives it; else 1. */
int cores_beside(const struct backend *backend);

/* The cores that this process may use; at least 1. */
int cores_count(void);
