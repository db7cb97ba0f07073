/* The section `time` of the settings, and the times of outputs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Forward Euler, super steps of order 1 and 2, the choice of one of them, which timeline_create
 * makes, the steady state, super steps of order 2 that do not overshoot, and implicit steps. */
enum time_scheme {
    SCHEME_EULER,
    SCHEME_STS1,
    SCHEME_STS2,
    SCHEME_AUTO,
    SCHEME_STEADY,
    SCHEME_MONOTONE,
    SCHEME_IMPLICIT
};

/* How steady states are found: by multigrid; by conjugate gradients of HYPRE around one of its
 * multigrid cycles; or, for comparison, without multigrid. */
enum steady_solver {
    SOLVER_MULTIGRID,
    SOLVER_HYPRE, /* PFMG */
    SOLVER_BOOMERAMG,
    SOLVER_JACOBI,
    SOLVER_CHEBYSHEV
};

/* The solver of steady states, and when it stops. */
struct steady_setting {
    bool given;
    enum steady_solver solver;
    double temperature; /* K: the estimated error of every temperature */
    double tolerance;   /* of the heat balance, of the heat that flows */
    int64_t cycles;     /* at most */
};

struct time_setting {
    enum time_scheme scheme;
    int monotone;       /* enum truth, of sts2: SCHEME_MONOTONE */
    int backward_euler; /* enum truth, of implicit steps */
    int stages;         /* of a super step; 0: as many as its length needs */
    bool by_steps;      /* `steps` was given, not `end` */
    double end;         /* s */
    int64_t steps;
    bool dt_auto;
    double dt;             /* s, when not auto */
    double safety;         /* of the largest stable step, when auto */
    double tolerance;      /* of the error, relative to the range of temperatures; 0: none */
    double max_error;      /* K, the same; 0: none */
    double until_rate;     /* K/s, below which the run ends; 0: none */
    double until_distance; /* K from the steady state, the same */
    bool may_skip;         /* with by_tolerance: also super steps without an estimate */
    bool may_be_implicit;  /* with by_tolerance: also implicit steps, where they take less work */
    bool by_tolerance;     /* super steps whose lengths follow from an estimate of their error */
    struct steady_setting steady;
    int64_t adapt_every; /* steps between two adaptations of an automatic dt; 0: none */
};

/* When an output is due: at multiples of `every` steps, or of `interval` s of simulated time, or at
 * given times; a step then lands exactly on them. All 0: never. */
struct cadence {
    int64_t every;
    double interval; /* s; 0 when the others count */
    double *times;   /* s, increasing */
    int ntimes;
};

static inline bool cadence_is_on(const struct cadence *cadence)
{
    return cadence->every > 0 || cadence->interval > 0 || cadence->ntimes > 0;
}
