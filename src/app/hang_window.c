#include "app/hang_window.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/comm.h"

static void *map_named(const char *name, size_t bytes, bool create)
{
    const int fd = shm_open(name, create ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600);
    if (fd < 0) {
        return NULL;
    }
    void *memory = MAP_FAILED;
    /* allocate now: otherwise a write may raise a bus error when the memory is full */
    if (!create || posix_fallocate(fd, 0, (off_t)bytes) == 0) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

static void *map_private(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The name is removed at once, so that nothing is left over. */
enum status hang_window_share(MPI_Comm node, int *mates, int *mine, struct hang_window **window,
                              size_t *bytes)
{
    *mates = comm_size(node);
    *mine = comm_rank(node);
    *bytes = sizeof(struct hang_window) + (size_t)*mates * sizeof(struct beat);
    const bool first = *mine == 0;
    char name[64];
    snprintf(name, sizeof name, "/isotherm.%ld.%" PRId64, (long)getpid(),
             (int64_t)(clock_seconds() * 1e9));
    TRY_MPI(MPI_Bcast(name, (int)sizeof name, MPI_CHAR, 0, node));
    void *memory = first ? map_named(name, *bytes, true) : NULL;
    TRY_MPI(MPI_Barrier(node));
    if (!first) {
        memory = map_named(name, *bytes, false);
    }
    int all = memory != NULL;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, node));
    if (first) {
        shm_unlink(name);
    }
    if (!all) {
        if (memory != NULL) {
            munmap(memory, *bytes);
        }
        *mates = 1;
        *mine = 0;
        memory = map_private(*bytes);
    }
    *window = memory;
    return memory == NULL ? fail(STATUS_MEMORY, "no memory for the watchdog") : STATUS_OK;
}
