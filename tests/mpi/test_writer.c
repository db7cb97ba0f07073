/* The writer: jobs run in order, from memory that stays theirs, two at a time at most, and only
 * when their values have come; a failure of one rank's write half or copy reaches the step loop of
 * all. */
#include "mpi_rig.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/comm.h"
#include "kernels/backends.h"
#include "output/writer.h"

static struct phases phases; /* where the writer notes its jobs */

enum { WORDS = 1000, NOBODY = -1 };

static const struct backend *backend;
static struct device *device;

/* What the jobs of one test have done; the writer's thread writes, the loop reads after a wait. */
static struct {
    atomic_int begun, ended, destroyed;
    atomic_int most_in_flight; /* handed in, not ended */
    atomic_int handed_in;
    int order[64];
    int wrong_words;
    int threads; /* OpenMP's, of the last job */
} seen;

struct task {
    int number;
    int failing_rank; /* or NOBODY */
    const int64_t *words;
    int64_t milliseconds;
};

static void pause_for(int64_t milliseconds)
{
    const struct timespec time = {.tv_sec = 0, .tv_nsec = milliseconds * 1000000};
    nanosleep(&time, NULL);
}

static enum status write_task(MPI_Comm comm, void *context, uint64_t *bytes)
{
    const struct task *task = context;
    const int in_flight = atomic_load(&seen.handed_in) - atomic_load(&seen.ended);
    if (in_flight > atomic_load(&seen.most_in_flight)) {
        atomic_store(&seen.most_in_flight, in_flight);
    }
    seen.order[atomic_fetch_add(&seen.begun, 1)] = task->number;
    seen.threads = omp_get_max_threads();
    pause_for(task->milliseconds);
    for (int i = 0; i < WORDS; i++) {
        seen.wrong_words += task->words[i] != 1000 * task->number + i ? 1 : 0;
    }
    enum status status = STATUS_OK;
    if (comm_rank(comm) == task->failing_rank) {
        status = (fail)(STATUS_FILE, "task %d has no room", task->number);
    }
    *bytes = 7;
    atomic_fetch_add(&seen.ended, 1);
    return status_agree(comm, status);
}

static void destroy_task(void *context)
{
    atomic_fetch_add(&seen.destroyed, 1);
    free(context);
}

static enum status hand_in(struct writer *writer, int number, int failing_rank,
                           int64_t milliseconds)
{
    struct writer_room room;
    demand(writer_reserve(writer, WORDS * sizeof(int64_t), &room));
    int64_t *words = room.h_memory;
    for (int i = 0; i < WORDS; i++) {
        words[i] = 1000 * number + i;
    }
    struct task *task = malloc(sizeof *task);
    *task = (struct task){number, failing_rank, words, milliseconds};
    const struct writer_job job = {
        .kind = 0, .write = write_task, .destroy = destroy_task, .context = task};
    atomic_fetch_add(&seen.handed_in, 1);
    return writer_submit(writer, &job);
}

static struct writer *begin(bool background)
{
    struct writer *writer = NULL;
    memset(&seen, 0, sizeof seen);
    demand(writer_create(MPI_COMM_WORLD, backend, device, background, &phases, &writer));
    check(writer_about(writer).in_background == background);
    return writer;
}

/* Ranks take their time at different places. */
static int64_t own_pace(int number)
{
    return (number + comm_rank(MPI_COMM_WORLD)) % 3;
}

static void run_all(bool background)
{
    enum { JOBS = 20 };
    struct writer *writer = begin(background);
    for (int n = 0; n < JOBS; n++) {
        check(hand_in(writer, n, NOBODY, own_pace(n)) == STATUS_OK);
        check(writer_poll(writer) == STATUS_OK);
        pause_for(own_pace(n + 1) / 2);
        check(writer_poll(writer) == STATUS_OK);
        check(atomic_load(&seen.handed_in) - atomic_load(&seen.destroyed) <= WRITER_SLOTS);
    }
    check(writer_finish(writer) == STATUS_OK);
    check(atomic_load(&seen.ended) == JOBS && atomic_load(&seen.destroyed) == JOBS);
    check(seen.wrong_words == 0);
    check(atomic_load(&seen.most_in_flight) <= WRITER_SLOTS);
    for (int n = 0; n < JOBS; n++) {
        check(seen.order[n] == n);
    }
    const struct writer_figures figures = writer_figures(writer, 0);
    check(figures.count == JOBS && figures.bytes == 7 * JOBS && figures.write_s > 0);
    writer_destroy(writer);
    settle();
}

TEST(test_background)
{
    run_all(true);
}

TEST(test_foreground)
{
    run_all(false);
}

/* How many threads a job has that is written with `table`, of a rank with `threads`. */
static int threads_of_job(const struct backend *table, int threads, bool background)
{
    const struct backend *before = backend;
    backend = table;
    omp_set_num_threads(threads);
    struct writer *writer = begin(background);
    check(hand_in(writer, 0, NOBODY, 0) == STATUS_OK);
    check(writer_finish(writer) == STATUS_OK);
    check(omp_get_max_threads() == threads);
    writer_destroy(writer);
    omp_set_num_threads(1);
    backend = before;
    return seen.threads;
}

/* Next to a GPU all but one, next to steps on CPUs one, and all of them while the steps wait. */
TEST(test_threads)
{
    struct backend gpu = *backend;
    gpu.capabilities |= BACKEND_GPU;
    check(threads_of_job(&gpu, 4, true) == 3);
    check(threads_of_job(&gpu, 1, true) == 1);
    check(threads_of_job(&gpu, 4, false) == 4);
    check(threads_of_job(backend, 4, true) == 1);
    check(threads_of_job(backend, 4, false) == 4);
    settle();
}

/* More jobs than places: the loop waits, and counts that it did. */
TEST(test_waiting)
{
    struct writer *writer = begin(true);
    for (int n = 0; n < 6; n++) {
        check(hand_in(writer, n, NOBODY, 20) == STATUS_OK);
    }
    const struct writer_about about = writer_about(writer);
    check(about.waits >= 1 && about.waits <= 4 && about.wait_s > 0);
    check(writer_finish(writer) == STATUS_OK);
    check(seen.wrong_words == 0);
    writer_destroy(writer);
    settle();
}

/* What is worth a message: not the waits of a run of seconds, nor a few in a long one. */
TEST(test_waits_that_matter)
{
    check(!writer_waits_matter(4.9, 5));
    check(writer_waits_matter(5.1, 6));
    check(writer_waits_matter(101, 1000));
    check(!writer_waits_matter(99, 1000));
    settle();
}

/* Job 1 fails on one rank: all ranks hear of it from a poll at the same boundary, job 2 is never
 * begun, and everything is given back. */
TEST(test_failure)
{
    const int last = comm_size(MPI_COMM_WORLD) - 1;
    struct writer *writer = begin(true);
    check(hand_in(writer, 0, NOBODY, 0) == STATUS_OK);
    check(hand_in(writer, 1, last, own_pace(1)) == STATUS_OK);
    enum status status = STATUS_OK;
    int64_t boundary = 0;
    for (; status == STATUS_OK && boundary < 10000; boundary++) {
        if (boundary == 0) {
            status = hand_in(writer, 2, NOBODY, 0);
            check(status == STATUS_OK);
        }
        pause_for(comm_rank(MPI_COMM_WORLD) % 2);
        status = writer_poll(writer);
    }
    check(status == STATUS_FILE);
    check(strstr(fail_message(), "task 1 has no room") != NULL);
    check(fail_is_agreed());
    int64_t ends[2] = {boundary, -boundary};
    MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    check(ends[0] == -ends[1]);
    check(writer_finish(writer) == STATUS_FILE); /* and it stays known */
    writer_destroy(writer);
    check(atomic_load(&seen.begun) == 2 && atomic_load(&seen.destroyed) == 3);
    settle();
}

TEST(test_failure_in_the_foreground)
{
    const int last = comm_size(MPI_COMM_WORLD) - 1;
    struct writer *writer = begin(false);
    check(hand_in(writer, 0, last, 0) == STATUS_FILE);
    check(strstr(fail_message(), "task 0 has no room") != NULL);
    check(writer_finish(writer) == STATUS_FILE);
    writer_destroy(writer);
    settle();
}

/* A run that fails elsewhere goes away without asking: what was handed in is still written. */
TEST(test_leaving)
{
    struct writer *writer = begin(true);
    check(hand_in(writer, 0, NOBODY, 5) == STATUS_OK);
    check(hand_in(writer, 1, NOBODY, 5) == STATUS_OK);
    check(writer_poll(writer) == STATUS_OK);
    writer_destroy(writer);
    check(atomic_load(&seen.ended) == 2 && atomic_load(&seen.destroyed) == 2);
    settle();
}

/* ---- values that are on their way ------------------------------------------------------------ */

/* The backend `guard` with events whose question or wait fails on demand. */
static struct {
    struct backend table;
    struct runtime runtime;
    const struct backend *real;
    struct device *device;
    struct queue *steps;
    int64_t *d_words;
    atomic_bool fails;
} far;

static enum status far_event_sync(struct event *event)
{
    return atomic_load(&far.fails) ? (fail)(STATUS_DEVICE, "the device fell off the bus")
                                   : far.real->runtime->event_sync(event);
}

static enum status far_event_done(struct event *event, bool *done)
{
    return atomic_load(&far.fails) ? (fail)(STATUS_DEVICE, "the device fell off the bus")
                                   : far.real->runtime->event_done(event, done);
}

static struct writer *begin_far(bool has_room)
{
    struct writer *writer = NULL;
    void *d_words = NULL;
    memset(&seen, 0, sizeof seen);
    far.real = backend_find("guard");
    far.table = *far.real;
    far.runtime = *far.real->runtime;
    far.runtime.event_sync = far_event_sync;
    far.runtime.event_done = far_event_done;
    far.table.runtime = &far.runtime;
    atomic_store(&far.fails, false);
    demand(far.real->runtime->open(0, 1, &far.device));
    demand(far.real->runtime->queue_create(far.device, QUEUE_NORMAL, &far.steps));
    demand(far.real->runtime->memory_alloc(far.device, WORDS * sizeof(int64_t), &d_words));
    far.d_words = d_words;
    demand(writer_create(MPI_COMM_WORLD, &far.table, far.device, true, &phases, &writer));
    demand(writer_copy_in_background(writer, far.steps, WORDS * sizeof(int64_t), has_room));
    return writer;
}

static void end_far(struct writer *writer)
{
    writer_destroy(writer);
    far.real->runtime->memory_free(far.device, far.d_words);
    far.real->runtime->queue_destroy(far.steps);
    far.real->runtime->close(far.device);
    settle();
}

/* The values of job `number` on the device, as a step leaves them. */
static void put_on_device(int number)
{
    static int64_t words[WORDS];
    for (int i = 0; i < WORDS; i++) {
        words[i] = 1000 * number + i;
    }
    demand(far.real->runtime->copy_to_device(far.steps, far.d_words, words, sizeof words));
    demand(far.real->runtime->queue_wait(far.steps));
}

/* All words as float64 of one row: their bits travel as they are. */
static void send(struct copy_out *copy_out, void *h_memory)
{
    const int64_t cells[AXIS_COUNT] = {WORDS, 1, 1};
    struct extract_args args = {.stride = {1, 1, 1},
                                .cells = {WORDS, 1, 1},
                                .precision = PRECISION_FLOAT64,
                                .d_field = far.d_words};
    demand(layout_create(cells, (const int[]){0, 0, 0}, PRECISION_FLOAT64, &args.layout));
    args.layout.origin = 0;
    demand(copy_out_add(copy_out, &args, h_memory));
}

static enum status hand_in_far(struct writer *writer, int number, bool is_sent)
{
    struct writer_room room;
    demand(writer_reserve(writer, WORDS * sizeof(int64_t), &room));
    check((room.copy_out != NULL) == is_sent);
    put_on_device(number);
    if (room.copy_out != NULL) {
        send(room.copy_out, room.h_memory);
    } else {
        demand(far.real->runtime->copy_to_host(far.steps, room.h_memory, far.d_words,
                                               WORDS * sizeof(int64_t)));
        demand(far.real->runtime->queue_wait(far.steps));
    }
    struct task *task = malloc(sizeof *task);
    *task = (struct task){number, NOBODY, room.h_memory, own_pace(number)};
    const struct writer_job job = {
        .kind = 0, .write = write_task, .destroy = destroy_task, .context = task};
    atomic_fetch_add(&seen.handed_in, 1);
    return writer_submit(writer, &job);
}

/* Jobs with few and with many steps between them; each step changes the values on the device. */
static void hand_in_all_far(struct writer *writer, bool is_sent)
{
    enum { JOBS = 12 };
    for (int n = 0; n < JOBS; n++) {
        check(hand_in_far(writer, n, is_sent) == STATUS_OK);
        for (int step = 0; step < (n % 4) * 5; step++) {
            put_on_device(500 + step);
            check(writer_poll(writer) == STATUS_OK);
        }
    }
    check(writer_finish(writer) == STATUS_OK);
    check(atomic_load(&seen.ended) == JOBS && atomic_load(&seen.destroyed) == JOBS);
    check(seen.wrong_words == 0);
    check(atomic_load(&seen.most_in_flight) <= WRITER_SLOTS);
}

TEST(test_values_on_their_way)
{
    struct writer *writer = begin_far(true);
    check(writer_about(writer).copies_in_background);
    hand_in_all_far(writer, true);
    end_far(writer);
}

/* By polls alone the job is begun, and not before its values are there. */
TEST(test_polls_let_it_go)
{
    struct writer *writer = begin_far(true);
    check(hand_in_far(writer, 0, true) == STATUS_OK);
    pause_for(20);
    check(atomic_load(&seen.begun) == 0);
    for (int step = 0; step < 20; step++) {
        check(writer_poll(writer) == STATUS_OK);
    }
    for (int ms = 0; ms < 10000 && atomic_load(&seen.ended) == 0; ms++) {
        pause_for(1);
    }
    check(atomic_load(&seen.ended) == 1 && seen.wrong_words == 0);
    check(writer_finish(writer) == STATUS_OK);
    end_far(writer);
}

/* No device memory, or more to capture than was foreseen: values are copied at once. */
TEST(test_no_room)
{
    struct writer *writer = begin_far(false);
    check(!writer_about(writer).copies_in_background);
    hand_in_all_far(writer, false);
    end_far(writer);

    writer = begin_far(true);
    struct writer_room room;
    demand(writer_reserve(writer, WORDS * sizeof(int64_t) + 1, &room));
    check(room.h_memory != NULL && room.copy_out == NULL);
    end_far(writer);
}

/* It fails on one rank, when it is asked or when it is waited for: no rank begins the job, all hear
 * of it. */
static void fail_far(bool by_poll)
{
    struct writer *writer = begin_far(true);
    check(hand_in_far(writer, 0, true) == STATUS_OK);
    check(writer_finish(writer) == STATUS_OK);
    check(hand_in_far(writer, 1, true) == STATUS_OK);
    atomic_store(&far.fails, comm_rank(MPI_COMM_WORLD) == comm_size(MPI_COMM_WORLD) - 1);
    enum status status = STATUS_OK;
    for (int64_t boundary = 0; by_poll && status == STATUS_OK && boundary < 10000; boundary++) {
        pause_for(comm_rank(MPI_COMM_WORLD) % 2);
        status = writer_poll(writer);
    }
    status = by_poll ? status : writer_finish(writer);
    check(status == STATUS_DEVICE);
    check(strstr(fail_message(), "could not be copied") != NULL);
    check(strstr(fail_message(), "fell off the bus") != NULL);
    check(fail_is_agreed());
    check(atomic_load(&seen.begun) == 1 && atomic_load(&seen.destroyed) == 2);
    end_far(writer);
}

TEST(test_a_copy_that_fails)
{
    fail_far(true);
    fail_far(false);
}

/* A run that fails elsewhere: what is on its way arrives and is written. */
TEST(test_leaving_far)
{
    struct writer *writer = begin_far(true);
    check(hand_in_far(writer, 0, true) == STATUS_OK);
    check(writer_poll(writer) == STATUS_OK);
    end_far(writer);
    check(atomic_load(&seen.ended) == 1 && seen.wrong_words == 0);
    settle();
}

static int open_device(void **state)
{
    (void)state;
    backend = backend_find("cpu");
    return backend->runtime->open(0, 1, &device) != STATUS_OK;
}

static int close_device(void **state)
{
    (void)state;
    backend->runtime->close(device);
    return 0;
}

int main(int argc, char **argv)
{
    int granted = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    if (granted != MPI_THREAD_MULTIPLE) {
        print_message("this MPI does not provide MPI_THREAD_MULTIPLE\n");
    }
    return test_run_ranks(open_device, close_device);
}
