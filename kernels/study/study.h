/* Studies: operations that `bench` measures and a run never calls.
 *
 * A study defines its problems, the expected result at a point, and the memory traffic; the table
 * in studies.c has its kernels by backend. Input and output have one array per field, each of the
 * problem's layout, one after another. A kernel computes the cells; the halo is read only. */
#ifndef ISOTHERM_KERNELS_STUDY_STUDY_H
#define ISOTHERM_KERNELS_STUDY_STUDY_H

#include "kernels/backend.h"

enum { STUDY_MOST_FIELDS = 8, STUDY_MOST_SHAPES = 64, STUDY_PARAMETERS = 24 };

/* What a problem is made from. */
struct study_case {
    int64_t size[AXIS_COUNT]; /* 1: the axis is not in use */
    enum precision precision;
    int radius; /* of the stencil; the Laplacian has its own */
};

struct study_problem {
    struct layout layout; /* of each field */
    int nfields;
    int radius;
    int64_t field_pitch;                /* elements from a field to the next */
    double parameter[STUDY_PARAMETERS]; /* defined by the study */
};

static inline size_t study_bytes(const struct study_problem *problem)
{
    return (size_t)(problem->field_pitch * problem->nfields) *
           precision_bytes(problem->layout.precision);
}

/* The launch of a kernel; 0: the kernel's own choice. */
struct study_shape {
    int block[AXIS_COUNT]; /* threads */
    int bounds;            /* the launch bounds that the kernel was compiled with */
    int items;             /* cells per thread */
};

/* Queued. Write the cells, with the bits of the study's `expected` (or within `most_ulps`), and
 * leave the halo unchanged. d_out and d_in: device memory, distinct, aligned to LAYOUT_ALIGN_BYTES.
 * STATUS_DEVICE on an error, for too many cells, or for a shape that the device cannot launch. */
typedef enum status study_function(struct queue *queue, const struct study_problem *problem,
                                   const struct study_shape *shape, void *d_out, const void *d_in);

struct study_kernel {
    const char *name;
    const char *about;
    study_function *run;
    /* The shapes to search for this problem, at most STUDY_MOST_SHAPES; 0: not a problem for this
     * kernel. NULL: one shape, its own. */
    int (*shapes)(const struct study_problem *problem, struct study_shape *shapes);
};

/* The input at an offset from the computed point. From field `nfields` on: the output's value
 * before the call, without an offset, for a study that reads_output. */
typedef double study_input(const void *context, int field, int x, int y, int z);

struct study_traffic {
    uint64_t fetch_bytes, write_bytes; /* at least */
    uint64_t points;                   /* written, counted once for all fields */
};

struct study {
    const char *name; /* `bench NAME`; in `bench kernels` also for `--kernel`: all of its kernels */
    int most_ulps;    /* results may differ by this many units in the last place; 0: same bits */
    bool reads_output;
    /* STATUS_INPUT for a size that the study cannot have. */
    enum status (*setup)(const struct study_case *wanted, struct study_problem *problem);
    /* One point of the results, on the host: the plain loop's body. */
    void (*expected)(const struct study_problem *problem, study_input *input, const void *context,
                     double results[STUDY_MOST_FIELDS]);
    struct study_traffic (*traffic)(const struct study_problem *problem);
    /* The index-th published case of a precision; false after the last. NULL: the study belongs to
     * `bench kernels`, which takes one size. */
    bool (*published)(int index, enum precision precision, struct study_case *found);
    /* The value of an input field for a phase, 0 to 100; NULL: about 300. */
    double (*value)(int field, int phase);
};

#endif
