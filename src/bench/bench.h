/* The benchmarks of `isotherm bench`: one file each. */
#ifndef ISOTHERM_BENCH_BENCH_H
#define ISOTHERM_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/options.h"
#include "base/status.h"

/* What the words of the command line ask for. */
struct bench_request {
    const char *what;
    struct option_name backend;
    const char *precision;    /* float64, float32 or both */
    const char *json;         /* a path, or NULL */
    const char *directory;    /* of the files of bench io */
    int64_t size[AXIS_COUNT]; /* 0: the benchmark's own */
    int64_t repeats;
    struct option_list kernels; /* empty: all */
    bool tune;                  /* list the launch shapes that were tried */
};

enum { BENCH_MAX_REPEATS = 1000 };

/* Which precisions a word asks for. STATUS_INPUT for any other. */
enum status bench_choose_precisions(const char *word, bool wanted[2]) MUST_CHECK;

/* A launcher may have bound the process to one core: then "all cores" is not what is measured. */
void bench_warn_of_binding(void);

/* bench_kernels.c */
enum status bench_kernels(const struct bench_request *request) MUST_CHECK;
/* bench_io.c; collective over MPI_COMM_WORLD */
enum status bench_io(const struct bench_request *request) MUST_CHECK;
/* bench_halo.c; collective over MPI_COMM_WORLD */
enum status bench_halo(const struct bench_request *request) MUST_CHECK;

#endif
