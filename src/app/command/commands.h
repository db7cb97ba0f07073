/* The commands of this folder; main.c has the table of all. */
#pragma once

#include "base/command.h"

extern const struct command command_check, command_compare, command_init, command_plan, command_run,
    command_sweep, command_verify;
