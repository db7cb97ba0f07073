/* The rows of the section `time` in the table of schema_table.c, with its macros. */
#pragma once

static const struct schema_limit tolerated = {1e-8, 0.1, false, false, "from 1e-8 to 0.1", NULL};
static const struct schema_choice schemes[] = {
    {"euler", SCHEME_EULER},       {"sts1", SCHEME_STS1}, {"sts2", SCHEME_STS2},
    {"implicit", SCHEME_IMPLICIT}, {"auto", SCHEME_AUTO}, {NULL, 0}};
/* The rows of src/model/superstep/superstep_table.h. */
static const struct schema_choice stages[] = {
    {"auto", 0}, {"4", 4},     {"8", 8},     {"12", 12},   {"16", 16}, {"20", 20},
    {"24", 24},  {"32", 32},   {"40", 40},   {"48", 48},   {"64", 64}, {"80", 80},
    {"96", 96},  {"128", 128}, {"160", 160}, {"192", 192}, {NULL, 0}};

static const struct schema_choice steady_solvers[] = {
    {"multigrid", SOLVER_MULTIGRID}, {"hypre", SOLVER_HYPRE},
    {"boomeramg", SOLVER_BOOMERAMG}, {"jacobi", SOLVER_JACOBI},
    {"chebyshev", SOLVER_CHEBYSHEV}, {NULL, 0}};

#define TIME_ROWS                                                                                  \
    SECTION("time", .flags = SCHEMA_REQUIRED, .one_of = "end, steps, steady"),                     \
        KEY("time.end", REAL, FREE, AT(time.end), .limit = &positive, .rival = "steps, steady",    \
            .unit = &second),                                                                      \
        KEY("time.steps", LONG, FREE, AT(time.steps), .flags = SCHEMA_NOTED,                       \
            .alternative = AT(time.by_steps), .limit = &from_one, .rival = "end, steady"),         \
        KEY("time.scheme", CHOICE, WARN, AT(time.scheme), .choices = schemes, .fallback = "euler", \
            .check = settings_check_time),                                                         \
        KEY("time.stages", CHOICE, WARN, AT(time.stages), .choices = stages, .fallback = "auto",   \
            .check = settings_check_time),                                                         \
        KEY("time.monotone", CHOICE, WARN, AT(time.monotone), .choices = truths,                   \
            .fallback = "false", .check = settings_check_time),                                    \
        KEY("time.backward_euler", CHOICE, WARN, AT(time.backward_euler), .choices = truths,       \
            .fallback = "false", .check = settings_check_time),                                    \
        KEY("time.dt", REAL, WARN, AT(time.dt), .flags = SCHEMA_OR_AUTO,                           \
            .alternative = AT(time.dt_auto), .limit = &positive, .fallback = "auto",               \
            .unit = &second),                                                                      \
        KEY("time.tolerance", REAL, WARN, AT(time.tolerance), .limit = &tolerated,                 \
            .rival = "dt, stages, max_error", .check = settings_check_time),                       \
        KEY("time.max_error", REAL, WARN, AT(time.max_error), .limit = &positive,                  \
            .rival = "dt, stages, tolerance", .unit = &difference, .check = settings_check_time),  \
        SECTION("time.until"),                                                                     \
        KEY("time.until.rate", REAL, FREE, AT(time.until_rate), .limit = &positive, .unit = &rate, \
            .check = settings_check_time),                                                         \
        KEY("time.until.distance", REAL, FREE, AT(time.until_distance), .limit = &positive,        \
            .unit = &difference, .check = settings_check_time),                                    \
        KEY("time.safety", REAL, WARN, AT(time.safety), .limit = &fraction, .fallback = "0.9"),    \
        KEY("time.adapt_every", LONG, WARN, AT(time.adapt_every), .limit = &from_zero,             \
            .fallback = "0", .unit = &steps, .check = settings_check_time),                        \
        SECTION("time.steady", .flags = SCHEMA_NOTED, .alternative = AT(time.steady.given),        \
                .rival = "end, steps"),                                                            \
        KEY("time.steady.temperature", REAL, WARN, AT(time.steady.temperature),                    \
            .limit = &small_kelvins, .fallback = "1e-6", .unit = &difference),                     \
        KEY("time.steady.tolerance", REAL, WARN, AT(time.steady.tolerance), .limit = &positive,    \
            .fallback = "1e-6"),                                                                   \
        KEY("time.steady.cycles", LONG, WARN, AT(time.steady.cycles), .limit = &from_one,          \
            .fallback = "100"),                                                                    \
        KEY("time.steady.solver", CHOICE, WARN, AT(time.steady.solver), .choices = steady_solvers, \
            .fallback = "multigrid")
