#include "output/writer.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"
#include "machine/machine.h"

struct slot {
    void *h_memory;
    size_t bytes;
};

struct writer {
    MPI_Comm loop_comm; /* borrowed */
    MPI_Comm comm;      /* of the write halves */
    const struct backend *backend;
    struct device *device;
    bool background, has_thread;
    const char *reason;
    int threads;           /* OpenMP threads of the write halves, in the background */
    struct phases *phases; /* borrowed: the thread records its jobs there */
    pthread_t thread;
    struct slot slot[WRITER_SLOTS]; /* of the loop; a job knows only its memory */
    struct copy_out *copy_out; /* of the loop; NULL: values are in host memory at writer_submit */

    /* shared, under `lock`; job number n is at n % WRITER_SLOTS */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct writer_job job[WRITER_SLOTS];
    int64_t submitted, finished;
    int64_t held; /* the newest job, while its values are being copied; -1: none */
    bool closing;
    struct failure failed_copy; /* the first one; the next job reports it to all ranks */
    struct failure failed_job;  /* the first one, after which jobs are skipped; not agreed when MPI
                                   itself failed */
    struct writer_figures figures[OUTPUT_KINDS_MAX];

    /* of the loop */
    int64_t finished_everywhere; /* as of the last reduction */
    MPI_Request request;         /* reduces `mine` to `all` by minimum */
    int64_t mine[2], all[2];     /* finished jobs; -1 after a failure, else 0 */
    int64_t waits;
    double wait_s, start; /* start: MPI_Wtime of writer_create */
    bool has_warned;
};

/* ---- the writer's thread ---- */

/* With the lock: the number of jobs that may start. */
static int64_t released(const struct writer *w)
{
    return w->held >= 0 ? w->held : w->submitted;
}

/* Writes only if the values have arrived on all ranks. */
static enum status write_job(const struct writer *w, const struct writer_job *job,
                             enum status copied, uint64_t *bytes)
{
    if (w->copy_out != NULL) {
        TRY(status_agree(w->comm, copied));
    }
    return job->write(w->comm, job->context, bytes);
}

/* With the lock if the kind has jobs; other kinds belong to the loop. */
void writer_count(struct writer *w, int kind, int64_t count, uint64_t bytes, double since,
                  double disk_since)
{
    struct writer_figures *f = &w->figures[kind];
    const double seconds = MPI_Wtime() - since;
    f->count += count;
    f->bytes += bytes;
    f->write_s += seconds;
    f->disk_s += file_disk_seconds() - disk_since;
    f->longest_s = fmax(f->longest_s, seconds);
}

/* Run one job and count it; releases `lock` meanwhile. */
static void do_next_job(struct writer *w)
{
    struct writer_job *job = &w->job[w->finished % WRITER_SLOTS];
    const bool wanted = w->failed_job.code == STATUS_OK;
    const enum status copied = fail_restore(&w->failed_copy); /* on this rank */
    pthread_mutex_unlock(&w->lock);
    if (w->background) { /* in the foreground the step loop records it */
        phases_write_begin(w->phases, job->kind);
    }
    const double since = MPI_Wtime();
    const double disk_since = file_disk_seconds();
    uint64_t bytes = 0;
    const enum status status = wanted ? write_job(w, job, copied, &bytes) : STATUS_OK;
    if (job->destroy != NULL) {
        job->destroy(job->context);
    }
    if (w->background) {
        phases_write_end(w->phases);
    }
    pthread_mutex_lock(&w->lock);
    fail_keep(status, &w->failed_job);
    if (wanted && status == STATUS_OK) {
        writer_count(w, job->kind, 1, bytes, since, disk_since);
    }
    w->finished++;
    pthread_cond_broadcast(&w->changed);
}

static void *work(void *argument)
{
    struct writer *w = argument;
    comm_wait_asleep();
    omp_set_num_threads(w->threads);
    pthread_mutex_lock(&w->lock);
    while (w->finished < w->submitted || !w->closing) {
        if (w->finished < released(w)) {
            do_next_job(w);
        } else {
            pthread_cond_wait(&w->changed, &w->lock);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void stop_thread(struct writer *w)
{
    if (w->has_thread) {
        pthread_mutex_lock(&w->lock);
        w->closing = true;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
        w->has_thread = false;
    }
}

/* Collective, agreed. All ranks write in the foreground when one of them has no thread. */
static enum status start_threads(MPI_Comm comm, struct writer *w)
{
    const enum status mine = thread_start(&w->thread, work, w);
    w->has_thread = mine == STATUS_OK;
    const enum status status = status_agree(comm, mine);
    if (status != STATUS_MEMORY) {
        return status;
    }
    log_warn("output is written in the foreground: %s", fail_message());
    fail_clear();
    stop_thread(w);
    w->background = false;
    w->reason = "a thread could not be started";
    return STATUS_OK;
}

/* ---- creation and destruction ---- */

static enum status choose_mode(struct writer *w, bool wanted_background)
{
    int level = MPI_THREAD_SINGLE;
    TRY_MPI(MPI_Query_thread(&level));
    w->background = wanted_background && level == MPI_THREAD_MULTIPLE;
    w->reason = w->background ? "MPI provides MPI_THREAD_MULTIPLE"
                : wanted_background
                    ? "MPI does not provide MPI_THREAD_MULTIPLE, so a thread cannot write"
                    : "as configured";
    return STATUS_OK;
}

static enum status build(MPI_Comm comm, bool wanted_background, struct writer *w)
{
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    TRY(choose_mode(w, wanted_background));
    TRY_MPI(MPI_Comm_dup(comm, &w->comm));
    TRY_MPI(MPI_Comm_set_errhandler(w->comm, MPI_ERRORS_RETURN));
    return w->background ? start_threads(comm, w) : STATUS_OK;
}

enum status writer_create(MPI_Comm comm, const struct backend *backend, struct device *device,
                          bool wanted_background, struct phases *phases, struct writer **writer)
{
    *writer = NULL;
    struct writer *w = calloc(1, sizeof *w);
    const enum status agreed =
        status_agree(comm, CHECK_MEMORY(w != NULL, "no memory for the writer"));
    if (w == NULL || agreed != STATUS_OK) {
        free(w);
        return agreed;
    }
    *w = (struct writer){.loop_comm = comm,
                         .comm = MPI_COMM_NULL,
                         .backend = backend,
                         .device = device,
                         .threads = cores_beside(backend),
                         .phases = phases,
                         .held = -1,
                         .request = MPI_REQUEST_NULL,
                         .start = MPI_Wtime()};
    const enum status built = build(comm, wanted_background, w);
    if (built != STATUS_OK) {
        writer_destroy(w);
        return built;
    }
    *writer = w;
    return STATUS_OK;
}

/* The held job may start: its values have arrived or failed. */
static void release(struct writer *w, enum status copied)
{
    pthread_mutex_lock(&w->lock);
    if (w->failed_copy.code == STATUS_OK) {
        fail_keep(fail_prefix(copied, "an output could not be copied to host memory: "),
                  &w->failed_copy);
    }
    w->held = -1;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* On the loop's thread, which alone writes `held`. */
static void wait_for_copy(struct writer *w)
{
    if (w->held >= 0) {
        release(w, copy_out_wait(w->copy_out));
    }
}

void writer_destroy(struct writer *w)
{
    if (w == NULL || comm_is_broken()) {
        return; /* in a broken MPI the thread may be blocked; main aborts the program */
    }
    wait_for_copy(w);
    stop_thread(w);
    /* started on all ranks, so it completes on all */
    comm_note(MPI_Wait(&w->request, MPI_STATUS_IGNORE), "MPI_Wait");
    comm_free(&w->comm);
    copy_out_destroy(w->copy_out);
    for (int s = 0; s < WRITER_SLOTS; s++) {
        w->backend->runtime->pinned_free(w->device, w->slot[s].h_memory);
    }
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

struct writer_about writer_about(const struct writer *w)
{
    return (struct writer_about){.in_background = w->background,
                                 .copies_in_background = w->copy_out != NULL,
                                 .reason = w->reason,
                                 .comm = w->comm,
                                 .waits = w->waits,
                                 .wait_s = w->wait_s};
}

/* ---- the step loop's side ---- */

static void wait_for(struct writer *w, int64_t finished)
{
    pthread_mutex_lock(&w->lock);
    while (w->finished < finished) {
        pthread_cond_wait(&w->changed, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}

static int64_t finished_now(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    const int64_t finished = w->finished;
    pthread_mutex_unlock(&w->lock);
    return finished;
}

static enum status grow(const struct writer *w, struct slot *slot, size_t bytes)
{
    if (slot->bytes < bytes) {
        w->backend->runtime->pinned_free(w->device, slot->h_memory);
        *slot = (struct slot){0};
        TRY(w->backend->runtime->pinned_alloc(w->device, bytes, &slot->h_memory));
        slot->bytes = bytes;
    }
    return STATUS_OK;
}

enum status writer_prepare(struct writer *w, size_t bytes)
{
    for (int s = 0; s < WRITER_SLOTS; s++) {
        TRY(grow(w, &w->slot[s], bytes));
    }
    return STATUS_OK;
}

bool writer_is_busy(const struct writer *w)
{
    return w->finished_everywhere < w->submitted; /* only this thread writes it */
}

enum status writer_copy_in_background(struct writer *w, struct queue *steps, size_t bytes,
                                      bool has_room)
{
    if (!w->background) {
        return STATUS_OK;
    }
    const enum status mine =
        has_room ? copy_out_create(w->backend, w->device, steps, bytes, &w->copy_out)
                 : fail(STATUS_MEMORY, "%s of device memory are not free", SIZE_TEXT(bytes));
    const enum status status = status_agree(w->loop_comm, mine);
    if (status != STATUS_OK) {
        copy_out_destroy(w->copy_out);
        w->copy_out = NULL;
    }
    if (status != STATUS_MEMORY) {
        return status;
    }
    log_info("the steps wait while outputs are copied from the device: %s", fail_message());
    fail_clear();
    return STATUS_OK;
}

static enum status begin_copy(struct writer *w, size_t bytes, struct writer_room *room)
{
    if (w->copy_out != NULL && bytes <= copy_out_room(w->copy_out)) {
        TRY(copy_out_begin(w->copy_out));
        room->copy_out = w->copy_out;
    }
    return STATUS_OK;
}

bool writer_waits_matter(double wait_s, double run_s)
{
    return wait_s > 5 && wait_s > 0.1 * run_s;
}

enum status writer_reserve(struct writer *w, size_t bytes, struct writer_room *room)
{
    *room = (struct writer_room){0};
    wait_for_copy(w);
    /* the job whose slot this one takes; only this thread writes `submitted` */
    const int64_t needed = w->submitted + 1 - WRITER_SLOTS;
    if (finished_now(w) < needed) {
        const double since = MPI_Wtime();
        wait_for(w, needed);
        const double now = MPI_Wtime();
        w->waits++;
        w->wait_s += now - since;
        if (!w->has_warned && writer_waits_matter(w->wait_s, now - w->start)) {
            w->has_warned = true;
            log_info("output is slower than the steps, which wait for the writer (reported once; "
                     "report.json has the number of waits)");
        }
    }
    struct slot *slot = &w->slot[w->submitted % WRITER_SLOTS];
    TRY(grow(w, slot, bytes));
    room->h_memory = slot->h_memory;
    return begin_copy(w, bytes, room);
}

static enum status known_status(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    const enum status status = fail_restore(&w->failed_job);
    pthread_mutex_unlock(&w->lock);
    return status;
}

enum status writer_submit(struct writer *w, const struct writer_job *job)
{
    pthread_mutex_lock(&w->lock);
    w->job[w->submitted % WRITER_SLOTS] = *job;
    if (w->copy_out != NULL && copy_out_is_under_way(w->copy_out)) {
        w->held = w->submitted;
    }
    w->submitted++;
    if (!w->background) {
        do_next_job(w);
        w->finished_everywhere = w->submitted; /* the outcome is agreed */
    }
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return w->background ? STATUS_OK : known_status(w);
}

static enum status begin_reduction(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    w->mine[0] = w->finished;
    w->mine[1] = w->failed_job.code != STATUS_OK ? -1 : 0;
    pthread_mutex_unlock(&w->lock);
    return comm_check(
        MPI_Iallreduce(w->mine, w->all, 2, MPI_INT64_T, MPI_MIN, w->loop_comm, &w->request),
        "MPI_Iallreduce");
}

static void poll_copy(struct writer *w)
{
    bool done = false;
    if (w->held < 0) {
        return;
    }
    const enum status status = copy_out_done(w->copy_out, &done);
    if (done || status != STATUS_OK) {
        release(w, status);
    }
}

enum status writer_poll(struct writer *w)
{
    poll_copy(w);
    if (w->request != MPI_REQUEST_NULL) {
        TRY_MPI(MPI_Wait(&w->request, MPI_STATUS_IGNORE));
        w->finished_everywhere = w->all[0];
        if (w->all[1] < 0) {
            return writer_finish(w);
        }
    }
    /* both sides are the same on all ranks */
    return w->finished_everywhere < w->submitted ? begin_reduction(w) : STATUS_OK;
}

/* Wait job by job to attribute the time to each kind. */
static void wait_for_each(struct writer *w)
{
    if (w->held >= 0) {
        const double since = MPI_Wtime();
        const int kind = w->job[w->held % WRITER_SLOTS].kind;
        wait_for_copy(w);
        writer_expose(w, kind, since);
    }
    for (int64_t n = finished_now(w); n < w->submitted; n++) {
        const double since = MPI_Wtime();
        const int kind = w->job[n % WRITER_SLOTS].kind;
        wait_for(w, n + 1);
        writer_expose(w, kind, since);
    }
}

enum status writer_finish(struct writer *w)
{
    TRY_MPI(MPI_Wait(&w->request, MPI_STATUS_IGNORE));
    wait_for_each(w);
    w->finished_everywhere = w->submitted;
    return status_agree(w->loop_comm, known_status(w));
}

void writer_expose(struct writer *w, int kind, double since)
{
    pthread_mutex_lock(&w->lock);
    w->figures[kind].exposed_s += MPI_Wtime() - since;
    pthread_mutex_unlock(&w->lock);
}

struct writer_figures writer_figures(struct writer *w, int kind)
{
    pthread_mutex_lock(&w->lock);
    const struct writer_figures figures = w->figures[kind];
    pthread_mutex_unlock(&w->lock);
    return figures;
}
