/* isotherm bench io: snapshots and checkpoints, compared with plain writes.
 *
 * The ceiling is that of `dd bs=64M conv=fsync` for the bytes of a float32 snapshot: writes of 64
 * MiB to a new file, then fsync; by one rank, and by all ranks to their parts of one file. The
 * faster of the two is 100 %. All variants alternate, so that a disturbance affects all of them.
 * The time of an output is that of its write half, from memory to the last rename, as in a run that
 * writes in the foreground; the capture, for which the steps wait otherwise, is reported
 * separately. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"
#include "bench/bench_parts.h"
#include "io/checkpoint/checkpoint.h"
#include "io/raw/raw.h"
#include "io/snapshot/snapshot.h"
#include "solve/observe/diagnostics.h"
#include "solve/solver.h"

enum variant { WRITE_ONE, WRITE_ALL, SNAPSHOT, CHECKPOINT };

static const struct subject {
    const char *name;
    enum variant variant;
    enum precision precision;
    int compress;
} subjects[] = {
    {"write, one rank", WRITE_ONE, PRECISION_FLOAT32, 0},
    {"write, all ranks", WRITE_ALL, PRECISION_FLOAT32, 0},
    {"snapshot float32", SNAPSHOT, PRECISION_FLOAT32, 0},
    {"snapshot float64", SNAPSHOT, PRECISION_FLOAT64, 0},
    {"snapshot float32 gzip 4", SNAPSHOT, PRECISION_FLOAT32, 4},
    {"snapshot float64 gzip 4", SNAPSHOT, PRECISION_FLOAT64, 4},
    {"checkpoint", CHECKPOINT, PRECISION_FLOAT64, 0},
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

struct io_bench {
    const struct bench_request *request;
    struct solver solver;
    char folder[PATH_BYTES];                       /* created here, removed at the end */
    void *memory;                                  /* the captured data, or those of plain writes */
    double capture_s[SUBJECTS][BENCH_MAX_REPEATS]; /* of each round, on the slowest rank */
    double write_s[SUBJECTS][BENCH_MAX_REPEATS];
    struct bench_team team;
    struct bench_energy last;             /* of the last of begin and end */
    struct bench_energy energy[SUBJECTS]; /* of all rounds' write halves */
};

/* ---- the folder ---- */

static uint64_t cells_of(const struct io_bench *bench)
{
    return (uint64_t)grid_total_cells(&bench->solver.problem.grid);
}

/* Of all cells of the grid. */
static uint64_t bytes_of(const struct io_bench *bench, const struct subject *subject)
{
    return cells_of(bench) * precision_bytes(subject->precision);
}

/* Rank 0. */
static enum status make_folder(struct io_bench *bench)
{
    const char *directory = bench->request->directory;
    FAIL_IF(directory_check(directory) != STATUS_OK, fail_prefix(STATUS_INPUT, "--directory: "));
    FAIL_IF(snprintf(bench->folder, PATH_BYTES, "%s/isotherm_bench_io.%ld", directory,
                     (long)getpid()) >= PATH_BYTES,
            fail(STATUS_INPUT, "the path %.200s... is too long", directory));
    TRY(directory_check_room(directory,
                             checkpoint_file_bytes(&bench->solver.problem.grid, PRECISION_FLOAT64) +
                                 (UINT64_C(1) << 20)));
    return directory_make(bench->folder);
}

/* ---- plain writes ---- */

static enum status write_and_flush(int fd, const char *path, const char *bytes, uint64_t nbytes)
{
    enum { CALL_BYTES = 64 << 20 };
    for (uint64_t done = 0; done < nbytes; done += CALL_BYTES) {
        const uint64_t left = nbytes - done;
        TRY(file_write(fd, path, bytes + done, left < CALL_BYTES ? (size_t)left : CALL_BYTES));
    }
    return file_sync(fd, path);
}

static enum status write_part(const struct io_bench *bench, const char *path, uint64_t begin,
                              uint64_t end)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || lseek(fd, (off_t)begin, SEEK_SET) < 0) {
        const int reason = errno;
        if (fd >= 0) {
            close(fd);
        }
        return fail(STATUS_FILE, "cannot open %s: %s", path, strerror(reason));
    }
    return file_close(fd, path, write_and_flush(fd, path, bench->memory, end - begin));
}

/* Collective, agreed. */
static enum status write_plainly(struct io_bench *bench, const struct subject *subject)
{
    const struct solver *solver = &bench->solver;
    const uint64_t bytes = bytes_of(bench, subject);
    const uint64_t nranks = subject->variant == WRITE_ALL ? (uint64_t)solver->team.nranks : 1;
    const uint64_t rank = (uint64_t)solver->team.rank;
    char path[PATH_BYTES];
    enum status status = path_join(bench->folder, "plain", path);
    if (status == STATUS_OK && rank == 0) {
        status = file_create(path, "", 0);
    }
    TRY(status_agree(solver->team.comm, status));
    if (rank < nranks) {
        status = write_part(bench, path, bytes * rank / nranks, bytes * (rank + 1) / nranks);
    }
    return status_agree(solver->team.comm, status);
}

/* ---- outputs ---- */

/* Collective, agreed: the start of a measurement on all ranks. */
static enum status begin(struct io_bench *bench, double *since)
{
    TRY_MPI(MPI_Barrier(bench->solver.team.comm));
    bench_team_begin(&bench->team);
    *since = MPI_Wtime();
    return STATUS_OK;
}

static enum status end(struct io_bench *bench, double since, double *seconds)
{
    *seconds = MPI_Wtime() - since;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, bench->solver.team.comm));
    return bench_team_end(&bench->team, 1, &bench->last);
}

static enum status put_snapshot(struct io_bench *bench, struct snapshots *snapshots,
                                double *capture_s, double *write_s)
{
    const struct solver *solver = &bench->solver;
    struct snapshot_capture capture;
    double since = 0;
    TRY(begin(bench, &since));
    TRY(status_agree(solver->team.comm, snapshots_capture(snapshots, solver->level.field, NULL, 0,
                                                          0, bench->memory, &capture)));
    TRY(end(bench, since, capture_s));
    TRY(begin(bench, &since));
    TRY(snapshots_put(snapshots, &capture));
    return end(bench, since, write_s);
}

static enum status time_snapshot(struct io_bench *bench, const struct subject *subject,
                                 double *capture_s, double *write_s)
{
    struct solver *solver = &bench->solver;
    struct snapshots *snapshots = NULL;
    struct view view;
    const struct snapshot_setting setting = {
        .cadence = {.every = 1}, .precision = subject->precision, .compress = subject->compress};
    view_whole(&solver->problem.grid, &view);
    TRY(snapshots_open(solver->team.comm, bench->folder, "snapshots", &view, &setting, "bench",
                       solver->problem.settings->text, -1, &snapshots));
    const enum status status = put_snapshot(bench, snapshots, capture_s, write_s);
    snapshots_close(snapshots);
    return status;
}

static enum status time_checkpoint(struct io_bench *bench, double *capture_s, double *write_s)
{
    struct solver *solver = &bench->solver;
    struct checkpoint_part part;
    struct checkpoint_state state;
    double since = 0;
    memset(&state, 0, sizeof state);
    TRY(diagnostics_field_hash(&solver->stepper, &state.field_hash));
    TRY(begin(bench, &since));
    TRY(status_agree(solver->team.comm,
                     checkpoint_capture(solver->level.field, NULL, bench->memory, &part)));
    TRY(end(bench, since, capture_s));
    TRY(begin(bench, &since));
    TRY(checkpoint_put(solver->team.comm, bench->folder, &part, &solver->problem.grid,
                       &solver->problem.medium, &state, solver->problem.settings->text, 1));
    return end(bench, since, write_s);
}

static enum status time_plain(struct io_bench *bench, const struct subject *subject,
                              double *capture_s, double *write_s)
{
    double since = 0;
    *capture_s = 0;
    TRY(begin(bench, &since));
    TRY(write_plainly(bench, subject));
    return end(bench, since, write_s);
}

/* Collective, agreed. Only one variant uses the disk at a time. */
static enum status time_subject(struct io_bench *bench, int s, int64_t round)
{
    const struct subject *subject = &subjects[s];
    double *capture_s = &bench->capture_s[s][round];
    double *write_s = &bench->write_s[s][round];
    const bool first = bench->solver.team.rank == 0;
    TRY(status_agree(bench->solver.team.comm, first ? directory_make(bench->folder) : STATUS_OK));
    if (subject->variant == SNAPSHOT) {
        TRY(time_snapshot(bench, subject, capture_s, write_s));
    } else if (subject->variant == CHECKPOINT) {
        TRY(time_checkpoint(bench, capture_s, write_s));
    } else {
        TRY(time_plain(bench, subject, capture_s, write_s));
    }
    const double before = round > 0 ? bench->energy[s].joules : 0;
    bench->energy[s] = bench->last;
    bench->energy[s].joules += before;
    if (first) {
        directory_remove(bench->folder);
    }
    return STATUS_OK;
}

static enum status time_all(struct io_bench *bench)
{
    for (int64_t round = 0; round < bench->request->repeats; round++) {
        for (int s = 0; s < SUBJECTS; s++) {
            log_transient("round %lld of %lld: %s", (long long)round + 1,
                          (long long)bench->request->repeats, subjects[s].name);
            TRY(time_subject(bench, s, round));
        }
    }
    log_transient("%s", "");
    return STATUS_OK;
}

/* ---- figures ---- */

struct figures {
    double capture_s, write_s, rate; /* rate: GB/s of the cells */
    struct bench_energy energy;
};

static struct figures figures_of(struct io_bench *bench, int s)
{
    const int64_t count = bench->request->repeats;
    double seconds = 0;
    struct figures f = {.capture_s = clock_median(bench->capture_s[s], count),
                        .write_s = clock_median(bench->write_s[s], count)};
    f.rate = (double)bytes_of(bench, &subjects[s]) / f.write_s * 1e-9;
    f.energy = bench->energy[s];
    for (int64_t round = 0; round < count; round++) {
        seconds += bench->write_s[s][round];
    }
    f.energy.watts = f.energy.joules / seconds;
    f.energy.joules /= (double)count;
    return f;
}

static void report_row(struct table *table, struct json *json, const struct io_bench *bench, int s,
                       const struct figures *f, double ceiling)
{
    const struct subject *subject = &subjects[s];
    const double bytes = (double)bytes_of(bench, subject);
    table_row_begin(table, json);
    table_text(table, "what", "", -24, subject->name);
    table_text(table, "precision", NULL, 0, precision_name(subject->precision));
    table_int(table, "compress", NULL, 0, subject->compress);
    table_real(table, "bytes", NULL, 0, 0, bytes);
    table_real(table, NULL, "MB", 9, 1, 1e-6 * bytes);
    table_real(table, "capture_s", "capture, s", 10, 4, f->capture_s);
    table_real(table, "write_s", "write, s", 10, 4, f->write_s);
    table_real(table, "GBs", "GB/s", 8, 3, f->rate);
    table_real(table, "percent_of_ceiling", "% ceiling", 10, 1, 100 * f->rate / ceiling);
    bench_energy_columns(table, &f->energy, (double)cells_of(bench));
    table_row_end(table);
}

static void report(struct io_bench *bench, double copy, struct json *json)
{
    const struct solver *solver = &bench->solver;
    const int64_t *cells = solver->problem.grid.cells;
    const int *ranks = solver->team.decomp.ranks;
    struct table table = {.has_heading = false};
    struct figures figures[SUBJECTS];
    double ceiling = 0;
    for (int s = 0; s < SUBJECTS; s++) {
        figures[s] = figures_of(bench, s);
        const bool is_plain = subjects[s].variant == WRITE_ONE || subjects[s].variant == WRITE_ALL;
        ceiling = is_plain && figures[s].rate > ceiling ? figures[s].rate : ceiling;
    }
    json_string(json, "backend", solver->engine.backend->name);
    json_string(json, "device", solver->engine.info.name);
    json_real(json, "copy_GBs", copy);
    json_int(json, "ranks", solver->team.nranks);
    json_int3(json, "cells", cells);
    json_int3(json, "decomposition", (int64_t[]){ranks[0], ranks[1], ranks[2]});
    json_string(json, "directory", bench->request->directory);
    json_int(json, "repeats", bench->request->repeats);
    json_real(json, "ceiling_GBs", ceiling);
    log_info("output of %" PRId64 " x %" PRId64 " x %" PRId64 " cells from %d rank%s (%d x %d x "
             "%d) to %s, median of %" PRId64,
             cells[0], cells[1], cells[2], solver->team.nranks, solver->team.nranks == 1 ? "" : "s",
             ranks[0], ranks[1], ranks[2], bench->request->directory, bench->request->repeats);
    json_begin(json, "rows", '[');
    for (int s = 0; s < SUBJECTS; s++) {
        report_row(&table, json, bench, s, &figures[s], ceiling);
    }
    json_end(json, ']');
}

/* ---- all of it ---- */

static enum status make_settings(const struct bench_request *request, struct settings **settings)
{
    static const bool around[AXIS_COUNT] = {true, true, true};
    char run[64];
    snprintf(run, sizeof run, "backend: %.20s, precision: float64, ", request->backend.name);
    return bench_settings(request->size, around,
                          "expression: {value: \"300 + 10*sin(x)*sin(0.3*y) + 0.1*z\"}", run,
                          settings);
}

/* Memory for the largest variant, as in a run's writer. Not collective. */
static enum status make_memory(struct io_bench *bench)
{
    const struct solver *solver = &bench->solver;
    const struct box owned = layout_owned(&solver->level.field->layout);
    const uint64_t whole = bytes_of(bench, &subjects[WRITE_ONE]);
    const size_t mine = raw_room_bytes((size_t)box_cells(&owned) * sizeof(double));
    const size_t bytes = solver->team.rank == 0 && whole > mine ? (size_t)whole : mine;
    TRY(solver->engine.backend->runtime->pinned_alloc(solver->engine.device, bytes,
                                                      &bench->memory));
    memset(bench->memory, 1, bytes);
    return STATUS_OK;
}

static enum status measure(struct io_bench *bench, struct json *json)
{
    enum { COPY_BYTES = 16 << 20 };
    struct solver *solver = &bench->solver;
    double copy = 0;
    TRY(status_agree(solver->team.comm, bench_time_copy(solver->engine.backend,
                                                        solver->engine.device, COPY_BYTES, &copy)));
    TRY(status_agree(solver->team.comm, make_memory(bench)));
    TRY(bench_team_open(solver->team.comm, solver->engine.info.address, &bench->team));
    TRY(status_agree(solver->team.comm, solver->team.rank == 0 ? make_folder(bench) : STATUS_OK));
    TRY_MPI(MPI_Bcast(bench->folder, PATH_BYTES, MPI_CHAR, 0, solver->team.comm));
    const enum status status = time_all(bench);
    if (solver->team.rank == 0) {
        directory_remove(bench->folder);
    }
    TRY(status);
    report(bench, copy, json);
    return STATUS_OK;
}

enum status bench_io(const struct bench_request *request, struct json *json)
{
    struct settings *settings = NULL;
    struct io_bench bench = {.request = request, .solver.team.ordered = MPI_COMM_NULL};
    enum status status = STATUS_OK;
    TRY(status_agree(MPI_COMM_WORLD, make_settings(request, &settings)));
    TRY_GOTO(solver_create(MPI_COMM_WORLD, settings, &bench.solver));
    status = measure(&bench, json);
done:
    bench_team_close(&bench.team);
    if (bench.memory != NULL) {
        bench.solver.engine.runtime->pinned_free(bench.solver.engine.device, bench.memory);
    }
    solver_destroy(&bench.solver);
    settings_destroy(settings);
    return status;
}
