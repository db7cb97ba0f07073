/* isotherm bench jacobi: the four kernels of the Jacobi iteration and the whole of it, of every
 * backend that runs here, beside the copy. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "bench/bench.h"
#include "bench/bench_data.h"
#include "bench/bench_energy.h"
#include "kernels/backends.h"
#include "kernels/heat_cell.h"
#include "kernels/study/studies.h"

#define ROUND_S 1e-3
enum { CHECKED_ITERATIONS = 2, DEFAULT_NODES = 4096 };
enum { ALL = JACOBI_PARTS, TIMED }; /* the whole iteration comes after its parts */
enum { U, AU, RES, RHS, ARRAYS };

struct bench {
    const struct bench_request *request;
    const struct jacobi_model *model;
    const struct backend *backend; /* of the model */
    struct device *device;
    struct queue *queue;
    struct stopwatch *stopwatch;
    const struct jacobi_kernels *kernels;
    struct jacobi_grid grid;
    double *h_start[ARRAYS];    /* what the arrays begin with */
    double *h_expected[ARRAYS]; /* after CHECKED_ITERATIONS */
    struct exact_sum expected;  /* of their norms */
    double *array[ARRAYS];      /* the kernels' */
    void *h_sum;
    void *d_sum;
    double copy; /* GB/s; NaN: unknown */
    char device_name[sizeof(((struct device_info *)NULL)->name)];
    struct bench_meter meter;
    struct json *json;
};

static size_t array_bytes(const struct bench *bench)
{
    return (size_t)(bench->grid.nx * bench->grid.ny) * sizeof(double);
}

static struct jacobi_work work_of(double *const array[ARRAYS], struct exact_sum *h_sum,
                                  struct exact_sum *d_sum)
{
    return (struct jacobi_work){.u = array[U],
                                .au = array[AU],
                                .res = array[RES],
                                .rhs = array[RHS],
                                .h_sum = h_sum,
                                .d_sum = d_sum};
}

/* ---- the plain loop ---- */

/* From values without a pattern; they, and the results, are kept for all kernels. */
static enum status make_expected(struct bench *bench)
{
    const int64_t nodes = bench->grid.nx * bench->grid.ny;
    for (int a = 0; a < ARRAYS; a++) {
        bench->h_start[a] = malloc(array_bytes(bench));
        bench->h_expected[a] = malloc(array_bytes(bench));
        TRY(CHECK_MEMORY(bench->h_start[a] != NULL && bench->h_expected[a] != NULL,
                         "no host memory for a grid of %" PRId64 " nodes", nodes));
    }
    jacobi_make_problem(&bench->grid, bench->h_start[RHS], bench->h_start[U]);
    for (int64_t n = 0; n < nodes; n++) {
        bench->h_start[U][n] += 0x1p-64 * (double)heat_mix64((uint64_t)n);
        bench->h_start[AU][n] = -1;
        bench->h_start[RES][n] = -1;
    }
    for (int a = 0; a < ARRAYS; a++) {
        memcpy(bench->h_expected[a], bench->h_start[a], array_bytes(bench));
    }
    const struct jacobi_work work = work_of(bench->h_expected, &bench->expected, NULL);
    for (int n = 0; n < CHECKED_ITERATIONS * JACOBI_PARTS; n++) {
        jacobi_plain(&bench->grid, (enum jacobi_part)(n % JACOBI_PARTS), &work);
    }
    return STATUS_OK;
}

/* ---- the kernels ---- */

static enum status open_arrays(struct bench *bench)
{
    const struct runtime *runtime = bench->backend->runtime;
    const struct exact_sum zero = {{0}};
    TRY(runtime->queue_create(bench->device, QUEUE_NORMAL, &bench->queue));
    TRY(runtime->stopwatch_create(bench->device, &bench->stopwatch));
    TRY(runtime->pinned_alloc(bench->device, sizeof zero, &bench->h_sum));
    TRY(runtime->memory_alloc(bench->device, sizeof zero, &bench->d_sum));
    *(struct exact_sum *)bench->h_sum = zero;
    TRY(runtime->copy_to_device(bench->queue, bench->d_sum, &zero, sizeof zero));
    for (int a = 0; a < ARRAYS; a++) {
        void *memory = NULL;
        TRY(runtime->memory_alloc(bench->device, array_bytes(bench), &memory));
        bench->array[a] = memory;
        TRY(runtime->copy_to_device(bench->queue, memory, bench->h_start[a], array_bytes(bench)));
    }
    return runtime->queue_wait(bench->queue);
}

static void close_arrays(struct bench *bench)
{
    const struct runtime *runtime = bench->backend->runtime;
    for (int a = 0; a < ARRAYS; a++) {
        runtime->memory_free(bench->device, bench->array[a]);
        bench->array[a] = NULL;
    }
    runtime->memory_free(bench->device, bench->d_sum);
    runtime->pinned_free(bench->device, bench->h_sum);
    runtime->stopwatch_destroy(bench->stopwatch);
    runtime->queue_destroy(bench->queue);
    bench->d_sum = bench->h_sum = NULL;
    bench->stopwatch = NULL;
    bench->queue = NULL;
}

/* One part, or all of them with the norm on the host, as the test of convergence needs it. */
static enum status call(struct bench *bench, int part)
{
    const struct jacobi_work work = work_of(bench->array, bench->h_sum, bench->d_sum);
    for (int p = part == ALL ? 0 : part; p <= (part == ALL ? ALL - 1 : part); p++) {
        TRY(bench->kernels->run(bench->queue, &bench->grid, (enum jacobi_part)p, &work));
    }
    return part == ALL ? bench->backend->runtime->queue_wait(bench->queue) : STATUS_OK;
}

static enum status iterate(void *context)
{
    for (int n = 0; n < CHECKED_ITERATIONS; n++) {
        TRY(call(context, ALL));
    }
    return STATUS_OK;
}

static enum status compare(struct bench *bench)
{
    const struct runtime *runtime = bench->backend->runtime;
    double *h_values = malloc(array_bytes(bench));
    enum status status = CHECK_MEMORY(h_values != NULL, "no host memory for the check");
    static const char *const names[ARRAYS] = {"u", "A u", "the residual", "f"};
    for (int a = 0; a < ARRAYS && status == STATUS_OK; a++) {
        TRY_GOTO(
            runtime->copy_to_host(bench->queue, h_values, bench->array[a], array_bytes(bench)));
        TRY_GOTO(runtime->queue_wait(bench->queue));
        if (memcmp(h_values, bench->h_expected[a], array_bytes(bench)) != 0) {
            status = fail(STATUS_DEVICE, "bench jacobi, %s: %s differs from the host's result",
                          bench->kernels->name, names[a]);
        }
    }
    if (status == STATUS_OK &&
        memcmp(bench->h_sum, &bench->expected, sizeof bench->expected) != 0) {
        status = fail(STATUS_DEVICE, "bench jacobi, %s: the norm differs from the host's result",
                      bench->kernels->name);
    }
done:
    free(h_values);
    return status;
}

struct timing {
    struct bench_rounds rounds;
    struct bench_energy energy;
};

struct queued {
    struct bench *bench;
    int part;
};

static enum status queue_again(void *context)
{
    const struct queued *queued = context;
    return call(queued->bench, queued->part);
}

static enum status time_part(struct bench *bench, int part, struct timing *timing)
{
    const struct bench_calls calls = {.backend = bench->backend,
                                      .device = bench->device,
                                      .queue = bench->queue,
                                      .stopwatch = bench->stopwatch,
                                      .call = queue_again,
                                      .context = &(struct queued){bench, part}};
    double once = 0;
    for (int n = 0; n < 2; n++) { /* the first is a warm-up */
        enum status queued = STATUS_OK;
        TRY(bench_time_calls(&calls, 1, &queued, &once));
        TRY(queued);
    }
    TRY(bench_time_rounds(&calls, once, ROUND_S, bench->request->repeats, &timing->rounds));
    return bench_energy_measure(&bench->meter, &calls, timing->rounds.time.median_s,
                                &timing->energy);
}

static void report(struct bench *bench, int part, const struct timing *timing, double parts_s)
{
    double bytes = 0;
    double operations = 0;
    for (int p = part == ALL ? 0 : part; p <= (part == ALL ? ALL - 1 : part); p++) {
        bytes += jacobi_bytes(&bench->grid, (enum jacobi_part)p);
        operations += jacobi_operations(&bench->grid, (enum jacobi_part)p);
    }
    struct json *json = bench->json;
    const char *name = part == ALL ? "iteration" : jacobi_part_name[part];
    const double rate = 1e-9 * bytes / timing->rounds.time.median_s;
    const double share = part == ALL ? 100.0 : 100.0 * timing->rounds.time.median_s / parts_s;
    log_info("  %-14s %-10s %10.4f %7.1f %9.2f %8.1f %9.2f", bench->kernels->name, name,
             1e3 * timing->rounds.time.median_s, share, rate, 100.0 * rate / bench->copy,
             1e-9 * operations / timing->rounds.time.median_s);
    json_begin(json, NULL, '{');
    json_string(json, "kernel", name);
    json_string(json, "kind", "jacobi");
    json_string(json, "backend", bench->model->name);
    json_string(json, "device", bench->device_name);
    json_string(json, "variant", bench->kernels->name);
    json_string(json, "precision", "float64");
    json_int3(json, "cells", (const int64_t[]){bench->grid.nx, bench->grid.ny, 1});
    json_int(json, "repeats", timing->rounds.count);
    json_real(json, "ms", 1e3 * timing->rounds.time.median_s);
    json_real(json, "best_ms", 1e3 * timing->rounds.time.best_s);
    json_real(json, "percent_of_parts", share);
    json_real(json, "bytes", bytes);
    json_real(json, "bandwidth_GBs", rate);
    json_real(json, "copy_GBs", bench->copy);
    json_real(json, "percent_of_copy", 100.0 * rate / bench->copy);
    json_real(json, "operations", operations);
    json_real(json, "GFLOPs", 1e-9 * operations / timing->rounds.time.median_s);
    const double nodes = (double)(bench->grid.nx * bench->grid.ny);
    json_real(json, "cell_updates_per_s", nodes / timing->rounds.time.median_s);
    bench_energy_report(&timing->energy, nodes, json);
    json_end(json, '}');
}

static enum status time_all(void *context)
{
    struct bench *bench = context;
    struct timing timing[TIMED];
    double parts_s = 0;
    for (int part = 0; part < TIMED; part++) {
        TRY(time_part(bench, part, &timing[part]));
        parts_s += part < ALL ? timing[part].rounds.time.median_s : 0;
    }
    for (int part = 0; part < TIMED; part++) {
        report(bench, part, &timing[part], parts_s);
    }
    return STATUS_OK;
}

static enum status within(struct bench *bench, enum status (*body)(void *context))
{
    const struct jacobi_work work = work_of(bench->array, bench->h_sum, bench->d_sum);
    return bench->kernels->within != NULL
               ? bench->kernels->within(bench->queue, &bench->grid, &work, body, bench)
               : body(bench);
}

static enum status bench_kernels_of(struct bench *bench)
{
    enum status status = STATUS_OK;
    TRY_GOTO(open_arrays(bench));
    TRY_GOTO(within(bench, iterate));
    TRY_GOTO(compare(bench));
    TRY_GOTO(within(bench, time_all));
done:
    close_arrays(bench);
    return status;
}

/* ---- all of it ---- */

/* The copy of a device that only OpenMP can use is unknown. */
static enum status describe(struct bench *bench)
{
    struct device_info info;
    TRY(bench->backend->runtime->info(bench->device, &info));
    TRY(bench_time_copy(bench->backend, bench->device, array_bytes(bench), &bench->copy));
    memcpy(bench->device_name, info.name, sizeof info.name);
    bench_meter_open(info.address, &bench->meter);
    if (bench->model->has_device != NULL && bench->model->has_device()) {
        snprintf(bench->device_name, sizeof bench->device_name, "OpenMP device, host %.90s",
                 info.name);
        bench->copy = (double)NAN;
    }
    return STATUS_OK;
}

static enum status bench_model(struct bench *bench, const struct jacobi_model *model)
{
    enum status status = STATUS_OK;
    bench->model = model;
    bench->backend = model->backend;
    TRY(bench->backend->runtime->open(0, 1, &bench->device));
    TRY_GOTO(describe(bench));
    log_info("backend %s on %s, %" PRId64 " x %" PRId64 " nodes, float64, copy %.0f GB/s",
             model->name, bench->device_name, bench->grid.nx, bench->grid.ny, bench->copy);
    log_info("  %-14s %-10s %10s %7s %9s %8s %9s", "variant", "kernel", "ms", "%", "GB/s", "% copy",
             "GFLOP/s");
    for (bench->kernels = model->kernels; bench->kernels->name != NULL; bench->kernels++) {
        TRY_GOTO(bench_kernels_of(bench));
    }
done:
    bench_meter_close(&bench->meter);
    bench->backend->runtime->close(bench->device);
    return status;
}

/* With `auto` all that run here, so that they can be compared. */
static enum status bench_models(struct bench *bench)
{
    const char *wanted = bench->request->backend.name;
    const bool all = strcmp(wanted, "auto") == 0;
    char device[sizeof bench->device_name] = "";
    double copy = 0; /* of the first, as is the device */
    json_begin(bench->json, NULL, '{');
    json_begin(bench->json, "rows", '[');
    for (int m = 0; study_jacobi(m) != NULL; m++) {
        const struct jacobi_model *model = study_jacobi(m);
        if (!all && strcmp(wanted, model->name) != 0) {
            continue;
        }
        if (all && model->backend->runtime->probe() != STATUS_OK) {
            log_info("backend %s: %s", model->name, fail_message());
            fail_clear();
            continue;
        }
        TRY(bench_model(bench, model));
        if (copy == 0) {
            copy = bench->copy;
            memcpy(device, bench->device_name, sizeof device);
        }
    }
    json_end(bench->json, ']');
    json_string(bench->json, "device", device);
    json_real(bench->json, "copy_GBs", copy);
    json_end(bench->json, '}');
    return STATUS_OK;
}

/* A model of this name, or a backend, which is then without these kernels. */
static enum status check_model(const char *name)
{
    const struct backend *backend;
    char why[256];
    for (int m = 0; study_jacobi(m) != NULL; m++) {
        if (strcmp(name, study_jacobi(m)->name) == 0) {
            return fail_prefix(study_jacobi(m)->backend->runtime->probe(),
                               "the backend '%s' cannot run here: ", name);
        }
    }
    TRY(backend_choose(name, &backend, why, sizeof why));
    return strcmp(name, "auto") == 0
               ? STATUS_OK
               : fail(STATUS_INPUT, "--backend %s: bench jacobi has no kernels for it", name);
}

enum status bench_jacobi(const struct bench_request *request)
{
    const int64_t *size = request->size;
    struct json json;
    struct bench bench = {.request = request, .json = &json};
    enum status status = STATUS_OK;
    TRY(jacobi_create(size[AXIS_X] > 0 ? size[AXIS_X] : DEFAULT_NODES,
                      size[AXIS_Y] > 0 ? size[AXIS_Y] : DEFAULT_NODES, &bench.grid));
    TRY(check_model(request->backend.name));
    TRY(json_check_place(request->json));
    bench_warn_of_binding();
    TRY_GOTO(make_expected(&bench));
    TRY_GOTO(json_open(&json));
    TRY_GOTO(json_finish(&json, bench_models(&bench), request->json));
done:
    for (int a = 0; a < ARRAYS; a++) {
        free(bench.h_start[a]);
        free(bench.h_expected[a]);
    }
    return status;
}
