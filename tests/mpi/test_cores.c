/* Sharing the cores of a node among its ranks. */
#include "mpi_rig.h"

#include "base/comm.h"
#include "machine/machine.h"

/* The threads of this rank when it may use `count` cores from `first` on. */
static int threads_on(int first, int count)
{
    cpu_set_t mine = {0};
    int threads = -1;
    for (int core = first; core < first + count; core++) {
        CPU_SET((size_t)core, &mine);
    }
    demand(cores_divide(MPI_COMM_WORLD, &mine, &threads));
    return threads;
}

TEST(test_shared_cores)
{
    const int nranks = comm_size(MPI_COMM_WORLD);
    check(threads_on(0, 64) == 64 / nranks);
    check(threads_on(CPU_SETSIZE - 64, 64) == 64 / nranks);
    check(threads_on(5, 1) == 1);
    check(threads_on(0, nranks) == 1);
    check(threads_on(0, 2 * nranks - 1) == 1);
    settle();
}

TEST(test_own_cores)
{
    const int rank = comm_rank(MPI_COMM_WORLD);
    check(threads_on(8 * rank, 8) == 8);
    check(threads_on(8 * rank, rank + 1) == rank + 1);
    settle();
}

/* Some ranks bound, others not: no core has more threads than it can carry. */
TEST(test_mixed)
{
    if (comm_size(MPI_COMM_WORLD) == 3) {
        const int rank = comm_rank(MPI_COMM_WORLD);
        check(threads_on(rank == 2 ? 8 : 0, rank == 0 ? 16 : 8) == (rank == 0 ? 8 : 4));
        check(threads_on(0, rank == 0 ? 0 : 16) == (rank == 0 ? 0 : 8));
    }
    settle();
}

TEST_MAIN_RANKS(NULL, NULL)
