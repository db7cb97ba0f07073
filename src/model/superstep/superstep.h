/* Super steps of the stabilised schemes. One covers beta(s) / 2 forward-Euler steps by s levels,
 * each an Euler step of a length of its own; docs/reference/numerics.md derives them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/settings.h"

enum { SUPERSTEP_LEVELS_MOST = 192 };

/* new = base + weight tau F(current), tau the length of the super step. */
struct superstep_level {
    double weight;
    bool predicts; /* of the pair of SCHEME_STS2, the level whose result is dropped */
    bool corrects; /* its base is the state before `current`, else `current` */
    bool is_step;  /* of forward Euler, with the data of its own time */
    /* Data that depend on time enter a level as f + p1 tau f' + p2 tau^2 f'': then the data of the
     * level belong to its temperatures. p1 is the level's natural time, in units of tau. */
    double p1, p2;
    /* How far temperatures may leave their range, in units of it: within the super step, where
     * they have no meaning, and at its end. */
    double inside, overshoot;
};

struct superstep {
    int nlevels; /* the stages s */
    struct superstep_level level[SUPERSTEP_LEVELS_MOST];
};

/* The largest tau times spectral radius of -F' that s stages take; an upper bound of the radius is
 * twice the largest sum of rates of a cell. 0: there is no such s. For SCHEME_EULER, s = 1 only. */
double superstep_limit(enum time_scheme scheme, int nstages);

/* The fewest stages that take this tau times spectral radius; 0: none do. */
int superstep_stages(enum time_scheme scheme, double tau_radius);

/* The most stages for which rounding errors, and of a nonlinear problem the temperatures within a
 * super step, stay small. */
int superstep_stages_most(enum time_scheme scheme, enum precision precision, bool linear);

/* The levels of one super step; nstages as from superstep_stages, of SCHEME_EULER any. `linear`: in
 * the order that does not amplify rounding errors, else in the one that does not amplify the
 * temperatures within a super step, which a nonlinear F needs. */
void superstep_levels(enum time_scheme scheme, int nstages, bool linear,
                      struct superstep *superstep);

/* The state of the control of super steps by a tolerance (solve/scheme/step_control.h), the same on
 * all ranks. */
struct step_control {
    int64_t exponent; /* of the length of the next super step */
    /* of the last one: the logarithm of its estimate over the limit; or 1000: the next super step
     * consists of forward Euler's steps */
    int64_t error;
    int64_t rejected;     /* super steps */
    int64_t levels;       /* of all super steps and estimates */
    double low, high;     /* K: the extremes so far; equal: unknown */
    double last_error;    /* K, the estimate for the last super step */
    double largest_error; /* K, that of all accepted ones */
    double rate, decay;   /* K/s, the fastest change; 1/s, its decay. For `until` */
    /* of `auto`: 1: implicit steps are taken; -1: never again, since cycles did not converge */
    int64_t is_implicit;
    int64_t implicit_steps;      /* accepted ones */
    int64_t step_cycles, cycles; /* of the last implicit step, with an estimate; of all */
};

/* When data that depend on time are taken: at `time`, or for a level of a super step. */
struct instant {
    double time;                         /* s; of a level its natural time */
    const struct superstep_level *level; /* NULL: none */
    double start, length;                /* s, of the super step */
};

/* The data of a level that were `start`, `middle` and `end` at the start, the middle and the end of
 * the super step. */
static inline double superstep_data(const struct superstep_level *level, double start,
                                    double middle, double end)
{
    return start + level->p1 * (4 * (middle - start) - (end - start)) +
           4 * level->p2 * ((start - middle) + (end - middle));
}
