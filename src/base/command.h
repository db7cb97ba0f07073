/* The subcommands. */
#pragma once

#include <stdbool.h>

#include "base/status.h"
#include "base/text/options.h"

/* A first operand with its own help page. */
struct command_word {
    const char *name;
    bool uses_mpi;
    struct command_line page; /* for --help */
};

struct command {
    const char *name;
    const char *summary;              /* one line for `isotherm --help` */
    bool uses_mpi;                    /* false: works on a login node without a launcher */
    const struct command_word *words; /* ends with a NULL name; or NULL */
    struct command_line line;
    enum status (*execute)(void); /* after parsing; collective when uses_mpi */
};
