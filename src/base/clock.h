/* Wall-clock time for measurements, where MPI_Wtime is not at hand. */
#ifndef ISOTHERM_BASE_CLOCK_H
#define ISOTHERM_BASE_CLOCK_H

#include <time.h>

/* Seconds since a fixed moment; monotonic. */
static inline double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
