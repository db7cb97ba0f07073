/* The memory in which the ranks of a node note where they are, for each other's hang monitors. */
#ifndef ISOTHERM_APP_HANG_WINDOW_H
#define ISOTHERM_APP_HANG_WINDOW_H

#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* What a rank's monitor notes for the others. */
struct beat {
    _Alignas(64) int rank;
    int pid;
    atomic_int phase;
    _Atomic int64_t step;
    _Atomic int64_t tick; /* ns of the node's monotonic clock: when it last looked */
};

/* Shared by the ranks of a node. */
struct hang_window {
    atomic_int told;   /* how often a rank asked all to say where they stand */
    atomic_int ending; /* the exit code with which everybody ends; 0: they do not */
    struct beat beat[];
};

/* Collective over the node's ranks: *mates of them, this one being number *mine, and *bytes of
 * memory, zeroed. Where they cannot share any, each rank gets its own and is alone in it. Unmap it
 * with munmap. */
enum status hang_window_share(MPI_Comm node, int *mates, int *mine, struct hang_window **window,
                              size_t *bytes) MUST_CHECK;

#endif
