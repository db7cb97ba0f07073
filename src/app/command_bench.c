/* isotherm bench kernels: effective bandwidth of every kernel variant beside the copy ceiling. */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/command.h"
#include "app/json.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernels/backend.h"

static struct {
    const char *what;
    const char *backend;
    const char *precision;
    const char *json;
    int64_t size[AXIS_COUNT];
    int64_t repeats;
} asked = {.backend = "auto", .precision = "both", .size = {512, 512, 512}, .repeats = 5};

static const struct option options[] = {
    {OPTION_STRING, "--backend", "NAME", "auto, cpu, guard or hip (default auto)", &asked.backend},
    {OPTION_SIZE, "--size", "NX NY NZ", "cells (default 512 512 512)", asked.size},
    {OPTION_STRING, "--precision", "P", "float64, float32 or both (default both)",
     &asked.precision},
    {OPTION_COUNT, "--repeats", "N", "rounds; the median counts (default 5)", &asked.repeats},
    {OPTION_STRING, "--json", "FILE", "write the figures as JSON too", &asked.json},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

static const struct command_line line = {
    .usage = "isotherm bench kernels [options]",
    .about = "Measure the copy ceiling (streaming stores, all cores) and the effective\n"
             "bandwidth of every kernel variant: one read and one write a cell, 16 bytes in\n"
             "float64. All six faces have a fixed temperature. Kernels and copies take turns,\n"
             "so that both see the same machine; figures are medians.",
    .example = "  isotherm bench kernels --size 512 512 512 --precision float64 --json b.json",
    .options = options,
    .operand = "what to measure (kernels)",
    .min_operands = 1,
    .max_operands = 1,
    .operands = &asked.what,
};

enum { MAX_VARIANTS = 64, MAX_ROUNDS = 1000 };

/* What one precision is measured with. */
struct bench {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    struct layout layout;
    struct step_args args;
    void *d_in;
    void *d_out;
    double *copy_s; /* seconds, one a round */
    double *variant_s[MAX_VARIANTS];
};

struct figures {
    double median_s;
    double best_s;
};

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct figures summarise(double *seconds, int64_t count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, compare_doubles);
    const double middle =
        count % 2 == 1 ? seconds[count / 2] : 0.5 * (seconds[count / 2 - 1] + seconds[count / 2]);
    return (struct figures){.median_s = middle, .best_s = seconds[0]};
}

/* A smooth field with no two equal neighbours: denormals or constants would flatter nobody, but
 * real values are what a run has. */
static enum status fill(struct bench *bench)
{
    const size_t width = precision_bytes(bench->layout.precision);
    const int64_t nx = bench->layout.cells[AXIS_X];
    void *row = malloc((size_t)nx * width);
    if (row == NULL) {
        return fail(STATUS_MEMORY, "no memory for one row of %" PRId64 " cells", nx);
    }
    enum status status = STATUS_OK;
    for (int64_t k = 0; k < bench->layout.cells[AXIS_Z] && status == STATUS_OK; k++) {
        for (int64_t j = 0; j < bench->layout.cells[AXIS_Y] && status == STATUS_OK; j++) {
            for (int64_t i = 0; i < nx; i++) {
                const double value = 300.0 + (double)((i * 7 + j * 3 + k * 5) % 101);
                if (width == sizeof(double)) {
                    ((double *)row)[i] = value;
                } else {
                    ((float *)row)[i] = (float)value;
                }
            }
            char *to = (char *)bench->d_in + (size_t)layout_index(&bench->layout, 0, j, k) * width;
            status = bench->backend->copy_to_device(bench->queue, to, row, (size_t)nx * width);
            if (status == STATUS_OK) {
                status = bench->backend->queue_wait(bench->queue);
            }
        }
    }
    free(row);
    return status;
}

static enum status bench_open(struct bench *bench, const struct backend *backend,
                              struct device *device, enum precision precision)
{
    static const int no_halo[AXIS_COUNT];
    *bench = (struct bench){.backend = backend, .device = device};
    for (int face = 0; face < FACE_COUNT; face++) {
        bench->args.closed[face] = true;
        bench->args.a[face] = -1.0;
        bench->args.b[face] = 600.0;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        bench->args.r[axis] = asked.size[axis] > 1 ? 0.15 : 0.0;
    }
    TRY(layout_create(asked.size, no_halo, precision, &bench->layout));
    TRY(backend->queue_create(device, QUEUE_NORMAL, &bench->queue));
    TRY(backend->memory_alloc(device, layout_bytes(&bench->layout), &bench->d_in));
    TRY(backend->memory_alloc(device, layout_bytes(&bench->layout), &bench->d_out));
    bench->copy_s = calloc((size_t)asked.repeats, sizeof(double));
    for (int v = 0; v < backend->nvariants; v++) {
        bench->variant_s[v] = calloc((size_t)asked.repeats, sizeof(double));
        if (bench->variant_s[v] == NULL || bench->copy_s == NULL) {
            return fail(STATUS_MEMORY, "no memory for %" PRId64 " timings", asked.repeats);
        }
    }
    return fill(bench);
}

static void bench_close(struct bench *bench)
{
    bench->backend->queue_destroy(bench->queue);
    bench->backend->memory_free(bench->device, bench->d_in);
    bench->backend->memory_free(bench->device, bench->d_out);
    free(bench->copy_s);
    for (int v = 0; v < MAX_VARIANTS; v++) {
        free(bench->variant_s[v]);
    }
}

/* Calls a round: short ones are repeated, so that a round is long against the clock. */
static int64_t calls_a_round(const struct bench *bench)
{
    const int64_t wanted = (int64_t)256 << 20;
    const int64_t bytes = 2 * (int64_t)layout_bytes(&bench->layout);
    return bytes >= wanted ? 1 : (wanted + bytes - 1) / bytes;
}

/* variant -1: the copy. */
static enum status time_one(struct bench *bench, int variant, int64_t calls, double *seconds)
{
    const struct backend *backend = bench->backend;
    const struct box owned = layout_owned(&bench->layout);
    const size_t bytes = (size_t)box_cells(&owned) * precision_bytes(bench->layout.precision);
    TRY(backend->queue_wait(bench->queue));
    const double start = clock_seconds();
    for (int64_t call = 0; call < calls; call++) {
        if (variant < 0) {
            TRY(backend->copy_on_device(bench->queue, bench->d_out, bench->d_in, bytes));
        } else {
            TRY(backend->variants[variant].step(bench->queue, &bench->layout, &bench->args,
                                                bench->d_out, bench->d_in, &owned, 1));
        }
    }
    TRY(backend->queue_wait(bench->queue));
    *seconds = (clock_seconds() - start) / (double)calls;
    return STATUS_OK;
}

static enum status measure(struct bench *bench)
{
    const int nvariants = bench->backend->nvariants;
    const int64_t calls = calls_a_round(bench);
    double warm_up = 0;
    for (int64_t round = -1; round < asked.repeats; round++) {
        for (int v = -1; v < nvariants; v++) {
            log_transient("%s: round %" PRId64 " of %" PRId64 ", %s",
                          precision_name(bench->layout.precision), round + 1, asked.repeats,
                          v < 0 ? "copy" : bench->backend->variants[v].name);
            double *to = round < 0 ? &warm_up
                                   : (v < 0 ? &bench->copy_s[round] : &bench->variant_s[v][round]);
            TRY(time_one(bench, v, calls, to));
        }
    }
    log_transient("%s", "");
    return STATUS_OK;
}

static void print_row(const char *kernel, const char *about, const struct figures *f, double bytes,
                      double cells, double copy_s)
{
    log_info("  %-14s %9.3f %9.3f %9.2f %7.1f %10.3f   %s", kernel, 1e3 * f->median_s,
             1e3 * f->best_s, bytes / f->median_s * 1e-9, 100.0 * copy_s / f->median_s,
             cells / f->median_s * 1e-9, about);
}

static void report_precision(struct bench *bench, struct json *json)
{
    const struct box owned = layout_owned(&bench->layout);
    const double cells = (double)box_cells(&owned);
    const double bytes = 2.0 * cells * (double)precision_bytes(bench->layout.precision);
    const struct figures copy = summarise(bench->copy_s, asked.repeats);
    const char *precision = precision_name(bench->layout.precision);
    log_info("%s, %" PRId64 " x %" PRId64 " x %" PRId64 " cells, median of %" PRId64, precision,
             asked.size[0], asked.size[1], asked.size[2], asked.repeats);
    log_info("  %-14s %9s %9s %9s %7s %10s", "kernel", "ms", "best ms", "GB/s", "% copy",
             "Gcell/s");
    print_row("copy", "the ceiling", &copy, bytes, cells, copy.median_s);
    for (int v = 0; v < bench->backend->nvariants; v++) {
        const struct kernel_variant *variant = &bench->backend->variants[v];
        const struct figures f = summarise(bench->variant_s[v], asked.repeats);
        print_row(variant->name, variant->about, &f, bytes, cells, copy.median_s);
        json_begin(json, NULL, '{');
        json_string(json, "kernel", variant->name);
        json_string(json, "precision", precision);
        json_int3(json, "cells", asked.size);
        json_real(json, "ms", 1e3 * f.median_s);
        json_real(json, "best_ms", 1e3 * f.best_s);
        json_real(json, "bandwidth_GBs", bytes / f.median_s * 1e-9);
        json_real(json, "copy_GBs", bytes / copy.median_s * 1e-9);
        json_real(json, "percent_of_copy", 100.0 * copy.median_s / f.median_s);
        json_real(json, "cell_updates_per_s", cells / f.median_s);
        json_end(json, '}');
    }
}

static enum status bench_precision(const struct backend *backend, struct device *device,
                                   enum precision precision, struct json *json, double *copy_GBs)
{
    struct bench bench;
    enum status status = bench_open(&bench, backend, device, precision);
    if (status == STATUS_OK) {
        status = measure(&bench);
    }
    if (status == STATUS_OK) {
        report_precision(&bench, json);
        const struct box owned = layout_owned(&bench.layout);
        if (*copy_GBs == 0) {
            *copy_GBs = 2.0 * (double)box_cells(&owned) * (double)precision_bytes(precision) /
                        summarise(bench.copy_s, asked.repeats).median_s * 1e-9;
        }
    }
    bench_close(&bench);
    return status;
}

/* A launcher may have bound the process to one core: then "all cores" is not what is measured. */
static void warn_of_binding(void)
{
    cpu_set_t allowed;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) < online) {
        log_warn("this process may use only %d of the %ld cores (mpirun binds ranks to cores; "
                 "start it without mpirun, or with --bind-to none)",
                 CPU_COUNT(&allowed), online);
    }
}

static enum status check_words(bool wanted[2])
{
    if (strcmp(asked.what, "kernels") != 0) {
        return fail(STATUS_INPUT, "there is no benchmark '%s'; there is: kernels", asked.what);
    }
    if (asked.repeats > MAX_ROUNDS) {
        return fail(STATUS_INPUT, "--repeats %" PRId64 " is too many; at most %d", asked.repeats,
                    MAX_ROUNDS);
    }
    wanted[PRECISION_FLOAT64] = strcmp(asked.precision, "float32") != 0;
    wanted[PRECISION_FLOAT32] = strcmp(asked.precision, "float64") != 0;
    if (strcmp(asked.precision, "both") != 0 && wanted[0] == wanted[1]) {
        return fail(STATUS_INPUT, "--precision %s: it is float64, float32 or both",
                    asked.precision);
    }
    return STATUS_OK;
}

static enum status bench_device(const struct backend *backend, struct device *device,
                                const bool wanted[2], struct json *json)
{
    struct device_info info;
    double copy_GBs = 0;
    TRY(backend->info(device, &info));
    log_info("backend %s on %s", backend->name, info.name);
    warn_of_binding();
    json_begin(json, NULL, '{');
    json_string(json, "device", info.name);
    json_string(json, "backend", backend->name);
    json_int(json, "threads", info.threads);
    json_int(json, "repeats", asked.repeats);
    json_begin(json, "rows", '[');
    for (int p = PRECISION_FLOAT64; p <= PRECISION_FLOAT32; p++) {
        if (wanted[p]) {
            TRY(bench_precision(backend, device, (enum precision)p, json, &copy_GBs));
        }
    }
    json_end(json, ']');
    json_real(json, "copy_GBs", copy_GBs);
    json_end(json, '}');
    return STATUS_OK;
}

static enum status execute(void)
{
    bool wanted[2];
    const struct backend *backend = NULL;
    struct device *device = NULL;
    char why[256];
    struct json json;
    TRY(check_words(wanted));
    TRY(backend_choose(asked.backend, &backend, why, sizeof why));
    if (backend->nvariants > MAX_VARIANTS) {
        return fail(STATUS_DEVICE, "the backend %s has more than %d kernel variants", backend->name,
                    MAX_VARIANTS);
    }
    TRY(backend->open(0, 1, &device));
    enum status status = json_open(&json);
    if (status == STATUS_OK) {
        status = bench_device(backend, device, wanted, &json);
        if (status == STATUS_OK && asked.json != NULL) {
            status = json_save(&json, asked.json);
        } else {
            json_discard(&json);
        }
    }
    backend->close(device);
    return status;
}

const struct command command_bench = {
    .name = "bench",
    .summary = "measure kernels against the memory's copy speed",
    .uses_mpi = false,
    .line = &line,
    .execute = execute,
};
