/* Agreement on failures: one failing rank is everybody's failure, with one message. */
#include "mpi_rig.h"

#include <stdio.h>
#include <string.h>

#include "base/comm.h"

#undef fail /* ours, of base/status.h */

static const enum status codes[] = {STATUS_FILE,   STATUS_INPUT, STATUS_MEMORY,
                                    STATUS_DEVICE, STATUS_MPI,   STATUS_NUMERICS};
enum { CODES = sizeof codes / sizeof codes[0] };

static enum status fail_of(int rank)
{
    return fail(codes[rank % CODES], "the disk of %d is on fire", rank);
}

static void message_of(int rank, char text[128])
{
    const int shown = rank == 0 ? 0 : snprintf(text, 128, "rank %d: ", rank);
    (void)snprintf(text + shown, 128 - (size_t)shown, "the disk of %d is on fire", rank);
}

TEST(lowest_failing_rank_speaks_for_all)
{
    const int rank = comm_rank(MPI_COMM_WORLD);
    const int nranks = comm_size(MPI_COMM_WORLD);
    for (int failing = 0; failing < 1 << nranks; failing++) {
        fail_clear();
        const bool mine = ((failing >> rank) & 1) != 0;
        const enum status status = status_agree(MPI_COMM_WORLD, mine ? fail_of(rank) : STATUS_OK);
        if (failing == 0) {
            check(status == STATUS_OK);
            continue;
        }
        int first = 0;
        while (((failing >> first) & 1) == 0) {
            first++;
        }
        char expected[128];
        message_of(first, expected);
        check(status == codes[first % CODES]);
        check(strcmp(fail_message(), expected) == 0);
        check(fail_is_agreed());
        /* the next level up agrees once more: nothing changes */
        check(status_agree(MPI_COMM_WORLD, status) == status);
        check(strcmp(fail_message(), expected) == 0);
    }
    settle();
}

TEST(success_keeps_quiet)
{
    fail_clear();
    check(status_agree(MPI_COMM_WORLD, STATUS_OK) == STATUS_OK);
    check(strcmp(fail_message(), "") == 0);
    settle();
}

TEST(mpi_codes_become_ours)
{
    const int nranks = comm_size(MPI_COMM_WORLD);
    int number = 0;
    check(comm_check(MPI_SUCCESS, "MPI_Barrier") == STATUS_OK);
    check(!comm_is_broken());
    const int code = MPI_Send(&number, 1, MPI_INT, nranks + 5, 0, MPI_COMM_WORLD);
    check(comm_check(code, "MPI_Send") == STATUS_MPI);
    check(strncmp(fail_message(), "MPI_Send failed: ", 17) == 0);
    check(strlen(fail_message()) > 20);
    check(!fail_is_agreed());
    settle();
}

TEST(ranks_of_a_node_are_counted)
{
    int node_rank = -1;
    int node_size = -1;
    demand(comm_node_rank(MPI_COMM_WORLD, &node_rank, &node_size));
    /* the tests run on one node */
    check(node_rank == comm_rank(MPI_COMM_WORLD));
    check(node_size == comm_size(MPI_COMM_WORLD));
    settle();
}

/* The last test: MPI stays broken. */
TEST(after_a_failed_call_nobody_is_waited_for)
{
    check(comm_is_broken()); /* by mpi_codes_become_ours */
    for (int times = 0; times < 3; times++) {
        (void)fail(STATUS_MPI, "the line is dead");
        /* ranks that call different numbers of times would hang */
        if (times <= comm_rank(MPI_COMM_WORLD)) {
            check(status_agree(MPI_COMM_WORLD, STATUS_OK) == STATUS_MPI);
            check(status_agree(MPI_COMM_WORLD, STATUS_FILE) == STATUS_FILE);
        }
        check(!fail_is_agreed());
    }
    settle();
}

TEST_MAIN_RANKS(NULL, NULL)
