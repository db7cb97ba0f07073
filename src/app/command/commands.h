/* The commands of this folder, main.c has the table of all; and what the build makes part of them.
 */
#pragma once

#include <mpi.h>

#include "base/command.h"
#include "base/text/options.h"
#include "config/settings.h"

/* The operand of a command line that takes one configuration. */
#define OPERAND_CONFIG                                                                             \
    .operand = "CONFIG", .min_operands = 1, .max_operands = 1, .operands = &options.config

extern const struct command command_check, command_compare, command_import, command_init,
    command_paint, command_plan, command_run, command_sweep, command_verify;

/* A configuration of configs/templates. */
struct config_template {
    const char *name;
    const char *text; /* its first line is a comment: a sentence on what the problem is */
};

extern const struct config_template config_templates[]; /* ends with a NULL name */
extern const struct config_template machine_files[];    /* likewise: jobscripts/machines */
/* The one of that name; NULL: `known` then has the names of all. */
const struct config_template *config_template_find(const struct config_template *list,
                                                   const char *name, char known[256]);
extern const char sweep_script[], import_script[]; /* jobscripts/sweep.py, import.py */
/* Continue as Python with that script and its arguments, words[SCRIPT_WORDS] to the NULL; the words
 * before are set here, the last one to the path of this program. Returns after a failure only:
 * STATUS_FILE. */
enum { SCRIPT_WORDS = 4 };
enum status script_execute(const char *script, const char **words);

/* ---- settings from the configuration file and the command line ---- */

/* Collective over `comm`: rank 0 reads the file, all ranks check the same text. MPI_COMM_NULL: this
 * process only, without MPI. `output` and `backend` (may be NULL) are values of their own options
 * and override --set. On failure *settings is NULL. */
enum status configuration_read(MPI_Comm comm, const char *path, const struct option_list *sets,
                               const char *output, const char *backend, struct settings **settings);
/* For SCOPED_BY, where a run has used the settings: if MPI is broken its writer's thread may still
 * do so, and they stay; main then aborts the program. */
void configuration_release(struct settings **settings);

/* Those of all folders, in the order of `isotherm --help`. */
#define COMMANDS                                                                                   \
    &command_init, &command_import, &command_check, &command_paint, &command_plan, &command_run,   \
        &command_sweep, &command_plot, &command_compare, &command_bench, &command_verify,          \
        &command_doctor
