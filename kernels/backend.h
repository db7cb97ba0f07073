/* A backend: two const tables of functions, for the device (runtime.h) and for fields
 * (operations.h), chosen by name at run time (backends.h). Kernels take boxes, strides, pointers
 * and coefficients; no MPI, no files, no settings. */
#pragma once

#include "kernels/operations.h"
#include "kernels/runtime.h"

/* Properties of a backend, independent of each other: where CPU and GPU share their memory,
 * BACKEND_GPU, BACKEND_HOST_ACCESS and BACKEND_NODE_MEMORY hold at once. */
enum backend_capability {
    /* Kernels run on a GPU, not on host threads. */
    BACKEND_GPU = 1 << 0,
    /* Host code, MPI included, may access memory of memory_alloc after queue_wait. */
    BACKEND_HOST_ACCESS = 1 << 1,
    /* Operations accept host memory in place of device memory. */
    BACKEND_HOST_POINTERS = 1 << 2,
    /* memory_alloc allocates from the node's memory, like host buffers. */
    BACKEND_NODE_MEMORY = 1 << 3,
    /* Copies to the host hardly slow down concurrent kernels. */
    BACKEND_FREE_COPIES = 1 << 4,
    /* Kernels run along rows: fastest for contiguous rows (layout_close_rows) and boxes of whole
     * rows. */
    BACKEND_ALONG_ROWS = 1 << 5,
};

struct backend {
    const char *name;
    const char *about;
    unsigned capabilities;
    bool for_tests; /* never chosen by `auto`, and not among backend_names */
    const struct runtime *runtime;
    const struct operations *operations;
};

static inline bool backend_has(const struct backend *backend, enum backend_capability capability)
{
    return (backend->capabilities & (unsigned)capability) != 0;
}

/* cpu: OpenMP threads and SIMD on host memory. hip: one GPU (on an MI250X one die) through HIP, or
 * through CUDA by a mapping. guard (tests/guard): the CPU kernels on memory that the host cannot
 * access, with queues that run only when waited for; for tests on machines without a GPU. */
extern const struct backend backend_cpu, backend_hip, backend_guard;
