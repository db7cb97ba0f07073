/* MPI helpers: one place where MPI's error codes become ours, and agreement on failures. */
#ifndef ISOTHERM_BASE_COMM_H
#define ISOTHERM_BASE_COMM_H

#include <mpi.h>

#include "base/status.h"

/* Translate an MPI return code; `what` names the call for the message. */
enum status comm_check(int mpi_code, const char *what) MUST_CHECK;
#define TRY_MPI(call) TRY(comm_check((call), #call))

int comm_rank(MPI_Comm comm);
int comm_size(MPI_Comm comm);

/* Collective. Every rank hands in its own outcome; all get the same one back: STATUS_OK when all
 * succeeded, else the status of the lowest failing rank, whose message (with its rank when there
 * is more than one) is then the recorded message on all ranks, marked as agreed.
 * Call it after every local step that may fail and before the next collective call. */
enum status status_agree(MPI_Comm comm, enum status mine) MUST_CHECK;

/* Ranks on this node, and the rank within it. Collective over `comm`. */
enum status comm_node_rank(MPI_Comm comm, int *node_rank, int *node_size) MUST_CHECK;

#endif
