/* isotherm --version. */
#ifndef ISOTHERM_APP_ABOUT_H
#define ISOTHERM_APP_ABOUT_H

#include <stdbool.h>
#include <stdio.h>

/* The version; `verbose`: also the commit, compilers, and libraries. Needs no MPI_Init. */
void about_print(FILE *stream, bool verbose);

#endif
