#include "base/comm.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

static atomic_bool broken; /* the writer's thread sets it, too */

/* The reason why this rank gave up. It is written once, the code last, before `broken`: the other
 * thread may notice before the failed one has reported. */
static struct {
    atomic_flag taken;
    atomic_int code;
    char message[STATUS_MESSAGE_BYTES];
} cause = {.taken = ATOMIC_FLAG_INIT};

static void give_up(enum status code)
{
    if (!atomic_flag_test_and_set(&cause.taken)) {
        snprintf(cause.message, sizeof cause.message, "%s", fail_message());
        cause.code = (int)code;
    }
    broken = true;
}

enum status comm_cause(void)
{
    const enum status code = (enum status)cause.code;
    if (code == STATUS_OK) { /* another thread is still writing its message */
        return fail(STATUS_MPI, "an MPI call failed");
    }
    return fail(code, "%s", cause.message);
}

bool comm_is_broken(void)
{
    return broken;
}

enum status comm_check(int mpi_code, const char *what)
{
    if (mpi_code == MPI_SUCCESS) {
        return STATUS_OK;
    }
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    int started = 0;
    /* before MPI_Init MPI has no error texts */
    if (MPI_Initialized(&started) == MPI_SUCCESS && started != 0) {
        MPI_Error_string(mpi_code, text, &length);
    }
    const enum status status = fail(STATUS_MPI, "%s failed: %s", what, text);
    give_up(status);
    return status;
}

void comm_note(int mpi_code, const char *what)
{
    (void)comm_check(mpi_code, what); /* which records it */
}

void comm_abort(int exit_code)
{
    enum { WAIT_S = 5 };
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&begun)) { /* another thread has, and MPI_Abort is not for two */
        nanosleep(&(struct timespec){.tv_sec = WAIT_S}, NULL);
        return;
    }
    MPI_Abort(MPI_COMM_WORLD, exit_code);
}

/* A rank that does not know its number must not take itself for the first, which writes. */
static void need(int mpi_code, const char *what)
{
    if (comm_check(mpi_code, what) != STATUS_OK) {
        log_error("%s", fail_message());
        comm_abort(status_exit_code(STATUS_MPI));
    }
}

int comm_rank(MPI_Comm comm)
{
    int rank = 0;
    need(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    return rank;
}

int comm_size(MPI_Comm comm)
{
    int size = 1;
    need(MPI_Comm_size(comm, &size), "MPI_Comm_size");
    return size;
}

void comm_free(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL && !broken) {
        comm_note(MPI_Comm_free(comm), "MPI_Comm_free");
    }
    *comm = MPI_COMM_NULL;
}

static _Thread_local bool asleep;

void comm_wait_asleep(void)
{
    asleep = true;
}

static void sleep_a_while(int64_t *nanoseconds)
{
    enum { MAX_NS = 1000000 };
    const struct timespec pause = {.tv_nsec = *nanoseconds};
    nanosleep(&pause, NULL);
    *nanoseconds = 2 * *nanoseconds < MAX_NS ? 2 * *nanoseconds : MAX_NS;
}

/* A rank that has failed waits for a limited time. The ranks give up one after the other, so that
 * only one of them prints the failure. */
static enum status wait_for_all(MPI_Request *request, int rank, enum status mine)
{
    if (mine == STATUS_OK && !asleep) {
        return comm_check(MPI_Wait(request, MPI_STATUS_IGNORE), "MPI_Wait");
    }
    const double limit_s = 5 + 0.25 * (rank < 20 ? rank : 20);
    const double start = clock_seconds();
    int done = 0;
    int64_t pause = 20000;
    while (done == 0) {
        TRY_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done == 0 && asleep) {
            sleep_a_while(&pause);
        }
        if (done == 0 && mine != STATUS_OK && clock_seconds() - start > limit_s) {
            give_up(mine);
            return mine;
        }
    }
    return STATUS_OK;
}

static enum status agree_on_lowest(MPI_Comm comm, int claim, enum status mine, int *lowest)
{
    /* on the heap: MPI may still write to it after this rank has given up waiting */
    int *claims = malloc(2 * sizeof *claims);
    if (claims == NULL) {
        const enum status status = fail(STATUS_MEMORY, "no memory to agree on a failure");
        give_up(status);
        return status;
    }
    claims[0] = claim;
    claims[1] = claim;
    MPI_Request request;
    enum status status =
        comm_check(MPI_Iallreduce(&claims[0], &claims[1], 1, MPI_INT, MPI_MIN, comm, &request),
                   "MPI_Iallreduce");
    status = status == STATUS_OK ? wait_for_all(&request, claim, mine) : status;
    *lowest = claims[1];
    if (!broken) {
        free(claims);
    }
    return status;
}

enum status status_agree(MPI_Comm comm, enum status mine)
{
    const int nranks = broken ? 0 : comm_size(comm);
    const int rank = broken ? 0 : comm_rank(comm);
    if (broken) {
        return mine == STATUS_OK ? comm_cause() : mine;
    }
    if (nranks == 1 && mine == STATUS_OK) { /* a call of MPI takes as long as small steps */
        return STATUS_OK;
    }
    const int claim = mine == STATUS_OK ? nranks : rank;
    int first = nranks;
    TRY(agree_on_lowest(comm, claim, mine, &first));
    if (first == nranks) {
        return STATUS_OK;
    }
    struct failure verdict = {.code = STATUS_OK};
    fail_keep(mine, &verdict);
    TRY_MPI(MPI_Bcast(&verdict, (int)sizeof verdict, MPI_BYTE, first, comm));
    if (first != 0 && !verdict.agreed) {
        char named[STATUS_MESSAGE_BYTES];
        snprintf(named, sizeof named, "rank %d: %.*s", first, STATUS_MESSAGE_BYTES - 32,
                 verdict.message);
        fail_set_agreed(named);
    } else {
        fail_set_agreed(verdict.message);
    }
    return verdict.code;
}

enum status comm_node_rank(MPI_Comm comm, int *node_rank, int *node_size)
{
    MPI_Comm node = MPI_COMM_NULL;
    TRY_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, comm_rank(comm), MPI_INFO_NULL, &node));
    *node_rank = comm_rank(node);
    *node_size = comm_size(node);
    TRY_MPI(MPI_Comm_free(&node));
    return STATUS_OK;
}

enum status comm_node(MPI_Comm comm, int *node)
{
    SCOPED_BY(comm_free) MPI_Comm ranks = MPI_COMM_NULL;
    *node = comm_rank(comm);
    TRY_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, *node, MPI_INFO_NULL, &ranks));
    TRY_MPI(MPI_Bcast(node, 1, MPI_INT, 0, ranks));
    return STATUS_OK;
}

enum status exact_sums_reduce(MPI_Comm comm, struct exact_sum *sums, int count)
{
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, sums, 4 * count, MPI_INT64_T, MPI_SUM, comm));
    for (int i = 0; i < count; i++) {
        exact_sum_normalise(&sums[i]);
    }
    return STATUS_OK;
}
