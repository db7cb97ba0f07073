/* isotherm bench NAME for a study with published cases: every kernel in its fastest launch shape,
 * for every case, beside the copy of as many bytes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "bench/bench_parts.h"
#include "kernels/study/study.h"

enum { SEARCH_CALLS = 3, MOST_OF_GROUP = 8 };
/* Slow kernels have fewer rounds than --repeats, and a shape slower than SEARCH_S is timed once. */
#define ROUND_S 3e-4
#define SEARCH_S 0.05

struct bench {
    const struct bench_request *request;
    const struct study *study;
    const char *model; /* NULL: all that run here, so that they can be compared */
    const struct study_entry *entry;
    struct bench_place place; /* on the backend of the entry */
    struct device_info info;
    struct bench_meter meter;
    struct study_case wanted;
    struct study_problem problem;
    void *d_in;
    void *d_out;
    void *d_before; /* what d_out has before the call; NULL: d_in, unless the study reads it */
    void *h_sum;
    void *d_sum;
    double copy; /* bytes/s; NaN: unknown */
    struct json *json;
    struct table table; /* of the case */
};

struct trial {
    struct study_shape shape;
    double seconds; /* of a call */
};

/* Of one kernel. */
struct result {
    struct study_call call; /* in the fastest shape */
    struct trial trials[STUDY_MOST_SHAPES];
    int ntrials;
    double call_s; /* of the fastest */
    struct bench_rounds rounds;
    struct bench_energy energy;
};

static bool runs(const struct bench *bench, const struct study_entry *entry)
{
    if (entry->study != bench->study) {
        return false;
    }
    if (bench->model != NULL) {
        return strcmp(study_model(entry), bench->model) == 0;
    }
    if (entry->backend->runtime->probe() != STATUS_OK) {
        log_info("backend %s: %s", study_model(entry), fail_message());
        fail_clear();
        return false;
    }
    return true;
}

/* ---- measuring ---- */

static enum status bench_open(struct bench *bench)
{
    struct bench_place *place = &bench->place;
    const struct runtime *runtime = place->backend->runtime;
    const struct study_problem *problem = &bench->problem;
    const size_t bytes = study_bytes(problem);
    TRY(bench_place_open(place));
    TRY(runtime->pinned_alloc(place->device, sizeof(struct exact_sum), &bench->h_sum));
    TRY(bench_place_alloc(place, sizeof(struct exact_sum), &bench->d_sum));
    TRY(bench_place_alloc(place, bytes, &bench->d_in));
    TRY(bench_place_alloc(place, bytes, &bench->d_out));
    TRY(bench_fill_study(place, bench->study, problem, 0, bench->d_in));
    if (!bench->study->reads_output) {
        return STATUS_OK;
    }
    TRY(bench_place_alloc(place, bytes, &bench->d_before));
    return bench_fill_study(place, bench->study, problem, problem->nfields, bench->d_before);
}

static void bench_close(struct bench *bench)
{
    bench->place.backend->runtime->pinned_free(bench->place.device, bench->h_sum);
    bench_place_close(&bench->place);
}

/* A call to be measured, of the copy if it has no kernel. */
struct queued {
    struct bench *bench;
    struct study_call call;
    struct result *result;
};

static enum status queue_again(void *context)
{
    const struct queued *queued = context;
    const struct bench *bench = queued->bench;
    if (queued->call.kernel == NULL) {
        return bench->place.backend->runtime->copy_on_device(
            bench->place.queue, bench->d_out, bench->d_in, study_bytes(&bench->problem));
    }
    return study_run(bench->place.backend, bench->place.queue, &queued->call);
}

/* The fastest shape that the device can launch, of few calls each; no trials: the kernel does not
 * take this problem. */
static enum status search(void *context)
{
    struct queued *queued = context;
    struct result *result = queued->result;
    struct study_shape shapes[STUDY_MOST_SHAPES];
    const int nshapes = study_shapes(queued->call.kernel, queued->call.problem, shapes);
    const struct bench_calls calls = {queued->bench->place, queue_again, queued};
    for (int s = 0; s < nshapes; s++) {
        enum status status = STATUS_OK;
        double seconds = 0;
        queued->call.shape = shapes[s];
        TRY(bench_time_calls(&calls, 1, &status, &seconds)); /* the first is a warm-up */
        if (status == STATUS_OK && seconds < SEARCH_S) {
            TRY(bench_time_calls(&calls, SEARCH_CALLS, &status, &seconds));
        }
        if (status != STATUS_OK) {
            continue;
        }
        if (result->ntrials == 0 || seconds < result->call_s) {
            result->call_s = seconds;
            result->call = queued->call;
        }
        result->trials[result->ntrials++] = (struct trial){shapes[s], seconds};
    }
    return result->ntrials > 0 || nshapes == 0 ? STATUS_OK
                                               : STATUS_DEVICE; /* with the last message */
}

static enum status measure(void *context)
{
    struct queued *queued = context;
    struct result *result = queued->result;
    const struct bench_calls calls = {queued->bench->place, queue_again, queued};
    TRY(bench_time_rounds(&calls, result->call_s, ROUND_S, queued->bench->request->repeats,
                          &result->rounds));
    return queued->call.kernel == NULL
               ? STATUS_OK
               : bench_energy_measure(&queued->bench->meter, &calls, result->rounds.time.median_s,
                                      &result->energy);
}

static enum status within(struct queued *queued, enum status (*body)(void *context))
{
    return queued->call.kernel->within != NULL
               ? queued->call.kernel->within(&queued->call, body, queued)
               : body(queued);
}

static enum status check(struct queued *queued)
{
    static const struct exact_sum zero;
    const struct bench *bench = queued->bench;
    const struct runtime *runtime = bench->place.backend->runtime;
    TRY(runtime->copy_on_device(bench->place.queue, bench->d_out,
                                bench->d_before != NULL ? bench->d_before : bench->d_in,
                                study_bytes(&bench->problem)));
    TRY(runtime->copy_to_device(bench->place.queue, bench->d_sum, &zero, sizeof zero));
    TRY(runtime->queue_wait(bench->place.queue));
    memcpy(bench->h_sum, &zero, sizeof zero);
    TRY(within(queued, queue_again));
    TRY(runtime->queue_wait(bench->place.queue));
    return bench_check_study(&bench->place, bench->study, &queued->call);
}

/* ---- reporting ---- */

static void shape_words(const struct study_shape *shape, char text[64])
{
    const int *block = shape->block;
    text[0] = '\0';
    if (block[AXIS_X] > 0) {
        snprintf(text, 64, "%dx%dx%d", block[AXIS_X], block[AXIS_Y], block[AXIS_Z]);
    }
    if (shape->items > 0) {
        text_add(text, 64, " ", "n=%d", shape->items);
    }
    if (shape->bounds > 0) {
        text_add(text, 64, " ", "b=%d", shape->bounds);
    }
}

/* Its members. */
static void report_shape(const struct study_shape *shape, struct json *json)
{
    json_int3(json, "block", (const int64_t[]){shape->block[0], shape->block[1], shape->block[2]});
    json_int(json, "launch_bounds", shape->bounds);
    json_int(json, "cells_per_thread", shape->items);
}

/* Every shape of the search, for --tune. */
static void report_trials(const struct result *result, struct json *json)
{
    json_begin(json, "shapes", '[');
    for (int t = 0; t < result->ntrials; t++) {
        const double ms = 1e3 * result->trials[t].seconds;
        char shape[64];
        shape_words(&result->trials[t].shape, shape);
        log_info("    %-20s %-18s %9.4f", "tried", shape, ms);
        json_begin(json, NULL, '{');
        report_shape(&result->trials[t].shape, json);
        json_real(json, "ms", ms);
        json_end(json, '}');
    }
    json_end(json, ']');
}

/* parts_s: the time of the group's kernels, one after another. */
static void report(struct bench *bench, const struct result *result, double parts_s)
{
    const struct study_kernel *kernel = result->call.kernel;
    const struct study_traffic traffic = bench->study->traffic(&bench->problem, kernel->part);
    const double median_s = result->rounds.time.median_s;
    const double bytes = (double)(traffic.fetch_bytes + traffic.write_bytes);
    const double peak = 1e9 * bench->info.memory_GBs;
    struct table *table = &bench->table;
    char shape[64];
    shape_words(&result->call.shape, shape);
    table_row_begin(table, bench->json);
    if (kernel->variant != NULL) {
        table_text(table, "variant", "variant", -14, kernel->variant);
    }
    table_text(table, "kernel", "kernel", -18, kernel->name);
    table_text(table, NULL, "shape", -18, shape);
    table_text(table, "kind", NULL, 0, bench->study->name);
    table_text(table, "backend", NULL, 0, study_model(bench->entry));
    table_text(table, "device", NULL, 0, bench->info.name);
    table_text(table, "precision", NULL, 0, precision_name(bench->wanted.precision));
    table_int3(table, "cells", bench->problem.layout.cells);
    table_int(table, "radius", NULL, 0, bench->problem.radius);
    table_int(table, "fields", NULL, 0, bench->problem.nfields);
    json_begin(bench->json, "shape", '{');
    report_shape(&result->call.shape, bench->json);
    json_int(bench->json, "searched", result->ntrials);
    json_end(bench->json, '}');
    if (bench->request->tune) {
        report_trials(result, bench->json);
    }
    table_int(table, "repeats", NULL, 0, result->rounds.count);
    bench_columns(table, &(struct bench_figures){.time = result->rounds.time,
                                                 .fetch_bytes = (double)traffic.fetch_bytes,
                                                 .write_bytes = (double)traffic.write_bytes,
                                                 .updates = (double)traffic.points,
                                                 .copy_rate = bench->copy,
                                                 .energy = result->energy});
    table_real(table, "percent_of_ideal", "% ideal", 7, 1,
               peak > 0 ? 100.0 * bytes / median_s / peak : (double)NAN);
    if (kernel->variant != NULL) {
        table_real(table, "percent_of_parts", "% parts", 7, 1,
                   kernel->follows > 0 ? 100.0 : 100.0 * median_s / parts_s);
        table_real(table, "bytes", NULL, 0, 0, bytes);
        table_real(table, "operations", NULL, 0, 0, (double)traffic.operations);
        table_real(table, "GFLOPs", "GFLOP/s", 9, 2, 1e-9 * (double)traffic.operations / median_s);
    }
    table_row_end(table);
}

/* ---- all of it ---- */

static enum status bench_kernel(struct bench *bench, const struct study_kernel *kernel,
                                struct result *result)
{
    struct queued queued = {.bench = bench,
                            .call = {.kernel = kernel,
                                     .problem = &bench->problem,
                                     .d_out = bench->d_out,
                                     .d_in = bench->d_in,
                                     .h_sum = bench->h_sum,
                                     .d_sum = bench->d_sum},
                            .result = result};
    *result = (struct result){.ntrials = 0};
    log_transient("%s: search", kernel->name);
    TRY(within(&queued, search));
    if (result->ntrials > 0) { /* else none for this problem */
        queued.call = result->call;
        TRY(check(&queued));
        log_transient("%s: measurement", kernel->name);
        TRY(within(&queued, measure));
    }
    log_transient("%s", "");
    return STATUS_OK;
}

/* Kernels of a variant are reported together, the last with all of them. */
static enum status bench_group(struct bench *bench, const struct study_kernel *first, int count)
{
    struct result results[MOST_OF_GROUP];
    double parts_s = 0;
    for (int k = 0; k < count; k++) {
        TRY(bench_kernel(bench, &first[k], &results[k]));
        parts_s += first[k].follows == 0 ? results[k].rounds.time.median_s : 0;
    }
    for (int k = 0; k < count; k++) {
        if (results[k].ntrials > 0) {
            report(bench, &results[k], parts_s);
        }
    }
    return STATUS_OK;
}

static enum status bench_groups(struct bench *bench)
{
    int count = 0;
    for (const struct study_kernel *k = bench->entry->kernels; k->name != NULL; k += count) {
        for (count = 1; k->variant != NULL && k[count - 1].follows == 0;) {
            count++;
        }
        if (k->variant != NULL || bench_is_listed(&bench->request->kernels, k->name)) {
            TRY(bench_group(bench, k, count));
        }
    }
    return STATUS_OK;
}

static enum status bench_case(struct bench *bench)
{
    struct result result = {.ntrials = 0};
    struct queued copy = {.bench = bench, .result = &result};
    const bool elsewhere = bench->entry->has_device != NULL && bench->entry->has_device();
    TRY(bench->study->setup(&bench->wanted, &bench->problem));
    TRY(bench_open(bench));
    TRY(measure(&copy));
    bench->copy = elsewhere
                      ? (double)NAN
                      : 2.0 * (double)study_bytes(&bench->problem) / result.rounds.time.median_s;
    const int64_t *cells = bench->problem.layout.cells;
    log_info("%s, %s, radius %d, %" PRId64 " x %" PRId64 " x %" PRId64
             " cells, copy %.0f GB/s (%.4f ms)",
             bench->study->name, precision_name(bench->wanted.precision), bench->problem.radius,
             cells[0], cells[1], cells[2], bench->copy * 1e-9, 1e3 * result.rounds.time.median_s);
    return bench_groups(bench);
}

static enum status bench_cases(const struct bench *prototype, double *copy)
{
    const int64_t *size = prototype->request->size;
    for (int p = PRECISION_FLOAT64; p <= PRECISION_FLOAT32; p++) {
        struct study_case last = {.radius = -1};
        for (int c = 0; prototype->request->wanted[p]; c++) {
            SCOPED_BY(bench_close) struct bench bench = *prototype;
            if (!bench.study->published(c, (enum precision)p, &bench.wanted)) {
                break;
            }
            if (!bench_has_radius(&bench.request->radii, bench.wanted.radius)) {
                continue;
            }
            for (int axis = 0; axis < AXIS_COUNT; axis++) {
                const bool used = bench.wanted.size[axis] > 1;
                bench.wanted.size[axis] =
                    used && size[axis] > 0 ? size[axis] : bench.wanted.size[axis];
            }
            const struct study_case *next = &bench.wanted;
            if (next->radius == last.radius &&
                memcmp(next->size, last.size, sizeof last.size) == 0) {
                continue; /* cases that differ in the size only */
            }
            last = *next;
            TRY(bench_case(&bench));
            *copy = *copy == 0 ? bench.copy : *copy;
        }
    }
    return STATUS_OK;
}

/* The rate of the first copy goes to `copy` while that is 0. */
static enum status bench_entry(struct bench *bench, const struct study_entry *entry, double *copy)
{
    struct device_info *info = &bench->info;
    enum status status = STATUS_OK;
    bench->entry = entry;
    bench->place.backend = entry->backend;
    TRY(bench_check_kernels(bench->request, entry));
    TRY(entry->backend->runtime->open(0, 1, &bench->place.device));
    TRY_GOTO(entry->backend->runtime->info(bench->place.device, info));
    if (entry->has_device != NULL && entry->has_device()) {
        char host[sizeof info->name];
        memcpy(host, info->name, sizeof host);
        snprintf(info->name, sizeof info->name, "OpenMP device, host %.90s", host);
        info->memory_GBs = 0;
    }
    log_info("backend %s on %s", study_model(entry), info->name);
    bench_meter_open(info->address, &bench->meter);
    TRY_GOTO(bench_cases(bench, copy));
done:
    bench_meter_close(&bench->meter);
    entry->backend->runtime->close(bench->place.device);
    return status;
}

static enum status bench_entries(struct bench *prototype)
{
    struct bench first = {.entry = NULL};
    double copy = 0;
    json_begin(prototype->json, "rows", '[');
    for (int e = 0; study_entry(e) != NULL; e++) {
        struct bench bench = *prototype;
        if (runs(&bench, study_entry(e))) {
            TRY(bench_entry(&bench, study_entry(e), &copy));
            first = first.entry == NULL ? bench : first;
        }
    }
    json_end(prototype->json, ']');
    json_string(prototype->json, "device", first.info.name);
    json_string(prototype->json, "backend", study_model(first.entry));
    json_int(prototype->json, "threads", first.info.threads);
    json_int(prototype->json, "repeats", prototype->request->repeats);
    json_real(prototype->json, "memory_GBs",
              first.info.memory_GBs > 0 ? first.info.memory_GBs : (double)NAN);
    json_real(prototype->json, "copy_GBs", copy * 1e-9);
    return STATUS_OK;
}

enum status bench_study(const struct bench_request *request, struct json *json)
{
    struct bench bench = {.request = request, .json = json};
    for (int s = 0; study_at(s) != NULL; s++) {
        bench.study = strcmp(study_at(s)->name, request->what) == 0 ? study_at(s) : bench.study;
    }
    TRY(bench_choose_model(request, bench.study, &bench.model));
    TRY(bench_check_radii(request, bench.study));
    bench_warn_of_binding();
    return bench_entries(&bench);
}
