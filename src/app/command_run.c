/* isotherm run: from a configuration to files. */
#include <stdlib.h>
#include <string.h>

#include "app/configuration.h"
#include "app/hang_monitor.h"
#include "app/restart.h"
#include "app/stop.h"
#include "base/comm.h"
#include "base/command.h"
#include "base/log.h"
#include "output/output.h"
#include "solve/derive.h"
#include "solve/solver.h"
#include "solve/tuning.h"

static struct {
    const char *config;
    struct option_list sets;
    const char *output;
    const char *restart;
    const char *backend;
    bool restart_changed;
    bool overwrite;
} asked;

static const struct option options[] = {
    {OPTION_LIST, "--set", "KEY=VALUE", "override a key (repeatable): --set time.steps=9",
     &asked.sets},
    {OPTION_STRING, "--output", "DIR", "the folder for all files (output.directory)",
     &asked.output},
    {OPTION_FLAG, "--overwrite", "", "replace the run that the folder already holds",
     &asked.overwrite},
    {OPTION_STRING, "--restart", "auto|FILE", "go on from the newest good checkpoint, or from FILE",
     &asked.restart},
    {OPTION_FLAG, "--restart-changed", "", "also with another material, precision, grid corners",
     &asked.restart_changed},
    {OPTION_STRING, "--backend", "NAME", "auto, cpu, guard or hip (run.backend)", &asked.backend},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

static const struct command_line line = {
    .usage = "isotherm run CONFIG [options]",
    .about = "Solve the heat equation as CONFIG (YAML) says, on as many ranks as are started,\n"
             "and write report.json, history.csv, snapshots, checkpoints and pictures.\n"
             "docs/configuration.md lists all keys; `isotherm plan` shows the needs of a run.",
    .example = "  mpirun -n 2 isotherm run configs/quickstart.yaml --output out/a\n"
               "  mpirun -n 3 isotherm run configs/quickstart.yaml --output out/a "
               "--restart auto",
    .options = options,
    .operand = "CONFIG",
    .min_operands = 1,
    .max_operands = 1,
    .operands = &asked.config,
};

static enum status check_words(void)
{
    if (asked.restart != NULL && asked.overwrite && strcmp(asked.restart, "auto") == 0) {
        return fail(STATUS_INPUT, "--restart auto goes on with the run in the output folder and "
                                  "--overwrite replaces it: give one of them");
    }
    if (asked.restart_changed && asked.restart == NULL) {
        return fail(STATUS_INPUT, "--restart-changed says how --restart goes on: give --restart "
                                  "auto or --restart FILE as well");
    }
    return STATUS_OK;
}

/* The checkpoint asked for, or the initial state. */
static enum status set_state(struct run *run)
{
    if (asked.restart == NULL) {
        return run_initialise(run);
    }
    bool found = false;
    TRY(restart_from(run, asked.restart, asked.restart_changed, &found));
    if (!found) {
        TRY(output_check(run, OUTPUT_RETRY, ""));
        log_info("no checkpoint in %s: starting from the beginning",
                 run->settings->output.directory);
        return run_initialise(run);
    }
    return STATUS_OK;
}

static void introduce(const struct run *run)
{
    const int64_t *n = run->grid.cells;
    const int *p = run->decomp.ranks;
    log_info("%s: %lld x %lld x %lld cells, %s, %d rank%s as %d x %d x %d", run->settings->title,
             (long long)n[0], (long long)n[1], (long long)n[2],
             precision_name(run->settings->run.precision), run->nranks, run->nranks == 1 ? "" : "s",
             p[0], p[1], p[2]);
    log_info("backend %s on %s (%s)", run->backend->name, run->device_info.name,
             run->backend_reason);
    if (run->step >= run->timeline.steps) {
        log_info("nothing is left to do: the state is at step %lld, t = %.6g s; raise time.steps "
                 "or time.end to go on",
                 (long long)run->step, run_time(run));
        return;
    }
    log_info("%lld steps of %s%.4g s to t = %.6g s", (long long)run->timeline.steps,
             run->timeline.nstretches > 1 ? "at most " : "", run->timeline.dt, run->timeline.end);
}

static enum output_mode output_mode(void)
{
    if (asked.overwrite) {
        return OUTPUT_REPLACE;
    }
    return asked.restart != NULL && strcmp(asked.restart, "auto") == 0 ? OUTPUT_RETRY
                                                                       : OUTPUT_FRESH;
}

static enum status simulate(struct run *run)
{
    const enum output_mode mode = output_mode();
    if (mode != OUTPUT_RETRY) {
        /* before the time that the state takes */
        TRY(output_check(run, mode, asked.restart != NULL ? asked.restart : ""));
    }
    TRY(watchdog_create(run));
    TRY(set_state(run));
    introduce(run);
    TRY(tuning_of_run(run));
    TRY(derive_open(run));
    struct output *output = NULL;
    TRY(stop_create(run));
    TRY(output_open(run, mode, &output));
    const double start = MPI_Wtime();
    enum status status = run_advance(run, output);
    if (status == STATUS_OK) {
        status = output_finish(output, run, MPI_Wtime() - start);
    }
    if (status == STATUS_NUMERICS) {
        status = output_postmortem(output, run);
    }
    output_close(output);
    return status;
}

static enum status solve(void)
{
    struct settings *settings = NULL;
    struct run *run = NULL;
    TRY(configuration_read(MPI_COMM_WORLD, asked.config, &asked.sets, asked.output, asked.backend,
                           &settings));
    enum status status = run_create(MPI_COMM_WORLD, settings, &run);
    if (status == STATUS_OK) {
        status = simulate(run);
    }
    if (comm_is_broken()) {
        return status; /* the writer's thread may still use all of it: main ends the program */
    }
    run_destroy(run);
    settings_destroy(settings);
    return status;
}

static enum status execute(void)
{
    stop_listen();
    TRY(status_agree(MPI_COMM_WORLD, check_words()));
    return solve();
}

const struct command command_run = {
    .name = "run",
    .summary = "solve the problem that a configuration describes",
    .uses_mpi = true,
    .line = &line,
    .execute = execute,
};
