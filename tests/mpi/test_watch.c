/* The watch over the numbers: no alarm in clean runs, whatever the boundaries, and an alarm when a
 * bit of the field was flipped behind the program's back. */
#include "mpi_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "solve/observe/diagnostics.h"
#include "solve/solver.h"

/* Rough on purpose: with the default dt a cell at a cold wall can leave the data's range. */
#define ROUGH "\"600 + 299*sin(91.7*x*x + 57.3*y + 33.1*z*y)\""
#define TWO_WALLS(axis, low, high)                                                                 \
    "  " axis "_min: {type: temperature, value: " low "}\n"                                        \
    "  " axis "_max: {type: temperature, value: " high "}\n"
#define CLOSED(axis)                                                                               \
    "  " axis "_min: {type: flux, value: 0}\n  " axis "_max: {type: flux, value: 0}\n"

struct scene {
    const char *name;
    const char *cells;
    const char *initial;
    const char *boundary;
};

static const struct scene scenes[] = {
    {"walls", "[20, 16, 12]", ROUGH,
     TWO_WALLS("x", "300", "900") TWO_WALLS("y", "310", "310") TWO_WALLS("z", "900", "301.7")},
    {"switched walls", "[15, 13, 12]", ROUGH,
     TWO_WALLS("x", "\"600 + 299*(sin(900*t) < 0 ? -1 : 1)\"", "301")
         TWO_WALLS("y", "\"600 - 299*sin(3000*t)\"", "899") TWO_WALLS("z", "300", "300")},
    {"insulated", "[17, 13, 11]", ROUGH, CLOSED("x") CLOSED("y") CLOSED("z")},
    {"flux in and out", "[20, 16, 12]", "\"400 + 20*x\"",
     "  x_min: {type: flux, value: 900}\n  x_max: {type: flux, value: -850}\n" CLOSED("y")
         CLOSED("z")},
    {"a breath of flux", "[20, 16, 12]", "\"300\"",
     "  x_min: {type: flux, value: 1e-4}\n  x_max: {type: flux, value: 0}\n" CLOSED("y")
         CLOSED("z")},
    {"convection", "[18, 14, 12]", ROUGH,
     "  x_min: {type: convection, coefficient: 0.5, ambient: 290}\n"
     "  x_max: {type: convection, coefficient: 4000, ambient: 950}\n"
     "  y_min: {type: convection, coefficient: 45, ambient: 300}\n"
     "  y_max: {type: flux, value: 30}\n" CLOSED("z")},
    {"periodic", "[16, 12, 10]", ROUGH,
     "  x_min: {type: periodic}\n  x_max: {type: periodic}\n  y_min: {type: periodic}\n"
     "  y_max: {type: periodic}\n" TWO_WALLS("z", "300", "900")},
    {"plane", "[40, 36]", ROUGH, TWO_WALLS("x", "300", "900") CLOSED("y")},
    {"rod", "[400]", ROUGH, TWO_WALLS("x", "300", "900")},
    /* the wall's return meets a cold cell between hot ones: 1089 K, by the scheme itself */
    {"hot again", "[400]", "\"900\"",
     "  x_min: {type: temperature, value: \"t < 1e-6 ? 300 : 900\"}\n"
     "  x_max: {type: temperature, value: 900}\n"},
    {"around zero", "[20, 16, 12]", "\"50*sin(40*x*y) + 30*cos(77*z)\"",
     TWO_WALLS("x", "-80", "80") TWO_WALLS("y", "0", "0") CLOSED("z")},
};
enum { SCENES = sizeof scenes / sizeof scenes[0] };

static struct settings *make_settings(const struct scene *scene, const char *precision,
                                      int64_t steps, const char *watch)
{
    char text[4096];
    struct settings *settings = NULL;
    snprintf(text, sizeof text,
             "title: watch\n"
             "grid: {cells: %s}\n"
             "material: {conductivity: 1, density: 1, heat_capacity: 1}\n"
             "initial:\n  - expression: {value: %s}\n"
             "boundary:\n%s"
             "time: {steps: %d}\n"
             "run: {backend: cpu, precision: %s%s}\n",
             scene->cells, scene->initial, scene->boundary, (int)steps, precision, watch);
    static const char *const differences[] = {"run.watch.temperature=difference"};
    const int nsets = strcmp(scene->name, "around zero") == 0 ? 1 : 0;
    demand(settings_read_text(scene->name, text, differences, nsets, &settings));
    return settings;
}

/* What may happen to the field between two steps. */
struct mishap {
    int64_t step;
    int64_t cell[AXIS_COUNT]; /* global */
    int bit;
};

static void flip(struct solver *solver, const struct mishap *mishap)
{
    struct field *field = solver->level.field;
    const int64_t *at = mishap->cell;
    const struct box global = {.lo = {at[0], at[1], at[2]},
                               .hi = {at[0] + 1, at[1] + 1, at[2] + 1}};
    const struct box owned = decomp_owned(&solver->team.decomp, solver->team.rank);
    uint64_t bits = 0;
    if (!box_contains(&owned, &global)) {
        return;
    }
    const int64_t back[AXIS_COUNT] = {-owned.lo[0], -owned.lo[1], -owned.lo[2]};
    const struct box local = box_shift(&global, back);
    demand(engine_wait(&solver->engine));
    demand(field_read(field, &local, &bits));
    bits ^= UINT64_C(1) << mishap->bit;
    demand(field_write(field, &local, &bits));
}

/* Steps and looks as in the program, without files. */
static enum status look(struct stepper *stepper)
{
    struct diagnostics diagnostics;
    TRY(diagnostics_take(stepper, &diagnostics));
    return numerics_check(stepper, &diagnostics);
}

static enum status run_through(const struct settings *settings, const struct mishap *mishap)
{
    struct solver solver;
    const struct state *state = &solver.state;
    demand(solver_create(MPI_COMM_WORLD, settings, &solver));
    const int64_t steps = solver.problem.timeline.steps;
    enum status status = look(&solver.stepper);
    while (status == STATUS_OK && state->step < steps) {
        demand(stepper_advance(&solver.stepper, 1));
        if (mishap != NULL && state->step == mishap->step) {
            flip(&solver, mishap);
        }
        if (numerics_check_is_due(&solver.stepper, state->step) || state->step == steps) {
            status = look(&solver.stepper);
        }
    }
    solver_destroy(&solver);
    return status;
}

static const char *const precisions[] = {"float64", "float32"};

/* 11 scenes, 2 precisions, 2 intervals, 240 steps each: 10,560 steps. */
TEST(test_clean_runs)
{
    static const char *const intervals[] = {"", ", watch: {every: 1}"};
    enum { STEPS = 240 };
    int64_t steps = 0;
    for (int s = 0; s < SCENES; s++) {
        for (int p = 0; p < 2; p++) {
            for (int i = 0; i < 2; i++) {
                struct settings *settings =
                    make_settings(&scenes[s], precisions[p], STEPS, intervals[i]);
                const enum status status = run_through(settings, NULL);
                if (status != STATUS_OK) {
                    print_error("%s, %s: %s\n", scenes[s].name, precisions[p], fail_message());
                }
                check(status == STATUS_OK);
                steps += STEPS;
                settings_destroy(settings);
            }
        }
    }
    check(steps >= 10000);
    settle();
}

/* Sign or exponent of a random cell's temperature, in a random scene after a random step. */
TEST(test_flipped_bits)
{
    enum { TRIALS = 200, STEPS = 200, ENOUGH = TRIALS * 95 / 100 };
    uint64_t random = 20;
    int caught[2] = {0, 0};
    int trials[2] = {0, 0};
    for (int trial = 0; trial < TRIALS; trial++) {
        const int p = trial % 2;
        const struct scene *scene = &scenes[random_below(&random, SCENES)];
        struct settings *settings = make_settings(scene, precisions[p], STEPS, "");
        const int lowest = p == 0 ? 52 : 23;
        const int nbits = p == 0 ? 12 : 9;
        struct mishap mishap = {.step = 1 + random_below(&random, STEPS),
                                .bit = lowest + (int)random_below(&random, nbits)};
        for (int a = 0; a < AXIS_COUNT; a++) {
            mishap.cell[a] = random_below(&random, settings->grid.cells[a]);
        }
        const enum status status = run_through(settings, &mishap);
        check(status == STATUS_OK || status == STATUS_NUMERICS);
        caught[p] += status == STATUS_NUMERICS ? 1 : 0;
        trials[p]++;
        if (status == STATUS_OK && comm_rank(MPI_COMM_WORLD) == 0) {
            print_message("not caught: %s, %s, bit %d of cell (%d, %d, %d) after step %d\n",
                          scene->name, precisions[p], mishap.bit, (int)mishap.cell[0],
                          (int)mishap.cell[1], (int)mishap.cell[2], (int)mishap.step);
        }
        settings_destroy(settings);
    }
    if (comm_rank(MPI_COMM_WORLD) == 0) {
        print_message("caught: %d of %d in float64, %d of %d in float32\n", caught[0], trials[0],
                      caught[1], trials[1]);
    }
    check(caught[0] + caught[1] >= ENOUGH);
    settle();
}

/* The message of an alarm at once: the cell, where it lies, and whose it is. */
TEST(test_the_cell_is_named)
{
    struct settings *settings = make_settings(&scenes[0], "float64", 20, ", watch: {every: 1}");
    const struct mishap mishap = {.step = 5, .cell = {19, 14, 11}, .bit = 56};
    check(run_through(settings, &mishap) == STATUS_NUMERICS);
    char rank[32];
    snprintf(rank, sizeof rank, "on rank %d, with ", comm_size(MPI_COMM_WORLD) - 1);
    check(strstr(fail_message(), "at step 5 ") != NULL);
    check(strstr(fail_message(), "maximum principle") != NULL);
    check(strstr(fail_message(), "cell (19, 14, 11) at (0.975, 0.90625, 0.958333) m") != NULL);
    check(strstr(fail_message(), rank) != NULL);
    check(fail_is_agreed());
    settings_destroy(settings);

    /* 128 K more, inside the range: only the ledger sees it */
    settings = make_settings(&scenes[2], "float64", 20, ", watch: {every: 1}");
    const struct mishap more = {.step = 9, .cell = {8, 6, 5}, .bit = 50};
    check(run_through(settings, &more) == STATUS_NUMERICS);
    check(strstr(fail_message(), "from step 8 to step 9 ") != NULL);
    check(strstr(fail_message(), "did not pass a boundary") != NULL);
    check(strstr(fail_message(), "cell (8, 6, 5)") != NULL);
    settings_destroy(settings);
    settle();
}

/* Temperatures within the bounds of each scheme raise no alarm. One that has doubled exceeds those
 * of monotone super steps; sts1 and sts2 may overshoot as far, so the ledger finds it. */
TEST(test_super_steps)
{
    static const enum time_scheme schemes[] = {SCHEME_STS1, SCHEME_STS2, SCHEME_STS2};
    const struct mishap mishap = {.step = 1, .cell = {8, 6, 5}, .bit = 52};
    for (int i = 0; i < 3 * SCENES; i++) {
        const bool monotone = i / SCENES == 2;
        const bool insulated = i % SCENES == 2;
        struct settings *settings =
            make_settings(&scenes[i % SCENES], "float64", 12, ", watch: {every: 1}");
        settings->time.scheme = schemes[i / SCENES];
        settings->time.stages = 16;
        settings->time.monotone = monotone;
        /* data that jump within a super step are extrapolated beyond their range */
        const bool jumps = strchr(scenes[i % SCENES].boundary, '?') != NULL;
        check(jumps || run_through(settings, NULL) == STATUS_OK);
        if (insulated) {
            check(run_through(settings, &mishap) == STATUS_NUMERICS);
            check((strstr(fail_message(), "maximum principle") != NULL) == monotone);
            check((strstr(fail_message(), "did not pass a boundary") != NULL) == !monotone);
        }
        settings_destroy(settings);
    }
    settle();
}

TEST(test_off)
{
    struct settings *settings = make_settings(&scenes[0], "float64", 20, ", watch: {every: 0}");
    const struct mishap mishap = {.step = 5, .cell = {19, 14, 11}, .bit = 56};
    check(run_through(settings, &mishap) == STATUS_OK);
    settings_destroy(settings);
    settle();
}

TEST_MAIN_RANKS(NULL, NULL)
