#include "base/comm.h"

#include <stdio.h>
#include <string.h>

enum status comm_check(int mpi_code, const char *what)
{
    if (mpi_code == MPI_SUCCESS) {
        return STATUS_OK;
    }
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    MPI_Error_string(mpi_code, text, &length);
    return fail(STATUS_MPI, "%s failed: %s", what, text);
}

int comm_rank(MPI_Comm comm)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

int comm_size(MPI_Comm comm)
{
    int size = 1;
    MPI_Comm_size(comm, &size);
    return size;
}

enum status status_agree(MPI_Comm comm, enum status mine)
{
    const int nranks = comm_size(comm);
    const int rank = comm_rank(comm);
    const int claim = mine == STATUS_OK ? nranks : rank;
    int first = nranks;
    TRY_MPI(MPI_Allreduce(&claim, &first, 1, MPI_INT, MPI_MIN, comm));
    if (first == nranks) {
        return STATUS_OK;
    }
    struct {
        int code;
        int names_its_rank;
        char message[STATUS_MESSAGE_BYTES];
    } verdict = {.code = (int)mine, .names_its_rank = fail_is_agreed()};
    snprintf(verdict.message, sizeof verdict.message, "%s", fail_message());
    TRY_MPI(MPI_Bcast(&verdict, (int)sizeof verdict, MPI_BYTE, first, comm));
    if (first != 0 && !verdict.names_its_rank) {
        char named[STATUS_MESSAGE_BYTES];
        snprintf(named, sizeof named, "rank %d: %.*s", first, STATUS_MESSAGE_BYTES - 32,
                 verdict.message);
        fail_set_agreed(named);
    } else {
        fail_set_agreed(verdict.message);
    }
    return (enum status)verdict.code;
}

enum status comm_node_rank(MPI_Comm comm, int *node_rank, int *node_size)
{
    MPI_Comm node;
    TRY_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, comm_rank(comm), MPI_INFO_NULL, &node));
    *node_rank = comm_rank(node);
    *node_size = comm_size(node);
    TRY_MPI(MPI_Comm_free(&node));
    return STATUS_OK;
}
