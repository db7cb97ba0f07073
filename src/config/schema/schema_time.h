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
    SECTION("time", "The length of the run (`end`, `steps` or `steady`) and the time step.",       \
            .flags = SCHEMA_REQUIRED, .one_of = "end, steps, steady"),                             \
        KEY("time.end", REAL, FREE, AT(time.end),                                                  \
            "The simulated time at the end; the last step is shortened to land exactly on it.",    \
            .limit = &positive, .rival = "steps, steady", .unit = &second),                        \
        KEY("time.steps", LONG, FREE, AT(time.steps), "The number of steps, instead of `end`.",    \
            .flags = SCHEMA_NOTED, .alternative = AT(time.by_steps), .limit = &from_one,           \
            .rival = "end, steady"),                                                               \
        KEY("time.scheme", CHOICE, WARN, AT(time.scheme),                                          \
            "The time scheme (docs/guide/time_schemes.md). `euler`: forward Euler, of order 1. "   \
            "`sts1` "                                                                              \
            "and `sts2`: super steps of order 1 and 2, each of several stages, which take a step " \
            "that is up to s^2 / 4 times as long as Euler's for the cost of s Euler steps; not "   \
            "where a material melts or becomes another one. `implicit`: steps of order 2 and of "  \
            "any length `dt`, each of two stages that multigrid solves; likewise, and not in "     \
            "float32 or with `run.stencil.order` above 2. `auto`: `euler` where it can take `dt` " \
            "or `dt` is auto, else `sts2`, or `implicit` where `dt` is too long for it; with a "   \
            "tolerance `sts2`, without some of its estimates where steps are short, or "           \
            "`implicit` "                                                                          \
            "steps while these take less work, or `euler` for a few steps that keep it.",          \
            .choices = schemes, .fallback = "euler", .check = settings_check_time),                \
        KEY("time.stages", CHOICE, WARN, AT(time.stages),                                          \
            "The number of stages of a super step of `sts1` or `sts2`. `auto`: the fewest that "   \
            "are stable for `dt`. At most 64 (`sts1`: 128) in float32. Where properties depend "   \
            "on temperature or a face radiates: at most 32 (64), and 8 (16) in float32.",          \
            .choices = stages, .fallback = "auto", .check = settings_check_time),                  \
        KEY("time.monotone", CHOICE, WARN, AT(time.monotone),                                      \
            "With `scheme: sts2` and a `dt` or `stages`: super steps after which no temperature "  \
            "leaves the range of its surroundings by more than a few percent of it, of up to 48 "  \
            "stages, and about a fifth more of them.",                                             \
            .choices = truths, .fallback = "false", .check = settings_check_time),                 \
        KEY("time.backward_euler", CHOICE, WARN, AT(time.backward_euler),                          \
            "With `scheme: implicit` and a `dt`: steps of backward Euler, of one stage and order " \
            "1, after which no temperature leaves the range of its surroundings.",                 \
            .choices = truths, .fallback = "false", .check = settings_check_time),                 \
        KEY("time.dt", REAL, WARN, AT(time.dt),                                                    \
            "The time step, or super step. `auto`: `safety` times the largest stable step.",       \
            .flags = SCHEMA_OR_AUTO, .alternative = AT(time.dt_auto), .limit = &positive,          \
            .fallback = "auto", .unit = &second),                                                  \
        KEY("time.tolerance", REAL, WARN, AT(time.tolerance),                                      \
            "With `scheme: sts2`, `implicit` or `auto`, instead of `dt`: the error in time to "    \
            "aim at, "                                                                             \
            "relative to the range of temperatures. The length of each super step follows from "   \
            "an estimate of its error; one that is too long is repeated.",                         \
            .limit = &tolerated, .rival = "dt, stages, max_error", .check = settings_check_time),  \
        KEY("time.max_error", REAL, WARN, AT(time.max_error),                                      \
            "`tolerance` as a difference of temperatures.", .limit = &positive,                    \
            .rival = "dt, stages, tolerance", .unit = &difference, .check = settings_check_time),  \
        SECTION("time.until", "With a tolerance: end before `end` in a steady state."),            \
        KEY("time.until.rate", REAL, FREE, AT(time.until_rate),                                    \
            "The run ends when no temperature changes faster.", .limit = &positive, .unit = &rate, \
            .check = settings_check_time),                                                         \
        KEY("time.until.distance", REAL, FREE, AT(time.until_distance),                            \
            "The run ends when no temperature is farther from the steady state, by an estimate "   \
            "from the decay of the rates of change.",                                              \
            .limit = &positive, .unit = &difference, .check = settings_check_time),                \
        KEY("time.safety", REAL, WARN, AT(time.safety),                                            \
            "The fraction of the largest stable step used by `dt: auto`.", .limit = &fraction,     \
            .fallback = "0.9"),                                                                    \
        KEY("time.adapt_every", LONG, WARN, AT(time.adapt_every),                                  \
            "With `dt: auto`, where properties depend on temperature: the interval at which the "  \
            "stable "                                                                              \
            "step is computed again for the temperatures that can still occur. The step never "    \
            "becomes "                                                                             \
            "shorter than the one for all temperatures. 0: never.",                                \
            .limit = &from_zero, .fallback = "0", .unit = &steps, .check = settings_check_time),   \
        SECTION("time.steady",                                                                     \
                "Instead of `end` or `steps`: the steady state of constant boundary conditions "   \
                "and sources (docs/guide/steady_state.md), as step 1 at t = 1 s. Not with "        \
                "`run.stencil.order` above 2, float32, or a material that becomes another one.",   \
                .flags = SCHEMA_NOTED, .alternative = AT(time.steady.given),                       \
                .rival = "end, steps"),                                                            \
        KEY("time.steady.temperature", REAL, WARN, AT(time.steady.temperature),                    \
            "Stop when the estimated error of every temperature is below this.",                   \
            .limit = &small_kelvins, .fallback = "1e-6", .unit = &difference),                     \
        KEY("time.steady.tolerance", REAL, WARN, AT(time.steady.tolerance),                        \
            "And when the heat that flows in and does not flow out is below this fraction of the " \
            "heat that flows.",                                                                    \
            .limit = &positive, .fallback = "1e-6"),                                               \
        KEY("time.steady.cycles", LONG, WARN, AT(time.steady.cycles),                              \
            "The largest number of multigrid cycles; the run fails if they do not suffice.",       \
            .limit = &from_one, .fallback = "100"),                                                \
        KEY("time.steady.solver", CHOICE, WARN, AT(time.steady.solver),                            \
            "`multigrid`. For comparison: `jacobi` and `chebyshev`, plain iterations that need "   \
            "thousands of `cycles`; where the build has HYPRE, its conjugate gradients around "    \
            "one of its multigrid cycles, `hypre` (PFMG) or `boomeramg`, which also converges "    \
            "for conductivities that differ by a factor of 1e6 from cell to cell.",                \
            .choices = steady_solvers, .fallback = "multigrid")
