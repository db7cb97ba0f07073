/* isotherm bench NAME for a study with published cases: every kernel in its fastest launch shape,
 * for every case, beside the copy of as many bytes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "bench/bench.h"
#include "bench/bench_data.h"
#include "bench/bench_energy.h"
#include "kernels/backends.h"
#include "kernels/study/studies.h"

enum { SEARCH_CALLS = 3 };
/* Slow kernels have fewer rounds than --repeats, and a shape slower than SEARCH_S is timed once. */
#define ROUND_S 3e-4
#define SEARCH_S 0.05

struct bench {
    const struct bench_request *request;
    const struct backend *backend;
    struct device *device;
    const struct study *study;
    double peak; /* of the memory, bytes/s; 0: unknown */
    struct bench_meter meter;
    struct queue *queue;
    struct stopwatch *stopwatch;
    struct study_case wanted;
    struct study_problem problem;
    void *d_in;
    void *d_out;
    void *d_before; /* what d_out has before the call; d_in unless the study reads the output */
    double copy;    /* bytes/s */
};

/* kernel NULL: the copy */
struct call {
    const struct study_kernel *kernel;
    struct study_shape shape;
};

struct trial {
    struct study_shape shape;
    double seconds; /* of a call */
};

struct figures {
    struct bench_rounds rounds;
    struct trial trials[STUDY_MOST_SHAPES]; /* of the search */
    int ntrials;
    struct bench_energy energy;
};

/* ---- which cases and kernels ---- */

static bool is_listed(const struct option_list *list, const char *word)
{
    bool found = list->count == 0;
    for (int i = 0; i < list->count; i++) {
        found = found || strcmp(list->item[i], word) == 0;
    }
    return found;
}

static bool is_wanted(const struct bench_request *request, const struct study_case *published)
{
    char radius[16];
    snprintf(radius, sizeof radius, "%d", published->radius);
    return is_listed(&request->radii, radius);
}

/* Every word of --radius and --kernel must be of some use. */
static enum status check_words(const struct bench_request *request, const struct study *study,
                               const struct backend *backend)
{
    char list[1024] = "";
    for (int i = 0; i < request->radii.count; i++) {
        struct study_case found;
        bool known = false;
        for (int c = 0; study->published(c, PRECISION_FLOAT64, &found); c++) {
            char radius[16];
            snprintf(radius, sizeof radius, "%d", found.radius);
            known = known || strcmp(radius, request->radii.item[i]) == 0;
        }
        if (!known) {
            return fail(STATUS_INPUT, "--radius %s: bench %s has no case with this radius",
                        request->radii.item[i], study->name);
        }
    }
    const struct study_kernel *kernels = study_kernels(study, backend);
    for (int i = 0; i < request->kernels.count; i++) {
        bool known = false;
        list[0] = '\0';
        for (const struct study_kernel *k = kernels; k->name != NULL; k++) {
            const size_t used = strlen(list);
            known = known || strcmp(k->name, request->kernels.item[i]) == 0;
            snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", k->name);
        }
        if (!known) {
            return fail(STATUS_INPUT,
                        "--kernel %s: the backend %s has no such kernel; available: %s",
                        request->kernels.item[i], backend->name, list);
        }
    }
    return STATUS_OK;
}

/* ---- measuring ---- */

static enum status bench_open(struct bench *bench)
{
    const struct backend *backend = bench->backend;
    const struct runtime *runtime = backend->runtime;
    const struct study_problem *problem = &bench->problem;
    const size_t bytes = study_bytes(problem);
    TRY(runtime->queue_create(bench->device, QUEUE_NORMAL, &bench->queue));
    TRY(runtime->stopwatch_create(bench->device, &bench->stopwatch));
    TRY(runtime->memory_alloc(bench->device, bytes, &bench->d_in));
    TRY(runtime->memory_alloc(bench->device, bytes, &bench->d_out));
    TRY(bench_fill_study(backend, bench->device, bench->queue, bench->study, problem, 0,
                         bench->d_in));
    if (!bench->study->reads_output) {
        return STATUS_OK;
    }
    TRY(runtime->memory_alloc(bench->device, bytes, &bench->d_before));
    return bench_fill_study(backend, bench->device, bench->queue, bench->study, problem,
                            problem->nfields, bench->d_before);
}

static void bench_close(struct bench *bench)
{
    const struct runtime *runtime = bench->backend->runtime;
    runtime->memory_free(bench->device, bench->d_before);
    runtime->memory_free(bench->device, bench->d_out);
    runtime->memory_free(bench->device, bench->d_in);
    runtime->stopwatch_destroy(bench->stopwatch);
    runtime->queue_destroy(bench->queue);
}

static enum status queue_call(struct bench *bench, const struct call *call)
{
    if (call->kernel == NULL) {
        return bench->backend->runtime->copy_on_device(bench->queue, bench->d_out, bench->d_in,
                                                       study_bytes(&bench->problem));
    }
    return call->kernel->run(bench->queue, &bench->problem, &call->shape, bench->d_out,
                             bench->d_in);
}

struct queued {
    struct bench *bench;
    const struct call *call;
};

static enum status queue_again(void *context)
{
    const struct queued *queued = context;
    return queue_call(queued->bench, queued->call);
}

static struct bench_calls calls_of(struct queued *queued)
{
    const struct bench *bench = queued->bench;
    return (struct bench_calls){.backend = bench->backend,
                                .device = bench->device,
                                .queue = bench->queue,
                                .stopwatch = bench->stopwatch,
                                .call = queue_again,
                                .context = queued};
}

/* The fastest shape that the device can launch, of few calls each; no trials: the kernel does not
 * take this problem. */
static enum status search(struct bench *bench, struct call *call, double *best_s,
                          struct figures *figures)
{
    struct study_shape shapes[STUDY_MOST_SHAPES];
    const int nshapes = study_shapes(call->kernel, &bench->problem, shapes);
    figures->ntrials = 0;
    *best_s = 0;
    for (int s = 0; s < nshapes; s++) {
        const struct call candidate = {.kernel = call->kernel, .shape = shapes[s]};
        const struct bench_calls calls = calls_of(&(struct queued){bench, &candidate});
        enum status queued = STATUS_OK;
        double seconds = 0;
        TRY(bench_time_calls(&calls, 1, &queued, &seconds)); /* the first is a warm-up */
        if (queued == STATUS_OK && seconds < SEARCH_S) {
            TRY(bench_time_calls(&calls, SEARCH_CALLS, &queued, &seconds));
        }
        if (queued == STATUS_OK && (figures->ntrials == 0 || seconds < *best_s)) {
            *best_s = seconds;
            *call = candidate;
        }
        if (queued == STATUS_OK) {
            figures->trials[figures->ntrials++] = (struct trial){shapes[s], seconds};
        }
    }
    return figures->ntrials > 0 || nshapes == 0 ? STATUS_OK
                                                : STATUS_DEVICE; /* with the last message */
}

static enum status check(struct bench *bench, const struct call *call)
{
    const struct backend *backend = bench->backend;
    const void *before = bench->d_before != NULL ? bench->d_before : bench->d_in;
    TRY(backend->runtime->copy_on_device(bench->queue, bench->d_out, before,
                                         study_bytes(&bench->problem)));
    TRY(queue_call(bench, call));
    TRY(backend->runtime->queue_wait(bench->queue));
    return bench_check_study(backend, bench->device, bench->queue, bench->study, &bench->problem,
                             bench->d_out, call->kernel->name);
}

static enum status measure(struct bench *bench, const struct call *call, double call_s,
                           struct figures *figures)
{
    const struct bench_calls calls = calls_of(&(struct queued){bench, call});
    return bench_time_rounds(&calls, call_s, ROUND_S, bench->request->repeats, &figures->rounds);
}

static enum status measure_energy(struct bench *bench, const struct call *call,
                                  struct figures *figures)
{
    const struct bench_calls calls = calls_of(&(struct queued){bench, call});
    return bench_energy_measure(&bench->meter, &calls, figures->rounds.time.median_s,
                                &figures->energy);
}

/* ---- reporting ---- */

static void shape_words(const struct study_shape *shape, char text[64])
{
    int used = 0;
    text[0] = '\0';
    if (shape->block[AXIS_X] > 0) {
        used += snprintf(text, 64, "%dx%dx%d", shape->block[0], shape->block[1], shape->block[2]);
    }
    if (shape->items > 0) {
        used += snprintf(text + used, (size_t)(64 - used), " n=%d", shape->items);
    }
    if (shape->bounds > 0) {
        snprintf(text + used, (size_t)(64 - used), " b=%d", shape->bounds);
    }
}

/* A number of the table, "-" when it is unknown. */
static const char *number_words(double number, char text[16])
{
    snprintf(text, 16, "%.1f", number);
    return isnan(number) ? "-" : text;
}

/* Its members. */
static void report_shape(const struct study_shape *shape, struct json *json)
{
    json_int3(json, "block", (const int64_t[]){shape->block[0], shape->block[1], shape->block[2]});
    json_int(json, "launch_bounds", shape->bounds);
    json_int(json, "cells_per_thread", shape->items);
}

/* Every shape of the search, for --tune. */
static void report_trials(const struct figures *f, struct json *json)
{
    json_begin(json, "shapes", '[');
    for (int t = 0; t < f->ntrials; t++) {
        const double ms = 1e3 * f->trials[t].seconds;
        char shape[64];
        shape_words(&f->trials[t].shape, shape);
        log_info("    %-20s %-18s %9.4f", "tried", shape, ms);
        json_begin(json, NULL, '{');
        report_shape(&f->trials[t].shape, json);
        json_real(json, "ms", ms);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void report(struct bench *bench, const struct call *call, const struct figures *f,
                   struct json *json)
{
    const struct study_traffic traffic = bench->study->traffic(&bench->problem);
    const double bytes = (double)(traffic.fetch_bytes + traffic.write_bytes);
    const double rate = bytes / f->rounds.time.median_s;
    const double of_ideal = bench->peak > 0 ? 100.0 * rate / bench->peak : (double)NAN;
    char shape[64];
    char ideal[16];
    char per_joule[16];
    shape_words(&call->shape, shape);
    const double points = (double)traffic.points;
    log_info("  %-22s %-18s %9.4f %9.2f %7.1f %7s %9.3f %9s", call->kernel->name, shape,
             1e3 * f->rounds.time.median_s, rate * 1e-9, 100.0 * rate / bench->copy,
             number_words(of_ideal, ideal), points / f->rounds.time.median_s * 1e-9,
             bench_energy_words(&f->energy, points, per_joule));
    json_begin(json, NULL, '{');
    json_string(json, "kernel", call->kernel->name);
    json_string(json, "kind", bench->study->name);
    json_string(json, "precision", precision_name(bench->wanted.precision));
    json_int3(json, "cells", bench->problem.layout.cells);
    json_int(json, "radius", bench->problem.radius);
    json_int(json, "fields", bench->problem.nfields);
    json_begin(json, "shape", '{');
    report_shape(&call->shape, json);
    json_int(json, "searched", f->ntrials);
    json_end(json, '}');
    if (bench->request->tune) {
        report_trials(f, json);
    }
    json_int(json, "repeats", f->rounds.count);
    json_real(json, "ms", 1e3 * f->rounds.time.median_s);
    json_real(json, "mean_ms", 1e3 * f->rounds.time.mean_s);
    json_real(json, "best_ms", 1e3 * f->rounds.time.best_s);
    json_real(json, "fetch_bytes", (double)traffic.fetch_bytes);
    json_real(json, "write_bytes", (double)traffic.write_bytes);
    json_real(json, "bandwidth_GBs", rate * 1e-9);
    json_real(json, "copy_GBs", bench->copy * 1e-9);
    json_real(json, "percent_of_copy", 100.0 * rate / bench->copy);
    json_real(json, "percent_of_ideal", of_ideal);
    json_real(json, "cell_updates_per_s", points / f->rounds.time.median_s);
    bench_energy_report(&f->energy, points, json);
    json_end(json, '}');
}

/* ---- all of it ---- */

static enum status bench_kernel(struct bench *bench, const struct study_kernel *kernel,
                                struct json *json)
{
    struct call call = {.kernel = kernel};
    struct figures figures;
    double call_s = 0;
    log_transient("%s: search", kernel->name);
    TRY(search(bench, &call, &call_s, &figures));
    if (figures.ntrials == 0) { /* none for this problem */
        return STATUS_OK;
    }
    TRY(check(bench, &call));
    log_transient("%s: measurement", kernel->name);
    TRY(measure(bench, &call, call_s, &figures));
    TRY(measure_energy(bench, &call, &figures));
    log_transient("%s", "");
    report(bench, &call, &figures, json);
    return STATUS_OK;
}

static enum status bench_case(struct bench *bench, struct json *json)
{
    const struct call copy = {.kernel = NULL};
    const struct study_kernel *kernel = study_kernels(bench->study, bench->backend);
    struct figures figures = {.ntrials = 0};
    enum status status = STATUS_OK;
    TRY_GOTO(bench->study->setup(&bench->wanted, &bench->problem));
    TRY_GOTO(bench_open(bench));
    TRY_GOTO(measure(bench, &copy, 0, &figures));
    bench->copy = 2.0 * (double)study_bytes(&bench->problem) / figures.rounds.time.median_s;
    const int64_t *cells = bench->problem.layout.cells;
    log_info("%s, %s, radius %d, %" PRId64 " x %" PRId64 " x %" PRId64
             " cells, copy %.0f GB/s (%.4f ms)",
             bench->study->name, precision_name(bench->wanted.precision), bench->problem.radius,
             cells[0], cells[1], cells[2], bench->copy * 1e-9, 1e3 * figures.rounds.time.median_s);
    log_info("  %-22s %-18s %9s %9s %7s %7s %9s %9s", "kernel", "shape", "ms", "GB/s", "% copy",
             "% ideal", "Gcell/s", "Mcell/J");
    for (; kernel->name != NULL; kernel++) {
        if (is_listed(&bench->request->kernels, kernel->name)) {
            TRY_GOTO(bench_kernel(bench, kernel, json));
        }
    }
done:
    bench_close(bench);
    return status;
}

static enum status bench_cases(const struct bench *prototype, const bool wanted[2],
                               struct json *json, double *copy)
{
    const int64_t *size = prototype->request->size;
    for (int p = PRECISION_FLOAT64; p <= PRECISION_FLOAT32; p++) {
        struct bench bench = *prototype;
        struct study_case last = {.radius = -1};
        for (int c = 0; wanted[p] && bench.study->published(c, (enum precision)p, &bench.wanted);
             c++) {
            if (!is_wanted(bench.request, &bench.wanted)) {
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
            TRY(bench_case(&bench, json));
            *copy = *copy == 0 ? bench.copy : *copy;
            bench = *prototype;
        }
    }
    return STATUS_OK;
}

static enum status bench_device(struct bench *bench, const bool wanted[2], struct json *json)
{
    struct device_info info;
    double copy = 0;
    TRY(bench_begin_device(bench->request, bench->backend, bench->device, json, &bench->meter,
                           &info));
    bench->peak = 1e9 * info.memory_GBs;
    json_real(json, "memory_GBs", info.memory_GBs > 0 ? info.memory_GBs : (double)NAN);
    json_begin(json, "rows", '[');
    TRY(bench_cases(bench, wanted, json, &copy));
    json_end(json, ']');
    json_real(json, "copy_GBs", copy * 1e-9);
    json_end(json, '}');
    return STATUS_OK;
}

enum status bench_study(const struct bench_request *request)
{
    struct bench bench = {.request = request};
    bool wanted[2];
    char why[256];
    struct json json;
    for (int s = 0; study_at(s) != NULL; s++) {
        bench.study = strcmp(study_at(s)->name, request->what) == 0 ? study_at(s) : bench.study;
    }
    TRY(bench_choose_precisions(request->precision, wanted));
    TRY(backend_choose(request->backend.name, &bench.backend, why, sizeof why));
    TRY(check_words(request, bench.study, bench.backend));
    TRY(json_check_place(request->json));
    TRY(bench.backend->runtime->open(0, 1, &bench.device));
    enum status status = json_open(&json);
    if (status == STATUS_OK) {
        status = json_finish(&json, bench_device(&bench, wanted, &json), request->json);
    }
    bench_meter_close(&bench.meter);
    bench.backend->runtime->close(bench.device);
    return status;
}
