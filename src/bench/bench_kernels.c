/* isotherm bench kernels: the effective bandwidth of every kernel, and the copy ceiling. */
#include <inttypes.h>
#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "bench/bench_parts.h"
#include "kernels/study/study.h"
#include "solve/start/tuning.h"

enum { MAX_ROWS = 64 };

/* A line of the table; neither step, pass nor study: the copy. */
struct row {
    struct bench_kernel kernel;
    struct device_medium *medium;      /* NULL: uniform */
    int64_t calls;                     /* per round */
    double seconds[BENCH_MAX_REPEATS]; /* of each round */
    struct bench_energy energy;
};

struct bench {
    const struct bench_request *request;
    struct bench_place place;
    struct bench_meter meter;
    const struct study *study; /* NULL: the step */
    struct layout layout;
    struct coefficients args;
    struct study_problem problem; /* of the study */
    void *d_in, *d_out;
    struct exact_sum *d_sums;    /* [FACE_COUNT] */
    struct tuning_result tuning; /* of the production kernel */
    struct row rows[MAX_ROWS];   /* the copy first */
    int nrows;
    struct device_medium media[OPTIONS_MAX_LIST];
};

/* ---- which kernels ---- */

static enum status add_row(struct bench *bench, const struct row *row)
{
    FAIL_IF(bench->nrows == MAX_ROWS, fail(STATUS_DEVICE, "the backend %s has more than %d kernels",
                                           bench->place.backend->name, MAX_ROWS));
    bench->rows[bench->nrows++] = *row;
    return STATUS_OK;
}

/* A wider stencil needs some cells between two faces. */
static bool fits(const int64_t size[AXIS_COUNT], int radius)
{
    bool enough = true;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        enough = enough && (size[axis] == 1 || size[axis] >= 2 * radius);
    }
    return enough;
}

/* The passes of several steps that --kernel selects, in the m-th medium. */
static enum status add_passes(struct bench *bench, int m)
{
    const struct bench_request *request = bench->request;
    const struct backend *backend = bench->place.backend;
    const int most = backend->operations->steps_most[KIND_ENTHALPY]; /* as for KIND_CLASSES */
    struct bench_kernel kernel;
    for (int n = 0; bench_kernel_at(backend, n, &kernel); n++) {
        if (kernel.nsteps < 2 || kernel.radius > 1 ||
            !bench_is_selected(request, NULL, kernel.name)) {
            continue;
        }
        if (kernel.nsteps <= most) {
            kernel.about = request->media.item[m];
            TRY(add_row(bench, &(struct row){.kernel = kernel, .medium = &bench->media[m]}));
        } else if (!bench_is_listed(&request->kernels, bench_kind_name(NULL))) {
            return fail(STATUS_INPUT, "--kernel %s: not available with --medium %s on %s",
                        kernel.name, request->media.item[m], backend->name);
        }
    }
    return STATUS_OK;
}

static enum status choose_rows(struct bench *bench)
{
    const struct backend *backend = bench->place.backend;
    const struct kernel_variant *production =
        &backend->operations->variants[backend->operations->nvariants - 1];
    struct bench_kernel kernel = {.name = "copy", .about = "the ceiling"};
    TRY(add_row(bench, &(struct row){.kernel = kernel}));
    for (int n = 0; bench_kernel_at(backend, n, &kernel); n++) {
        if (kernel.kind == bench->study && fits(bench->request->size, kernel.radius) &&
            bench_is_selected(bench->request, kernel.kind, kernel.name)) {
            TRY(add_row(bench, &(struct row){.kernel = kernel}));
        }
    }
    for (int m = 0; bench->study == NULL && m < bench->request->media.count; m++) {
        TRY(add_row(bench, &(struct row){.kernel = {.name = bench->request->media.item[m],
                                                    .about = "the step in a medium of classes",
                                                    .step = backend->operations->step,
                                                    .settling_calls = production->settling_calls},
                                         .medium = &bench->media[m]}));
        TRY(add_passes(bench, m));
    }
    return STATUS_OK;
}

/* ---- measuring ---- */

static enum status bench_open(struct bench *bench, enum precision precision)
{
    static const int no_halo[AXIS_COUNT];
    const int64_t *size = bench->request->size;
    const struct backend *backend = bench->place.backend;
    for (int face = 0; face < FACE_COUNT; face++) {
        bench->args.closed[face] = true;
        bench->args.a[face] = -1.0;
        bench->args.b[face] = 600.0;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        bench->args.r[axis] = size[axis] > 1 ? 0.15 : 0.0;
    }
    TRY(layout_create(size, no_halo, precision, &bench->layout));
    if (backend_has(backend, BACKEND_ALONG_ROWS)) {
        layout_close_rows(&bench->layout);
    }
    if (bench->study != NULL) {
        bench->layout = bench->problem.layout;
    }
    TRY(bench_place_open(&bench->place));
    TRY(bench_ask_for_sums(&bench->place, &bench->d_sums, &bench->args));
    TRY(bench_place_alloc(&bench->place, layout_bytes(&bench->layout), &bench->d_in));
    TRY(bench_place_alloc(&bench->place, layout_bytes(&bench->layout), &bench->d_out));
    TRY(bench->study != NULL ? STATUS_OK
                             : bench_media_create(&bench->place, &bench->layout,
                                                  &bench->request->media, bench->media));
    return bench_fill(&bench->place, &bench->layout, NULL, 0, bench->d_in);
}

static void bench_close(struct bench *bench)
{
    bench_place_close(&bench->place);
}

static size_t cells_bytes(const struct bench *bench)
{
    if (bench->study != NULL) {
        return study_bytes(&bench->problem);
    }
    const struct box owned = layout_owned(&bench->layout);
    return (size_t)box_cells(&owned) * precision_bytes(bench->layout.precision);
}

/* With the kernel's own shape. */
static struct study_call study_call_of(const struct bench *bench, const struct row *row)
{
    return (struct study_call){.kernel = row->kernel.study,
                               .problem = &bench->problem,
                               .d_out = bench->d_out,
                               .d_in = bench->d_in};
}

static enum status queue_one(struct bench *bench, const struct row *row)
{
    const struct runtime *runtime = bench->place.backend->runtime;
    const struct box owned = layout_owned(&bench->layout);
    struct coefficients levels[STEPS_MOST];
    const struct step_args args = {.layout = bench->layout,
                                   .levels = levels,
                                   .nsteps = row->kernel.nsteps > 0 ? row->kernel.nsteps : 1,
                                   .d_out = bench->d_out,
                                   .d_in = bench->d_in,
                                   .boxes = &owned,
                                   .nboxes = 1};
    for (int s = 0; s < args.nsteps; s++) {
        levels[s] = bench->args;
        levels[s].corrects = s > 0 && s == row->kernel.corrects;
        coefficients_set_medium(&levels[s], row->medium);
        if (row->kernel.radius > 1) {
            bench_wide_args(row->kernel.radius, &bench->layout, &levels[s]);
        }
    }
    if (row->kernel.step != NULL) {
        return row->kernel.step(bench->place.queue, &args);
    }
    if (row->kernel.estimates) { /* the sums are not needed any more */
        const struct compare_args both = {bench->layout, levels,      args.nsteps,
                                          bench->d_out,  bench->d_in, (uint64_t *)bench->d_sums};
        return bench->place.backend->operations->compare(bench->place.queue, &both);
    }
    if (row->kernel.nsteps > 0) {
        return bench->place.backend->operations->step(bench->place.queue, &args);
    }
    if (row->kernel.study != NULL) {
        const struct study_call call = study_call_of(bench, row);
        return study_run(bench->place.backend, bench->place.queue, &call);
    }
    return runtime->copy_on_device(bench->place.queue, bench->d_out, bench->d_in,
                                   cells_bytes(bench));
}

struct queued {
    struct bench *bench;
    const struct row *row;
};

static enum status queue_again(void *context)
{
    const struct queued *queued = context;
    return queue_one(queued->bench, queued->row);
}

static enum status time_one(struct bench *bench, const struct row *row, double *seconds)
{
    const struct bench_calls calls = {bench->place, queue_again, &(struct queued){bench, row}};
    enum status queued = STATUS_OK;
    TRY(bench->place.backend->runtime->queue_wait(bench->place.queue));
    TRY(bench_time_calls(&calls, row->calls, &queued, seconds));
    return queued;
}

/* Warm up until the kernel has settled on a variant; compare a study's result with the host's. */
static enum status warm_up(struct bench *bench, const struct row *row)
{
    const struct backend *backend = bench->place.backend;
    TRY(backend->runtime->copy_on_device(bench->place.queue, bench->d_out, bench->d_in,
                                         cells_bytes(bench)));
    for (int call = 0; call == 0 || call < row->kernel.settling_calls; call++) {
        TRY(queue_one(bench, row));
    }
    TRY(backend->runtime->queue_wait(bench->place.queue));
    if (row->kernel.study == NULL) {
        return STATUS_OK;
    }
    const struct study_call call = study_call_of(bench, row);
    return bench_check_study(&bench->place, bench->study, &call);
}

/* Calls per round: enough to exceed the clock's resolution by far, by their traffic or by the
 * time that one takes. */
static enum status choose_calls(struct bench *bench, struct row *row)
{
    const double round_bytes = 256 << 20, round_s = 10e-3;
    double seconds = 0;
    row->calls = 1;
    TRY(time_one(bench, row, &seconds));
    const double by_traffic = ceil(round_bytes / (2.0 * (double)layout_bytes(&bench->layout)));
    const double by_time = ceil(round_s / fmax(seconds, 1e-9));
    row->calls = (int64_t)fmin(by_traffic, by_time);
    return STATUS_OK;
}

static enum status measure_energy(struct bench *bench, struct row *row)
{
    const struct bench_calls calls = {bench->place, queue_again, &(struct queued){bench, row}};
    return bench_energy_measure(&bench->meter, &calls, row->seconds[0], &row->energy);
}

static enum status measure(struct bench *bench)
{
    for (int64_t round = -1; round < bench->request->repeats; round++) {
        for (int r = 0; r < bench->nrows; r++) {
            struct row *row = &bench->rows[r];
            log_transient("%s: round %" PRId64 " of %" PRId64 ", %s",
                          precision_name(bench->layout.precision), round + 1,
                          bench->request->repeats, row->kernel.name);
            if (round < 0) {
                TRY(warm_up(bench, row));
                TRY(choose_calls(bench, row));
            } else {
                TRY(time_one(bench, row, &row->seconds[round]));
            }
        }
    }
    for (int r = 0; r < bench->nrows; r++) {
        TRY(measure_energy(bench, &bench->rows[r]));
    }
    log_transient("%s", "");
    return STATUS_OK;
}

static bool is_production(const struct bench *bench, const struct row *row)
{
    return row->kernel.step != NULL && row->kernel.step == bench->place.backend->operations->step &&
           row->medium == NULL;
}

static enum status tune(struct bench *bench)
{
    bool has_production = false;
    for (int r = 0; r < bench->nrows; r++) {
        has_production = has_production || is_production(bench, &bench->rows[r]);
    }
    if (!has_production) {
        return STATUS_OK;
    }
    struct tuning_result *result = &bench->tuning;
    const struct tuning_target target = {
        .backend = bench->place.backend,
        .device = bench->place.device,
        .queue = bench->place.queue,
        .layout = &bench->layout,
        .args = bench->args,
        .d_out = bench->d_out,
        .d_in = bench->d_in,
        .box = layout_owned(&bench->layout),
    };
    TRY(tuning_choose(&target, result));
    if (bench->request->tune && result->shape == NULL) {
        log_info("launch shapes: no choice for this size and backend");
    }
    if (bench->request->tune && result->shape != NULL) {
        log_info("launch shapes, found in %.2f s:", result->search_s);
        for (int shape = 0; shape < result->nshapes; shape++) {
            const bool taken = result->names[shape] == result->shape;
            log_info("  %-28s %8.3f ms%s", result->names[shape], 1e3 * result->seconds[shape],
                     taken ? "  taken" : "");
        }
    }
    return STATUS_OK;
}

/* ---- reporting ---- */

static struct bench_figures figures_of(const struct bench *bench, struct row *row)
{
    struct bench_figures f = {.time = clock_figures_of(row->seconds, bench->request->repeats),
                              .energy = row->energy};
    if (row->kernel.study != NULL) {
        const struct study_traffic traffic = bench->study->traffic(&bench->problem, 0);
        f.fetch_bytes = (double)traffic.fetch_bytes;
        f.write_bytes = (double)traffic.write_bytes;
        f.updates = (double)traffic.points;
        return f;
    }
    const struct step_cost cost =
        step_cost_of(row->medium != NULL ? KIND_CLASSES : KIND_UNIFORM, bench->layout.precision);
    f.updates = (double)cells_bytes(bench) / (double)cost.write_bytes *
                (row->kernel.nsteps > 0 ? row->kernel.nsteps : 1);
    f.fetch_bytes = f.updates * (double)cost.fetch_bytes;
    f.write_bytes = row->kernel.estimates ? 0 : f.updates * (double)cost.write_bytes;
    return f;
}

/* The copy, which is the first, is not in the JSON file. */
static void report(struct bench *bench, struct json *json, double *copy_GBs)
{
    const int64_t *size = bench->request->size;
    struct table table = {.has_heading = false};
    double copy_rate = 0;
    log_info("%s, %s, %" PRId64 " x %" PRId64 " x %" PRId64 " %s, median of %" PRId64,
             bench_kind_name(bench->study), precision_name(bench->layout.precision), size[0],
             size[1], size[2], bench->study == NULL ? "cells" : "points", bench->request->repeats);
    for (int r = 0; r < bench->nrows; r++) {
        struct row *row = &bench->rows[r];
        struct bench_figures f = figures_of(bench, row);
        copy_rate = r == 0 ? (f.fetch_bytes + f.write_bytes) / f.time.median_s : copy_rate;
        f.copy_rate = copy_rate;
        table_row_begin(&table, r > 0 ? json : NULL);
        table_text(&table, "kernel", "kernel", -18, row->kernel.name);
        table_text(&table, "kind", NULL, 0, bench_kind_name(bench->study));
        if (row->medium != NULL) {
            table_text(&table, "medium", NULL, 0,
                       bench->request->media.item[row->medium - bench->media]);
        }
        if (is_production(bench, row) && bench->tuning.shape != NULL) {
            table_text(&table, "launch_shape", NULL, 0, bench->tuning.shape);
        }
        table_text(&table, "precision", NULL, 0, precision_name(bench->layout.precision));
        table_int3(&table, "cells", size);
        bench_columns(&table, &f);
        table_text(&table, NULL, "", -1, row->kernel.about);
        table_row_end(&table);
    }
    *copy_GBs = *copy_GBs == 0 ? copy_rate * 1e-9 : *copy_GBs;
}

/* ---- all of it ---- */

/* The rate of the first copy goes to `copy_GBs` while that is 0. */
static enum status bench_kind(struct bench *bench, enum precision precision, struct json *json,
                              double *copy_GBs)
{
    const int64_t *size = bench->request->size;
    const struct study_case wanted = {{size[0], size[1], size[2]}, precision, 0};
    if (bench->study != NULL && bench->study->setup(&wanted, &bench->problem) != STATUS_OK) {
        log_info("%s: skipped, %s", bench->study->name, fail_message());
        fail_clear();
        return STATUS_OK;
    }
    TRY(choose_rows(bench));
    if (bench->nrows > 1) { /* more than the copy */
        TRY(bench_open(bench, precision));
        TRY(tune(bench));
        TRY(measure(bench));
        report(bench, json, copy_GBs);
    }
    return STATUS_OK;
}

static enum status bench_device(struct bench *prototype, struct json *json)
{
    double copy_GBs = 0;
    struct device_info info;
    TRY(prototype->place.backend->runtime->info(prototype->place.device, &info));
    log_info("backend %s on %s", prototype->place.backend->name, info.name);
    bench_warn_of_binding();
    bench_meter_open(info.address, &prototype->meter);
    json_string(json, "device", info.name);
    json_string(json, "backend", prototype->place.backend->name);
    json_int(json, "threads", info.threads);
    json_int(json, "repeats", prototype->request->repeats);
    json_begin(json, "rows", '[');
    for (int p = PRECISION_FLOAT64; p <= PRECISION_FLOAT32; p++) {
        for (int s = -1; prototype->request->wanted[p] && (s < 0 || study_of_any_size(s) != NULL);
             s++) {
            SCOPED_BY(bench_close) struct bench bench = *prototype;
            bench.study = s < 0 ? NULL : study_of_any_size(s);
            TRY(bench_kind(&bench, (enum precision)p, json, &copy_GBs));
        }
    }
    json_end(json, ']');
    json_real(json, "copy_GBs", copy_GBs);
    return STATUS_OK;
}

enum status bench_kernels(const struct bench_request *request, struct json *json)
{
    struct bench prototype = {.request = request, .place.backend = request->chosen};
    const struct runtime *runtime = request->chosen->runtime;
    TRY(bench_check_names(request, request->chosen));
    TRY(bench_media_check(&request->media));
    TRY(runtime->open(0, 1, &prototype.place.device));
    const enum status status = bench_device(&prototype, json);
    bench_meter_close(&prototype.meter);
    runtime->close(prototype.place.device);
    return status;
}
