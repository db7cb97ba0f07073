/* What the program says of itself: --version, and the words for shell completion. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/command.h"

/* The version; `verbose`: also the commit, compilers, and libraries. Needs no MPI_Init. */
void about_print(FILE *stream, bool verbose);

/* A line `command|word|values|help` per command, option, operand and key.
 * command: "" for the commands themselves, "run", "bench halo"; "--set" for keys.
 * values: the words that can follow, and <file>, <directory>, <config>, <set> for what a shell must
 * look up; "-" for an option that takes no value. */
void completion_print(FILE *stream, const struct command *const commands[], int ncommands);
