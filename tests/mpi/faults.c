/* A library to preload: MPI calls that fail on purpose.
 *
 *   FAULT_RANK, FAULT_CALL  the N-th call (from 1) of that rank returns MPI_ERR_OTHER, undone
 *   FAULT_LOG               a folder: file `failed` names the function and the library that called
 *                           it, file `calls.RANK` tells how many calls there were */
#include "faults.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long ncalls;

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

/* The launcher's, since MPI_Comm_rank may be the call that fails. */
static long my_rank(void)
{
    return number("OMPI_COMM_WORLD_RANK", number("PMI_RANK", 0));
}

static FILE *log_file(const char *name)
{
    char path[4096];
    const char *folder = getenv("FAULT_LOG");
    if (folder == NULL) {
        return NULL;
    }
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "w");
}

static void tell_failure(const char *name, void *caller)
{
    Dl_info library = {.dli_fname = "?"};
    FILE *stream = log_file("failed");
    if (stream != NULL) {
        (void)dladdr(caller, &library);
        fprintf(stream, "%s %s\n", name, library.dli_fname);
        fclose(stream);
    }
}

int fault_of_call(const char *name, void *caller)
{
    ncalls++;
    if (ncalls != number("FAULT_CALL", -1) || my_rank() != number("FAULT_RANK", 0)) {
        return MPI_SUCCESS;
    }
    tell_failure(name, caller);
    return MPI_ERR_OTHER;
}

static void __attribute__((destructor)) tell_count(void)
{
    char name[64];
    if (ncalls == 0) {
        return; /* the launcher */
    }
    (void)snprintf(name, sizeof name, "calls.%ld", my_rank());
    FILE *stream = log_file(name);
    if (stream != NULL) {
        fprintf(stream, "%ld\n", ncalls);
        fclose(stream);
    }
}
