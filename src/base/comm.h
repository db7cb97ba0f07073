/* MPI helpers: one place where MPI's error codes become ours, and agreement on failures. */
#ifndef ISOTHERM_BASE_COMM_H
#define ISOTHERM_BASE_COMM_H

#include <mpi.h>
#include <stdbool.h>

#include "base/status.h"

/* Translate an MPI return code; `what` names the call for the message. */
enum status comm_check(int mpi_code, const char *what) MUST_CHECK;
#define TRY_MPI(call) TRY(comm_check((call), #call))
/* The same for calls whose failure cannot be returned: it is kept for comm_is_broken. */
void comm_note(int mpi_code, const char *what);

/* Not collective. An MPI call has failed on this rank, or the others did not come to an agreement
 * on a failure. They may wait for this rank for ever, so nothing that needs them is begun any more
 * (status_agree returns at once, files are left open), and `main` ends all ranks. */
bool comm_is_broken(void);

/* When it is: the failure that broke it, whichever thread met it, recorded on this one too. */
enum status comm_cause(void) MUST_CHECK;

int comm_rank(MPI_Comm comm);
int comm_size(MPI_Comm comm);
void comm_free(MPI_Comm *comm); /* takes MPI_COMM_NULL */

/* Collective. Every rank hands in its own outcome; all get the same one back: STATUS_OK when all
 * succeeded, else the status of the lowest failing rank, whose message (with its rank when there
 * is more than one) is then the recorded message on all ranks, marked as agreed.
 * Call it after every local step that may fail and before the next collective call.
 * A rank that has failed waits for the others for some seconds only: HDF5's collective calls may
 * fail on one rank and hold the others. STATUS_MPI at once, not agreed, when MPI is broken here. */
enum status status_agree(MPI_Comm comm, enum status mine) MUST_CHECK;

/* On this thread status_agree waits asleep from now on: where one rank works alone while the others
 * wait, a spinning wait would take the cores from the threads that compute. */
void comm_wait_asleep(void);

/* Ranks on this node, and the rank within it. Collective over `comm`. */
enum status comm_node_rank(MPI_Comm comm, int *node_rank, int *node_size) MUST_CHECK;

#endif
