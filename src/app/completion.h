/* The words for shell completion, from the tables that --help is made of. */
#pragma once

#include <stdio.h>

#include "base/command.h"

/* A line `command|word|values|help` per command, option, operand and key.
 * command: "" for the commands themselves, "run", "bench halo"; "--set" for keys.
 * values: the words that can follow, and <file>, <directory>, <config>, <set> for what a shell must
 * look up; "-" for an option that takes no value. */
void completion_print(FILE *stream, const struct command *const commands[], int ncommands);
