/* isotherm bench halo: every transport by message size, and the cost of the exchange per step.
 *
 * A step is timed in three variants on the same blocks: without the exchange, with the exchange
 * before the step, and with the exchange overlapped. The difference of the last to the first is
 * exposed, to the second hidden. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"
#include "bench/bench_parts.h"
#include "machine/machine.h"
#include "solve/solver.h"

enum { BATCHES = 5, WARM_UP_STEPS = 5, MAX_STEPS = 2000 };

struct halo_bench {
    const struct bench_request *request;
    const struct backend *backend;
    int rank, nranks;
    int64_t size[AXIS_COUNT]; /* per rank */
    struct bench_team team;
    struct json *json;
    struct table table; /* of messages, steps and passes in turn */
};

static enum status time_message(struct halo_bench *bench, struct device *device, const char *name,
                                size_t bytes)
{
    struct halo_trial trial;
    TRY(halo_time_pairs(MPI_COMM_WORLD, bench->backend, device, name, bytes, true, &trial));
    const double seconds = trial.works ? trial.seconds : NAN;
    struct table *table = &bench->table;
    table_row_begin(table, bench->json);
    table_text(table, "transport", "transport", -10, name);
    table_int(table, "bytes", "bytes", 12, (int64_t)bytes);
    json_bool(bench->json, "works", trial.works);
    table_real(table, "us", "us", 12, 1, 1e6 * seconds);
    table_real(table, "bandwidth_GBs", "GB/s per way", 12, 2, 1e-9 * (double)bytes / seconds);
    table_text(table, "why_not", trial.works ? NULL : "", -1, trial.why);
    table_row_end(table);
    return STATUS_OK;
}

/* `host` and `gpu-aware` are equivalent if the host can access the memory. */
static bool is_offered(const struct backend *backend, const char *name)
{
    return strcmp(name, backend_has(backend, BACKEND_HOST_ACCESS) ? "gpu-aware" : "host") != 0;
}

static enum status time_messages(struct halo_bench *bench, struct device *device, size_t most)
{
    static const size_t sizes[] = {64 << 10, 1 << 20, 16 << 20, 128 << 20};
    log_info("messages between pairs of ranks, both directions at once (peer: includes packing, "
             "which is the transfer)");
    bench->table.has_heading = false;
    json_begin(bench->json, "rows", '[');
    enum status status = STATUS_OK;
    for (int t = 0; halo_transport_at(t) != NULL && status == STATUS_OK; t++) {
        const char *name = halo_transport_at(t);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && status == STATUS_OK; s++) {
            if (sizes[s] <= most && is_offered(bench->backend, name)) {
                status = time_message(bench, device, name, sizes[s]);
            }
        }
    }
    json_end(bench->json, ']');
    return status;
}

static enum status time_device(struct halo_bench *bench)
{
    struct device *device = NULL;
    struct device_info info;
    double copy = 0;
    TRY(device_open(MPI_COMM_WORLD, bench->backend, &device, &info));
    const size_t most = info.threads > 0 ? (size_t)16 << 20 : (size_t)128 << 20;
    TRY(status_agree(MPI_COMM_WORLD, bench_time_copy(bench->backend, device, most, &copy)));
    log_info("backend %s on %s, %d rank%s", bench->backend->name, info.name, bench->nranks,
             bench->nranks == 1 ? "" : "s");
    json_string(bench->json, "device", info.name);
    json_real(bench->json, "copy_GBs", copy);
    TRY(time_messages(bench, device, most));
    bench->backend->runtime->close(device);
    return bench_team_open(MPI_COMM_WORLD, info.address, &bench->team);
}

/* Every rank has a block of bench->size. Divided axes are periodic, so that all ranks have the same
 * work, and so is z, so that a single rank has an exchange. */
static enum status make_settings(const struct halo_bench *bench, const char *precision,
                                 const char *transport, const char *overlap, const char *passes,
                                 struct settings **settings)
{
    char run[256];
    int dims[AXIS_COUNT] = {0, 0, 0};
    int64_t cells[AXIS_COUNT];
    bool around[AXIS_COUNT];
    TRY_MPI(MPI_Dims_create(bench->nranks, AXIS_COUNT, dims));
    /* dims has the largest first, and z is the best axis to divide */
    const int blocks[AXIS_COUNT] = {dims[2], dims[1], dims[0]};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        around[axis] = blocks[axis] > 1 || axis == AXIS_Z;
        cells[axis] = bench->size[axis] * blocks[axis];
    }
    snprintf(run, sizeof run,
             "backend: %s, precision: %s, decomposition: [%d, %d, %d], steps_per_pass: %s, "
             "halo: {transport: %s, overlap: %s}, ",
             bench->backend->name, precision, blocks[0], blocks[1], blocks[2], passes, transport,
             overlap);
    return bench_settings(cells, around, "uniform: {value: 300}", run, settings);
}

static enum status run_batch(struct stepper *stepper, int64_t steps, double *seconds)
{
    MPI_Comm comm = stepper->team->comm;
    TRY_MPI(MPI_Barrier(comm));
    const double start = MPI_Wtime();
    /* on failure its neighbours wait in MPI: no agreement is possible */
    TRY(stepper_advance(stepper, steps));
    TRY(engine_wait(stepper->level->engine));
    *seconds = (MPI_Wtime() - start) / (double)steps;
    return comm_check(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, comm),
                      "MPI_Allreduce");
}

/* s, the median of several batches of 0.05 s. */
static enum status time_steps(struct stepper *stepper, double *seconds)
{
    const double batch_s = 0.05;
    double batches[BATCHES];
    double first = 0;
    TRY(run_batch(stepper, WARM_UP_STEPS, &first));
    TRY(run_batch(stepper, WARM_UP_STEPS, &first));
    const double wanted = fmin(fmax(batch_s / first, 3), MAX_STEPS);
    for (int b = 0; b < BATCHES; b++) {
        TRY(run_batch(stepper, (int64_t)wanted, &batches[b]));
    }
    *seconds = clock_median(batches, BATCHES);
    return STATUS_OK;
}

struct step_times {
    double alone, before, overlapped; /* s: without the exchange, with it before, or overlapped */
    struct bench_energy energy;       /* of all ranks' step, overlapped */
};

/* Half a second of steps, if there is a counter. */
static enum status measure_energy(struct halo_bench *bench, struct stepper *stepper,
                                  struct step_times *times)
{
    const double stretch_s = 0.5;
    double seconds = 0;
    const int64_t steps = (int64_t)fmax(stretch_s / times->overlapped, 1);
    bench_team_begin(&bench->team);
    TRY(bench->team.counts ? run_batch(stepper, steps, &seconds) : STATUS_OK);
    return bench_team_end(&bench->team, steps, &times->energy);
}

static enum status time_run(struct halo_bench *bench, const char *precision, const char *transport,
                            bool overlap, struct step_times *times)
{
    SCOPED_BY(settings_release) struct settings *settings = NULL;
    TRY(status_agree(MPI_COMM_WORLD, make_settings(bench, precision, transport,
                                                   overlap ? "on" : "off", "1", &settings)));
    SCOPED_BY(solver_destroy) struct solver solver;
    struct stepper *stepper = &solver.stepper;
    TRY(solver_create(MPI_COMM_WORLD, settings, &solver));
    TRY(time_steps(stepper, overlap ? &times->overlapped : &times->before));
    if (overlap) {
        return measure_energy(bench, stepper, times);
    }
    /* without the exchange: the values are wrong, the work is the same */
    struct halo *halo = stepper->level->halo;
    stepper->level->halo = NULL;
    const enum status status = time_steps(stepper, &times->alone);
    stepper->level->halo = halo;
    return status;
}

static void report_steps(struct halo_bench *bench, const char *precision, const char *transport,
                         const struct step_times *times)
{
    const double cells =
        (double)(bench->size[AXIS_X] * bench->size[AXIS_Y] * bench->size[AXIS_Z]) * bench->nranks;
    struct table *table = &bench->table;
    table_row_begin(table, bench->json);
    table_text(table, "transport", "transport", -10, transport);
    table_text(table, "precision", "", -8, precision);
    table_int3(table, "cells_of_a_rank", bench->size);
    table_real(table, "step_without_exchange_us", "alone", 11, 1, 1e6 * times->alone);
    table_real(table, "step_without_overlap_us", "before", 11, 1, 1e6 * times->before);
    table_real(table, "step_us", "overlapped", 11, 1, 1e6 * times->overlapped);
    table_real(table, "hidden_us", "hidden", 11, 1, 1e6 * (times->before - times->overlapped));
    table_real(table, "exposed_us", "exposed", 11, 1, 1e6 * (times->overlapped - times->alone));
    table_real(table, NULL, "% alone/ovl", 11, 1, 100 * times->alone / times->overlapped);
    bench_energy_columns(table, &times->energy, cells);
    table_row_end(table);
}

static enum status time_transport(struct halo_bench *bench, const char *transport)
{
    for (int p = PRECISION_FLOAT64; p <= PRECISION_FLOAT32; p++) {
        struct step_times times = {.alone = 0};
        const char *precision = precision_name((enum precision)p);
        if (!bench->request->wanted[p]) {
            continue;
        }
        enum status status = time_run(bench, precision, transport, false, &times);
        status = status == STATUS_OK ? time_run(bench, precision, transport, true, &times) : status;
        if (status == STATUS_DEVICE && fail_is_agreed()) {
            log_info("  %-10s does not work here", transport);
            fail_clear();
            return STATUS_OK;
        }
        TRY(status);
        report_steps(bench, precision, transport, &times);
    }
    return STATUS_OK;
}

static enum status time_all_steps(struct halo_bench *bench)
{
    log_info("steps, %lld x %lld x %lld cells per rank, us", (long long)bench->size[0],
             (long long)bench->size[1], (long long)bench->size[2]);
    bench->table.has_heading = false;
    json_begin(bench->json, "steps", '[');
    for (int t = 0; halo_transport_at(t) != NULL; t++) {
        if (is_offered(bench->backend, halo_transport_at(t))) {
            TRY(time_transport(bench, halo_transport_at(t)));
        }
    }
    json_end(bench->json, ']');
    return STATUS_OK;
}

static void report_pass(struct halo_bench *bench, const char *precision,
                        const struct stepper *stepper, const struct pass_trial *trial)
{
    struct table *table = &bench->table;
    table_row_begin(table, bench->json);
    table_text(table, "transport", "transport", -10, halo_transport_name(stepper->level->halo));
    table_text(table, "precision", "", -8, precision);
    table_int3(table, "cells_of_a_rank", bench->size);
    table_int(table, "steps_per_pass", "steps", 6, trial->steps);
    table_text(table, "overlap", "overlap", 8, pass_overlap_name(trial));
    table_real(table, "step_us", "us", 11, 1, 1e6 * trial->seconds);
    table_row_end(table);
}

/* What run.steps_per_pass: auto measures. */
static enum status time_passes(struct halo_bench *bench, const char *precision)
{
    SCOPED_BY(settings_release) struct settings *settings = NULL;
    TRY(status_agree(MPI_COMM_WORLD,
                     make_settings(bench, precision, "auto", "auto", "auto", &settings)));
    SCOPED_BY(solver_destroy) struct solver solver;
    const struct pass_plan *passes = &solver.stepper.passes;
    TRY(solver_create(MPI_COMM_WORLD, settings, &solver));
    for (int t = 0; t < passes->ntrials; t++) {
        report_pass(bench, precision, &solver.stepper, &passes->trials[t]);
    }
    return STATUS_OK;
}

static enum status time_all_passes(struct halo_bench *bench)
{
    log_info("passes of several steps with exchange, us per step");
    bench->table.has_heading = false;
    json_begin(bench->json, "passes", '[');
    for (int p = PRECISION_FLOAT64; p <= PRECISION_FLOAT32; p++) {
        if (bench->request->wanted[p]) {
            TRY(time_passes(bench, precision_name((enum precision)p)));
        }
    }
    json_end(bench->json, ']');
    return STATUS_OK;
}

enum status bench_halo(const struct bench_request *request, struct json *json)
{
    struct halo_bench bench = {.request = request,
                               .backend = request->chosen,
                               .rank = comm_rank(MPI_COMM_WORLD),
                               .nranks = comm_size(MPI_COMM_WORLD),
                               .json = json};
    const int64_t fallback = backend_has(bench.backend, BACKEND_GPU) ? 256 : 96;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        bench.size[axis] = request->size[axis] > 0 ? request->size[axis] : fallback;
    }
    enum status status = STATUS_OK;
    json_string(json, "backend", bench.backend->name);
    json_int(json, "ranks", bench.nranks);
    TRY_GOTO(time_device(&bench));
    TRY_GOTO(time_all_steps(&bench));
    TRY_GOTO(time_all_passes(&bench));
done:
    bench_team_close(&bench.team);
    return status;
}
