/* The writer: jobs run in order, from memory that stays theirs, two at a time at most, and a
 * failure of one rank's write half reaches the step loop of all. */
#include "mpi_rig.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/writer.h"
#include "base/comm.h"

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

static enum status write_task(MPI_Comm comm, void *context)
{
    const struct task *task = context;
    const int in_flight = atomic_load(&seen.handed_in) - atomic_load(&seen.ended);
    if (in_flight > atomic_load(&seen.most_in_flight)) {
        atomic_store(&seen.most_in_flight, in_flight);
    }
    seen.order[atomic_fetch_add(&seen.begun, 1)] = task->number;
    pause_for(task->milliseconds);
    for (int i = 0; i < WORDS; i++) {
        seen.wrong_words += task->words[i] != 1000 * task->number + i ? 1 : 0;
    }
    enum status status = STATUS_OK;
    if (comm_rank(comm) == task->failing_rank) {
        status = (fail)(STATUS_FILE, "task %d has no room", task->number);
    }
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
    void *memory = NULL;
    demand(writer_reserve(writer, WORDS * sizeof(int64_t), &memory));
    int64_t *words = memory;
    for (int i = 0; i < WORDS; i++) {
        words[i] = 1000 * number + i;
    }
    struct task *task = malloc(sizeof *task);
    *task = (struct task){number, failing_rank, words, milliseconds};
    const struct writer_job job = {.kind = WRITER_SNAPSHOTS,
                                   .bytes = 7,
                                   .write = write_task,
                                   .destroy = destroy_task,
                                   .context = task};
    atomic_fetch_add(&seen.handed_in, 1);
    return writer_submit(writer, &job);
}

static struct writer *begin(bool background)
{
    struct writer *writer = NULL;
    memset(&seen, 0, sizeof seen);
    demand(writer_create(MPI_COMM_WORLD, backend, device, background, &writer));
    check(writer_in_background(writer) == background);
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
    const struct writer_figures figures = writer_figures(writer, WRITER_SNAPSHOTS);
    check(figures.count == JOBS && figures.bytes == 7 * JOBS && figures.write_s > 0);
    writer_destroy(writer);
    settle();
}

static void test_background(void **unused)
{
    (void)unused;
    run_all(true);
}

static void test_foreground(void **unused)
{
    (void)unused;
    run_all(false);
}

/* More jobs than places: the loop waits, and counts that it did. */
static void test_waiting(void **unused)
{
    (void)unused;
    struct writer *writer = begin(true);
    for (int n = 0; n < 6; n++) {
        check(hand_in(writer, n, NOBODY, 20) == STATUS_OK);
    }
    int64_t count = 0;
    double seconds = 0;
    writer_waits(writer, &count, &seconds);
    check(count >= 1 && count <= 4 && seconds > 0);
    check(writer_finish(writer) == STATUS_OK);
    check(seen.wrong_words == 0);
    writer_destroy(writer);
    settle();
}

/* Job 1 fails on one rank: all ranks hear of it from a poll at the same boundary, job 2 is never
 * begun, and everything is given back. */
static void test_failure(void **unused)
{
    (void)unused;
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

static void test_failure_in_the_foreground(void **unused)
{
    (void)unused;
    const int last = comm_size(MPI_COMM_WORLD) - 1;
    struct writer *writer = begin(false);
    check(hand_in(writer, 0, last, 0) == STATUS_FILE);
    check(strstr(fail_message(), "task 0 has no room") != NULL);
    check(writer_finish(writer) == STATUS_FILE);
    writer_destroy(writer);
    settle();
}

/* A run that fails elsewhere goes away without asking: what was handed in is still written. */
static void test_leaving(void **unused)
{
    (void)unused;
    struct writer *writer = begin(true);
    check(hand_in(writer, 0, NOBODY, 5) == STATUS_OK);
    check(hand_in(writer, 1, NOBODY, 5) == STATUS_OK);
    check(writer_poll(writer) == STATUS_OK);
    writer_destroy(writer);
    check(atomic_load(&seen.ended) == 2 && atomic_load(&seen.destroyed) == 2);
    settle();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_background),
        cmocka_unit_test(test_foreground),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_failure_in_the_foreground),
        cmocka_unit_test(test_leaving),
    };
    int granted = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (granted != MPI_THREAD_MULTIPLE) {
        print_message("this MPI does not grant MPI_THREAD_MULTIPLE\n");
    }
    backend = backend_find("cpu");
    demand(backend->open(0, 1, &device));
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    backend->close(device);
    return mpi_rig_end(failures);
}
