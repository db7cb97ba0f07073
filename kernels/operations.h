/* What is done to fields: a table of kernels that take boxes, strides, pointers and coefficients.
 *
 * All functions put their work on a queue; see runtime.h for the order of work. Where a backend has
 * nothing to offer a member is NULL, as its comment says. */
#ifndef ISOTHERM_KERNELS_OPERATIONS_H
#define ISOTHERM_KERNELS_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/exact_sum.h"
#include "kernels/layout.h"
#include "kernels/runtime.h"

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

/* A step kernel that `bench kernels` can name: same contract and same bits as `step`. */
struct kernel_variant {
    const char *name;
    const char *about;
    step_function *step;
    int settling_calls; /* it tries ways of working during its first so many calls for a size */
};

struct operations {
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
};

#endif
