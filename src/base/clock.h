/* Time for measurements without MPI_Wtime, and the median of several. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Seconds since a fixed moment; monotonic. */
static inline double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline int clock_compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median; sorts `seconds`. */
static inline double clock_median(double *seconds, int64_t count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, clock_compare);
    return 0.5 * (seconds[(count - 1) / 2] + seconds[count / 2]);
}

struct clock_figures {
    double median_s, mean_s, best_s;
};

/* The figures of at least one value; sorts `seconds`. */
static inline struct clock_figures clock_figures_of(double *seconds, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += seconds[i];
    }
    const double median = clock_median(seconds, count);
    return (struct clock_figures){median, sum / (double)count, seconds[0]};
}
