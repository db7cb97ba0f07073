/* The seam between the program and the machine that runs its kernels.
 *
 * A backend is a const table of functions, chosen by name at run time (backend.c). Memory that
 * it hands out is its own: host code may touch it only where `host_accessible` says so. Kernels
 * know boxes, strides, pointers and coefficients; no MPI, no files, no settings.
 *
 * Order of work: operations are put on a queue and may run later; operations of one queue run in
 * order; those of two queues run in any order unless an event ties them. A result in host memory
 * is valid after queue_wait. `args` structs and boxes are copied when the call is made; buffers
 * must live until the operation has run. No function is collective.
 *
 * Every function returns STATUS_DEVICE (with a message) when the device refuses. */
#ifndef ISOTHERM_KERNELS_BACKEND_H
#define ISOTHERM_KERNELS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/box.h"
#include "base/exact_sum.h"
#include "base/status.h"
#include "kernels/layout.h"

/* Private to each backend. */
struct device;
struct queue;
struct event;

enum queue_priority { QUEUE_NORMAL, QUEUE_HIGH };

struct device_info {
    char name[128];        /* e.g. "AMD EPYC, 2 threads" */
    int threads;           /* host threads that the kernels use; 0 for a GPU */
    uint64_t memory_bytes; /* in all */
    uint64_t free_bytes;   /* at the time of asking */
};

/* Coefficients of one step on one subdomain. */
struct step_args {
    double r[AXIS_COUNT];    /* alpha dt / h^2; 0 on an axis that is not in use. For a float32
                                field rounded once to float, and so are a and b. */
    bool closed[FACE_COUNT]; /* this face of the subdomain is closed: outside = a inside + b.
                                Else the neighbour is read from the halo. Both faces of an axis
                                that is not in use are closed with a = 1, b = 0. */
    double a[FACE_COUNT];
    double b[FACE_COUNT];
    /* Where not NULL (device memory): add the exact sum, in K, of the inside cells of that
     * closed face, before the step, over the boxes given; what the heat ledger needs. */
    struct exact_sum *d_face_sum[FACE_COUNT];
};

/* What a reduction over a box finds. */
struct field_summary {
    double min;           /* K, of the good cells; +inf when there is none */
    double max;           /* K; -inf when there is none */
    struct exact_sum sum; /* of the good cells */
    int64_t bad_cells;    /* NaN, Inf, or magnitude >= EXACT_SUM_LIMIT */
    int64_t first_bad;    /* lowest global index of a bad cell, -1 when there is none */
};

/* Where a subdomain lies in the global grid: for hashes and for naming cells. */
struct placement {
    int64_t global_cells[AXIS_COUNT];
    int64_t offset[AXIS_COUNT]; /* global index of the local cell (0, 0, 0) */
};

typedef enum status step_function(struct queue *queue, const struct layout *layout,
                                  const struct step_args *args, void *d_out, const void *d_in,
                                  const struct box *boxes, int nboxes);

/* A step kernel that `bench kernels` can name: same contract and same bits as `step`. */
struct kernel_variant {
    const char *name;
    const char *about;
    step_function *step;
};

struct backend {
    const char *name;
    const char *about;
    /* The host may read and write memory_alloc's memory after queue_wait (MPI too). */
    bool host_accessible;

    /* Can it run here? STATUS_OK, or the reason why not as the recorded message. */
    enum status (*probe)(void);
    /* Open the device for this rank: the `node_rank`th of `node_size` ranks on this node. */
    enum status (*open)(int node_rank, int node_size, struct device **device);
    void (*close)(struct device *device); /* takes NULL */
    enum status (*info)(struct device *device, struct device_info *info);

    /* Aligned to LAYOUT_ALIGN_BYTES at least; every byte is 0xFF, so every element is NaN.
     * STATUS_MEMORY, with the numbers, when it does not fit. */
    enum status (*memory_alloc)(struct device *device, size_t bytes, void **d_memory);
    void (*memory_free)(struct device *device, void *d_memory); /* takes NULL */
    /* Host memory that copies run fastest from and to. */
    enum status (*pinned_alloc)(struct device *device, size_t bytes, void **h_memory);
    void (*pinned_free)(struct device *device, void *h_memory); /* takes NULL */

    enum status (*queue_create)(struct device *device, enum queue_priority priority,
                                struct queue **queue);
    void (*queue_destroy)(struct queue *queue); /* waits; takes NULL */
    /* Block until everything on the queue has run; returns the first failure of it. */
    enum status (*queue_wait)(struct queue *queue);
    enum status (*event_create)(struct device *device, struct event **event);
    void (*event_destroy)(struct event *event); /* takes NULL */
    /* Mark the present end of the queue. */
    enum status (*event_record)(struct queue *queue, struct event *event);
    /* Later work on `queue` waits until the work before the mark has run. The host goes on. */
    enum status (*event_wait)(struct queue *queue, struct event *event);

    /* Queued copies of `bytes` bytes. */
    enum status (*copy_to_device)(struct queue *queue, void *d_to, const void *h_from,
                                  size_t bytes);
    enum status (*copy_to_host)(struct queue *queue, void *h_to, const void *d_from, size_t bytes);
    /* Device to device at the memory's full speed: also the ceiling that `bench` measures. */
    enum status (*copy_on_device)(struct queue *queue, void *d_to, const void *d_from,
                                  size_t bytes);

    /* Queued. Advance the cells of `boxes` (disjoint, inside the owned cells) by one
     * forward-Euler step with the expression of heat_cell.h, bit for bit.
     * d_out and d_in: fields of `layout`, distinct. The halo of d_in must be complete around
     * the boxes, except beyond closed faces, where it is never read. */
    step_function *step;

    /* Queued. Copy a box (local indices, halo allowed) into / out of a contiguous buffer of
     * box_cells(box) elements, x fastest. */
    enum status (*pack)(struct queue *queue, const struct layout *layout, const void *d_field,
                        const struct box *box, void *d_buffer);
    enum status (*unpack)(struct queue *queue, const struct layout *layout, const void *d_buffer,
                          const struct box *box, void *d_field);

    /* Queued. Minimum, maximum, exact sum and bad cells of the owned cells; *h_summary is valid
     * after queue_wait. The result does not depend on order, threads or decomposition. */
    enum status (*summarise)(struct queue *queue, const struct layout *layout,
                             const struct placement *placement, const void *d_field,
                             struct field_summary *h_summary);
    /* Queued. Sum modulo 2^64 of heat_cell_hash over the owned cells; add over ranks for
     * `field_hash`. *h_hash is valid after queue_wait. */
    enum status (*hash)(struct queue *queue, const struct layout *layout,
                        const struct placement *placement, const void *d_field, uint64_t *h_hash);

    const struct kernel_variant *variants; /* for `bench kernels`; the production one is last */
    int nvariants;
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
