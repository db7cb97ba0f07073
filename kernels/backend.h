/* The seam between the program and the machine that runs its kernels.
 *
 * A backend is two const tables of functions: what runs kernels (runtime.h) and what is done to
 * fields (operations.h), chosen by name at run time (backend.c). Kernels know boxes, strides,
 * pointers and coefficients; no MPI, no files, no settings. */
#ifndef ISOTHERM_KERNELS_BACKEND_H
#define ISOTHERM_KERNELS_BACKEND_H

#include "kernels/operations.h"
#include "kernels/runtime.h"

/* What is true of a backend. None follows from another: on a chip where processor and GPU share
 * their memory, BACKEND_GPU, BACKEND_HOST_ACCESS and BACKEND_NODE_MEMORY hold at once. */
enum backend_capability {
    /* Kernels run on a GPU, not on host threads. */
    BACKEND_GPU = 1 << 0,
    /* Host code, MPI's included, may read and write memory_alloc's memory after queue_wait. */
    BACKEND_HOST_ACCESS = 1 << 1,
    /* Operations may be given any host memory in the place of the device's. */
    BACKEND_HOST_POINTERS = 1 << 2,
    /* memory_alloc's memory is the node's: its ranks and their host buffers share it. */
    BACKEND_NODE_MEMORY = 1 << 3,
    /* Copies to the host leave the memory's bandwidth to the kernels that run meanwhile. */
    BACKEND_FREE_COPIES = 1 << 4,
    /* Kernels run along rows: fastest through fields whose rows follow each other
     * (layout_close_rows) and boxes of whole rows. */
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

/* The compiled-in backends, best first. */
int backend_count(void);
const struct backend *backend_at(int index);
/* NULL when there is none of that name. */
const struct backend *backend_find(const char *name);
/* What a user may ask backend_choose for: "auto", and the backends that are not for tests. */
const char *backend_names(void);
/* By name, or "auto": the first that can run here. Writes into `why` (at least 256 bytes) a
 * sentence on the choice. STATUS_INPUT for an unknown name, STATUS_DEVICE for one that cannot run
 * here. */
enum status backend_choose(const char *name, const struct backend **backend, char *why,
                           size_t why_bytes) MUST_CHECK;

#endif
