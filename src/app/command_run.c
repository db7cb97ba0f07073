/* isotherm run: from a configuration to files. */
#include <stdlib.h>
#include <string.h>

#include "app/configuration.h"
#include "app/simulate.h"
#include "app/stop.h"
#include "base/comm.h"
#include "base/command.h"

static struct {
    const char *config;
    struct option_list sets;
    const char *output;
    const char *restart;
    struct option_name backend;
    bool restart_changed;
    bool overwrite;
} asked = {.backend.known = backend_names};

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
    {OPTION_NAME, "--backend", "NAME", " (run.backend)", &asked.backend},
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

static enum output_mode folder_mode(void)
{
    if (asked.overwrite) {
        return OUTPUT_REPLACE;
    }
    return asked.restart != NULL && strcmp(asked.restart, "auto") == 0 ? OUTPUT_RETRY
                                                                       : OUTPUT_FRESH;
}

static enum status solve(void)
{
    struct settings *settings = NULL;
    const struct simulate_options how = {.restart = asked.restart,
                                         .restart_changed = asked.restart_changed,
                                         .folder = folder_mode()};
    TRY(configuration_read(MPI_COMM_WORLD, asked.config, &asked.sets, asked.output,
                           asked.backend.name, &settings));
    const enum status status = simulate(MPI_COMM_WORLD, settings, &how);
    if (!comm_is_broken()) { /* else the writer's thread may still use them: main ends the program
                              */
        settings_destroy(settings);
    }
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
