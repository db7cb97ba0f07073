/* The memory in which the ranks of a node note where they are, for each other's watchdogs. */
#ifndef ISOTHERM_APP_HANG_WINDOW_H
#define ISOTHERM_APP_HANG_WINDOW_H

#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* What a rank notes of itself; times in ns of the node's monotonic clock. */
struct beat {
    _Alignas(64) int rank;
    int pid;
    atomic_int place;
    _Atomic int64_t step;
    _Atomic int64_t since; /* at that place */
    _Atomic int64_t tick;  /* by the watchdog's thread */
    /* of the writer's thread, when it is not the steps that write */
    atomic_int written;          /* the kind of output */
    _Atomic int64_t write_since; /* 0: it writes nothing */
};

/* Shared by the ranks of a node. */
struct window {
    atomic_int told;   /* how often a rank asked all to say where they stand */
    atomic_int ending; /* the exit code with which everybody ends; 0: they do not */
    struct beat beat[];
};

/* Collective over the node's ranks: *mates of them, this one being number *mine, and *bytes of
 * memory, zeroed. Where they cannot share any, each rank gets its own and is alone in it. Unmap it
 * with munmap. */
enum status watchdog_window_share(MPI_Comm node, int *mates, int *mine, struct window **window,
                                  size_t *bytes) MUST_CHECK;

#endif
