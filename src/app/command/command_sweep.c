/* isotherm sweep: a run for each combination of values, by jobscripts/sweep.py. */
#include <inttypes.h>
#include <stdio.h>

#include "app/command/commands.h"
#include "base/file.h"

static struct {
    const char *config;
    struct option_list vary, sets;
    const char *output, *script, *sbatch;
    int64_t jobs;
    bool list;
} options = {.sbatch = "", .jobs = 1};

static const struct option option_table[] = {
    {OPTION_LIST, "--vary", "KEY=A,B,...", "values of a key (repeatable: all combinations)",
     &options.vary},
    {OPTION_LIST, "--set", "KEY=VALUE", "override a key in all runs (repeatable)", &options.sets},
    {OPTION_STRING, "--output", "DIR", "the folder of all runs (output.directory)",
     &options.output},
    {OPTION_COUNT, "--jobs", "N", "runs at a time on this node (default 1)", &options.jobs},
    {OPTION_STRING, "--script", "FILE", "submit a job array with this job script", &options.script},
    {OPTION_STRING, "--sbatch", "TEXT", "options of sbatch for it: \"-A abc123\"", &options.sbatch},
    {OPTION_FLAG, "--list", "", "only print the options of each run", &options.list},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

static int add_list(const char **words, int count, const char *option,
                    const struct option_list *list)
{
    for (int i = 0; i < list->count; i++) {
        words[count++] = option;
        words[count++] = list->item[i];
    }
    return count;
}

static enum status execute(void)
{
    char jobs[24];
    char directory[PATH_BYTES];
    char sbatch[PATH_BYTES];
    struct settings *settings = NULL;
    FAIL_IF(options.vary.count == 0,
            fail(STATUS_INPUT, "give --vary KEY=A,B,...: a key and its values"));
    TRY(configuration_read(MPI_COMM_NULL, options.config, &options.sets, options.output, NULL,
                           &settings));
    snprintf(directory, sizeof directory, "%s", settings->output.directory);
    settings_destroy(settings);
    snprintf(jobs, sizeof jobs, "%" PRId64, options.jobs);
    snprintf(sbatch, sizeof sbatch, "--sbatch=%s", options.sbatch); /* it begins with '-', too */
    const char *words[SCRIPT_WORDS + 4 * OPTIONS_MAX_LIST + 10] = {
        [SCRIPT_WORDS] = options.config, "--output", directory, "--jobs", jobs, sbatch};
    int count = add_list(words, SCRIPT_WORDS + 6, "--vary", &options.vary);
    count = add_list(words, count, "--set", &options.sets);
    if (options.script != NULL) {
        words[count++] = "--script";
        words[count++] = options.script;
    }
    words[count] = options.list ? "--list" : NULL;
    return script_execute(sweep_script, words);
}

const struct command command_sweep = {
    .name = "sweep",
    .summary = "run a configuration for several values, with a table of results",
    .line = {.usage = "isotherm sweep CONFIG --vary KEY=A,B,... [options]",
             .about =
                 "Run CONFIG for each combination of values, each in its own folder in DIR, and\n"
                 "write DIR/sweep.csv: the values, results of report.json, and the last value of\n"
                 "each probe. Complete runs are not repeated, interrupted ones resume. With\n"
                 "--script the runs are jobs of Slurm, and the same command writes their table\n"
                 "later. Needs Python 3.",
             .example =
                 "  $ isotherm sweep rod.yaml --vary 'grid.cells=[50],[100]' --jobs 2\n"
                 "  $ isotherm sweep rod.yaml --vary time.end=9,12 --script jobscripts/cpu.sbatch",
             .options = option_table,
             OPERAND_CONFIG},
    .execute = execute,
};
