/* The benchmarks of `isotherm bench`, one file each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/command.h"
#include "base/status.h"
#include "base/text/json.h"
#include "base/text/options.h"
#include "kernels/backend.h"

/* The command line of `isotherm bench`. */
struct bench_request {
    const char *what;
    struct option_name backend;
    const char *precision; /* float64, float32 or both */
    bool wanted[2];        /* those precisions */
    const struct backend *chosen;
    const char *json;         /* a path, or NULL */
    const char *directory;    /* of the files of bench io */
    int64_t size[AXIS_COUNT]; /* 0: the default of the benchmark */
    int64_t repeats;
    struct option_list kernels; /* empty: all */
    struct option_list media;   /* of more rows for the step */
    bool tune;                  /* list the launch shapes and their times */
};

enum { BENCH_MAX_REPEATS = 1000, BENCH_MAX_MEMORY = 6 * OPTIONS_MAX_LIST + 8 };

/* Where the calls run. */
struct bench_place {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    struct stopwatch *stopwatch;
    void *d_memory[BENCH_MAX_MEMORY];
    int nmemory;
};
/* Create queue and stopwatch on the device; close takes a place without them. */
enum status bench_place_open(struct bench_place *place);
/* Device memory until the place is closed. */
enum status bench_place_alloc(struct bench_place *place, size_t bytes, void **d_memory);
void bench_place_close(struct bench_place *place);

/* Warn when the process may not use all cores: a launcher may have bound it to one. */
void bench_warn_of_binding(void);

/* Each adds its members to the object that is open in `json`; bench_halo, bench_io and bench_steady
 * are collective over MPI_COMM_WORLD. */
enum status bench_kernels(const struct bench_request *request, struct json *json);
enum status bench_io(const struct bench_request *request, struct json *json);
enum status bench_steady(const struct bench_request *request, struct json *json);
enum status bench_halo(const struct bench_request *request, struct json *json);

extern const struct command command_bench;
