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
    {OPTION_LIST, "--medium", "WORD", "layers:N, layers_x:N, blocks:N, random:N, alloy:N",
     &options.media},
    {OPTION_FLAG, "--tune", "", "list the launch shapes and their times", &options.tune},
    {OPTION_LIST, "--radius", "N", "studies: cases of this stencil radius (repeatable)",
     &options.radii},
    {OPTION_COUNT, "--repeats", "N", "rounds; their median counts (5; of studies 100)",
     &options.repeats},
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
         "in a medium of N classes (one byte per cell more); the alloys melt."),
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
         "and 1e-10 of that of a uniform start: a cube with faces of each type, uniform\n"
         "and with conductivities of 1 and 1000 W/(m K); and the parts of a cycle.\n"
         "Media: uniform, layers, sphere, blocks. The last of the rounds counts."),
    PAGE("diffusion", "", false,
         "--backend --size --precision --kernel --tune --radius --repeats --json",
         "isotherm bench diffusion --radius 1 --precision float32",
         "Measure a step of the diffusion equation in 1, 2 and 3 dimensions, radius 0 to 4\n"
         "(order 0 to 8): 64 MiB in float32, 128 MiB in float64. Each kernel is checked\n"
         "bit by bit and shown in its fastest launch shape.\n"
         "docs/developers/studies.md has published figures."),
    PAGE("xcorr", "", false,
         "--backend --size --precision --kernel --tune --radius --repeats --json",
         "isotherm bench xcorr --radius 1 --radius 16 --precision float32",
         "Measure cross-correlation in one dimension, the sum of 2 r + 1 neighbours in the\n"
         "order of their addresses: 64 MiB in float32, 128 MiB in float64, radius 1 to\n"
         "1024. Each kernel is checked bit by bit and shown in its fastest launch shape.\n"
         "docs/developers/studies.md has published figures."),
    PAGE("jacobi", "", false, "--backend --size --repeats --json",
         "isotherm bench jacobi --size 1024 1024 1 --backend offload",
         "Measure Jacobi's iteration for the Poisson equation on 4096 x 4096 nodes and\n"
         "its four kernels, in float64: HIP kernels, and OpenMP target regions whose\n"
         "arrays are mapped in several ways. Without --backend: every backend that runs\n"
         "here. Each is checked bit by bit. Published figures: docs/developers/studies.md."),
    PAGE("mhd", "", false, "--backend --size --precision --kernel --tune --repeats --json",
         "isotherm bench mhd --size 128 128 128 --precision float64",
         "Measure one substep of compressible, non-ideal magnetohydrodynamics: 8 fields,\n"
         "differences of order 6, fused into one kernel; 128^3 and 256^3 points. Each\n"
         "kernel is checked bit by bit and shown in its fastest launch shape. 'ideal':\n"
         "every field read once and written once at the peak bandwidth of the memory.\n"
         "docs/developers/studies_mhd.md has published figures."),
    {NULL, false, {.usage = NULL}},
};

/* In the same order. */
static const struct benchmark {
    enum status (*run)(const struct bench_request *request, struct json *json);
    int64_t cells; /* per axis, default of --size; 0: depends on the backend, or on the case */
    int64_t repeats;
} benchmarks[] = {
    {bench_kernels, 512, 5}, {bench_halo, 0, 5},    {bench_io, 256, 5},    {bench_steady, 256, 3},
    {bench_study, 0, 100},   {bench_study, 0, 100}, {bench_study, 0, 100}, {bench_study, 0, 100},
};

static enum status choose_precisions(const char *word, bool wanted[2])
{
    wanted[PRECISION_FLOAT64] = strcmp(word, "float32") != 0;
    wanted[PRECISION_FLOAT32] = strcmp(word, "float64") != 0;
    return strcmp(word, "both") != 0 && wanted[0] == wanted[1]
               ? fail(STATUS_INPUT, "--precision %s: give float64, float32 or both", word)
               : STATUS_OK;
}

/* Complete the request. A study chooses its backends itself. */
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
    if (benchmark->run != bench_study) {
        TRY(backend_choose(options.backend.name, &options.chosen, why, sizeof why));
    }
    return first ? json_check_place(options.json) : STATUS_OK;
}

static enum status execute(void)
{
    struct json json;
    char known[256] = "";
    int b = 0;
    for (; words[b].name != NULL && strcmp(words[b].name, options.what) != 0; b++) {
        text_add(known, sizeof known, ", ", "%s", words[b].name);
    }
    FAIL_IF(
        words[b].name == NULL,
        fail(STATUS_INPUT, "unknown benchmark '%s'; valid benchmarks: %s", options.what, known));
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
        {.usage = "isotherm bench kernels|halo|io|steady|STUDY [options]",
         .about =
             "Measure this machine and the program on it. Help on one: isotherm bench halo -h.\n"
             "  kernels   the copy ceiling, and the effective bandwidth of every kernel\n"
             "  halo, io  under mpirun: transports, and their cost per step; files on a disk\n"
             "  steady    cycles and milliseconds to a steady state\n"
             "  diffusion, jacobi, mhd, xcorr   stencil studies: docs/developers/studies.md",
         .example =
             "  $ isotherm bench kernels --size 512 512 512 --precision float64 --json b.json",
         .options = option_table,
         .operand = "what to measure (kernels, halo, io, steady, diffusion, jacobi, mhd...)",
         .min_operands = 1,
         .max_operands = 1,
         .operands = &options.what},
    .execute = execute,
};
