/* The self-check: every bit that is flipped, in a field, in the classes of cells or in their
 * coefficients, is found and repaired, or was overwritten before any use; and the field is that of
 * a run without the fault. */
#include "mpi_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "solve/observe/diagnostics.h"
#include "solve/observe/self_check.h"
#include "solve/solver.h"
#include "solve/start/initial.h"
#include "solve/start/tuning.h"

enum { STEPS = 24, STRETCH = 12 };

/* cpu, or as the environment variable ISOTHERM_TEST_BACKEND says; on a GPU with a grid that its
 * kernels of several steps take. */
static const char *backend = "cpu";
static int cells[AXIS_COUNT] = {9, 8, 10};

static int choose_backend(void **state)
{
    (void)state;
    backend = getenv("ISOTHERM_TEST_BACKEND") != NULL ? getenv("ISOTHERM_TEST_BACKEND") : backend;
    if (strcmp(backend, "hip") == 0) {
        memcpy(cells, (int[AXIS_COUNT]){40, 52, 36}, sizeof cells);
    }
    return 0;
}

#define FACES                                                                                      \
    "boundary:\n  x_min: {type: temperature, value: 900}\n"                                        \
    "  x_max: {type: convection, coefficient: 40, ambient: 290}\n"                                 \
    "  y_min: {type: flux, value: 50}\n  y_max: {type: temperature, value: 310}\n"                 \
    "  z_min: {type: temperature, value: \"400 + 100*sin(300*t)\"}\n"                              \
    "  z_max: {type: flux, value: 0}\n"
#define METAL                                                                                      \
    "material: {conductivity: 1, density: 1, heat_capacity: 1}\n"                                  \
    "initial:\n  - expression: {value: \"600 + 299*sin(91.7*x + 57.3*y + 33.1*z)\"}\n" FACES
#define LAYERS                                                                                     \
    "materials:\n  - {name: a, conductivity: 1, density: 1, heat_capacity: 1}\n"                   \
    "  - {name: b, conductivity: 3, density: 2, heat_capacity: 1}\n"                               \
    "parts:\n  - uniform: {material: a}\n"                                                         \
    "  - box: {lower: [0.2, 0.1, 0], upper: [0.8, 0.6, 1], material: b}\n"                         \
    "initial:\n  - expression: {value: \"600 + 299*sin(91.7*x + 57.3*y + 33.1*z)\"}\n" FACES
#define FACTORS                                                                                    \
    "materials:\n  - {name: a, conductivity: 1, density: 1, heat_capacity: 1,\n"                   \
    "     conductivity_factor: {formula: \"1.2 + sin(9*x + 7*y + 5*z)\"},\n"                       \
    "     heat_capacity_factor: {formula: \"1.5 + sin(5*x + 9*y - 7*z)\"}}\n"                      \
    "initial:\n  - expression: {value: \"600 + 299*sin(91.7*x + 57.3*y + 33.1*z)\"}\n" FACES
#define POWDER                                                                                     \
    "materials:\n  - name: metal\n    density: 8\n    conductivity: [[300, 1], [1500, 3]]\n"       \
    "    heat_capacity: 1\n    latent_heat: 100\n    solidus: 600\n    liquidus: 650\n"            \
    "    liquid: {conductivity: 3, heat_capacity: 1}\n"                                            \
    "  - {name: powder, conductivity: 0.2, becomes: metal}\n"                                      \
    "parts:\n  - uniform: {material: metal}\n"                                                     \
    "  - layer: {axis: z, from: 0.5, to: 1, material: powder}\n"                                   \
    "initial:\n  - expression: {value: \"600 + 299*sin(91.7*x + 57.3*y + 33.1*z)\"}\n" FACES

static const struct scene {
    const char *name, *text, *time, *run;
} scenes[] = {
    {"metal", METAL, "", "steps_per_pass: 3"},
    {"metal in float32", METAL, "", "steps_per_pass: 1, precision: float32"},
    {"layers", LAYERS, "", "steps_per_pass: 2, halo: {overlap: on}"},
    {"becoming another", POWDER, "", "steps_per_pass: 1"},
    {"super steps", LAYERS, ", scheme: sts2, stages: 4", "steps_per_pass: 2"},
    {"tiles", METAL, "", "sleeping_tiles: on"},
    {"factors", FACTORS, "", "steps_per_pass: 1"},
};
enum { SCENES = sizeof scenes / sizeof scenes[0] };

struct outcome {
    enum status status;
    struct self_check_counts counts;
    uint64_t hash;
};

/* As in the program: stretches of steps, each followed by a look at the values. */
static enum status advance(struct solver *solver, struct self_check *check)
{
    struct stepper *stepper = &solver->stepper;
    for (int64_t step = 0; step < STEPS && !self_check_is_over(stepper); step += STRETCH) {
        struct diagnostics now;
        bool repaired = false;
        demand(self_check_advance(check, stepper, STRETCH));
        enum status status = diagnostics_take(stepper, &now);
        status = status == STATUS_OK ? numerics_check(stepper, &now) : status;
        if (status != STATUS_OK) {
            demand(self_check_doubt(check, &repaired));
            TRY(repaired ? STATUS_OK : status);
            fail_clear();
            demand(diagnostics_take(stepper, &now));
            demand(numerics_check(stepper, &now));
        }
    }
    return self_check_is_over(stepper) ? self_check_verdict(check) : STATUS_OK;
}

/* share: of steps that are computed twice; of all others each pass sums the bits. */
static struct outcome run(const struct scene *scene, double share, const char *flips)
{
    char text[2048];
    struct settings *settings = NULL;
    struct solver solver;
    struct self_check *check = NULL;
    struct outcome o = {.status = STATUS_OK};
    snprintf(text, sizeof text,
             "title: self check\ngrid: {cells: [%d, %d, %d]}\n%s"
             "time: {steps: %d%s}\nrun: {backend: %s, self_check: {share: %g, memory: %s}, "
             "watch: {every: %d}, "
             "%s}\n",
             cells[0], cells[1], cells[2], scene->text, STEPS, scene->time, backend, share,
             share < 1 ? "true" : "false", STRETCH, scene->run);
    demand(settings_read_text(scene->name, text, NULL, 0, &settings));
    setenv("ISOTHERM_FLIP_BITS", flips, 1);
    if (flips[0] == '\0') {
        unsetenv("ISOTHERM_FLIP_BITS");
    }
    demand(solver_create(MPI_COMM_WORLD, settings, &solver));
    struct diagnostics first;
    demand(diagnostics_take(&solver.stepper, &first));
    demand(numerics_check(&solver.stepper, &first));
    demand(self_check_create(&solver.stepper, &check));
    o.status = advance(&solver, check);
    fail_clear();
    o.counts = solver.stepper.checked;
    demand(diagnostics_field_hash(&solver.stepper, &o.hash));
    self_check_destroy(check);
    solver_destroy(&solver);
    settings_destroy(settings);
    return o;
}

static bool has_classes(const struct scene *scene)
{
    return strstr(scene->text, "materials:") != NULL;
}

static int memories_of(const struct scene *scene)
{
    return !has_classes(scene) ? 3 : strstr(scene->text, "_factor") == NULL ? 5 : 6;
}

static void pick(uint64_t *random, const char *memory, char text[64])
{
    const int nranks = comm_size(MPI_COMM_WORLD);
    /* elsewhere a kernel that looks up a class that is none may end the program */
    const int bits = strcmp(memory, "class") == 0 && strcmp(backend, "cpu") != 0 ? 1 : 64;
    snprintf(text, 64, "%d:%d:%s:%d:%d", (int)random_below(random, STEPS),
             (int)random_below(random, nranks), memory,
             (int)random_below(random, cells[0] * cells[1] * cells[2]),
             (int)random_below(random, bits));
}

/* Each step computed twice, or few of them and sums of all bits in each pass: none is missed. */
TEST(test_each_flipped_bit_is_repaired)
{
    static const char *const memories[] = {"field", "field", "copy", "class", "table", "factor"};
    const int trials = comm_size(MPI_COMM_WORLD) == 1 ? 500 : 50;
    uint64_t expected[SCENES];
    uint64_t random = 36;
    int found = 0;
    for (int s = 0; s < SCENES; s++) {
        const struct outcome clean = run(&scenes[s], 0, "");
        const struct outcome twice = run(&scenes[s], 1, "");
        expected[s] = clean.hash;
        check(clean.status == STATUS_OK && clean.counts.checks == 0);
        check(twice.status == STATUS_OK && twice.hash == clean.hash);
        check(twice.counts.steps == STEPS && twice.counts.faults == 0);
    }
    for (int trial = 0; trial < trials; trial++) {
        const int s = trial % SCENES;
        const bool sums = trial / SCENES % 2 == 1;
        const char *memory =
            sums ? "field" : memories[random_below(&random, memories_of(&scenes[s]))];
        char flips[64];
        pick(&random, memory, flips);
        const struct outcome o = run(&scenes[s], sums ? 0.001 : 1, flips);
        const bool good = o.status == STATUS_OK && o.hash == expected[s] &&
                          o.counts.faults == o.counts.repairs &&
                          (!sums || (o.counts.faults == 1 && o.counts.each_pass));
        found += o.counts.faults > 0;
        if (!good) {
            print_error("%s, %s: status %d, %d faults, %d repairs, hash %s\n", scenes[s].name,
                        flips, (int)o.status, (int)o.counts.faults, (int)o.counts.repairs,
                        o.hash == expected[s] ? "right" : "wrong");
        }
        check(good);
        if ((trial + 1) % 50 == 0 && comm_rank(MPI_COMM_WORLD) == 0) {
            print_message("%d flipped bits: %d found, %d harmless\n", trial + 1, found,
                          trial + 1 - found);
        }
    }
    check(found > trials / 2);
    settle();
}

/* A low bit that rounding has absorbed before two results are compared is found by its sum. */
TEST(test_an_absorbed_flip_is_found)
{
    const int before[AXIS_COUNT] = {cells[AXIS_X], cells[AXIS_Y], cells[AXIS_Z]};
    memcpy(cells, (int[AXIS_COUNT]){40, 52, 36}, sizeof cells);
    const struct outcome o = run(&scenes[0], 0.001, "5:0:field:56776:2");
    check(o.status == STATUS_OK && o.counts.faults == 1 && o.counts.repairs == 1);
    check(o.hash == run(&scenes[0], 0, "").hash);
    memcpy(cells, before, sizeof cells);
    settle();
}

/* Trial passes leave the field as it is, also where passes have multiples of three steps only. */
TEST(test_trials_keep_the_field)
{
    for (int whole = 0; whole <= 3; whole += 3) {
        const char *text = "title: trials\ngrid: {cells: [80, 80, 128]}\n" METAL
                           "time: {steps: 50}\nrun: {backend: cpu}\n";
        const struct output_memory none = {0};
        struct settings *settings = NULL;
        struct solver solver;
        uint64_t before = 0;
        uint64_t after = 0;
        demand(settings_read_text("trials", text, NULL, 0, &settings));
        demand(solver_open(MPI_COMM_WORLD, settings, &solver));
        demand(solver_allocate(&solver, &none));
        demand(initial_state(&solver.stepper));
        solver.level.whole = whole;
        demand(diagnostics_field_hash(&solver.stepper, &before));
        demand(tuning_of_passes(&solver.stepper));
        demand(diagnostics_field_hash(&solver.stepper, &after));
        check(solver.stepper.passes.ntrials > 0 && before == after);
        solver_destroy(&solver);
        settings_destroy(settings);
    }
    settle();
}

/* A search of overlap alone, for passes of three steps as configured, times no passes of two. */
TEST(a_search_without_twos_keeps_multiples)
{
    const char *text = "title: threes\ngrid: {cells: [80, 80, 128]}\n" METAL
                       "time: {steps: 50}\nrun: {backend: cpu, steps_per_pass: 3}\n";
    const struct output_memory none = {0};
    struct settings *settings = NULL;
    struct solver solver;
    demand(settings_read_text("threes", text, NULL, 0, &settings));
    demand(solver_open(MPI_COMM_WORLD, settings, &solver));
    demand(solver_allocate(&solver, &none));
    demand(initial_state(&solver.stepper));
    solver.level.whole = 3;
    demand(tuning_of_passes(&solver.stepper));
    check(solver.level.whole == 3);
    check(solver.stepper.passes.ntrials > 0 || solver.team.nranks == 1);
    solver_destroy(&solver);
    settings_destroy(settings);
    settle();
}

/* Few steps computed twice: a fault that the heat balance notices is repaired all the same. */
TEST(test_an_alarm_is_repaired)
{
    static const char *const flips[] = {"14:0:field:300:62", "20:0:field:7:50", "22:0:class:500:0"};
    for (size_t f = 0; f < sizeof flips / sizeof flips[0]; f++) {
        const struct outcome o = run(&scenes[2], 0.01, flips[f]);
        check(o.status == STATUS_OK && o.counts.faults == 1 && o.counts.repairs == 1);
        check(o.hash == run(&scenes[2], 0, "").hash);
    }
    settle();
}

TEST(test_the_second_fault_of_a_device_ends_the_run)
{
    const struct outcome o = run(&scenes[0], 1, "7:0:field:300:60,14:0:field:300:60");
    check(o.status == STATUS_DEVICE && o.counts.faults == 2 && o.counts.repairs == 2);
    settle();
}

TEST_MAIN_RANKS(choose_backend, NULL)
