/* isotherm bench kernels: the effective bandwidth of every kernel, and the copy ceiling. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "bench/bench_parts.h"
#include "solve/start/tuning.h"

enum { MAX_ROWS = 64 };

/* A line of the table; neither step nor pass: the copy. */
struct row {
    struct bench *bench;
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
    bool laplacian; /* not the step */
    struct layout layout;
    struct coefficients args;
    void *d_in, *d_out, *d_work;
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
    bench->rows[bench->nrows] = *row;
    bench->rows[bench->nrows++].bench = bench;
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

/* The kind of a medium of the command line; NULL: uniform. */
static enum kind kind_in(const struct bench *bench, const struct device_medium *medium)
{
    const char *const word =
        medium != NULL ? bench->request->media.item[medium - bench->media] : "";
    return medium == NULL                                 ? KIND_UNIFORM
           : strncmp(word, "alloy", strlen("alloy")) == 0 ? KIND_ENTHALPY
           : strncmp(word, "faces", strlen("faces")) == 0 ? KIND_FACES
                                                          : KIND_CLASSES;
}

/* The passes of several steps that --kernel selects, in the m-th medium. */
static enum status add_passes(struct bench *bench, int m)
{
    const struct bench_request *request = bench->request;
    const struct backend *backend = bench->place.backend;
    const int most = backend->operations->steps_most[kind_in(bench, &bench->media[m])];
    struct bench_kernel kernel;
    for (int n = 0; bench_kernel_at(backend, n, &kernel); n++) {
        if (kernel.nsteps < 2 || !bench_is_selected(request, &kernel)) {
            continue;
        }
        if (kernel.nsteps <= most || kernel.estimates) {
            kernel.about = request->media.item[m];
            TRY(add_row(bench, &(struct row){.kernel = kernel, .medium = &bench->media[m]}));
        } else if (!bench_is_listed(&request->kernels, "step")) {
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
        if (kernel.laplacian == bench->laplacian && fits(bench->request->size, kernel.radius) &&
            bench_is_selected(bench->request, &kernel)) {
            TRY(add_row(bench, &(struct row){.kernel = kernel}));
        }
    }
    for (int m = 0; !bench->laplacian && m < bench->request->media.count; m++) {
        TRY(add_row(bench, &(struct row){.kernel = {.name = bench->request->media.item[m],
                                                    .about = "the step in this medium",
                                                    .step = backend->operations->step,
                                                    .settling_calls = production->settling_calls},
                                         .medium = &bench->media[m]}));
        TRY(add_passes(bench, m));
    }
    return STATUS_OK;
}

/* ---- measuring ---- */

/* The unit cube with points on its faces, which are the halo, in a plain array. */
static void laplacian_problem(struct bench *bench, enum precision precision)
{
    const int64_t *n = bench->request->size;
    struct layout *layout = &bench->layout;
    layout->precision = precision;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        layout->cells[axis] = n[axis] - 2;
        layout->halo[axis] = 1;
        bench->args.r[axis] = (double)(n[axis] - 1) * (double)(n[axis] - 1);
    }
    layout->pitch_y = n[AXIS_X];
    layout->pitch_z = n[AXIS_X] * n[AXIS_Y];
    layout->origin = 1 + layout->pitch_y + layout->pitch_z;
    layout->elements = layout->pitch_z * n[AXIS_Z];
}

static enum status step_problem(struct bench *bench, enum precision precision)
{
    static const int no_halo[AXIS_COUNT];
    const int64_t *size = bench->request->size;
    for (int face = 0; face < FACE_COUNT; face++) {
        bench->args.closed[face] = true;
        bench->args.a[face] = -1.0;
        bench->args.b[face] = 600.0;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        bench->args.r[axis] = size[axis] > 1 ? 0.15 : 0.0;
    }
    TRY(layout_create(size, no_halo, precision, &bench->layout));
    if (backend_has(bench->place.backend, BACKEND_ALONG_ROWS)) {
        layout_close_rows(&bench->layout);
    }
    TRY(bench_ask_for_sums(&bench->place, &bench->d_sums, &bench->args));
    return bench_media_create(&bench->place, &bench->layout, &bench->request->media, bench->media);
}

static enum status bench_open(struct bench *bench, enum precision precision)
{
    TRY(bench_place_open(&bench->place));
    if (bench->laplacian) {
        laplacian_problem(bench, precision);
    } else {
        TRY(step_problem(bench, precision));
    }
    TRY(bench_place_alloc(&bench->place, layout_bytes(&bench->layout), &bench->d_in));
    TRY(bench_place_alloc(&bench->place, layout_bytes(&bench->layout), &bench->d_out));
    TRY(bench_place_alloc(&bench->place, layout_bytes(&bench->layout), &bench->d_work));
    return bench_fill(&bench->place, &bench->layout, bench->d_in);
}

static void bench_close(struct bench *bench)
{
    bench_place_close(&bench->place);
}

static size_t cells_bytes(const struct bench *bench)
{
    if (bench->laplacian) {
        return layout_bytes(&bench->layout);
    }
    const struct box owned = layout_owned(&bench->layout);
    return (size_t)box_cells(&owned) * precision_bytes(bench->layout.precision);
}

static enum status queue_one(void *context)
{
    const struct row *row = context;
    struct bench *bench = row->bench;
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
        for (int face = 0; face < FACE_COUNT && row->medium != NULL; face++) { /* none has a flux */
            levels[s].d_face_sum[face] = bench->d_sums + face;
        }
        if (row->kernel.radius > 1) {
            bench_wide_args(row->kernel.radius, &bench->layout, &levels[s]);
        }
    }
    if (row->kernel.step != NULL) {
        return row->kernel.step(bench->place.queue, &args);
    }
    if (row->kernel.estimates) { /* the sums are not needed any more */
        const struct compare_args both = {bench->layout,
                                          levels,
                                          args.nsteps,
                                          bench->d_out,
                                          bench->d_in,
                                          bench->d_work,
                                          (uint64_t *)bench->d_sums};
        return bench->place.backend->operations->compare(bench->place.queue, &both);
    }
    if (row->kernel.nsteps > 0) {
        return bench->place.backend->operations->step(bench->place.queue, &args);
    }
    return runtime->copy_on_device(bench->place.queue, bench->d_out, bench->d_in,
                                   cells_bytes(bench));
}

static enum status time_one(struct bench *bench, struct row *row, double *seconds)
{
    const struct bench_calls calls = {bench->place, queue_one, row};
    TRY(bench->place.backend->runtime->queue_wait(bench->place.queue));
    return bench_time_calls(&calls, row->calls, seconds);
}

/* Warm up until the kernel has settled on a variant. */
static enum status warm_up(struct bench *bench, struct row *row)
{
    const struct backend *backend = bench->place.backend;
    TRY(backend->runtime->copy_on_device(bench->place.queue, bench->d_out, bench->d_in,
                                         cells_bytes(bench)));
    for (int call = 0; call == 0 || call < row->kernel.settling_calls; call++) {
        TRY(queue_one(row));
    }
    return backend->runtime->queue_wait(bench->place.queue);
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
        struct row *row = &bench->rows[r];
        const struct bench_calls calls = {bench->place, queue_one, row};
        TRY(bench_energy_measure(&bench->meter, &calls, row->seconds[0], &row->energy));
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
    const struct step_cost cost =
        step_cost_of(kind_in(bench, row->medium), bench->layout.precision);
    if (row->kernel.laplacian) { /* the halo without its edges and corners is read */
        const struct box owned = layout_owned(&bench->layout);
        double read = f.updates = (double)box_cells(&owned);
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            read += 2 * f.updates / (double)bench->layout.cells[axis];
        }
        f.fetch_bytes = read * (double)cost.fetch_bytes;
        f.write_bytes = f.updates * (double)cost.write_bytes;
        return f;
    }
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
             bench_kind_name(bench->laplacian), precision_name(bench->layout.precision), size[0],
             size[1], size[2], bench->laplacian ? "points" : "cells", bench->request->repeats);
    for (int r = 0; r < bench->nrows; r++) {
        struct row *row = &bench->rows[r];
        struct bench_figures f = figures_of(bench, row);
        copy_rate = r == 0 ? (f.fetch_bytes + f.write_bytes) / f.time.median_s : copy_rate;
        f.copy_rate = copy_rate;
        table_row_begin(&table, r > 0 ? json : NULL);
        table_text(&table, "kernel", "kernel", -18, row->kernel.name);
        table_text(&table, "kind", NULL, 0, bench_kind_name(bench->laplacian));
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
    if (bench->laplacian && (size[AXIS_X] < 3 || size[AXIS_Y] < 3 || size[AXIS_Z] < 3)) {
        log_info("laplacian: skipped, needs at least 3 points on every axis");
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
        for (int laplacian = 0; prototype->request->wanted[p] && laplacian < 2; laplacian++) {
            SCOPED_BY(bench_close) struct bench bench = *prototype;
            bench.laplacian = laplacian;
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
