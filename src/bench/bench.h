/* The benchmarks of `isotherm bench`, one file each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/command.h"
#include "base/status.h"
#include "base/text/options.h"
#include "kernels/backend.h"

/* The command line of `isotherm bench`. */
struct bench_request {
    const char *what;
    struct option_name backend;
    const char *precision;    /* float64, float32 or both */
    const char *json;         /* a path, or NULL */
    const char *directory;    /* of the files of bench io */
    int64_t size[AXIS_COUNT]; /* 0: the default of the benchmark */
    int64_t repeats;
    struct option_list kernels; /* empty: all */
    struct option_list radii;   /* of the studies; empty: all */
    struct option_list media;   /* of more rows for the step */
    bool tune;                  /* list the launch shapes and their times */
};

enum { BENCH_MAX_REPEATS = 1000 };

/* Where the calls run. */
struct bench_place {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    struct stopwatch *stopwatch;
};
/* Create queue and stopwatch on the device; close takes a place without them. */
enum status bench_place_open(struct bench_place *place);
void bench_place_close(struct bench_place *place);

/* The precisions of the option's value. STATUS_INPUT for an unknown one. */
enum status bench_choose_precisions(const char *word, bool wanted[2]);

/* Warn when the process may not use all cores: a launcher may have bound it to one. */
void bench_warn_of_binding(void);

/* bench_kernels.c */
enum status bench_kernels(const struct bench_request *request);
/* bench_study.c: the study of the name `what` */
enum status bench_study(const struct bench_request *request);
/* bench_io.c; collective over MPI_COMM_WORLD */
enum status bench_io(const struct bench_request *request);
/* bench_steady.c; collective over MPI_COMM_WORLD */
enum status bench_steady(const struct bench_request *request);
/* bench_halo.c; collective over MPI_COMM_WORLD */
enum status bench_halo(const struct bench_request *request);

extern const struct command command_bench;
