/* What `isotherm doctor` finds out, and what it makes of it. */
#ifndef ISOTHERM_DOCTOR_DOCTOR_H
#define ISOTHERM_DOCTOR_DOCTOR_H

#include <mpi.h>

#include "halo/transport_hints.h"
#include "kernels/backend.h"
#include "machine/rank_facts.h"

/* Do messages from device memory arrive? */
enum travel { TRAVEL_NOT_NEEDED, TRAVEL_YES, TRAVEL_NO };

/* All that the diagnosis looks at, on rank 0. */
struct doctor_facts {
    int nranks;
    const struct rank_facts *ranks;
    const char *backend;
    char gpu_fails[256]; /* the backend for GPUs that this build has cannot run, and why; "" */
    int thread_level;    /* of MPI */
    struct mpi_hints hints;
    enum travel travel; /* proved, not asked */
    char travel_fails[384];
    bool hdf5_parallel;
    bool locking_off;     /* HDF5_USE_FILE_LOCKING=FALSE */
    char lock_fails[128]; /* files in the present folder cannot be locked, and why; "" */
};

struct finding {
    bool wrong; /* else it could be better */
    char what[512];
    char mend[512];
};
enum { DOCTOR_MAX_FINDINGS = 64 };

/* Findings in plain words, host by host; returns how many. Not collective: pure. */
int doctor_diagnose(const struct doctor_facts *facts, struct finding findings[DOCTOR_MAX_FINDINGS]);

/* Both ways at once between two ranks, by one transport. */
struct doctor_pair {
    int a, b;
    const char *transport;
    bool works;
    double seconds;
    char why[384]; /* it does not work */
};
enum { DOCTOR_PAIR_BYTES = 8 << 20, DOCTOR_PAIR_RANKS = 8 };

/* Collective over `comm`: prove and time every transport that suits the backend, between all of
 * the first DOCTOR_PAIR_RANKS ranks. *pairs: on rank 0, to be freed; NULL on the others. */
enum status doctor_measure_pairs(MPI_Comm comm, const struct backend *backend,
                                 struct device *device, struct doctor_pair **pairs,
                                 int *npairs) MUST_CHECK;

/* Collective. Whether device memory travels, from what was measured (rank 0), and with one rank
 * from a message to itself. */
enum status doctor_prove_travel(MPI_Comm comm, const struct backend *backend,
                                const struct doctor_pair *pairs, int npairs,
                                struct doctor_facts *facts) MUST_CHECK;

#endif
