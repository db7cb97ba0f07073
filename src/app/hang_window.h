/* The memory in which the ranks of a node record their state for each other's hang monitors. */
#ifndef ISOTHERM_APP_HANG_WINDOW_H
#define ISOTHERM_APP_HANG_WINDOW_H

#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The state of one rank. */
struct beat {
    _Alignas(64) int rank;
    int pid;
    atomic_int phase;
    _Atomic int64_t step;
    _Atomic int64_t tick; /* ns, monotonic: of the monitor's last check */
};

/* Shared by the ranks of a node. */
struct hang_window {
    atomic_int reports; /* requested reports of all ranks so far */
    atomic_int ending;  /* the exit code with which all ranks end; 0: none */
    struct beat beat[];
};

/* Collective over the ranks of a node: *mates of them, this one with index *mine, and *bytes of
 * zeroed memory. Without shared memory each rank has its own, alone. Unmap with munmap. */
enum status hang_window_share(MPI_Comm node, int *mates, int *mine, struct hang_window **window,
                              size_t *bytes) MUST_CHECK;

#endif
