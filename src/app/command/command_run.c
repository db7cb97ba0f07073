/* isotherm run: solve the problem of a configuration. */
#include <string.h>

#include "app/command/commands.h"
#include "app/simulate.h"
#include "base/comm.h"
#include "kernels/backends.h"

static struct {
    const char *config;
    struct option_list sets;
    const char *output;
    const char *restart;
    struct option_name backend;
    bool restart_changed;
    bool overwrite;
} options = {.backend.known = backend_names};

static const struct option option_table[] = {
    {OPTION_LIST, "--set", "KEY=VALUE", "override a key (repeatable): --set time.steps=9",
     &options.sets},
    {OPTION_STRING, "--output", "DIR", "the folder of all files (output.directory)",
     &options.output},
    {OPTION_FLAG, "--overwrite", "", "replace the run in the output folder", &options.overwrite},
    {OPTION_STRING, "--restart", "auto|FILE", "resume from the newest valid checkpoint, or FILE",
     &options.restart},
    {OPTION_FLAG, "--restart-changed", "", "allow another material, precision or grid corners",
     &options.restart_changed},
    {OPTION_NAME, "--backend", "NAME", " (run.backend)", &options.backend},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

static enum status check_options(void)
{
    FAIL_IF(options.restart != NULL && options.overwrite && strcmp(options.restart, "auto") == 0,
            fail(STATUS_INPUT, "--restart auto continues the run in the output folder and "
                               "--overwrite replaces it: give one of them"));
    FAIL_IF(
        options.restart_changed && options.restart == NULL,
        fail(STATUS_INPUT,
             "--restart-changed modifies --restart: also give --restart auto or --restart FILE"));
    return STATUS_OK;
}

static enum output_mode folder_mode(void)
{
    if (options.overwrite) {
        return OUTPUT_REPLACE;
    }
    return options.restart != NULL && strcmp(options.restart, "auto") == 0 ? OUTPUT_RETRY
                                                                           : OUTPUT_FRESH;
}

static enum status execute(void)
{
    SCOPED_BY(configuration_release) struct settings *settings = NULL;
    TRY(status_agree(MPI_COMM_WORLD, check_options()));
    const struct simulate_options simulation = {.restart = options.restart,
                                                .restart_changed = options.restart_changed,
                                                .folder = folder_mode()};
    TRY(configuration_read(MPI_COMM_WORLD, options.config, &options.sets, options.output,
                           options.backend.name, &settings));
    return simulate(MPI_COMM_WORLD, settings, &simulation);
}

const struct command command_run = {
    .name = "run",
    .summary = "solve the problem that a configuration describes",
    .uses_mpi = true,
    .line = {.usage = "isotherm run CONFIG [options]",
             .about =
                 "Solve the heat equation defined in CONFIG (YAML) on all ranks of the launcher,\n"
                 "and write report.json, history.csv, snapshots, checkpoints and pictures.\n"
                 "All keys: docs/reference/configuration.md. The needs of a run: `isotherm plan`.",
             .example = "  $ mpirun -n 2 isotherm run rod.yaml --output out/a\n"
                        "  $ mpirun -n 3 isotherm run rod.yaml --output out/a --restart auto",
             .options = option_table,
             OPERAND_CONFIG},
    .execute = execute,
};
