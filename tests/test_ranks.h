/* The frame of a test program whose tests all ranks run together. */
#pragma once

#include <mpi.h>

#include "tests/test.h"

/* After MPI_Init. Errors of MPI are returned to the tests. Finalizes MPI; returns on all ranks
 * whether a test failed on any: the value of main. */
static inline int test_run_ranks(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int failures = test_run(setup, teardown);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures != 0;
}

#define TEST_MAIN_RANKS(setup, teardown)                                                           \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        MPI_Init(&argc, &argv);                                                                    \
        return test_run_ranks(setup, teardown);                                                    \
    }
