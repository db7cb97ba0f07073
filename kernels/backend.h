/* The seam between the program and the machine that runs its kernels.
 *
 * A backend is two const tables of functions: what runs kernels (runtime.h) and what is done to
 * fields (operations.h), chosen by name at run time (backend.c). Memory that it hands out is its
 * own: host code may touch it only where `host_accessible` says so. Kernels know boxes, strides,
 * pointers and coefficients; no MPI, no files, no settings. */
#ifndef ISOTHERM_KERNELS_BACKEND_H
#define ISOTHERM_KERNELS_BACKEND_H

#include "kernels/laplacian.h"
#include "kernels/operations.h"
#include "kernels/runtime.h"

struct backend {
    const char *name;
    const char *about;
    /* The host may read and write memory_alloc's memory after queue_wait (MPI too). */
    bool host_accessible;
    /* Its kernels go fastest through fields whose rows follow each other (layout_close_rows). */
    bool close_rows;
    const struct runtime *runtime;
    const struct operations *operations;
    const struct laplacian_variant *laplacians; /* for `bench kernels`; laplacian.h */
    int nlaplacians;
};

/* The compiled-in backends, best first. */
int backend_count(void);
const struct backend *backend_at(int index);
/* NULL when there is none of that name. */
const struct backend *backend_find(const char *name);
/* "auto": the first device backend that answers, else cpu; or by name. Writes into `why` (at
 * least 256 bytes) a sentence on the choice. STATUS_INPUT for an unknown name, STATUS_DEVICE
 * for one that cannot run here. */
enum status backend_choose(const char *name, const struct backend **backend, char *why,
                           size_t why_bytes) MUST_CHECK;

#endif
