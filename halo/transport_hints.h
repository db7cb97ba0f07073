/* The claims of the MPI library about device memory. They are only hints, unreliable in both
 * directions; trial.h has the verification. */
#pragma once

enum mpi_hint { MPI_SAYS_NOTHING, MPI_SAYS_NO, MPI_SAYS_YES };

/* "says nothing", "no", "yes" */
const char *mpi_hint_name(enum mpi_hint hint);

struct mpi_hints {
    enum mpi_hint cuda;
    enum mpi_hint rocm;
};

/* After MPI_Init. Not collective. */
struct mpi_hints mpi_hints_ask(void);
