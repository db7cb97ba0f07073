/* isotherm bench: the command line. */
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/log.h"
#include "base/precision.h"
#include "bench/bench.h"
#include "kernels/backends.h"

static struct bench_request options = {
    .backend = {"auto", backend_names}, .precision = "both", .directory = "."};

static const struct option option_table[] = {
    {OPTION_NAME, "--backend", "NAME", " (default auto)", &options.backend},
    {OPTION_SIZE, "--size", "NX NY NZ", "cells (512, io 256; halo: per rank, 256, CPU 96)",
     options.size},
    {OPTION_STRING, "--precision", "float64|float32|both", "(default both)", &options.precision},
    {OPTION_LIST, "--kernel", "NAME", "a kernel, all of 'step' or 'laplacian' (repeatable)",
     &options.kernels},
    {OPTION_LIST, "--medium", "WORD", "one of those above (repeatable)", &options.media},
    {OPTION_FLAG, "--tune", "", "list the launch shapes and their times", &options.tune},
    {OPTION_COUNT, "--repeats", "N", "rounds; their median counts (5, steady 3)", &options.repeats},
    {OPTION_STRING, "--directory", "DIR", "io: a folder on the disk to measure (default .)",
     &options.directory},
    {OPTION_STRING, "--json", "FILE", "also write the figures as JSON", &options.json},
    {OPTION_STRING, "--save-machine", "FILE", "the same file, for plan --machine ./FILE",
     &options.json},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

void bench_warn_of_binding(void)
{
    cpu_set_t allowed;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) < online) {
        log_warn("this process may use only %d of the %ld cores (mpirun binds ranks to cores; "
                 "start it without mpirun, or with --bind-to none)",
                 CPU_COUNT(&allowed), online);
    }
}

/* A benchmark's page of help. */
#define PAGE(name_, mpirun_, uses_mpi_, only_, example_, about_)                                   \
    {                                                                                              \
        name_, uses_mpi_,                                                                          \
        {                                                                                          \
            .usage = mpirun_ "isotherm bench " name_ " [options]", .about = about_,                \
            .example = "  $ " example_, .options = option_table, .only = only_                     \
        }                                                                                          \
    }
static const struct command_word words[] = {
    PAGE("kernels", "", false,
         "--backend --size --precision --kernel --medium --tune --repeats --json --save-machine",
         "isotherm bench kernels --size 512 512 512 --precision float64 --json b.json",
         "Measure the copy ceiling and the effective bandwidth of every kernel: the step\n"
         "with six faces of fixed temperature (one read and one write per cell, 16 bytes\n"
         "in float64), and the Laplacian f = lap(u) with its own theoretical traffic.\n"
         "The kernels alternate; times are by the device's clock. --medium adds the step\n"
         "in a medium of N classes (one byte per cell more): layers:N, layers_x:N,\n"
         "blocks:N, random:N; alloy:N, which melts; or faces:N, where each cell has its\n"
         "own conductances and heat capacity (49 bytes per cell in float64)."),
    PAGE("halo", "mpirun -n N ", true, "--backend --size --precision --json --save-machine",
         "mpirun -n 2 isotherm bench halo --size 128 128 128 --json halo.json",
         "Measure each transport by message size, and its cost per step: the same blocks\n"
         "without the exchange, with the exchange before the step, and with the exchange\n"
         "during the step."),
    PAGE("io", "mpirun -n N ", true, "--backend --size --repeats --directory --json",
         "mpirun -n 2 isotherm bench io --directory /scratch/me --json io.json",
         "Measure snapshots and checkpoints as in a run, in float64 and float32, compared\n"
         "with plain writes and fsync of the same bytes, as by `dd conv=fsync`. The two\n"
         "alternate. The files are removed."),
    PAGE("steady", "", true, "--backend --size --medium --repeats --json",
         "isotherm bench steady --backend hip --size 512 512 512",
         "Measure the cycles and milliseconds to a steady state, for residuals of 1e-8\n"
         "and 1e-10 of that of a uniform start: with faces of each type, a box of cubic\n"
         "cells, or a cube with conductivities of 1 and 1000 W/(m K); and the parts of a\n"
         "cycle.\n"
         "Media: uniform, layers, sphere, blocks, cells. The last of the rounds counts."),
    {NULL, false, {.usage = NULL}},
};

/* In the same order. */
static const struct benchmark {
    enum status (*run)(const struct bench_request *request, struct json *json);
    int64_t cells; /* per axis, default of --size; 0: depends on the backend */
    int64_t repeats;
} benchmarks[] = {
    {bench_kernels, 512, 5},
    {bench_halo, 0, 5},
    {bench_io, 256, 5},
    {bench_steady, 256, 3},
};

static enum status choose_precisions(const char *word, bool wanted[2])
{
    wanted[PRECISION_FLOAT64] = strcmp(word, "float32") != 0;
    wanted[PRECISION_FLOAT32] = strcmp(word, "float64") != 0;
    return strcmp(word, "both") != 0 && wanted[0] == wanted[1]
               ? fail(STATUS_INPUT, "--precision %s: give float64, float32 or both", word)
               : STATUS_OK;
}

/* Complete the request. */
static enum status prepare(const struct benchmark *benchmark, bool first)
{
    char why[256];
    FAIL_IF(options.repeats > BENCH_MAX_REPEATS,
            fail(STATUS_INPUT, "--repeats %" PRId64 " is too many; at most %d", options.repeats,
                 BENCH_MAX_REPEATS));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        options.size[axis] = options.size[axis] > 0 ? options.size[axis] : benchmark->cells;
    }
    options.repeats = options.repeats > 0 ? options.repeats : benchmark->repeats;
    TRY(choose_precisions(options.precision, options.wanted));
    TRY(backend_choose(options.backend.name, &options.chosen, why, sizeof why));
    return first ? json_check_place(options.json) : STATUS_OK;
}

static enum status execute(void)
{
    struct json json;
    int b = 0;
    while (strcmp(words[b].name, options.what) != 0) {
        b++;
    }
    const bool first = !words[b].uses_mpi || comm_rank(MPI_COMM_WORLD) == 0;
    const enum status ready = prepare(&benchmarks[b], first);
    TRY(words[b].uses_mpi ? status_agree(MPI_COMM_WORLD, ready) : ready);
    TRY(json_open(&json));
    json_begin(&json, NULL, '{');
    enum status status = benchmarks[b].run(&options, &json);
    json_end(&json, '}');
    status = json_finish(&json, status, first ? options.json : NULL);
    /* after another failure the other ranks may wait in MPI: no agreement is possible */
    const bool agrees = words[b].uses_mpi && (status == STATUS_OK || status == STATUS_FILE);
    return agrees ? status_agree(MPI_COMM_WORLD, status) : status;
}

const struct command command_bench = {
    .name = "bench",
    .summary = "measure kernels, halo exchanges and output",
    .words = words,
    .line =
        {.usage = "isotherm bench kernels|halo|io|steady [options]",
         .about =
             "Measure this machine and the program on it. Help on one: isotherm bench halo -h.\n"
             "  kernels   the copy ceiling, and the effective bandwidth of every kernel\n"
             "  halo, io  under mpirun: transports, and their cost per step; files on a disk\n"
             "  steady    cycles and milliseconds to a steady state",
         .example =
             "  $ isotherm bench kernels --size 512 512 512 --precision float64 --json b.json",
         .options = option_table,
         .operand = "what to measure (kernels, halo, io or steady)",
         .min_operands = 1,
         .max_operands = 1,
         .operands = &options.what},
    .execute = execute,
};
