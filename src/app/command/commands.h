/* The commands of this folder, main.c has the table of all; and what the build makes part of them.
 */
#pragma once

#include "base/command.h"

extern const struct command command_check, command_compare, command_init, command_plan, command_run,
    command_sweep, command_verify;

/* A configuration of configs/templates. */
struct config_template {
    const char *name;
    const char *text; /* its first line is a comment: a sentence on what the problem is */
};

extern const struct config_template config_templates[]; /* ends with a NULL name */
extern const char sweep_script[];                       /* jobscripts/sweep.py */
