/* The memory of the backend `guard`, its own and what it shares with other processes. */
#include "tests/guard/guard_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include "kernels/cpu/host/memory.h"

static enum status protect(const struct device *device, const struct allocation *a, int access)
{
    const size_t page = device->page_bytes;
    return mprotect(a->map + page, a->map_bytes - 2 * page, access) != 0
               ? fail(STATUS_DEVICE, "guard: mprotect: %s", strerror(errno))
               : STATUS_OK;
}

static enum status protect_all(const struct device *device, int access)
{
    for (const struct allocation *a = device->allocations; a != NULL; a = a->next) {
        TRY(protect(device, a, access));
    }
    return STATUS_OK;
}

enum status guard_access_begin(struct device *device)
{
    return device->open_depth++ == 0 ? protect_all(device, PROT_READ | PROT_WRITE) : STATUS_OK;
}

enum status guard_access_end(struct device *device)
{
    return --device->open_depth == 0 ? protect_all(device, PROT_NONE) : STATUS_OK;
}

static int access_by(const struct device *device, const struct allocation *a,
                     const struct field_access *fields, const char *words, size_t nbytes)
{
    int access = PROT_NONE;
    for (size_t at = 0; at + sizeof(char *) <= nbytes; at += sizeof(char *)) {
        const char *word;
        memcpy(&word, words + at, sizeof word);
        if (word < a->map + device->page_bytes || word >= a->map + a->map_bytes) {
            continue;
        }
        const struct field_access *f = fields;
        while (f != NULL && f->pointer != 0 && (f->pointer != at || f->is_written)) {
            f++;
        }
        access |= f != NULL && f->pointer != 0 ? PROT_READ : PROT_READ | PROT_WRITE;
    }
    return access;
}

enum status guard_access_limit(struct device *device, const struct field_access *fields,
                               const void *own, size_t nbytes, const void *args)
{
    const struct operation *op =
        (const void *)((const char *)args - offsetof(struct operation, args));
    for (struct allocation *a = device->allocations; a != NULL; a = a->next) {
        a->access = access_by(device, a, fields, own, nbytes) |
                    access_by(device, a, NULL, (const char *)args + nbytes, op->nbytes - nbytes);
        if (a->access != (PROT_READ | PROT_WRITE)) {
            TRY(protect(device, a, a->access));
        }
    }
    return STATUS_OK;
}

enum status guard_access_widen(struct device *device)
{
    for (struct allocation *a = device->allocations; a != NULL; a = a->next) {
        if (a->access != (PROT_READ | PROT_WRITE)) {
            TRY(protect(device, a, PROT_READ | PROT_WRITE));
            a->access = PROT_READ | PROT_WRITE;
        }
    }
    return STATUS_OK;
}

static size_t inner_bytes(const struct device *device, size_t bytes)
{
    return (bytes / device->page_bytes + 1) * device->page_bytes;
}

static void discard(struct allocation *a)
{
    if (a != NULL) {
        if (a->map != MAP_FAILED) {
            munmap(a->map, a->map_bytes);
        }
        shared_memory_forget(a->file);
        free(a);
    }
}

/* Pages without access; shared ones may be mapped over them. */
static enum status reserve(const struct device *device, size_t bytes, struct allocation **made)
{
    struct allocation *a = calloc(1, sizeof *a);
    TRY(CHECK_MEMORY(a != NULL, "out of memory"));
    const size_t page = device->page_bytes;
    const size_t inner = inner_bytes(device, bytes);
    a->file = -1;
    a->access = PROT_READ | PROT_WRITE;
    a->map_bytes = inner + 2 * page;
    a->map = mmap(NULL, a->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a->map == MAP_FAILED) {
        const enum status status =
            fail(STATUS_MEMORY, "guard: mmap of %zu bytes: %s", bytes, strerror(errno));
        discard(a);
        return status;
    }
    /* at the end of the pages, as far as alignment allows: overruns crash too */
    const size_t align = LAYOUT_ALIGN_BYTES;
    a->d_memory = a->map + page + (inner - bytes) / align * align;
    *made = a;
    return STATUS_OK;
}

/* Hand out the allocation, not accessible; `fresh`: filled with NaN. On failure it is freed. */
static enum status publish(struct device *device, struct allocation *a, bool fresh, size_t bytes,
                           void **d_memory)
{
    enum status status = STATUS_OK;
    TRY_GOTO(protect(device, a, PROT_READ | PROT_WRITE));
    if (fresh) {
        cpu_fill_nan(a->d_memory, bytes);
    }
    if (device->open_depth == 0) {
        TRY_GOTO(protect(device, a, PROT_NONE));
    }
    a->next = device->allocations;
    device->allocations = a;
    *d_memory = a->d_memory;
    return STATUS_OK;
done:
    discard(a);
    return status;
}

enum status guard_memory_alloc(struct device *device, size_t bytes, void **d_memory)
{
    struct allocation *a = NULL;
    TRY(host_memory_check(bytes));
    TRY(reserve(device, bytes, &a));
    return publish(device, a, true, bytes, d_memory);
}

/* Shared memory in place of reserved pages. */
static enum status map_over(int file, size_t bytes, void *pages)
{
    return mmap(pages, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED
               ? STATUS_OK
               : fail(STATUS_MEMORY, "guard: mmap of shared memory: %s", strerror(errno));
}

enum status guard_shared_alloc(struct device *device, size_t bytes, void **d_memory,
                               struct shared_handle *handle)
{
    struct allocation *a = NULL;
    const size_t inner = inner_bytes(device, bytes);
    TRY(reserve(device, bytes, &a));
    enum status status = STATUS_OK;
    TRY_GOTO(shared_memory_create(inner, &a->file));
    TRY_GOTO(map_over(a->file, inner, a->map + device->page_bytes));
    shared_memory_name(a->file, bytes, handle);
    return publish(device, a, true, bytes, d_memory);
done:
    discard(a);
    return status;
}

enum status guard_shared_open(struct device *device, const struct shared_handle *handle,
                              void **d_memory)
{
    struct allocation *a = NULL;
    int file = -1;
    size_t bytes = 0;
    TRY(shared_memory_find(handle, &file, &bytes));
    enum status status = reserve(device, bytes, &a);
    if (status != STATUS_OK) {
        shared_memory_forget(file);
        return status;
    }
    a->file = file;
    TRY_GOTO(map_over(file, inner_bytes(device, bytes), a->map + device->page_bytes));
    return publish(device, a, false, bytes, d_memory);
done:
    discard(a);
    return status;
}

static void free_first(struct allocation **link)
{
    struct allocation *a = *link;
    *link = a->next;
    discard(a);
}

void guard_forget(struct device *device, void *d_memory)
{
    for (struct allocation **link = &device->allocations; *link != NULL; link = &(*link)->next) {
        if ((*link)->d_memory == d_memory) {
            free_first(link);
            return;
        }
    }
}

void guard_forget_all(struct device *device)
{
    while (device->allocations != NULL) {
        free_first(&device->allocations);
    }
}
