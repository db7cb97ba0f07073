#include "solve/tuning.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"
#include "base/version.h"
#include "solve/solver.h"

enum {
    /* fewer cells are done in microseconds by any shape */
    LEAST_CELLS = 1 << 21,
    ROUNDS = 5,
};

/* A shape must be so much faster than the backend's own rule: less is noise. */
static const double least_gain = 0.01;

/* --- the search ------------------------------------------------------------------------------ */

/* What the search adds to a target. */
struct search {
    const struct tuning_target *target;
    struct step_args args;
    struct stopwatch *stopwatch;
    void *d_sums;
    int calls; /* a measurement */
    double seconds[TUNING_MAX_SHAPES][ROUNDS];
};

static enum status use_shape(const struct tuning_target *target, int shape)
{
    const int64_t extent[AXIS_COUNT] = {box_extent(&target->box, AXIS_X),
                                        box_extent(&target->box, AXIS_Y),
                                        box_extent(&target->box, AXIS_Z)};
    return target->backend->operations->step_shape(target->device, target->layout->precision,
                                                   extent, shape);
}

static enum status time_shape(struct search *search, int shape, double *seconds)
{
    const struct tuning_target *t = search->target;
    TRY(use_shape(t, shape));
    TRY(t->backend->runtime->stopwatch_start(t->queue, search->stopwatch));
    for (int call = 0; call < search->calls; call++) {
        TRY(t->backend->operations->step(t->queue, t->layout, &search->args, t->d_out, t->d_in,
                                         &t->box, 1));
    }
    TRY(t->backend->runtime->stopwatch_stop(t->queue, search->stopwatch));
    TRY(t->backend->runtime->queue_wait(t->queue));
    TRY(t->backend->runtime->stopwatch_seconds(search->stopwatch, seconds));
    *seconds /= search->calls;
    return STATUS_OK;
}

/* The sums of closed faces cost time, so they are computed too, but into memory of our own: those
 * of the run are its heat ledger. */
static enum status search_open(struct search *search, const struct tuning_target *target)
{
    static const struct exact_sum zeros[FACE_COUNT];
    const struct runtime *runtime = target->backend->runtime;
    *search = (struct search){.target = target, .args = target->args, .calls = 1};
    TRY(runtime->stopwatch_create(target->device, &search->stopwatch));
    TRY(runtime->memory_alloc(target->device, sizeof zeros, &search->d_sums));
    TRY(runtime->copy_to_device(target->queue, search->d_sums, zeros, sizeof zeros));
    for (int face = 0; face < FACE_COUNT; face++) {
        if (search->args.d_face_sum[face] != NULL) {
            search->args.d_face_sum[face] = (struct exact_sum *)search->d_sums + face;
        }
    }
    return runtime->queue_wait(target->queue);
}

static void search_close(struct search *search)
{
    const struct tuning_target *t = search->target;
    t->backend->runtime->memory_free(t->device, search->d_sums);
    t->backend->runtime->stopwatch_destroy(search->stopwatch);
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All shapes in turn, several rounds, so that all see the same machine. */
static enum status time_all(struct search *search, int nshapes, double medians[TUNING_MAX_SHAPES])
{
    double warm_up = 0;
    for (int shape = 0; shape < nshapes; shape++) {
        TRY(time_shape(search, shape, &warm_up));
    }
    /* a millisecond is long against the clock */
    search->calls = warm_up < 1e-3 && warm_up > 0 ? (int)(1e-3 / warm_up) + 1 : 1;
    search->calls = search->calls < 100 ? search->calls : 100;
    for (int round = 0; round < ROUNDS; round++) {
        for (int shape = 0; shape < nshapes; shape++) {
            TRY(time_shape(search, shape, &search->seconds[shape][round]));
        }
    }
    for (int shape = 0; shape < nshapes; shape++) {
        qsort(search->seconds[shape], ROUNDS, sizeof(double), compare_doubles);
        medians[shape] = search->seconds[shape][ROUNDS / 2];
    }
    return STATUS_OK;
}

static int fastest(const double seconds[], int nshapes)
{
    int best = 0;
    for (int shape = 1; shape < nshapes; shape++) {
        if (seconds[shape] < seconds[best]) {
            best = shape;
        }
    }
    return seconds[best] < (1.0 - least_gain) * seconds[0] ? best : 0;
}

static enum status search_shapes(const struct tuning_target *target, const char *const *names,
                                 int nshapes, struct tuning_result *result)
{
    struct search search;
    const double start = clock_seconds();
    enum status status = search_open(&search, target);
    if (status == STATUS_OK) {
        status = time_all(&search, nshapes, result->seconds);
    }
    search_close(&search);
    TRY(status);
    const int best = fastest(result->seconds, nshapes);
    result->source = TUNING_SEARCH;
    result->nshapes = nshapes;
    memcpy(result->names, names, (size_t)nshapes * sizeof *names);
    snprintf(result->entry.shape, sizeof result->entry.shape, "%s", names[best]);
    result->search_s = clock_seconds() - start;
    return use_shape(target, best);
}

/* --- the choice ------------------------------------------------------------------------------ */

static void plain_copy(char *to, size_t nbytes, const char *from)
{
    snprintf(to, nbytes, "%s", from);
    for (; *to != '\0'; to++) {
        *to = (unsigned char)*to < 0x20 ? ' ' : *to;
    }
}

/* Everything that may change which shape is the fastest. */
static enum status make_key(const struct tuning_target *target, char key[TUNING_KEY_BYTES])
{
    struct device_info info;
    char name[sizeof info.name];
    char driver[sizeof info.driver];
    int sums = 0;
    TRY(target->backend->runtime->info(target->device, &info));
    plain_copy(name, sizeof name, info.name);
    plain_copy(driver, sizeof driver, info.driver);
    for (int face = 0; face < FACE_COUNT; face++) {
        sums += target->args.d_face_sum[face] != NULL ? 1 : 0;
    }
    snprintf(key, TUNING_KEY_BYTES,
             "%s; %s; isotherm %s; %s; %" PRId64 " x %" PRId64 " x %" PRId64 " cells; %d face sums",
             name, driver, ISOTHERM_VERSION, precision_name(target->layout->precision),
             box_extent(&target->box, AXIS_X), box_extent(&target->box, AXIS_Y),
             box_extent(&target->box, AXIS_Z), sums);
    return STATUS_OK;
}

/* The number of the shape that the cache names, -1 when it knows none that there is. */
static int shape_in_cache(struct tuning_entry *entry, const char *const *names, int nshapes)
{
    char path[PATH_BYTES];
    if (tuning_cache_path(path) != STATUS_OK) {
        fail_clear(); /* tuning_remember says so */
        return -1;
    }
    if (tuning_cache_find(path, entry) != STATUS_OK) {
        log_warn("%s; searching anew", fail_message());
        fail_clear();
    }
    for (int shape = 0; shape < nshapes; shape++) {
        if (strcmp(names[shape], entry->shape) == 0) {
            return shape;
        }
    }
    return -1;
}

enum status tuning_choose(const struct tuning_target *target, bool again,
                          struct tuning_result *result)
{
    *result = (struct tuning_result){.source = TUNING_NONE};
    const char *const *names = NULL;
    int nshapes = target->backend->operations->step_shape != NULL
                      ? target->backend->operations->step_shapes(&names)
                      : 0;
    nshapes = nshapes < TUNING_MAX_SHAPES ? nshapes : TUNING_MAX_SHAPES;
    if (nshapes < 2 || box_cells(&target->box) < LEAST_CELLS) {
        return STATUS_OK;
    }
    TRY(make_key(target, result->entry.key));
    const int cached = again ? -1 : shape_in_cache(&result->entry, names, nshapes);
    if (cached >= 0) {
        result->source = TUNING_CACHE;
        return use_shape(target, cached);
    }
    return search_shapes(target, names, nshapes, result);
}

void tuning_remember(const struct tuning_entry *entries, int nentries)
{
    char path[PATH_BYTES];
    enum status status = tuning_cache_path(path);
    if (status == STATUS_OK) {
        status = tuning_cache_store(path, entries, nentries);
    }
    if (status != STATUS_OK) {
        log_warn("the launch shape is not remembered: %s", fail_message());
        fail_clear();
    }
}

/* --- runs ------------------------------------------------------------------------------------ */

static enum status tune_rank(struct run *run, struct tuning_result *result)
{
    const struct field *field = run->field;
    struct tuning_target target = {
        .backend = run->backend,
        .device = run->device,
        .queue = run->bulk_queue,
        .layout = &field->layout,
        .d_out = field->d_next,
        .d_in = field->d_now,
        .box = run->overlap ? run->plan.interior : layout_owned(&field->layout),
    };
    TRY(step_arguments(run, run->step, &target.args));
    return tuning_choose(&target, false, result);
}

/* The first rank of each node writes for all of them. */
static enum status remember_node(MPI_Comm node, const struct tuning_result *mine)
{
    const int nranks = comm_size(node);
    struct tuning_entry entry = mine->entry;
    if (mine->source != TUNING_SEARCH) {
        entry.shape[0] = '\0';
    }
    struct tuning_entry *all = calloc((size_t)nranks, sizeof *all);
    TRY(status_agree(node, all != NULL ? STATUS_OK : fail(STATUS_MEMORY, "no memory")));
    const int mpi_code =
        MPI_Gather(&entry, (int)sizeof entry, MPI_BYTE, all, (int)sizeof entry, MPI_BYTE, 0, node);
    int nentries = 0;
    for (int rank = 0; mpi_code == MPI_SUCCESS && rank < nranks; rank++) {
        if (all[rank].shape[0] != '\0') {
            all[nentries++] = all[rank];
        }
    }
    if (comm_rank(node) == 0 && nentries > 0) {
        tuning_remember(all, nentries);
    }
    free(all);
    return comm_check(mpi_code, "MPI_Gather");
}

static void say(const struct tuning_result *result)
{
    if (result->source == TUNING_SEARCH) {
        log_info("launch shape of the step: %s, found in %.2f s", result->entry.shape,
                 result->search_s);
    } else if (result->source == TUNING_CACHE) {
        log_info("launch shape of the step: %s, as found before", result->entry.shape);
    }
}

enum status tuning_of_run(struct run *run)
{
    if (run->backend->operations->step_shape == NULL) {
        return STATUS_OK; /* the same on all ranks */
    }
    struct tuning_result result;
    TRY(status_agree(run->comm, tune_rank(run, &result)));
    MPI_Comm node;
    TRY_MPI(MPI_Comm_split_type(run->comm, MPI_COMM_TYPE_SHARED, run->rank, MPI_INFO_NULL, &node));
    const enum status status = remember_node(node, &result);
    TRY_MPI(MPI_Comm_free(&node));
    TRY(status_agree(run->comm, status));
    say(&result);
    return STATUS_OK;
}
