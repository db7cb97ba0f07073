/* The facts and the diagnosis of `isotherm doctor`. */
#pragma once

#include "base/command.h"
#include "doctor/screen.h"
#include "halo/transport.h"
#include "kernels/backend.h"
#include "machine/host.h"

/* The ability of MPI to send device memory. */
enum device_send { DEVICE_SEND_NOT_NEEDED, DEVICE_SEND_YES, DEVICE_SEND_NO };

/* The input of the diagnosis, on rank 0. */
struct doctor_facts {
    int nranks;
    const struct rank_facts *ranks;
    const char *backend;
    char gpu_fails[256]; /* why the GPU backend of this build cannot run; "": it can, or there is
                            none */
    int thread_level;    /* thread level of MPI */
    struct mpi_hints hints;
    enum device_send device_send; /* tested, not claimed by MPI */
    char device_send_error[384];
    bool hdf5_parallel;
    bool locking_off;     /* HDF5_USE_FILE_LOCKING=FALSE */
    char lock_fails[128]; /* why files in the current folder cannot be locked; "": they can */
    const struct screen_result *screened; /* by rank; NULL: not asked for */
};

struct finding {
    bool wrong; /* false: a possible improvement */
    char what[512];
    char fix[512];
};
enum { DOCTOR_MAX_FINDINGS = 64 };

/* The findings, host by host; returns their number. A pure function. */
int doctor_diagnose(const struct doctor_facts *facts, struct finding findings[DOCTOR_MAX_FINDINGS]);

extern const struct command command_doctor;
