/* Operations on fields: each is a struct of arguments, with its contract, and a row of OPERATIONS.
 * They take boxes, strides, pointers and coefficients.
 *
 * All functions put their work on a queue; see runtime.h for the order of work. Arguments, and the
 * host memory that they point to (h_*, boxes, coefficients, a medium), are copied by the call;
 * results in host memory are valid after queue_wait. Members that may be NULL say so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/box.h"
#include "base/exact_sum.h"
#include "kernels/cell/correct_cell.h"
#include "kernels/cell/derived_cell.h"
#include "kernels/cell/face_cell.h"
#include "kernels/cell/source_cell.h"
#include "kernels/class_summary.h"
#include "kernels/coefficients.h"
#include "kernels/layout.h"
#include "kernels/runtime.h"
#include "kernels/tiles.h"

/* The result of a reduction. */
struct field_summary {
    double min;            /* K, of the valid cells; +inf when there are none */
    double max;            /* K; -inf when there are none */
    struct exact_sum sum;  /* of the valid cells */
    struct exact_sum heat; /* with a medium: of T d_weight, in double; else 0 */
    int64_t bad_cells;     /* NaN, Inf, or magnitude >= EXACT_SUM_LIMIT */
    int64_t first_bad;     /* lowest global index of these; -1: none */
};

/* The position of a subdomain in the global grid. */
struct placement {
    int64_t global_cells[AXIS_COUNT];
    int64_t offset[AXIS_COUNT]; /* global index of the local cell (0, 0, 0) */
};

/* The most steps of one pass, of any backend. */
enum { STEPS_MOST = 8 };

/* Advance the cells of `boxes` (disjoint, inside the owned cells) by `nsteps` forward-Euler
 * steps in one pass, with the expression of the coefficients' kind, bit for bit: several steps give
 * the bits and the face sums of as many calls.
 * A pass whose first step corrects has no other step, and reads d_out in the cells that it writes
 * and nowhere else.
 * The halo of d_in must be complete around the boxes, except beyond closed faces, where it is never
 * read: one layer, of high order `radius` layers, faces only; for several steps nsteps layers, with
 * edges and corners, and so must the classes. The cells around a box are then advanced
 * as far as it needs them, and are not written.
 * Of high order, a used axis has at least 2 radius cells within reach of a closed face, owned or in
 * the halo, and that many owned ones between two. */
struct step_args {
    struct layout layout;
    const struct coefficients *levels; /* [nsteps]: of one kind, with the same a, closed and
                                          classes in each; on GPUs also weights of closures */
    int nsteps;                        /* 1 to steps_most of their kind */
    void *d_out;                       /* fields of `layout`, distinct */
    const void *d_in;
    const struct box *boxes;
    int nboxes;
    /* Disjoint boxes, not with a summary: their cells need not be written, and what lies in the
     * boxes to advance is not summed. For cells that the caller computes in another way. */
    const struct box *without;
    int nwithout;
    /* NULL, or of a uniform medium or classes and all owned cells: the summary of the result, as
     * `summarise` has it with the medium; where bad_cells is not 0, nothing else in it is valid,
     * and cells may be valid and above 2^18 K. */
    struct field_summary *h_summary;
    struct placement placement; /* for h_summary */
    /* NULL, or of one step in a perfused medium: add the heat of perfusion in the cells of the
     * boxes, as sum_perfusion does. */
    struct exact_sum *d_perfusion;
    /* NULL, or of one step of all owned cells, in one box: only tiles that may change are advanced.
     * The same d_changed, d_awake and d_sums, and the next number, as in the step before; unless
     * `all`, d_out holds the field before that step, and the coefficients are the same. */
    const struct tiles *tiles;
    /* NULL, or device memory: add the bits of the cells of the boxes in d_out less
     * those in d_in, as add_bits does, but those that the step writes and reads: a bit that changes
     * in memory between two passes then changes the sum. */
    uint32_t *d_bits;
};
typedef enum status step_function(struct queue *queue, const struct step_args *args);

/* Add a source to the cells of `box` (inside the owned cells): T = fma(sigma, heat, T) where the
 * heat of source_cell, rounded to the field's precision, is not 0; sigma of the class, or 1. */
struct add_source_args {
    struct layout layout;
    const struct device_medium *medium; /* NULL: uniform */
    void *d_field;
    struct box box;
    struct source_shape shape;  /* with d_values: only peak_front, K m^3/W, their factor */
    int64_t offset[AXIS_COUNT]; /* global index of the local cell (0, 0, 0) */
    const float *d_values;      /* NULL: the shape. W/m^3 of the owned cells, [z][y][x] */
    /* NULL, or with d_values: their factor at the temperature of the cell in d_old, the field
     * before the step; not of an enthalpy. Device memory. */
    const struct source_curve *d_curve;
    const void *d_old;
    struct exact_sum *d_sum; /* device memory: add the exact sum of the heat, K */
    /* NULL, or: those that the box meets count as changed in the step of `tiles`, which was queued
     * before. */
    const struct tiles *tiles;
};

/* Add to *d_sum the exact sum, K, of p (Ta - T) over the cells of `box` (inside the owned cells):
 * the heat of perfusion in a step from d_field, with the medium's table. In double, the difference
 * rounded as in the update. */
struct sum_perfusion_args {
    struct layout layout;
    const struct device_medium *medium;
    const void *d_field;
    struct box box;
    struct exact_sum *d_sum;
};

/* Add to d_sums, for each condition of the owned cells inside a closed face, the exact sums of the
 * heat flow into them, W, of the temperature of the face, K, times its area, and of the area, in
 * double, as face_cell.h has them. Cells whose closure has no conductance do not count. Device
 * memory. */
enum { FACE_FLOW, FACE_TEMPERATURE, FACE_AREA, FACE_SUMS };
struct face_terms {
    enum face face;
    int nconditions, nsources;
    int first_source;      /* its sources begin there in d_sources */
    int first_sum;         /* the same in d_sums: [condition][FACE_SUMS] */
    int64_t first_closure; /* the same in d_closures: [condition][class] */
    int64_t first_own;     /* there: one for each cell of the face instead; -1: none */
    double spacing;        /* of the smallest cell, across the face, m */
};
struct sum_faces_args {
    struct layout layout;
    const struct device_medium *medium; /* classes and patches; a patch is a condition */
    const void *d_field;                /* temperatures; valid cells */
    const struct face_terms *faces;     /* [nfaces], FACE_COUNT at most */
    int nfaces;
    /* All faces share these arrays; sources are in K per second. */
    const struct class_closure *d_closures;
    const struct heat_source *d_sources;
    struct exact_sum *d_sums;
    /* NULL, or of an enthalpy: its values, the material of each class and their curves. */
    const void *d_enthalpy;
    const uint8_t *d_material;
    const struct curve *d_curves;
    double heat_per_enthalpy;   /* J/(m^3 K); with d_g that of the reference */
    double volume;              /* of the smallest cell, m^3 */
    double joule_per_kelvin;    /* of a cell */
    int64_t offset[AXIS_COUNT]; /* global index of the local cell (0, 0, 0) */
};

/* Add to the d_surface_sum of each of `nsteps` steps from d_field the exact sum, K, of g (T of the
 * ambient - T) over a list of faces beside ambients before the step: the heat of surfaces in it. In
 * double, the difference as in the update. For several steps the halo of d_field and the classes
 * are those of a pass of as many. */
struct sum_surfaces_args {
    struct layout layout;
    const struct coefficients *levels; /* [nsteps]: of classes, or one of conductances per cell */
    int nsteps;                        /* 1 to steps_most of their kind; the first corrects only
                                          where there is no other */
    const void *d_field;
    int64_t count;
    const int64_t *d_elements; /* of the field: the cell of each face; those of a cell follow each
                                  other */
    const int32_t *d_pairs;    /* the place of its g in the table: medium_g_at */
    const int64_t *d_faces;    /* with d_g: the element of it that has its g; else NULL */
};

/* Add to d_sums, for each surface, the exact sums of the terms of its faces (surface_face_terms):
 * the heat flow into the body, W, and the weighted temperature, K. Device memory; valid cells. */
struct sum_by_surface_args {
    enum precision precision;
    const void *d_field;
    int64_t count;
    const int64_t *d_elements; /* as for sum_surfaces */
    const int32_t *d_pairs;    /* of each face the place of its numbers; NULL: its own place */
    const struct surface_numbers *d_numbers;
    const struct surface_face *d_faces; /* as for exchange_surfaces; NULL: no surface exchanges */
    const struct face_exchange *d_exchanges;
    double joule_per_kelvin;  /* of a cell */
    int nsurfaces;            /* MEDIUM_CLASSES at most */
    struct exact_sum *d_sums; /* [nsurfaces][SURFACE_SUMS] */
};

/* After a step from d_in to d_out: T = fma(sigma, heat, T) of the cells of a list of faces beside
 * ambients, with the sum of surface_face_heat of their faces in the order of the list, rounded to
 * the field's precision. The faces of a cell follow each other. Device memory. */
struct exchange_surfaces_args {
    enum precision precision;
    void *d_out;
    const void *d_in;
    int64_t count;
    const int64_t *d_elements;               /* as for sum_surfaces */
    const struct surface_face *d_faces;      /* of each face */
    const struct face_exchange *d_exchanges; /* of each surface */
    double dt;                               /* s */
    struct exact_sum *d_sum;                 /* add the exact sum of the heat, K; NULL: none */
    uint32_t *d_bits;                        /* as for step */
};

/* Copy boxes (local indices, halo allowed) into contiguous buffers, one per box, of box_cells(box)
 * elements, x fastest; or out of them. */
struct pack_args {
    struct layout layout;
    const void *d_field;
    const struct box *boxes;
    void *const *d_buffers;
    int nboxes;
};
struct unpack_args {
    struct layout layout;
    void *d_field;
    const struct box *boxes;
    void *const *d_buffers;
    int nboxes;
};

/* Minimum, maximum, exact sums and bad cells of the owned cells, without those of ambients. The
 * result does not depend on order, threads or decomposition. */
struct summarise_args {
    struct layout layout;
    struct placement placement;
    const struct device_medium *medium; /* NULL: uniform */
    const void *d_field;
    const float *d_times; /* NULL, or of a float32 field without these: its factors, whose layout it
                             has. Products, which are exact, are summarised. */
    struct field_summary *h_summary;
    /* NULL, or of a uniform medium: of the last pass. On GPUs only tiles that changed after pass
     * `since` are read, for which the last call with tiles was made; 0: all. */
    const struct tiles *tiles;
    uint32_t since;
};

/* Extremes, exact sum and number of the owned cells of each group of classes, added to d_summaries.
 * All in device memory. The cells must be valid. */
struct summarise_classes_args {
    struct layout layout;
    const struct device_medium *medium;
    const uint8_t *d_groups; /* [MEDIUM_CLASSES]: the group of each class */
    const void *d_field;
    struct class_summary *d_summaries; /* [MEDIUM_CLASSES] */
};

/* The number of the class of each owned cell. */
struct number_classes_args {
    struct layout kept; /* as for track */
    const struct device_medium *medium;
    const uint8_t *d_numbers; /* [MEDIUM_CLASSES] */
    double *d_values;
};

/* Let the cells of `box`, which may lie in the first layer of the halo, have the class that follows
 * from d_field: cells whose value has reached a threshold change it. Device memory. */
struct change_classes_args {
    struct layout layout;
    const void *d_field;
    struct box box;
    struct layout of_class; /* as in device_medium */
    uint8_t *d_class;       /* the same; afterwards for steps with segments only: CLASS_FLAG is kept
                               right, and no row's number is */
    uint8_t mask;           /* the same */
    const double *d_at;     /* [MEDIUM_CLASSES]: of each class; INFINITY: never */
    const uint8_t *d_to;    /* [MEDIUM_CLASSES]: the class from there on */
};

/* Add the number of the owned cells above `limit` to d_planes[0]. Then follows each plane of cells
 * across x, then y, then z: raise it to the class_key_of of its highest cell. In device memory. The
 * cells must be valid. */
struct plane_maxima_args {
    struct layout layout;
    const void *d_field;
    double limit;
    uint64_t *d_planes;
};

/* Raise d_keys, in device memory, to the class_key_of of: the largest difference of d_a and d_b in
 * magnitude, the largest value of d_a, and the negative of its smallest; over the owned cells. With
 * two steps, not of high order, b is first advanced by one, and then corrected by the other: its
 * sums begin with the result of the first, and it reads d_a. They may use d_work. The halos are
 * complete as for a step; nothing else is written, and face sums are not taken. A cell that is not
 * a number counts in the first key only. */
enum { DIFFERENCE_KEYS = 3 };
struct compare_args {
    struct layout layout;
    const struct coefficients *levels; /* [nsteps]: as for step */
    int nsteps;                        /* 0 or 2 */
    const void *d_a, *d_b;
    void *d_work;     /* with two steps: another field */
    uint64_t *d_keys; /* [DIFFERENCE_KEYS] */
};

/* Sum modulo 2^64 of heat_cell_hash over the owned cells; add over ranks for `field_hash`. */
struct hash_args {
    struct layout layout;
    struct placement placement;
    const void *d_field;
    uint64_t *h_hash;
};

/* Add to *d_bits, modulo 2^32, the bits of the cells of `boxes` in d_plus less those in d_minus, as
 * words of 32 bits. The sum of a field changes with any bit, and with any word. */
struct add_bits_args {
    struct layout layout;
    const void *d_plus, *d_minus; /* NULL: none */
    const struct box *boxes;
    int nboxes;
    uint32_t *d_bits; /* device memory */
};

/* Copy elements of a field, given by their indices in its allocation, to a contiguous buffer; all
 * in device memory. With a medium the temperatures of an enthalpy. */
struct gather_args {
    enum precision precision;
    const void *d_field;
    const int64_t *d_elements;
    const struct device_medium *medium; /* with segments; NULL: copy */
    const int64_t *d_classes;           /* with a medium: of each, its index in d_class */
    int64_t count;
    void *d_values;
};

/* Update the fields of a sample (float64) with the owned cells: derived_track. They hold NaN before
 * the first sample. With a medium with the temperatures of an enthalpy. */
struct track_args {
    struct layout layout;
    struct layout kept; /* of the fields of the sample: the same cells, no halo */
    struct track_sample sample;
    const void *d_field;
    const struct device_medium *medium; /* with segments; or NULL */
};

/* The square of the heat flux at the centres of the owned cells, W^2/m^4. The halo of d_field must
 * be complete, except beyond closed faces. */
struct flux_squared_args {
    struct layout layout;
    struct layout kept;                /* as for track */
    const struct coefficients *around; /* kind, medium, closed, a and b; of high order as uniform */
    double scale[AXIS_COUNT];          /* k / (2 h), W/(m^2 K); 0 on an unused axis. With a medium:
                                          C h / (2 dt), the factor of the two g (difference) */
    const void *d_field;
    double *d_flux;
};

/* Copy every stride-th cell of a box to a contiguous buffer, x fastest, with the bits of the host's
 * conversions (extract_cell.h). */
struct extract_args {
    struct layout layout;
    int64_t first[AXIS_COUNT]; /* local index */
    int64_t stride[AXIS_COUNT];
    int64_t cells[AXIS_COUNT]; /* at least 1 */
    bool root;                 /* take square roots; of a float64 field without negative values */
    enum precision precision;  /* of the output */
    const void *d_field;
    void *d_values;
};

/* interpolate, then `nsteps` times relax, on grids that have all cells. */
enum { ASCEND_MOST = 12 };
struct ascend_args {
    struct multigrid fine, coarse;
    float factor;
    int nsteps; /* a multiple of 4 */
    float weight[ASCEND_MOST];
    const float *d_r;
    const float *d_e; /* of the coarse grid */
    float *d_out;
    float *d_other; /* overwritten */
};

/* A cycle on small grids that have tables: down from d_r of the first by average to the one cell of
 * the last, which a step of relax from 0 with weight 1 solves, and up by ascend to d_e of the
 * first. Overwrites d_r and d_e of the others. */
enum { CYCLE_SIDE = 8, CYCLE_MOST = 10 }; /* the most cells of an axis, and grids */
struct cycle_grid {
    struct multigrid m;
    float *d_r, *d_e, *d_other;
};
struct cycle_args {
    int count; /* at least 2 */
    struct cycle_grid grid[CYCLE_MOST];
    float weight[4];
};

/* Convert the owned cells of an enthalpy to temperatures or back. d_out may be d_in. */
enum enthalpy_conversion { CONVERT_TO_ENTHALPY, CONVERT_TO_TEMPERATURE };
struct convert_args {
    struct layout layout;
    const struct device_medium *medium; /* with segments */
    enum enthalpy_conversion conversion;
    const void *d_in;
    void *d_out;
};

/* The liquid fraction of the owned cells. */
struct liquid_fraction_args {
    struct layout layout;
    struct layout kept; /* as for track */
    const struct device_medium *medium;
    const void *d_field;
    double *d_fraction;
};

/* X(name): every operation, each with its struct name_args. */
/* clang-format off */
#define OPERATIONS(X)                                                                              \
    X(step) X(add_source) X(sum_perfusion) X(sum_faces) X(sum_surfaces) X(sum_by_surface)          \
    X(exchange_surfaces) X(pack) X(unpack) X(summarise) X(summarise_classes) X(number_classes)     \
    X(change_classes) X(plane_maxima) X(compare) X(add_bits) X(hash) X(gather) X(track)            \
    X(flux_squared) X(extract) X(convert) X(liquid_fraction) X(combine) X(relax) X(ascend)         \
    X(cycle) X(correct) X(flow_out) X(coarsen) X(gather_up) X(average) X(interpolate)
/* clang-format on */

#define OPERATION_MEMBER(name)                                                                     \
    enum status (*name)(struct queue * queue, const struct name##_args *args);

/* A step kernel that `bench kernels` can name: one step per call, with the bits of `step`. */
struct kernel_variant {
    const char *name;
    const char *about;
    step_function *step;
    int settling_calls; /* calls for a new size during which it tries its variants */
};

struct operations {
    OPERATIONS(OPERATION_MEMBER)
    int steps_most[KIND_COUNT]; /* per call of `step` */
    /* Not 0: of several steps only this number, or a multiple, is expected to be faster than single
     * ones; the search at the start may find others. */
    int steps_whole[KIND_COUNT];
    /* Whether closures of the steps of one call differ in b only; NULL: in a, too. */
    bool (*steps_share_a)(enum kind kind);

    /* Load what the operations of the multigrid run, which else their first calls do; NULL: nothing
     * is to be loaded. */
    enum status (*load_multigrid)(void);

    /* The launch shapes of `step`, by name; returns their number. The first is the backend's own
     * rule. A shape changes the speed and never a bit. Both this and step_shape may be NULL: the
     * rule is all there is. */
    int (*step_shapes)(const char *const **names);
    /* Let `step` use this shape for boxes of these extents in fields of this precision, and its
     * own rule for all others. */
    enum status (*step_shape)(struct device *device, enum precision precision,
                              const int64_t extent[AXIS_COUNT], int shape);

    const struct kernel_variant *variants; /* for `bench kernels`; the production one is last */
    int nvariants;
    const struct kernel_variant *laplacians; /* up to one without a name: r lap(u), r is 1/h^2 */
};

/* Queue an operation: ENQUEUE(operations, hash, queue, .layout = ..., .d_field = ...). */
#define ENQUEUE(operations, name, queue, ...)                                                      \
    ((operations)->name((queue), &(struct name##_args){__VA_ARGS__}))
