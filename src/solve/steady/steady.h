/* The solver of steady states and of implicit stages: conjugate gradients, preconditioned by a
 * multigrid cycle in float32, with residuals of the time steps' kernels in float64; Newton's method
 * around it where rates of change are not linear. */
#pragma once

#include "base/text/json.h"
#include "solve/steady/grids.h"
#include "solve/stepper.h"

/* One cycle. */
struct steady_record {
    double residual; /* K/s: the largest rate of change before it; NAN: only known in float32 */
    double change;   /* K: the largest change of a temperature by it */
    double rate;     /* of the changes, per cycle; NAN: unknown */
    double error;    /* K: the estimate of the largest one after it; INFINITY: unknown */
    double squares;  /* the sum of the squares of the residual before it; 0: not looked at */
    struct hypre_run hypre;
    double seconds; /* since the solver began, at its end */
};

struct steady {
    struct steady_grids grids;
    const struct classes *classes; /* borrowed */
    enum steady_solver solver;
    struct heat_operator op; /* of a step whose length is the unit of the grids */
    double unit;             /* it over the step of the last goal */
    float *d_p, *d_q;        /* of the finest grid: the direction, and the heat it lets out */
    float *d_scale;          /* K per unit of the direction; NULL: 1 */
    float *d_weight;         /* of heat, in place of those of classes; NULL: of classes */
    void *d_temperature;     /* of an enthalpy, in its layout; else NULL */
    void *d_base;            /* of implicit steps: a field; else NULL */
    double pq;               /* the product of d_p and d_q; 0: the next direction is new */
    struct steady_chebyshev {
        double least;  /* an estimate of the least eigenvalue of A over its diagonal */
        double ratio;  /* of two successive polynomials */
        double factor; /* of the last direction */
        double scale;  /* its units */
        int64_t left;  /* steps before the iteration starts again with a better estimate */
    } chebyshev;
    double hypre_share; /* of steady_hypre */
    /* in a uniform medium */
    double *d_heat;      /* of sources in a step of op, K, as the field; NULL: there are none */
    uint32_t *d_largest; /* of correct_args */
    bool is_ahead;       /* the next cycle is queued */
    struct {
        bool changes;     /* the rates of change are not linear */
        bool varies;      /* their derivatives are not constant in time */
        bool done;        /* in this solution, or this implicit step */
        double mass;      /* of the sinks of an enthalpy */
        int64_t cycles;   /* since then */
        double moved;     /* K: the sum of their changes */
        double magnitude; /* K, of the temperatures */
    } newton;
    bool quiet;       /* no line per cycle */
    bool squares;     /* find those of each cycle */
    double began;     /* clock_seconds */
    bool rounding;    /* further cycles give no better temperatures */
    double imbalance; /* of the heat, of the heat that flows; NAN: unknown */
    int64_t count;
    int64_t total; /* cycles of all solutions */
    struct steady_record *record;
};

/* The state that is sought, from the one that there is:
 *   base + (change by a step of op) - mass (state) = 0 */
struct steady_goal {
    struct heat_operator op; /* of a level that predicts and corrects */
    const void *d_base;      /* NULL: 0 */
    double mass;             /* 0 or 1 */
    double temperature;      /* K: the largest error */
    double share;            /* or this share of the change of the first cycle, and ... */
    double residual_share;   /* ... this one of the residual, K; INFINITY: any */
    double tolerance;        /* of the imbalance; INFINITY: any */
    bool is_steady;          /* of time.steady: for messages, and the heat that a body keeps */
};

/* Collective, agreed. *steady is NULL where the problem needs none; destroy it also after a
 * failure. After classes_allocate, with their map. */
enum status steady_create(const struct problem *problem, const struct team *team,
                          struct engine *engine, const struct classes *classes,
                          const struct layout *field, struct steady **steady);
void steady_destroy(struct steady *steady); /* takes NULL */

/* Whether sinks have other parts than a multiple of the heat capacities. */
bool steady_mixes_sinks(const struct problem *problem);

/* Collective, agreed. Whether a face, an ambient or blood fixes the temperatures at the time of the
 * operator. */
enum status steady_is_held(const struct stepper *stepper, const struct heat_operator *op,
                           bool *held);

/* Collective, agreed. Let the conductances be those of the state, whose halo is complete.
 * Of its temperatures, K: the largest magnitude, and the mean. */
enum status steady_linearise(struct stepper *stepper, const struct steady_goal *goal,
                             double magnitude, double mean);

/* Collective; blocks. The residual, to d_next: the kernels of the time steps, whose sum begins with
 * base and mass. */
enum status steady_residual(struct stepper *stepper, const struct steady_goal *goal);

/* Collective; blocks. In a uniform medium: a cycle, its correction, and the residual, which goes to
 * the finest grid; the largest change of a temperature, and the largest residual, K. `ahead`: the
 * next cycle is certain, and queued before the host waits. */
enum status steady_improve(struct stepper *stepper, bool ahead, double *change, double *lack);
/* Likewise: the first residual; of a uniform start after full multigrid; and the first cycle. */
enum status steady_begin(struct stepper *stepper, bool uniform_start, double *lack);

/* Collective; blocks. STATUS_NUMERICS when the cycles do not suffice; STATUS_INPUT when there is no
 * such state. The state is that of d_now. */
enum status steady_solve(struct stepper *stepper, const struct steady_goal *goal);

/* Without multigrid, for comparison: the share of the direction before in the next one, whose
 * residual has this scale; then the factor of the direction, for the products of d_p with the
 * residual, and with d_q, which are needed only where the direction is new. */
bool steady_is_plain(const struct steady *steady);
double steady_plain_share(struct steady *steady, double scale);
double steady_plain_factor(struct steady *steady, double pr);

/* Whether steady_linearise is due: after each cycle while the state changes much; the conductances
 * of a close state serve for longer. */
bool steady_needs_conductances(const struct stepper *stepper, const struct steady_goal *goal);

/* Record a cycle by its largest change, K, and the residual before it, K/s. The change bounds the
 * error after the cycle while the rate is below 1/2. */
void steady_judge(struct steady *steady, double change, double residual, bool is_told);

/* Collective, agreed. STATUS_NUMERICS: the cycles do not suffice. */
enum status steady_fail_slow(const struct stepper *stepper, const struct steady_goal *goal);

/* Collective; blocks. After an implicit step: the largest difference of another field to the state
 * once stiff modes are damped as by a stage, K. Overwrites d_next. */
enum status steady_damped(struct stepper *stepper, const void *d_other, double *difference);

/* Collective; blocks. The steady state of the conditions at the start. */
enum status steady_find(struct stepper *stepper);

/* For report.json. */
void steady_report(const struct steady *steady, struct json *json);
