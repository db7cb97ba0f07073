/* isotherm bench kernels: effective bandwidth of every kernel beside the copy ceiling. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "bench/bench.h"
#include "bench/bench_copy_out.h"
#include "bench/bench_data.h"
#include "kernels/backend.h"
#include "solve/tuning.h"

enum { MAX_ROWS = 64 };

enum kind { KIND_STEP, KIND_LAPLACIAN, KIND_COUNT };
static const char *const kind_names[KIND_COUNT] = {"step", "laplacian"};

/* One line of the table; neither step nor laplacian: the copy. */
struct row {
    const char *name;
    const char *about;
    step_function *step;
    laplacian_function *laplacian;
    int settling_calls;
    double *seconds; /* one a round */
};

/* What one kind of kernels is measured with in one precision. */
struct bench {
    const struct bench_request *request;
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    struct stopwatch *stopwatch;
    enum kind kind;
    struct layout layout;
    struct step_args args;
    struct laplacian laplacian;
    void *d_in;
    void *d_out;
    struct tuning_result tuning; /* of the production kernel */
    struct row rows[MAX_ROWS];   /* the copy first */
    int nrows;
};

struct figures {
    double median_s, mean_s, best_s;
};

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct figures figures_of(const struct row *row, int64_t count)
{
    double *seconds = row->seconds;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += seconds[i];
    }
    qsort(seconds, (size_t)count, sizeof *seconds, compare_doubles);
    const double middle =
        count % 2 == 1 ? seconds[count / 2] : 0.5 * (seconds[count / 2 - 1] + seconds[count / 2]);
    return (struct figures){
        .median_s = middle, .mean_s = sum / (double)count, .best_s = seconds[0]};
}

/* --- which kernels --------------------------------------------------------------------------- */

static bool is_asked_for(const struct bench_request *request, enum kind kind, const char *name)
{
    const struct option_list *kernels = &request->kernels;
    bool found = kernels->count == 0;
    for (int i = 0; i < kernels->count; i++) {
        found = found || strcmp(kernels->item[i], name) == 0 ||
                strcmp(kernels->item[i], kind_names[kind]) == 0;
    }
    return found;
}

static bool is_kind(const char *name)
{
    return strcmp(name, kind_names[KIND_STEP]) == 0 ||
           strcmp(name, kind_names[KIND_LAPLACIAN]) == 0;
}

/* A kernel with the name of its kind is there already. */
static void append(char *text, size_t nbytes, const char *name)
{
    const size_t used = strlen(text);
    if (!is_kind(name)) {
        snprintf(text + used, nbytes - used, ", %s", name);
    }
}

/* Every word of --kernel must name something. */
static enum status check_kernel_names(const struct bench_request *request,
                                      const struct backend *backend)
{
    for (int i = 0; i < request->kernels.count; i++) {
        const char *word = request->kernels.item[i];
        bool known = is_kind(word);
        char list[1024] = "step, laplacian";
        for (int v = 0; v < backend->operations->nvariants; v++) {
            known = known || strcmp(word, backend->operations->variants[v].name) == 0;
            append(list, sizeof list, backend->operations->variants[v].name);
        }
        for (int v = 0; v < backend->nlaplacians; v++) {
            known = known || strcmp(word, backend->laplacians[v].name) == 0;
            append(list, sizeof list, backend->laplacians[v].name);
        }
        if (!known) {
            return fail(STATUS_INPUT, "--kernel %s: the backend %s has no such kernel; it has: %s",
                        word, backend->name, list);
        }
    }
    return STATUS_OK;
}

static enum status add_row(struct bench *bench, const struct row *row)
{
    if (bench->nrows == MAX_ROWS) {
        return fail(STATUS_DEVICE, "the backend %s has more than %d kernels", bench->backend->name,
                    MAX_ROWS);
    }
    struct row *added = &bench->rows[bench->nrows];
    *added = *row;
    added->seconds = calloc((size_t)bench->request->repeats, sizeof *added->seconds);
    if (added->seconds == NULL) {
        return fail(STATUS_MEMORY, "no memory for %" PRId64 " timings", bench->request->repeats);
    }
    bench->nrows++;
    return STATUS_OK;
}

static enum status choose_rows(struct bench *bench)
{
    const struct backend *backend = bench->backend;
    TRY(add_row(bench, &(struct row){.name = "copy", .about = "the ceiling"}));
    for (int v = 0; bench->kind == KIND_STEP && v < backend->operations->nvariants; v++) {
        const struct kernel_variant *variant = &backend->operations->variants[v];
        if (is_asked_for(bench->request, KIND_STEP, variant->name)) {
            TRY(add_row(bench, &(struct row){.name = variant->name,
                                             .about = variant->about,
                                             .step = variant->step,
                                             .settling_calls = variant->settling_calls}));
        }
    }
    for (int v = 0; bench->kind == KIND_LAPLACIAN && v < backend->nlaplacians; v++) {
        const struct laplacian_variant *variant = &backend->laplacians[v];
        if (is_asked_for(bench->request, KIND_LAPLACIAN, variant->name)) {
            TRY(add_row(bench, &(struct row){.name = variant->name,
                                             .about = variant->about,
                                             .laplacian = variant->run}));
        }
    }
    return STATUS_OK;
}

/* --- measuring ------------------------------------------------------------------------------- */

/* The unit cube, with points on its faces, as in the study. */
static struct laplacian laplacian_of(const int64_t size[AXIS_COUNT], enum precision precision)
{
    struct laplacian laplacian = {.precision = precision};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double intervals = (double)(size[axis] - 1);
        laplacian.points[axis] = size[axis];
        laplacian.inverse_h2[axis] = intervals * intervals;
    }
    return laplacian;
}

static enum status bench_open(struct bench *bench, enum precision precision)
{
    static const int no_halo[AXIS_COUNT];
    const int64_t *size = bench->request->size;
    const struct backend *backend = bench->backend;
    for (int face = 0; face < FACE_COUNT; face++) {
        bench->args.closed[face] = true;
        bench->args.a[face] = -1.0;
        bench->args.b[face] = 600.0;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        bench->args.r[axis] = size[axis] > 1 ? 0.15 : 0.0;
    }
    bench->laplacian = laplacian_of(size, precision);
    TRY(layout_create(size, no_halo, precision, &bench->layout));
    if (backend->close_rows) {
        layout_close_rows(&bench->layout);
    }
    if (bench->kind == KIND_LAPLACIAN) {
        bench->layout = bench_plain_layout(&bench->laplacian);
    }
    TRY(backend->runtime->queue_create(bench->device, QUEUE_NORMAL, &bench->queue));
    TRY(backend->runtime->stopwatch_create(bench->device, &bench->stopwatch));
    TRY(backend->runtime->memory_alloc(bench->device, layout_bytes(&bench->layout), &bench->d_in));
    TRY(backend->runtime->memory_alloc(bench->device, layout_bytes(&bench->layout), &bench->d_out));
    return bench_fill(backend, bench->device, bench->queue, &bench->layout, bench->d_in);
}

static void bench_close(struct bench *bench)
{
    bench->backend->runtime->stopwatch_destroy(bench->stopwatch);
    bench->backend->runtime->queue_destroy(bench->queue);
    bench->backend->runtime->memory_free(bench->device, bench->d_in);
    bench->backend->runtime->memory_free(bench->device, bench->d_out);
    for (int r = 0; r < bench->nrows; r++) {
        free(bench->rows[r].seconds);
    }
}

static size_t cells_bytes(const struct bench *bench)
{
    const struct box owned = layout_owned(&bench->layout);
    return (size_t)box_cells(&owned) * precision_bytes(bench->layout.precision);
}

static enum status queue_one(struct bench *bench, const struct row *row)
{
    const struct runtime *runtime = bench->backend->runtime;
    const struct box owned = layout_owned(&bench->layout);
    if (row->step != NULL) {
        return row->step(bench->queue, &bench->layout, &bench->args, bench->d_out, bench->d_in,
                         &owned, 1);
    }
    if (row->laplacian != NULL) {
        return row->laplacian(bench->queue, &bench->laplacian, bench->d_out, bench->d_in);
    }
    return runtime->copy_on_device(bench->queue, bench->d_out, bench->d_in, cells_bytes(bench));
}

/* Calls a round: short ones are repeated, so that a round is long against the clock. */
static int64_t calls_a_round(const struct bench *bench)
{
    const int64_t wanted = (int64_t)256 << 20;
    const int64_t bytes = 2 * (int64_t)layout_bytes(&bench->layout);
    return bytes >= wanted ? 1 : (wanted + bytes - 1) / bytes;
}

static enum status time_one(struct bench *bench, const struct row *row, int64_t calls,
                            double *seconds)
{
    const struct runtime *runtime = bench->backend->runtime;
    TRY(runtime->queue_wait(bench->queue));
    TRY(runtime->stopwatch_start(bench->queue, bench->stopwatch));
    for (int64_t call = 0; call < calls; call++) {
        TRY(queue_one(bench, row));
    }
    TRY(runtime->stopwatch_stop(bench->queue, bench->stopwatch));
    TRY(runtime->queue_wait(bench->queue));
    TRY(runtime->stopwatch_seconds(bench->stopwatch, seconds));
    *seconds /= (double)calls;
    return STATUS_OK;
}

/* Before the timing, which is then warm, and of the way of working that was found best; a
 * Laplacian's result is compared with the host's. */
static enum status warm_up(struct bench *bench, const struct row *row)
{
    const struct backend *backend = bench->backend;
    TRY(backend->runtime->copy_on_device(bench->queue, bench->d_out, bench->d_in,
                                         cells_bytes(bench)));
    for (int call = 0; call == 0 || call < row->settling_calls; call++) {
        TRY(queue_one(bench, row));
    }
    TRY(backend->runtime->queue_wait(bench->queue));
    if (row->laplacian == NULL) {
        return STATUS_OK;
    }
    return bench_check_laplacian(backend, bench->device, bench->queue, &bench->laplacian,
                                 bench->d_out, row->name);
}

static enum status measure(struct bench *bench)
{
    const int64_t calls = calls_a_round(bench);
    for (int64_t round = -1; round < bench->request->repeats; round++) {
        for (int r = 0; r < bench->nrows; r++) {
            log_transient("%s: round %" PRId64 " of %" PRId64 ", %s",
                          precision_name(bench->layout.precision), round + 1,
                          bench->request->repeats, bench->rows[r].name);
            TRY(round < 0
                    ? warm_up(bench, &bench->rows[r])
                    : time_one(bench, &bench->rows[r], calls, &bench->rows[r].seconds[round]));
        }
    }
    log_transient("%s", "");
    return STATUS_OK;
}

static bool has_production(const struct bench *bench)
{
    const struct row *last = &bench->rows[bench->nrows - 1];
    return last->step != NULL && last->step == bench->backend->operations->step;
}

/* What a run of this size would do; --tune asks for more words. */
static enum status tune(struct bench *bench)
{
    if (!has_production(bench)) {
        return STATUS_OK;
    }
    struct tuning_result *result = &bench->tuning;
    const struct tuning_target target = {
        .backend = bench->backend,
        .device = bench->device,
        .queue = bench->queue,
        .layout = &bench->layout,
        .args = bench->args,
        .d_out = bench->d_out,
        .d_in = bench->d_in,
        .box = layout_owned(&bench->layout),
    };
    TRY(tuning_choose(&target, bench->request->tune, result));
    if (result->source == TUNING_SEARCH) {
        tuning_remember(&result->entry, 1);
    }
    if (bench->request->tune && result->source == TUNING_NONE) {
        log_info("launch shapes: nothing to choose here");
    }
    if (bench->request->tune && result->source == TUNING_SEARCH) {
        log_info("launch shapes for %s, in %.2f s:", result->entry.key, result->search_s);
        for (int shape = 0; shape < result->nshapes; shape++) {
            const bool taken = strcmp(result->names[shape], result->entry.shape) == 0;
            log_info("  %-28s %8.3f ms%s", result->names[shape], 1e3 * result->seconds[shape],
                     taken ? "  taken" : "");
        }
    }
    return STATUS_OK;
}

/* --- reporting ------------------------------------------------------------------------------- */

/* What a kernel must move, and how many cells it computes. */
struct work {
    double fetch_bytes, write_bytes, cells;
};

static struct work work_of(const struct bench *bench, const struct row *row)
{
    if (row->laplacian != NULL) {
        return (struct work){(double)laplacian_fetch_bytes(&bench->laplacian),
                             (double)laplacian_write_bytes(&bench->laplacian),
                             (double)laplacian_interior_points(&bench->laplacian)};
    }
    const double bytes = (double)cells_bytes(bench);
    return (struct work){bytes, bytes, bytes / (double)precision_bytes(bench->layout.precision)};
}

static void report_row(const struct bench *bench, const struct row *row, double *copy_rate,
                       struct json *json)
{
    const struct work work = work_of(bench, row);
    const struct figures f = figures_of(row, bench->request->repeats);
    const double bytes = work.fetch_bytes + work.write_bytes;
    const double rate = bytes / f.median_s;
    const bool is_copy = row->step == NULL && row->laplacian == NULL;
    *copy_rate = is_copy ? rate : *copy_rate;
    log_info("  %-18s %8.3f %8.3f %8.3f %9.2f %7.1f %9.3f  %s", row->name, 1e3 * f.median_s,
             1e3 * f.mean_s, 1e3 * f.best_s, rate * 1e-9, 100.0 * rate / *copy_rate,
             work.cells / f.median_s * 1e-9, row->about);
    if (is_copy) {
        return;
    }
    json_begin(json, NULL, '{');
    json_string(json, "kernel", row->name);
    json_string(json, "kind", kind_names[bench->kind]);
    if (row->step == bench->backend->operations->step && row->step != NULL &&
        bench->tuning.source != TUNING_NONE) {
        json_string(json, "launch_shape", bench->tuning.entry.shape);
    }
    json_string(json, "precision", precision_name(bench->layout.precision));
    json_int3(json, "cells", bench->request->size);
    json_real(json, "ms", 1e3 * f.median_s);
    json_real(json, "mean_ms", 1e3 * f.mean_s);
    json_real(json, "best_ms", 1e3 * f.best_s);
    json_real(json, "fetch_bytes", work.fetch_bytes);
    json_real(json, "write_bytes", work.write_bytes);
    json_real(json, "bandwidth_GBs", rate * 1e-9);
    json_real(json, "mean_bandwidth_GBs", bytes / f.mean_s * 1e-9);
    json_real(json, "copy_GBs", *copy_rate * 1e-9);
    json_real(json, "percent_of_copy", 100.0 * rate / *copy_rate);
    json_real(json, "cell_updates_per_s", work.cells / f.median_s);
    json_end(json, '}');
}

static void report(const struct bench *bench, struct json *json, double *copy_GBs)
{
    const int64_t *size = bench->request->size;
    double copy_rate = 0;
    log_info("%s, %s, %" PRId64 " x %" PRId64 " x %" PRId64 " %s, median of %" PRId64,
             kind_names[bench->kind], precision_name(bench->layout.precision), size[0], size[1],
             size[2], bench->kind == KIND_STEP ? "cells" : "points", bench->request->repeats);
    log_info("  %-18s %8s %8s %8s %9s %7s %9s", "kernel", "ms", "mean ms", "best ms", "GB/s",
             "% copy", "Gcell/s");
    for (int r = 0; r < bench->nrows; r++) {
        report_row(bench, &bench->rows[r], &copy_rate, json);
    }
    *copy_GBs = *copy_GBs == 0 ? copy_rate * 1e-9 : *copy_GBs;
}

/* --- all of it ------------------------------------------------------------------------------- */

static bool has_inner_points(const struct bench_request *request)
{
    return request->size[0] > 2 && request->size[1] > 2 && request->size[2] > 2;
}

/* What both kinds and both precisions add to. */
struct findings {
    double copy_GBs; /* of the first kind and precision */
    struct bench_copy_out copy_out[2];
    int ncopy_out;
};

static enum status bench_kind(struct bench *bench, enum precision precision, struct json *json,
                              struct findings *findings)
{
    if (bench->kind == KIND_LAPLACIAN && !has_inner_points(bench->request)) {
        log_info("laplacian: left out, since it needs 3 points at least on every axis");
        return STATUS_OK;
    }
    enum status status = choose_rows(bench);
    if (status == STATUS_OK && bench->nrows > 1) { /* more than the copy */
        TRY_GOTO(bench_open(bench, precision));
        TRY_GOTO(tune(bench));
        TRY_GOTO(measure(bench));
        report(bench, json, &findings->copy_GBs);
        if (has_production(bench) && !bench->backend->host_accessible) {
            TRY_GOTO(bench_copy_out_measure(bench->backend, bench->device, bench->queue,
                                            &bench->layout, &bench->args, bench->d_out, bench->d_in,
                                            &findings->copy_out[findings->ncopy_out++]));
        }
    }
done:
    bench_close(bench);
    return status;
}

static enum status bench_device(const struct bench_request *request, const struct backend *backend,
                                struct device *device, const bool wanted[2], struct json *json)
{
    struct device_info info;
    struct findings findings = {.copy_GBs = 0};
    TRY(backend->runtime->info(device, &info));
    log_info("backend %s on %s", backend->name, info.name);
    bench_warn_of_binding();
    json_begin(json, NULL, '{');
    json_string(json, "device", info.name);
    json_string(json, "backend", backend->name);
    json_int(json, "threads", info.threads);
    json_int(json, "repeats", request->repeats);
    json_begin(json, "rows", '[');
    for (int p = PRECISION_FLOAT64; p <= PRECISION_FLOAT32; p++) {
        for (int kind = 0; wanted[p] && kind < KIND_COUNT; kind++) {
            struct bench bench = {
                .request = request, .backend = backend, .device = device, .kind = (enum kind)kind};
            TRY(bench_kind(&bench, (enum precision)p, json, &findings));
        }
    }
    json_end(json, ']');
    json_begin(json, "copy_out", '[');
    for (int c = 0; c < findings.ncopy_out; c++) {
        bench_copy_out_report(&findings.copy_out[c], json);
    }
    json_end(json, ']');
    json_real(json, "copy_GBs", findings.copy_GBs);
    json_end(json, '}');
    return STATUS_OK;
}

enum status bench_kernels(const struct bench_request *request)
{
    bool wanted[2];
    const struct backend *backend = NULL;
    struct device *device = NULL;
    char why[256];
    struct json json;
    TRY(bench_choose_precisions(request->precision, wanted));
    TRY(backend_choose(request->backend, &backend, why, sizeof why));
    TRY(check_kernel_names(request, backend));
    TRY(json_check_place(request->json));
    TRY(backend->runtime->open(0, 1, &device));
    enum status status = json_open(&json);
    if (status == STATUS_OK) {
        status = bench_device(request, backend, device, wanted, &json);
        if (status == STATUS_OK && request->json != NULL) {
            status = json_save(&json, request->json);
        } else {
            json_discard(&json);
        }
    }
    backend->runtime->close(device);
    return status;
}
