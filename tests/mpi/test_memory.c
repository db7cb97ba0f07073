/* The device memory of a run against what `plan` and the check before the run count: every
 * allocation of the backend is counted, with each kind of output on, to the end of the run. */
#include "mpi_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "model/field/derived.h"
#include "output/output.h"
#include "output/outputs.h"
#include "solve/observe/derive.h"
#include "solve/observe/diagnostics.h"
#include "solve/scheme/adaptive.h"
#include "solve/solver.h"
#include "solve/start/initial.h"
#include "solve/start/restart.h"

/* ---- a backend that counts ------------------------------------------------------------------- */

enum { BLOCKS = 4096 };

static struct {
    const struct runtime *real;
    struct {
        void *d_memory;
        size_t bytes;
    } block[BLOCKS];
    uint64_t now, most, pinned;
} memory;

static void add(void *d_memory, size_t bytes)
{
    int free_block = 0;
    while (free_block < BLOCKS - 1 && memory.block[free_block].d_memory != NULL) {
        free_block++;
    }
    memory.block[free_block].d_memory = d_memory;
    memory.block[free_block].bytes = bytes;
    memory.now += bytes;
    memory.most = memory.now > memory.most ? memory.now : memory.most;
}

static void drop(const void *d_memory)
{
    for (int b = 0; d_memory != NULL && b < BLOCKS; b++) {
        if (memory.block[b].d_memory == d_memory) {
            memory.now -= memory.block[b].bytes;
            memory.block[b].d_memory = NULL;
            break;
        }
    }
}

static enum status count_alloc(struct device *device, size_t bytes, void **d_memory)
{
    TRY(memory.real->memory_alloc(device, bytes, d_memory));
    add(*d_memory, bytes);
    return STATUS_OK;
}

static void count_free(struct device *device, void *d_memory)
{
    drop(d_memory);
    memory.real->memory_free(device, d_memory);
}

static enum status count_shared(struct device *device, size_t bytes, void **d_memory,
                                struct shared_handle *handle)
{
    TRY(memory.real->shared_alloc(device, bytes, d_memory, handle));
    add(*d_memory, bytes);
    return STATUS_OK;
}

static void count_shared_free(struct device *device, void *d_memory)
{
    drop(d_memory);
    memory.real->shared_free(device, d_memory);
}

static enum status count_pinned(struct device *device, size_t bytes, void **h_memory)
{
    memory.pinned += bytes;
    return memory.real->pinned_alloc(device, bytes, h_memory);
}

static struct runtime counting;
static struct backend counted;

static void count_from_now(struct engine *engine)
{
    memset(&memory, 0, sizeof memory);
    memory.real = engine->runtime;
    counting = *engine->runtime;
    counting.memory_alloc = count_alloc;
    counting.memory_free = count_free;
    counting.shared_alloc = count_shared;
    counting.shared_free = count_shared_free;
    counting.pinned_alloc = count_pinned;
    counted = *engine->backend;
    counted.runtime = &counting;
    engine->runtime = &counting;
    engine->backend = &counted;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static const char *const linear = "grid: {cells: [23, 19, 14]}\n"
                                  "material: {conductivity: 1, density: 1, heat_capacity: 1}\n"
                                  "initial:\n  - expression: {value: \"300 + 25*sin(17*x)\"}\n";

static const char *const melting =
    "grid: {cells: [23, 19, 14]}\n"
    "materials:\n"
    "  - name: alloy\n"
    "    density: 10\n"
    "    conductivity: [[200, 1], [500, 2]]\n"
    "    heat_capacity: 1\n"
    "    latent_heat: 30\n"
    "    solidus: 310\n"
    "    liquidus: 320\n"
    "  - {name: tissue, density: 10, conductivity: 1, heat_capacity: 1,\n"
    "     perfusion: {rate: 1, blood_density: 1, blood_heat_capacity: 1,\n"
    "                 arterial_temperature: 300}}\n"
    "parts:\n  - uniform: {material: alloy}\n  - layer: {axis: x, from: 0, to: 0.3, material: "
    "tissue}\n"
    "initial:\n  - expression: {value: \"300 + 25*sin(17*x)\"}\n"
    "sources:\n  - {box: {lower: [0, 0, 0], upper: [0.2, 0.2, 0.2], power: 10}}\n";

static const char *const outputs_text =
    "boundary:\n  x_min: {type: temperature, value: 300}\n  x_max: {type: flux, value: 0}\n"
    "  y_min: {type: periodic}\n  y_max: {type: periodic}\n"
    "  z_min: {type: flux, value: 0}\n  z_max: {type: convection, coefficient: 1, ambient: 310}\n"
    "time: {%s}\n"
    "run: {backend: cpu, precision: %s}\n"
    "output:\n"
    "  directory: %s\n"
    "  melting: 315\n"
    "  derived: {isotherm: 310, threshold: 305, cooling: [312, 304]}\n"
    "  history: {every: 4, melt_pool: true}\n"
    "  snapshots: {every: 4, derived: [T_max, arrival_time, time_above, heat_flux, cooling_rate,\n"
    "      melt_time, freeze_time, meltings, CEM43%s]}\n"
    "  regions: [{name: part, box: {lower: [0, 0, 0], upper: [0.5, 0.5, 0.5]}, every: 4}]\n"
    "  probes: {every: 4, points: [{name: a, at: [0.5, 0.5, 0.5]}]}\n"
    "  lines: [{name: axis, from: [0, 0.5, 0.5], to: [1, 0.5, 0.5], points: 20, every: 4}]\n"
    "  pictures: {every: 12}\n"
    "  checkpoints: {every: 6, keep: 2}\n";

static const struct run {
    bool melts;
    const char *precision, *time, *more;
} runs[] = {
    {false, "float64", "steps: 12", NULL},
    {true, "float32", "steps: 12, adapt_every: 5", NULL},
    {false, "float64", "steady: {}", NULL},
    {false, "float64", "steady: {}", "sources:\n  - uniform: {density: [[200, 10], [400, -10]]}\n"},
    {false, "float64", "steps: 12, scheme: implicit, dt: 0.01", NULL}};

static struct settings *make_settings(const struct run *run, const char *folder)
{
    char text[8192];
    struct settings *settings = NULL;
    const int used = snprintf(text, sizeof text, "title: memory\n%s%s",
                              run->melts ? melting : linear, run->more != NULL ? run->more : "");
    snprintf(text + used, sizeof text - (size_t)used, outputs_text, run->time, run->precision,
             folder, run->melts ? ", liquid_fraction" : "");
    demand(settings_read_text("memory.yaml", text, NULL, 0, &settings));
    return settings;
}

/* As simulate.c does. */
static void advance(struct solver *solver, struct outputs *outputs)
{
    const struct state *state = &solver->state;
    demand(outputs_write(outputs));
    demand(adaptive_step(&solver->stepper, &solver->problem));
    while (state->step < solver->problem.timeline.steps) {
        demand(stepper_advance(&solver->stepper, 1));
        demand(outputs_write(outputs));
        demand(adaptive_step(&solver->stepper, &solver->problem));
    }
    demand(outputs_wait(outputs));
}

/* What a probe and the line take at most, and the exact sums of the ledger. */
enum { POINTS = 21, CORNERS = 8, SUMS = 1 << 10 };

/* The state, from `restart` or the start, and the derived fields. */
static void begin_run(struct solver *solver, const char *restart)
{
    const struct box owned = decomp_owned(&solver->team.decomp, solver->team.rank);
    const unsigned kinds = derived_of_settings(solver->problem.settings);
    const uint64_t before = memory.now;
    uint64_t derived = 0;
    memory.most = memory.now; /* the trials of transports are over */
    if (restart != NULL) {
        bool found = false;
        demand(restart_from(&solver->stepper, &solver->problem, restart, false, &found));
        check(found);
    } else {
        demand(initial_state(&solver->stepper));
    }
    demand(derive_open(&solver->stepper));
    demand(derived_bytes(&owned, kinds, &derived));
    check(memory.now == before + derived);
    check(memory.most == memory.now);
}

/* The outputs, and what they keep. */
static void open_outputs(struct solver *solver, const struct output_memory *need,
                         enum output_mode mode, struct outputs **outputs)
{
    const enum precision precision = solver->problem.settings->run.precision;
    const uint64_t samples = (uint64_t)POINTS * CORNERS * precision_bytes(precision);
    const uint64_t elements = (uint64_t)POINTS * CORNERS * 3 * sizeof(int64_t); /* and classes */
    const uint64_t before = memory.now;
    const uint64_t pinned = memory.pinned;
    demand(outputs_open(&solver->stepper, mode, outputs));
    check(memory.now - before <= need->kept_bytes);
    check(need->kept_bytes <= memory.now - before + samples + elements);
    check(need->host_bytes <= memory.pinned - pinned);
    check(memory.pinned - pinned <= need->host_bytes + samples);
}

static void run_and_count(const struct settings *settings, const char *restart)
{
    struct solver solver;
    struct outputs *outputs = NULL;
    struct output_memory need = {0};
    uint64_t bytes = 0;
    demand(solver_open(MPI_COMM_WORLD, settings, &solver));
    const struct team *team = &solver.team;
    const struct box owned = decomp_owned(&team->decomp, team->rank);
    count_from_now(&solver.engine);
    need = output_memory_need(&solver.problem, &owned);
    demand(memory_of_rank(&solver.problem, solver.engine.backend, &team->decomp, team->rank, &need,
                          &bytes));
    check(need.kept_bytes > melt_pool_bytes(&owned));
    demand(solver_allocate(&solver, &need));
    begin_run(&solver, restart);
    open_outputs(&solver, &need, restart == NULL ? OUTPUT_REPLACE : OUTPUT_RETRY, &outputs);
    const uint64_t pinned = memory.pinned;
    advance(&solver, outputs);
    /* no output was larger than it had said; Newton's method needs some for a while */
    check(memory.pinned == pinned ||
          (settings->time.steady.given && !problem_is_linear(&solver.problem)));
    check(memory.most <= bytes + SUMS);
    outputs_close(outputs, STATUS_OK);
    solver_destroy(&solver);
    check(memory.now == 0);
}

TEST(test_counts_what_a_run_allocates)
{
    char folder[64]; /* stays, to be looked at */
    snprintf(folder, sizeof folder, "test_memory.np%d", comm_size(MPI_COMM_WORLD));
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        struct settings *settings = make_settings(&runs[r], folder);
        run_and_count(settings, NULL);
        if (!settings->time.steady.given) {
            run_and_count(settings, "auto");
        }
        settings_destroy(settings);
    }
    settle();
}

TEST_MAIN_RANKS(NULL, NULL)
