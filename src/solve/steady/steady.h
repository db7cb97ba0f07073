/* The solver of steady states: conjugate gradients, preconditioned by a multigrid cycle in float32,
 * with residuals of the time steps' kernels in float64. */
#pragma once

#include "base/text/json.h"
#include "solve/steady/grids.h"

/* One cycle. */
struct steady_record {
    double residual; /* K/s: the largest rate of change before it */
    double change;   /* K: the largest change of a temperature by it */
    double rate;     /* of the changes, per cycle; NAN: unknown */
    double error;    /* K: the estimate of the largest one after it; INFINITY: unknown */
    double seconds;  /* since the solver began, at its end */
};

struct steady {
    struct steady_grids grids;
    struct heat_operator op; /* of a step whose length the residuals are of */
    /* in a uniform medium */
    double *d_heat;      /* of sources in that step, K, as the field; NULL: there are none */
    uint32_t *d_largest; /* of correct_args */
    /* with classes */
    float *d_p, *d_q; /* of the finest grid: the direction, and the heat it lets flow out */
    double pq;        /* their product */

    bool quiet;       /* no line per cycle */
    double began;     /* clock_seconds */
    double cold;      /* K/s: the largest rate of change of a uniform start */
    bool rounding;    /* further cycles give no better temperatures */
    double imbalance; /* of the heat, of the heat that flows; NAN: unknown */
    int count;
    struct steady_record *record;
};

/* Collective, agreed. *steady is NULL where the problem is not one; destroy it also after a
 * failure. `classes`: before classes_allocate. */
enum status steady_create(const struct problem *problem, const struct team *team,
                          struct engine *engine, const struct classes *classes,
                          struct steady **steady);
void steady_destroy(struct steady *steady); /* takes NULL */

/* For report.json. */
void steady_report(const struct steady *steady, struct json *json);
