/* The commands of this folder; main.c has the table of all. */
#ifndef ISOTHERM_APP_COMMANDS_H
#define ISOTHERM_APP_COMMANDS_H

#include "base/command.h"

extern const struct command command_check, command_compare, command_init, command_plan, command_run,
    command_verify;

#endif
