#include "mpi_rig.h"

static int failed_checks;

static int my_rank(void)
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

void check_at(int good, const char *text, const char *file, int line)
{
    enum { SHOWN = 5 };
    if (good) {
        return;
    }
    failed_checks++;
    if (failed_checks <= SHOWN) {
        print_error("%s:%d: rank %d: %s\n", file, line, my_rank(), text);
    }
}

void settle(void)
{
    int total = 0;
    MPI_Allreduce(&failed_checks, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    failed_checks = 0;
    assert_int_equal(total, 0);
}

void demand_at(enum status status, const char *call, const char *file, int line)
{
    if (status != STATUS_OK) {
        print_error("%s:%d: rank %d: %s: %s\n", file, line, my_rank(), call, fail_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
