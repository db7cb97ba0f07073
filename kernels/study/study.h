/* Studies: operations that exist to be measured beside the step, by `bench kernels`. A run never
 * calls them.
 *
 * A study says what its problem of a given size is, what a point of the result must be, and what
 * must be moved; the table in study.c says which kernels each backend has for it. Input and output
 * are plain arrays [nz][ny][nx], x fastest, without halo or padding. */
#ifndef ISOTHERM_KERNELS_STUDY_STUDY_H
#define ISOTHERM_KERNELS_STUDY_STUDY_H

#include "kernels/backend.h"

struct study_problem {
    enum precision precision;
    int64_t points[AXIS_COUNT]; /* more than 2 radius on each axis */
    double weight[AXIS_COUNT];  /* per axis; its meaning is the study's */
};

/* Queued. Write the points that are at least `radius` points from every face, with the bits of the
 * study's `expected`; leave the others. d_out and d_in: device memory, distinct, aligned to 16
 * bytes. STATUS_DEVICE when the device refuses, or has no room for so many points. */
typedef enum status study_function(struct queue *queue, const struct study_problem *problem,
                                   void *d_out, const void *d_in);

struct study_kernel {
    const char *name;
    const char *about;
    study_function *run;
};

/* The input at so many points from the one that is computed. */
typedef double study_input(const void *context, int x, int y, int z);

struct study_traffic {
    uint64_t fetch_bytes, write_bytes; /* at least */
    uint64_t points;                   /* that are written */
};

struct study {
    const char *name; /* for `--kernel`: all of its kernels */
    int radius;
    struct study_problem (*setup)(const int64_t points[AXIS_COUNT], enum precision precision);
    /* A point of the result by a plain expression on the host. */
    double (*expected)(const struct study_problem *problem, study_input *input,
                       const void *context);
    struct study_traffic (*traffic)(const struct study_problem *problem);
};

/* The index-th study; NULL behind the last. */
const struct study *study_at(int index);
/* The kernels that a backend has for a study, up to one without a name; none for NULL. */
const struct study_kernel *study_kernels(const struct study *study, const struct backend *backend);

#endif
