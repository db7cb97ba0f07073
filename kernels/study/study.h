/* Studies: operations that `bench kernels` measures and a run never calls.
 *
 * A study defines its problem for a given size, the expected result at a point, and the memory
 * traffic; the table in studies.c has its kernels by backend. Input and output are plain arrays
 * [nz][ny][nx], x fastest, without halo or padding. */
#ifndef ISOTHERM_KERNELS_STUDY_STUDY_H
#define ISOTHERM_KERNELS_STUDY_STUDY_H

#include "kernels/backend.h"

struct study_problem {
    enum precision precision;
    int64_t points[AXIS_COUNT]; /* more than 2 radius on each axis */
    double weight[AXIS_COUNT];  /* per axis; defined by the study */
};

/* Queued. Write the points at least `radius` points from every face, with the bits of the study's
 * `expected`, and leave the others unchanged. d_out and d_in: device memory, distinct, aligned to
 * 16 bytes. STATUS_DEVICE on an error, or for too many points. */
typedef enum status study_function(struct queue *queue, const struct study_problem *problem,
                                   void *d_out, const void *d_in);

struct study_kernel {
    const char *name;
    const char *about;
    study_function *run;
};

/* The input at an offset from the computed point. */
typedef double study_input(const void *context, int x, int y, int z);

struct study_traffic {
    uint64_t fetch_bytes, write_bytes; /* at least */
    uint64_t points;                   /* written */
};

struct study {
    const char *name; /* for `--kernel`: all of its kernels */
    int radius;
    struct study_problem (*setup)(const int64_t points[AXIS_COUNT], enum precision precision);
    /* One point of the result, on the host. */
    double (*expected)(const struct study_problem *problem, study_input *input,
                       const void *context);
    struct study_traffic (*traffic)(const struct study_problem *problem);
};

#endif
