/* The study `jacobi`: Jacobi's iteration for -lap(u) = f in two dimensions with u = 0 outside of
 * the grid, as four kernels: A. Mishra, R. Arora, J. Chang, B. Cornille, M. Ghazimirsaeed, "Jacobi
 * Solver with HIP and OpenMP offloading", AMD lab notes. In float64.
 *
 * It does not fit struct study: four arrays change in place, one kernel yields a number, and
 * OpenMP's mapping of host memory is part of what is compared. */
#ifndef ISOTHERM_KERNELS_STUDY_JACOBI_H
#define ISOTHERM_KERNELS_STUDY_JACOBI_H

#include "base/exact_sum.h"
#include "kernels/backend.h"
#include "kernels/study/jacobi_point.h"

/* One iteration in this order: au = A u inside of the edge; the same at the edge; res = rhs - au
 * and u = u + factor res; and the sum of res^2 dx dy. */
enum jacobi_part { JACOBI_LAPLACIAN, JACOBI_BOUNDARY, JACOBI_UPDATE, JACOBI_NORM, JACOBI_PARTS };

struct jacobi_work {
    double *u, *au, *res;
    const double *rhs;
    struct exact_sum *h_sum; /* pinned; the norm adds to it */
    struct exact_sum *d_sum; /* device memory with the same value, for the kernel's use */
};

/* The kernels of a backend, or one way to map memory for them. */
struct jacobi_kernels {
    const char *name;
    const char *about;
    /* Queued. *h_sum is valid after queue_wait. */
    enum status (*run)(struct queue *queue, const struct jacobi_grid *grid, enum jacobi_part part,
                       const struct jacobi_work *work);
    /* Call `body` while the arrays are mapped; afterwards host memory has the results. NULL: just
     * call it. */
    enum status (*within)(struct queue *queue, const struct jacobi_grid *grid,
                          const struct jacobi_work *work, enum status (*body)(void *context),
                          void *context);
};

/* Spacing 1 / (n + 1): the unit square. STATUS_INPUT for a grid of fewer than 3 x 3 nodes. */
enum status jacobi_create(int64_t nx, int64_t ny, struct jacobi_grid *grid) MUST_CHECK;
/* The right-hand side A v for the solution v = sin(pi x) sin(pi y), an eigenvector: every iteration
 * from u = 0 leaves jacobi_rate of the error. */
void jacobi_make_problem(const struct jacobi_grid *grid, double *rhs, double *solution);
double jacobi_rate(const struct jacobi_grid *grid);
/* One part by the plain loop on the host, for checks; the sum is added to *work->h_sum. */
void jacobi_plain(const struct jacobi_grid *grid, enum jacobi_part part,
                  const struct jacobi_work *work);
/* The document's norm, sqrt(sum) / N, of what was added since `before`. */
double jacobi_norm(const struct jacobi_grid *grid, const struct exact_sum *before,
                   const struct exact_sum *after);

extern const char *const jacobi_part_name[JACOBI_PARTS];
/* At least: bytes read and written, and floating-point operations (an fma counts twice). */
double jacobi_bytes(const struct jacobi_grid *grid, enum jacobi_part part);
double jacobi_operations(const struct jacobi_grid *grid, enum jacobi_part part);

/* A programming model: the backends cpu and hip, and `offload`, OpenMP target regions that map the
 * memory of cpu to the device, or run on the host where no device runs them. */
struct jacobi_model {
    const char *name;
    const struct backend *backend;        /* of the arrays */
    const struct jacobi_kernels *kernels; /* ended by one without a name */
    bool (*has_device)(
        void); /* whether regions run on another device than the backend's, or NULL */
};

extern const struct jacobi_kernels jacobi_cpu[], jacobi_hip[], jacobi_offload[];
bool jacobi_offload_has_device(void);

#endif
