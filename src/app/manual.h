/* Man pages and the words for shell completion, from the tables that --help is made of. */
#ifndef ISOTHERM_APP_MANUAL_H
#define ISOTHERM_APP_MANUAL_H

#include <stdio.h>

#include "base/command.h"

/* Write isotherm.1, a page isotherm-NAME.1 per command, and completion.txt into a folder that
 * exists. */
enum status manual_write(const struct command *const commands[], int ncommands,
                         const char *folder) MUST_CHECK;

/* completion.txt: a line `command|word|values|help` per command, option, operand and key.
 * command: "" for the commands themselves, "run", "bench halo"; "--set" for keys.
 * values: the words that can follow, and <file>, <directory>, <config>, <set> for what a shell must
 * look up; "-" for an option that takes no value. */
void manual_print_words(FILE *stream, const struct command *const commands[], int ncommands);

#endif
