/* Problems with known solutions, as configurations. */
#pragma once

#include "base/status.h"
#include "config/settings.h"

#define VERIFY_KIND_LIST(X)                                                                        \
    X(TEMPERATURE, "temperature")                                                                  \
    X(TEMPERATURE_OF_TIME, "temperature as f(t)")                                                  \
    X(FLUX, "flux")                                                                                \
    X(CONVECTION, "convection")                                                                    \
    X(PERIODIC, "periodic")                                                                        \
    X(MIXED, "convection and flux")                                                                \
    X(FLUX_OF_TIME, "flux as f(t)")                                                                \
    X(CONVECTION_OF_TIME, "convection as f(t)")                                                    \
    X(RADIATION_OF_TIME, "radiation as f(t)")

#define VERIFY_ENUM(name, text) VERIFY_##name,
enum verify_kind { VERIFY_KIND_LIST(VERIFY_ENUM) VERIFY_KINDS };
#undef VERIFY_ENUM

struct verify_problem {
    char config[4096]; /* YAML */
    char exact[2048];  /* the solution, K, a function of x, y, z (m) and t (s) */
};

const char *verify_kind_name(enum verify_kind kind);

/* Level 0, 1, 2, ...: h halves and dt falls fourfold; `exact` solves the heat equation. */
enum status verify_problem_in_space(enum verify_kind kind, int dimensions, int level,
                                    struct verify_problem *problem);

/* Level 0, 1, 2, ...: h falls by 2/3, for a stencil of order 4, 6 or 8; `exact` solves the equation
 * with the time steps of forward Euler, and is the mean over a cell at its centre. */
enum status verify_problem_of_order(enum verify_kind kind, int order, int dimensions, int level,
                                    struct verify_problem *problem);

/* Level 0, 1, 2, ...: dt halves on one grid; `exact` solves the semi-discrete equations. Super
 * steps have 16 stages and begin with a quarter of the longest stable length. Level VERIFY_STIFF:
 * a few steps of the longest stable length (super steps) from a state with a mode of 1 K that
 * varies from cell to cell and is absent from `exact`. */
enum { VERIFY_STIFF = -1 };
enum status verify_problem_in_time(enum verify_kind kind, enum time_scheme scheme, int dimensions,
                                   int level, struct verify_problem *problem);
