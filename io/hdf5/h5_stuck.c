#include "io/hdf5/h5_stuck.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

static const double WRITE_LIMIT = 12; /* s; see the header */
static const double ASK_AFTER = 10;
static const double OPEN_LIMIT = 20;
static const double OPEN_FACTOR = 10;

static struct {
    pthread_mutex_t lock;
    bool has_handler;
    bool watching;    /* a file is open for writing */
    double failed_at; /* s; 0: no failure */
    bool writable;
    double opening_at; /* 0: no collective open in progress */
    double longest_open;
    bool asked;         /* a thread tries whether this rank alone can open the file */
    double answered_at; /* 0: no answer yet */
    int answer;         /* errno; 0: it can */
    long opens;         /* to ignore answers about an earlier open */
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

/* MPI calls it when an operation on a file fails, before the operation returns. */
static void note_failure(MPI_File *file, int *code, ...)
{
    (void)file;
    char reason[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    MPI_Error_string(*code, reason, &length);
    note(reason);
}

/* OMPIO returns success for a short write. HDF5 checks the count, and so do we, through MPI's
 * profiling interface. */
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

/* A file inherits the handler of MPI_FILE_NULL when it is opened. */
static void install_handler(void)
{
    MPI_Errhandler handler;
    state.has_handler = MPI_File_create_errhandler(note_failure, &handler) == MPI_SUCCESS &&
                        MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS;
}

static void keep_longest(double seconds)
{
    state.longest_open = seconds > state.longest_open ? seconds : state.longest_open;
}

void h5_stuck_open(const char *path, bool writable, double trial_s)
{
    pthread_mutex_lock(&state.lock);
    if (writable && !state.has_handler) {
        install_handler();
    }
    state.watching = writable;
    state.failed_at = 0;
    state.writable = writable;
    state.opening_at = clock_seconds();
    state.asked = false;
    state.answered_at = 0;
    state.opens++;
    keep_longest(trial_s);
    snprintf(state.path, sizeof state.path, "%s", path);
    pthread_mutex_unlock(&state.lock);
}

void h5_stuck_opened(void)
{
    pthread_mutex_lock(&state.lock);
    keep_longest(clock_seconds() - state.opening_at);
    state.opening_at = 0;
    pthread_mutex_unlock(&state.lock);
}

void h5_stuck_forget(void)
{
    pthread_mutex_lock(&state.lock);
    state.watching = false;
    state.failed_at = 0;
    pthread_mutex_unlock(&state.lock);
}

/* ---- a collective open that does not return -------------------------------------------------- */

struct question {
    long open; /* of state.opens */
    int flags;
    char path[PATH_BYTES];
};

/* In a thread of its own: the file system may never answer. */
static void *ask(void *argument)
{
    struct question *question = argument;
    const int fd = open(question->path, question->flags);
    const int answer = fd < 0 ? errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    pthread_mutex_lock(&state.lock);
    if (question->open == state.opens) {
        state.answer = answer;
        state.answered_at = clock_seconds();
    }
    pthread_mutex_unlock(&state.lock);
    free(question);
    return NULL;
}

/* With the lock held. Without memory or threads there is no answer. */
static void start_asking(void)
{
    pthread_t thread;
    struct question *question = malloc(sizeof *question);
    state.asked = true;
    if (question == NULL) {
        return;
    }
    question->open = state.opens;
    question->flags = (state.writable ? O_RDWR : O_RDONLY) | O_CLOEXEC;
    memcpy(question->path, state.path, sizeof question->path);
    if (pthread_create(&thread, NULL, ask, question) == 0) {
        pthread_detach(thread);
    } else {
        free(question);
    }
}

/* With the lock held. */
static bool open_is_lost(double now, double turn)
{
    if (state.opening_at == 0 || now - state.opening_at < ASK_AFTER + turn) {
        return false;
    }
    if (!state.asked) {
        start_asking();
    }
    const double factor = OPEN_FACTOR * state.longest_open;
    const double limit = factor > OPEN_LIMIT ? factor : OPEN_LIMIT;
    return state.answered_at > 0 && (state.answer != 0 || now - state.answered_at > limit);
}

bool h5_stuck_for_good(double turn, char *text, size_t bytes)
{
    pthread_mutex_lock(&state.lock);
    const double now = clock_seconds();
    const bool write = state.failed_at > 0 && now - state.failed_at > WRITE_LIMIT + turn;
    const bool lost = write || open_is_lost(now, turn);
    if (write) {
        snprintf(text, bytes,
                 "cannot write %.400s (%.100s), and MPI-IO has not returned for %.0f s", state.path,
                 state.reason, now - state.failed_at);
    } else if (lost) {
        const char *reason =
            state.answer != 0 ? strerror(state.answer) : "this rank alone can open it";
        snprintf(text, bytes, "cannot open %.400s (%.100s), and MPI-IO has not returned for %.0f s",
                 state.path, reason, now - state.opening_at);
    }
    pthread_mutex_unlock(&state.lock);
    return lost;
}
