#include "io/h5_stuck.h"

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"

static struct {
    pthread_mutex_t lock;
    bool has_handler;
    bool watching;
    double failed_at; /* s; 0: not */
    char path[PATH_BYTES];
    char reason[MPI_MAX_ERROR_STRING];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note(const char *reason)
{
    pthread_mutex_lock(&state.lock);
    if (state.watching && state.failed_at == 0) {
        state.failed_at = clock_seconds();
        snprintf(state.reason, sizeof state.reason, "%s", reason);
    }
    pthread_mutex_unlock(&state.lock);
}

/* MPI calls it when an operation on a file fails, before that returns to whoever asked for it. The
 * signature is MPI's. */
static void note_failure(MPI_File *file, int *code, ...)
{
    (void)file;
    char reason[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    MPI_Error_string(*code, reason, &length);
    note(reason);
}

/* OMPIO calls a write a success that wrote less than it was given, or nothing: HDF5 sees that by
 * the count, and so do we, by MPI's profiling interface. */
int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void *buffer, int count,
                      MPI_Datatype type, MPI_Status *status)
{
    const int code = PMPI_File_write_at(file, offset, buffer, count, type, status);
    int asked = 0;
    int written = 0;
    if (code == MPI_SUCCESS && status != MPI_STATUS_IGNORE &&
        PMPI_Type_size(type, &asked) == MPI_SUCCESS &&
        PMPI_Get_elements(status, MPI_BYTE, &written) == MPI_SUCCESS && written >= 0 &&
        written < asked * count) {
        note("fewer bytes were written than asked for");
    }
    return code;
}

void h5_stuck_watch(const char *path)
{
    pthread_mutex_lock(&state.lock);
    if (!state.has_handler) {
        MPI_Errhandler handler;
        /* files take over what MPI_FILE_NULL has when they are opened */
        state.has_handler = MPI_File_create_errhandler(note_failure, &handler) == MPI_SUCCESS &&
                            MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS;
    }
    state.watching = true;
    state.failed_at = 0;
    snprintf(state.path, sizeof state.path, "%s", path);
    pthread_mutex_unlock(&state.lock);
}

void h5_stuck_forget(void)
{
    pthread_mutex_lock(&state.lock);
    state.watching = false;
    state.failed_at = 0;
    pthread_mutex_unlock(&state.lock);
}

double h5_stuck_seconds(char *text, size_t bytes)
{
    pthread_mutex_lock(&state.lock);
    const double since = state.failed_at;
    if (since > 0) {
        snprintf(text, bytes, "cannot write %.400s (%.100s)", state.path, state.reason);
    }
    pthread_mutex_unlock(&state.lock);
    return since > 0 ? clock_seconds() - since : 0;
}
