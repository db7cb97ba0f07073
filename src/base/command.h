/* The subcommands. */
#ifndef ISOTHERM_BASE_COMMAND_H
#define ISOTHERM_BASE_COMMAND_H

#include <stdbool.h>

#include "base/options.h"
#include "base/status.h"

struct command {
    const char *name;
    const char *summary; /* one line for `isotherm --help` */
    bool uses_mpi;       /* false: works on a login node without a launcher */
    const char *const
        *mpi_words; /* first operands that make it use MPI anyway, up to NULL; or NULL */
    const struct command_line *line;
    enum status (*execute)(void); /* after parsing; collective when uses_mpi */
};

#endif
