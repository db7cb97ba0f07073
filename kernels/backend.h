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
#include "kernels/laplacian.h"
#include "kernels/layout.h"

/* Private to each backend. */
struct device;
struct queue;
struct event;
struct stopwatch;

enum queue_priority { QUEUE_NORMAL, QUEUE_HIGH, QUEUE_LOW };

struct device_info {
    char name[128];        /* e.g. "AMD EPYC, 2 threads" */
    char driver[64];       /* what runs it, with its version; "" where there is nothing between */
    int threads;           /* host threads that the kernels use; 0 for a GPU */
    int devices;           /* that this process could have opened; 0 for a backend without any */
    uint64_t memory_bytes; /* in all */
    uint64_t free_bytes;   /* at the time of asking */
    char address[32];      /* of the device: PCI, "0000:c1:00.0"; "": the node is the device */
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

/* What `track` keeps of every cell: fields of float64 in device memory that share one layout
 * without halo; NULL where not wanted. See kernels/derived_cell.h. */
struct track_args {
    bool first;       /* the first sample: d_above starts from 0 */
    double time;      /* s, of this sample */
    double weight;    /* s, since the sample before; 0 for the first */
    double isotherm;  /* K */
    double threshold; /* K */
    double *d_highest;
    double *d_arrival;
    double *d_above;
};

/* Coefficients of the heat flux on one subdomain; closed, a and b as in step_args. */
struct flux_args {
    bool closed[FACE_COUNT];
    double a[FACE_COUNT];
    double b[FACE_COUNT];     /* K */
    double scale[AXIS_COUNT]; /* k / (2 h), W/(m^2 K); 0 on an axis that is not in use */
};

/* What leaves a field for a file: every stride-th cell of a box. */
struct extract_args {
    int64_t first[AXIS_COUNT]; /* local index of the first one */
    int64_t stride[AXIS_COUNT];
    int64_t cells[AXIS_COUNT]; /* how many; 1 at least */
    bool root;                 /* of a float64 field without negative values: their square roots */
    enum precision precision;  /* of what leaves */
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

/* Names memory of shared_alloc to another process of this node; travels as plain bytes. */
enum { SHARED_HANDLE_BYTES = 128 };
struct shared_handle {
    unsigned char bytes[SHARED_HANDLE_BYTES];
};

/* A step kernel that `bench kernels` can name: same contract and same bits as `step`. */
struct kernel_variant {
    const char *name;
    const char *about;
    step_function *step;
    int settling_calls; /* it tries ways of working during its first so many calls for a size */
};

struct backend {
    const char *name;
    const char *about;
    /* The host may read and write memory_alloc's memory after queue_wait (MPI too). */
    bool host_accessible;
    /* Its kernels go fastest through fields whose rows follow each other (layout_close_rows). */
    bool close_rows;

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
    /* Block until the work before the mark has run; other work on its queue need not have. */
    enum status (*event_sync)(struct event *event);
    /* Has it? Returns at once; asked again and again, it comes true. */
    enum status (*event_done)(struct event *event, bool *done);

    /* A stopwatch for the work of one queue, by the device's own clock where it has one: the time
     * between the two marks, without what the host needs to queue it. */
    enum status (*stopwatch_create)(struct device *device, struct stopwatch **stopwatch);
    void (*stopwatch_destroy)(struct stopwatch *stopwatch); /* takes NULL */
    /* Queued. */
    enum status (*stopwatch_start)(struct queue *queue, struct stopwatch *stopwatch);
    enum status (*stopwatch_stop)(struct queue *queue, struct stopwatch *stopwatch);
    /* After queue_wait. */
    enum status (*stopwatch_seconds)(struct stopwatch *stopwatch, double *seconds);

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

    /* The launch shapes that `step` can take, by name. The first is the backend's own rule; which
     * one is taken changes the speed and never a bit. Returns how many there are. NULL: nothing to
     * choose; then so is step_shape. */
    int (*step_shapes)(const char *const **names);
    /* From now on `step` takes this shape for boxes of these extents in fields of this precision,
     * and its own rule for all others. */
    enum status (*step_shape)(struct device *device, enum precision precision,
                              const int64_t extent[AXIS_COUNT], int shape);

    /* Queued. Copy a box (local indices, halo allowed) into / out of a contiguous buffer of
     * box_cells(box) elements, x fastest. */
    enum status (*pack)(struct queue *queue, const struct layout *layout, const void *d_field,
                        const struct box *box, void *d_buffer);
    enum status (*unpack)(struct queue *queue, const struct layout *layout, const void *d_buffer,
                          const struct box *box, void *d_field);

    /* The same for several boxes, each with a buffer of its own; at once, where that is faster. */
    enum status (*pack_boxes)(struct queue *queue, const struct layout *layout, const void *d_field,
                              const struct box *boxes, void *const *d_buffers, int nboxes);
    enum status (*unpack_boxes)(struct queue *queue, const struct layout *layout,
                                void *const *d_buffers, const struct box *boxes, int nboxes,
                                void *d_field);

    /* Memory that kernels of other processes of this node can read and write, filled like
     * memory_alloc's; the handle is what they open it with. STATUS_DEVICE where it cannot be. */
    enum status (*shared_alloc)(struct device *device, size_t bytes, void **d_memory,
                                struct shared_handle *handle);
    void (*shared_free)(struct device *device, void *d_memory); /* takes NULL */
    /* Map another process's memory, which must live until shared_close. Once a handle. */
    enum status (*shared_open)(struct device *device, const struct shared_handle *handle,
                               void **d_memory);
    void (*shared_close)(struct device *device, void *d_memory); /* takes NULL */
    /* Flags are words of shared memory that count; fresh ones count as -1. Queued: when all that is
     * on the queue before has run and can be seen by whoever sees the flags, store `value`. That
     * comes without a call more: the host may wait for another process that waits for them. */
    enum status (*flags_write)(struct queue *queue, uint32_t *const *d_flags, int nflags,
                               uint32_t value);
    /* Queued: later work on the queue waits until all flags have counted to `value` (modulo 2^32)
     * and sees what was done before. When that takes longer than `limit_s` the queue goes on, and
     * its queue_wait returns STATUS_DEVICE: whoever should have come may be gone. */
    enum status (*flags_wait)(struct queue *queue, uint32_t *const *d_flags, int nflags,
                              uint32_t value, double limit_s);

    /* Queued. Minimum, maximum, exact sum and bad cells of the owned cells; *h_summary is valid
     * after queue_wait. The result does not depend on order, threads or decomposition. */
    enum status (*summarise)(struct queue *queue, const struct layout *layout,
                             const struct placement *placement, const void *d_field,
                             struct field_summary *h_summary);
    /* Queued. Sum modulo 2^64 of heat_cell_hash over the owned cells; add over ranks for
     * `field_hash`. *h_hash is valid after queue_wait. */
    enum status (*hash)(struct queue *queue, const struct layout *layout,
                        const struct placement *placement, const void *d_field, uint64_t *h_hash);

    /* Queued. Elements of a field, by their numbers in its allocation, into a contiguous buffer;
     * all in device memory. */
    enum status (*gather)(struct queue *queue, enum precision precision, const void *d_field,
                          const int64_t *d_elements, int64_t count, void *d_values);
    /* Queued. Take one sample of the owned cells into the fields of `args`, which are laid out as
     * `kept` says (float64, the same cells, no halo). They hold NaN before the first sample. */
    enum status (*track)(struct queue *queue, const struct layout *layout,
                         const struct layout *kept, const struct track_args *args,
                         const void *d_field);
    /* Queued. The square of the heat flux in the middle of the owned cells, W^2/m^4. The halo of
     * d_field must be complete, except beyond closed faces. */
    enum status (*flux_squared)(struct queue *queue, const struct layout *layout,
                                const struct layout *kept, const struct flux_args *args,
                                const void *d_field, double *d_flux);

    /* Queued. The cells that `args` names, in its precision, into a contiguous buffer, x fastest:
     * the bits that the host's conversions give (extract_cell.h). */
    enum status (*extract)(struct queue *queue, const struct layout *layout,
                           const struct extract_args *args, const void *d_field, void *d_values);

    const struct kernel_variant *variants; /* for `bench kernels`; the production one is last */
    int nvariants;
    const struct laplacian_variant *laplacians; /* likewise; laplacian.h */
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
