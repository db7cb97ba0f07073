/* The subcommands: one file each. */
#ifndef ISOTHERM_BASE_COMMAND_H
#define ISOTHERM_BASE_COMMAND_H

#include <stdbool.h>

#include "base/options.h"
#include "base/status.h"

/* A first word that a command knows, with a page of its own. */
struct command_word {
    const char *name;
    bool uses_mpi;
    const struct command_line *page; /* for --help */
};

struct command {
    const char *name;
    const char *summary;              /* one line for `isotherm --help` */
    bool uses_mpi;                    /* false: works on a login node without a launcher */
    const struct command_word *words; /* to one without a name; or NULL */
    const struct command_line *line;
    enum status (*execute)(void); /* after parsing; collective when uses_mpi */
};

extern const struct command command_run;     /* command_run.c, run.c, step.c */
extern const struct command command_doctor;  /* command_doctor.c, doctor_*.c */
extern const struct command command_plan;    /* command_plan.c */
extern const struct command command_bench;   /* command_bench.c */
extern const struct command command_verify;  /* command_verify.c */
extern const struct command command_compare; /* command_compare.c */

#endif
