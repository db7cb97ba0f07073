#include "kernels/cpu/host/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

struct name {
    pid_t process;
    int file;
    size_t bytes;
};
_Static_assert(sizeof(struct name) <= SHARED_HANDLE_BYTES, "a handle holds a name");

enum status shared_memory_create(size_t bytes, int *file)
{
    const int fresh = memfd_create("isotherm", MFD_CLOEXEC);
    if (fresh < 0) {
        return fail(STATUS_DEVICE, "memory cannot be shared here: memfd_create: %s",
                    strerror(errno));
    }
    if (ftruncate(fresh, (off_t)bytes) != 0) {
        const int error = errno;
        close(fresh);
        return fail(STATUS_MEMORY, "cannot allocate %s of shared memory: %s", SIZE_TEXT(bytes),
                    strerror(error));
    }
    *file = fresh;
    return STATUS_OK;
}

void shared_memory_forget(int file)
{
    if (file >= 0) {
        close(file);
    }
}

enum status shared_memory_map(int file, size_t bytes, void **map)
{
    void *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (fresh == MAP_FAILED) {
        return fail(STATUS_MEMORY, "cannot map %s of shared memory: %s", SIZE_TEXT(bytes),
                    strerror(errno));
    }
    *map = fresh;
    return STATUS_OK;
}

void shared_memory_unmap(void *map, size_t bytes)
{
    munmap(map, bytes);
}

void shared_memory_name(int file, size_t bytes, struct shared_handle *handle)
{
    const struct name name = {.process = getpid(), .file = file, .bytes = bytes};
    memset(handle, 0, sizeof *handle);
    memcpy(handle->bytes, &name, sizeof name);
}

enum status shared_memory_find(const struct shared_handle *handle, int *file, size_t *bytes)
{
    struct name name;
    char path[64];
    memcpy(&name, handle->bytes, sizeof name);
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)name.process, name.file);
    *file = open(path, O_RDWR | O_CLOEXEC);
    if (*file < 0) {
        return fail(STATUS_DEVICE, "the memory of process %ld cannot be shared: %s: %s",
                    (long)name.process, path, strerror(errno));
    }
    *bytes = name.bytes;
    return STATUS_OK;
}

void shared_flags_write(uint32_t *const *flags, int nflags, uint32_t value)
{
    for (int n = 0; n < nflags; n++) {
        atomic_store_explicit((_Atomic uint32_t *)flags[n], value, memory_order_release);
    }
}

static bool has_come(uint32_t *flag, uint32_t value)
{
    const uint32_t now = atomic_load_explicit((_Atomic uint32_t *)flag, memory_order_acquire);
    return (int32_t)(now - value) >= 0;
}

enum status shared_flags_wait(uint32_t *const *flags, int nflags, uint32_t value, double limit_s)
{
    /* spin, then yield, then sleep: with fewer cores than processes the other process needs this
     * one */
    enum { LOOKS = 200, OFFERS = 300 };
    const struct timespec nap = {.tv_nsec = 30000};
    const double start = clock_seconds();
    for (int n = 0; n < nflags; n++) {
        for (int look = 1; !has_come(flags[n], value); look++) {
            if (look < LOOKS) {
                continue;
            }
            if (look < OFFERS) {
                sched_yield();
            } else {
                nanosleep(&nap, NULL);
            }
            if (clock_seconds() - start > limit_s) {
                return fail(STATUS_DEVICE,
                            "a flag of another process was not set within %g s: that process has "
                            "ended or is stuck",
                            limit_s);
            }
        }
    }
    return STATUS_OK;
}
