#include "kernels/cpu/host/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>
#include <sys/mman.h>

#include "base/log.h"

enum { HUGE_PAGE_BYTES = 2 * 1024 * 1024 };

/* Main memory, total and available, bytes; 0 when unknown. */
static void host_memory_room(uint64_t *total_bytes, uint64_t *available_bytes)
{
    *total_bytes = 0;
    *available_bytes = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    if (file == NULL) {
        return;
    }
    char line[256];
    uint64_t kib;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemTotal: %" SCNu64, &kib) == 1) {
            *total_bytes = kib * 1024;
        } else if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1) {
            *available_bytes = kib * 1024;
        }
    }
    fclose(file);
}

enum status host_memory_check(size_t bytes)
{
    uint64_t total;
    uint64_t available;
    host_memory_room(&total, &available);
    if (available > 0 && bytes > available) {
        return fail(STATUS_MEMORY,
                    "%s of memory are needed, but only %s of this machine's %s are available; use "
                    "more nodes, fewer cells, or float32",
                    SIZE_TEXT(bytes), SIZE_TEXT(available), SIZE_TEXT(total));
    }
    return STATUS_OK;
}

enum status host_memory_alloc(size_t bytes, void **memory)
{
    TRY(host_memory_check(bytes));
    const bool huge = bytes >= 2 * (size_t)HUGE_PAGE_BYTES;
    void *fresh = NULL;
    if (posix_memalign(&fresh, huge ? (size_t)HUGE_PAGE_BYTES : (size_t)LAYOUT_ALIGN_BYTES,
                       bytes > 0 ? bytes : 1) != 0) {
        return fail(STATUS_MEMORY,
                    "the system refuses %s of memory; `ulimit -v` shows whether it is limited",
                    SIZE_TEXT(bytes));
    }
    if (huge) {
        /* fewer TLB misses and longer prefetch; failure does not matter */
        (void)madvise(fresh, bytes, MADV_HUGEPAGE);
    }
    *memory = fresh;
    return STATUS_OK;
}

static void processor_name(char *name, size_t nbytes)
{
    snprintf(name, nbytes, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL) {
        return;
    }
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) == 0 && colon != NULL) {
            snprintf(name, nbytes, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    fclose(file);
}

void host_info(struct device_info *info)
{
    char processor[96];
    processor_name(processor, sizeof processor);
    *info = (struct device_info){.threads = omp_get_max_threads()};
    snprintf(info->name, sizeof info->name, "%s, %d thread%s", processor, info->threads,
             info->threads == 1 ? "" : "s");
    host_memory_room(&info->memory_bytes, &info->free_bytes);
}
