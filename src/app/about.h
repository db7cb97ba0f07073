/* What the program says of itself: --version. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* The version; `verbose`: also the commit, compilers, and libraries. Needs no MPI_Init. */
void about_print(FILE *stream, bool verbose);
