/* Operations on fields: a table of kernels that take boxes, strides, pointers and coefficients.
 *
 * All functions put their work on a queue; see runtime.h for the order of work. Members that may be
 * NULL say so. */
#ifndef ISOTHERM_KERNELS_OPERATIONS_H
#define ISOTHERM_KERNELS_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/exact_sum.h"
#include "kernels/cell/derived_cell.h"
#include "kernels/cell/source_cell.h"
#include "kernels/class_summary.h"
#include "kernels/coefficients.h"
#include "kernels/layout.h"
#include "kernels/runtime.h"

/* Rule for changing the class of a cell when its field value reaches a threshold. Device memory. */
struct class_changes {
    struct layout layout; /* as in medium_args */
    uint8_t *d_class;     /* the same; afterwards for steps with segments only: CLASS_FLAG is kept
                             right, and no row's number is */
    uint8_t mask;         /* the same */
    const double *d_at;   /* [MEDIUM_CLASSES]: of each class; INFINITY: never */
    const uint8_t *d_to;  /* [MEDIUM_CLASSES]: the class from there on */
};

/* A heat source on one subdomain; see kernels/cell/source_cell.h. */
struct source_args {
    const struct device_medium *medium; /* NULL: uniform. Host memory, copied by the call */
    struct source_shape shape;          /* with d_values: only peak_front, K m^3/W, their factor */
    int64_t offset[AXIS_COUNT];         /* global index of the local cell (0, 0, 0) */
    const float *d_values;              /* NULL: the shape. W/m^3 of the owned cells, [z][y][x] */
    struct exact_sum *d_sum;            /* device memory: add the exact sum of the heat, K */
};

/* Coefficients of the heat flux on one subdomain; medium, closed, a and b as in step_args. */
struct flux_args {
    const struct device_medium *medium;
    bool closed[FACE_COUNT];
    double a[FACE_COUNT];
    double b[FACE_COUNT];     /* K */
    double scale[AXIS_COUNT]; /* k / (2 h), W/(m^2 K); 0 on an unused axis. With a medium: C h /
                                 (2 dt), the factor of the two g (difference) */
};

/* Cells of a field for a file: every stride-th cell of a box. */
struct extract_args {
    int64_t first[AXIS_COUNT]; /* local index */
    int64_t stride[AXIS_COUNT];
    int64_t cells[AXIS_COUNT]; /* at least 1 */
    bool root;                 /* take square roots; of a float64 field without negative values */
    enum precision precision;  /* of the output */
};

/* The result of a reduction. */
struct field_summary {
    double min;            /* K, of the valid cells; +inf when there are none */
    double max;            /* K; -inf when there are none */
    struct exact_sum sum;  /* of the valid cells */
    struct exact_sum heat; /* with a medium: of T d_weight, in double; else 0 */
    int64_t bad_cells;     /* NaN, Inf, or magnitude >= EXACT_SUM_LIMIT */
    int64_t first_bad;     /* lowest global index of these; -1: none */
};

/* What `convert` computes, cell by cell, in a medium with segments. */
enum enthalpy_conversion { CONVERT_TO_ENTHALPY, CONVERT_TO_TEMPERATURE };

/* The position of a subdomain in the global grid. */
struct placement {
    int64_t global_cells[AXIS_COUNT];
    int64_t offset[AXIS_COUNT]; /* global index of the local cell (0, 0, 0) */
};

/* The most steps of one pass, of any backend. */
enum { STEPS_MOST = 8 };

/* Queued. Advance the cells of `boxes` (disjoint, inside the owned cells) by `nsteps` forward-Euler
 * steps in one pass, with the expression of the coefficients' kind, bit for bit: several steps give
 * the bits and the face sums of as many calls.
 * The halo of d_in must be complete around the boxes, except beyond closed faces, where it is never
 * read: one layer, of high order `radius` layers, faces only; for several steps that many times
 * nsteps, with edges and corners, and so must the classes. The cells around a box are then advanced
 * as far as it needs them, and are not written.
 * Of high order, a used axis has at least 2 radius cells within reach of a closed face, owned or in
 * the halo, and that many owned ones between two. */
struct step_args {
    struct layout layout;
    const struct coefficients *levels; /* [nsteps]: of one kind, with the same r, a, closed and
                                          classes in each */
    int nsteps;                        /* 1 to steps_most of their kind */
    void *d_out;                       /* fields of `layout`, distinct */
    const void *d_in;
    const struct box *boxes;
    int nboxes;
    /* NULL, or of a uniform medium and all owned cells: the summary of the result, as `summarise`
     * has it; where bad_cells is not 0, nothing else in it is valid, and cells may be valid and
     * above 2^18 K. */
    struct field_summary *h_summary;
    struct placement placement; /* for h_summary */
};
typedef enum status step_function(struct queue *queue, const struct step_args *args);

/* A step kernel that `bench kernels` can name: one step per call, with the bits of `step`. */
struct kernel_variant {
    const char *name;
    const char *about;
    step_function *step;
    int settling_calls; /* calls for a new size during which it tries its variants */
};

/* Host memory that a member of the arguments points to. */
struct host_memory {
    size_t pointer; /* offset of the member */
    size_t bytes;   /* per element; 0 ends a list of these */
    size_t count;   /* offset of the number of elements, an int; 0: one element */
    bool is_result; /* valid after queue_wait; else the call copies it */
};
#define HOST_MEMORY(name, member, count, is_result)                                                \
    {offsetof(struct name##_args, member), sizeof *((struct name##_args *)NULL)->member, count,    \
     is_result},
#define HOST_ARRAY(name, member, number)                                                           \
    HOST_MEMORY(name, member, offsetof(struct name##_args, number), false)
#define HOST_ONE(name, member) HOST_MEMORY(name, member, 0, false)
#define HOST_RESULT(name, member) HOST_MEMORY(name, member, 0, true)

/* X(name, host memory): every operation, each with its struct name_args. */
#define OPERATIONS(X)                                                                              \
    X(step, HOST_ARRAY(step, levels, nsteps) HOST_ARRAY(step, boxes, nboxes)                       \
                HOST_RESULT(step, h_summary))

#define OPERATION_MEMBER(name, host)                                                               \
    enum status (*name)(struct queue * queue, const struct name##_args *args);

struct operations {
    OPERATIONS(OPERATION_MEMBER)
    int steps_most[KIND_COUNT]; /* per call of `step` */

    /* Queued. Add a source to the cells of `box` (inside the owned cells): T = fma(sigma, heat, T)
     * with the heat of source_cell, rounded to the field's precision; sigma of the cell's class, or
     * 1. */
    enum status (*add_source)(struct queue *queue, const struct layout *layout,
                              const struct source_args *args, void *d_field, const struct box *box);

    /* Queued. Add to *d_sum the exact sum, K, of p (Ta - T) over the cells of `box` (inside the
     * owned cells): the heat of perfusion in a step from d_field, a field of `layout`, with the
     * medium's table. In double, the difference rounded as in the update. */
    enum status (*sum_perfusion)(struct queue *queue, const struct layout *layout,
                                 const struct device_medium *medium, const void *d_field,
                                 const struct box *box, struct exact_sum *d_sum);

    /* The launch shapes of `step`, by name; returns their number. The first is the backend's own
     * rule. A shape changes the speed and never a bit. Both this and step_shape may be NULL. */
    int (*step_shapes)(const char *const **names);
    /* Let `step` use this shape for boxes of these extents in fields of this precision, and its
     * own rule for all others. */
    enum status (*step_shape)(struct device *device, enum precision precision,
                              const int64_t extent[AXIS_COUNT], int shape);

    /* Queued. Copy a box (local indices, halo allowed) into / out of a contiguous buffer of
     * box_cells(box) elements, x fastest. */
    enum status (*pack)(struct queue *queue, const struct layout *layout, const void *d_field,
                        const struct box *box, void *d_buffer);
    enum status (*unpack)(struct queue *queue, const struct layout *layout, const void *d_buffer,
                          const struct box *box, void *d_field);

    /* The same for several boxes, each with its own buffer. */
    enum status (*pack_boxes)(struct queue *queue, const struct layout *layout, const void *d_field,
                              const struct box *boxes, void *const *d_buffers, int nboxes);
    enum status (*unpack_boxes)(struct queue *queue, const struct layout *layout,
                                void *const *d_buffers, const struct box *boxes, int nboxes,
                                void *d_field);

    /* Queued. Minimum, maximum, exact sums and bad cells of the owned cells; *h_summary is valid
     * after queue_wait. The result does not depend on order, threads or decomposition. `medium`:
     * NULL when uniform. */
    enum status (*summarise)(struct queue *queue, const struct layout *layout,
                             const struct placement *placement, const struct device_medium *medium,
                             const void *d_field, struct field_summary *h_summary);
    /* Queued. Extremes, exact sum and number of the owned cells of each group of classes, added to
     * d_summaries[MEDIUM_CLASSES]. d_groups[MEDIUM_CLASSES]: the group of each class. All in
     * device memory. The cells must be valid. */
    enum status (*summarise_classes)(struct queue *queue, const struct layout *layout,
                                     const struct device_medium *medium, const uint8_t *d_groups,
                                     const void *d_field, struct class_summary *d_summaries);
    /* Queued. The number in d_numbers[MEDIUM_CLASSES] of the class of each owned cell, in a field
     * of layout `kept` as for `track`. */
    enum status (*number_classes)(struct queue *queue, const struct layout *kept,
                                  const struct device_medium *medium, const uint8_t *d_numbers,
                                  double *d_values);
    /* Queued. Let the cells of `box`, which may lie in the first layer of the halo, have the class
     * that follows from d_field, a field of `layout`. */
    enum status (*change_classes)(struct queue *queue, const struct layout *layout,
                                  const struct class_changes *change, const void *d_field,
                                  const struct box *box);
    /* Queued. Add the number of the owned cells above `limit` to d_planes[0]. Then follows each
     * plane of cells across x, then y, then z: raise it to the class_key_of of its highest cell. In
     * device memory. The cells must be valid. */
    enum status (*plane_maxima)(struct queue *queue, const struct layout *layout,
                                const void *d_field, double limit, uint64_t *d_planes);
    /* Queued. Sum modulo 2^64 of heat_cell_hash over the owned cells; add over ranks for
     * `field_hash`. *h_hash is valid after queue_wait. */
    enum status (*hash)(struct queue *queue, const struct layout *layout,
                        const struct placement *placement, const void *d_field, uint64_t *h_hash);

    /* Queued. Copy elements of a field, given by their indices in its allocation, to a contiguous
     * buffer; all in device memory. */
    enum status (*gather)(struct queue *queue, enum precision precision, const void *d_field,
                          const int64_t *d_elements, int64_t count, void *d_values);
    /* Queued. Update the fields of `args`, of layout `kept` (float64, the same cells, no halo),
     * with the owned cells: derived_track. They hold NaN before the first sample. */
    enum status (*track)(struct queue *queue, const struct layout *layout,
                         const struct layout *kept, const struct track_args *args,
                         const void *d_field);
    /* Queued. The square of the heat flux at the centres of the owned cells, W^2/m^4. The halo of
     * d_field must be complete, except beyond closed faces. */
    enum status (*flux_squared)(struct queue *queue, const struct layout *layout,
                                const struct layout *kept, const struct flux_args *args,
                                const void *d_field, double *d_flux);

    /* Queued. Copy the cells of `args`, in its precision, to a contiguous buffer, x fastest, with
     * the bits of the host's conversions (extract_cell.h). */
    enum status (*extract)(struct queue *queue, const struct layout *layout,
                           const struct extract_args *args, const void *d_field, void *d_values);

    /* Queued. Convert the owned cells from the enthalpy to the temperature or back. d_out and d_in:
     * fields of `layout`, which may be the same one. */
    enum status (*convert)(struct queue *queue, const struct layout *layout,
                           const struct device_medium *medium, enum enthalpy_conversion conversion,
                           const void *d_in, void *d_out);
    /* Queued. The liquid fraction of the owned cells, of layout `kept` as for `track`. */
    enum status (*liquid_fraction)(struct queue *queue, const struct layout *layout,
                                   const struct layout *kept, const struct device_medium *medium,
                                   const void *d_field, double *d_fraction);

    const struct kernel_variant *variants; /* for `bench kernels`; the production one is last */
    int nvariants;
};

#endif
