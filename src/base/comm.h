/* MPI helpers: the translation of MPI's error codes, and agreement on failures. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "base/exact_sum.h"
#include "base/status.h"

/* Translate an MPI return code; `what` names the call for the message. */
enum status comm_check(int mpi_code, const char *what);
#define TRY_MPI(call) TRY(comm_check((call), #call))
/* Like comm_check, for calls whose failure cannot be returned: comm_is_broken reports it later. */
void comm_note(int mpi_code, const char *what);

/* Not collective. True when an MPI call has failed on this rank, or the ranks could not agree on a
 * failure. Other ranks may wait for this one forever, so no collective operation may begin
 * (status_agree returns at once, files are left open), and `main` aborts all ranks. */
bool comm_is_broken(void);

/* The failure that broke MPI, on any thread; it is recorded on this thread, too. */
enum status comm_cause(void);

/* End the program on all ranks; returns only if MPI could not. */
void comm_abort(int exit_code);

/* Where MPI does not tell they print its error and end the program. */
int comm_rank(MPI_Comm comm);
int comm_size(MPI_Comm comm);
void comm_free(MPI_Comm *comm); /* takes MPI_COMM_NULL */

/* Collective. Every rank passes its own outcome, and all get the same result: STATUS_OK when all
 * succeeded, else the status of the lowest failing rank. Its message (with its rank when there is
 * more than one) is then recorded on all ranks and marked as agreed. Call it after every local step
 * that may fail and before the next collective call.
 * A rank that has failed waits for the others for a few seconds only: HDF5's collective calls may
 * fail on one rank and block the others. Returns STATUS_MPI at once, not agreed, when MPI is broken
 * on this rank. */
enum status status_agree(MPI_Comm comm, enum status mine);

/* From now on status_agree sleeps while it waits on this thread: if one rank works alone, spinning
 * would take cores from its threads. */
void comm_wait_asleep(void);

/* The number of ranks on this node and the rank among them. Collective over `comm`. */
enum status comm_node_rank(MPI_Comm comm, int *node_rank, int *node_size);
/* Collective. The lowest rank of `comm` on this rank's node, as the name of the node. */
enum status comm_node(MPI_Comm comm, int *node);

/* Collective. Add sums over all ranks: one integer reduction, whose order does not matter. */
enum status exact_sums_reduce(MPI_Comm comm, struct exact_sum *sums, int count);
