/* The backend `cpu`: host memory, and operations that run at once; queues and events never wait. */
#include "kernels/backend.h"

#include <stdlib.h>

#include "base/clock.h"
#include "kernels/cpu/host/memory.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/pass.h"

struct device {
    char unused;
};
struct event {
    char unused;
};
struct stopwatch {
    double start, stop; /* s */
};

static enum status allocate(size_t bytes, void **object)
{
    *object = calloc(1, bytes);
    return CHECK_MEMORY(*object != NULL, "out of memory");
}

static enum status cpu_probe(void)
{
    return STATUS_OK;
}

static enum status cpu_open(int node_rank, int node_size, struct device **device)
{
    return allocate(sizeof **device, (void **)device);
}

static void cpu_close(struct device *device)
{
    free(device);
}

static enum status cpu_info(struct device *device, struct device_info *info)
{
    host_info(info);
    return STATUS_OK;
}

static enum status cpu_queue_create(struct device *device, enum queue_priority priority,
                                    struct queue **queue)
{
    return allocate(sizeof **queue, (void **)queue);
}

static void cpu_queue_destroy(struct queue *queue)
{
    if (queue != NULL) {
        free(queue->memory);
    }
    free(queue);
}

static enum status cpu_queue_wait(struct queue *queue)
{
    return STATUS_OK;
}

static enum status cpu_queue_wait_for(struct queue *queue, struct event *mark)
{
    return STATUS_OK;
}

static enum status cpu_copy_on_device(struct queue *queue, void *to, const void *from, size_t bytes)
{
    cpu_copy(to, from, bytes);
    return STATUS_OK;
}

static enum status cpu_memory_alloc(struct device *device, size_t bytes, void **d_memory)
{
    TRY(host_memory_alloc(bytes, d_memory));
    cpu_fill_nan(*d_memory, bytes);
    return STATUS_OK;
}

static void cpu_memory_free(struct device *device, void *memory)
{
    free(memory);
}

static enum status cpu_event_create(struct device *device, struct event **event)
{
    return allocate(sizeof **event, (void **)event);
}

static void cpu_event_destroy(struct event *event)
{
    free(event);
}

static enum status cpu_event_record(struct queue *queue, struct event *event)
{
    return STATUS_OK;
}

static enum status cpu_stopwatch_create(struct device *device, struct stopwatch **stopwatch)
{
    return allocate(sizeof **stopwatch, (void **)stopwatch);
}

static void cpu_stopwatch_destroy(struct stopwatch *stopwatch)
{
    free(stopwatch);
}

static enum status cpu_stopwatch_start(struct queue *queue, struct stopwatch *stopwatch)
{
    stopwatch->start = clock_seconds();
    return STATUS_OK;
}

static enum status cpu_stopwatch_stop(struct queue *queue, struct stopwatch *stopwatch)
{
    stopwatch->stop = clock_seconds();
    return STATUS_OK;
}

static enum status cpu_stopwatch_seconds(struct stopwatch *stopwatch, double *seconds)
{
    *seconds = stopwatch->stop - stopwatch->start;
    return STATUS_OK;
}

static enum status cpu_event_sync(struct event *event)
{
    return STATUS_OK;
}

static enum status cpu_event_done(struct event *event, bool *done)
{
    *done = true;
    return STATUS_OK;
}

/* Before the memory that is handed out; the other processes see it too. */
struct shared_header {
    size_t map_bytes;
    int file; /* the owner's */
};
enum { HEADER_BYTES = LAYOUT_ALIGN_BYTES };

static struct shared_header *header_of(void *d_memory)
{
    return (struct shared_header *)((char *)d_memory - HEADER_BYTES);
}

static void cpu_shared_close(struct device *device, void *d_memory)
{
    if (d_memory != NULL) {
        shared_memory_unmap(header_of(d_memory), header_of(d_memory)->map_bytes);
    }
}

static enum status cpu_shared_alloc(struct device *device, size_t bytes, void **d_memory,
                                    struct shared_handle *handle)
{
    int file = -1;
    void *map = NULL;
    const size_t map_bytes = HEADER_BYTES + bytes;
    TRY(shared_memory_create(map_bytes, &file));
    const enum status status = shared_memory_map(file, map_bytes, &map);
    if (status != STATUS_OK) {
        shared_memory_forget(file);
        return status;
    }
    *d_memory = (char *)map + HEADER_BYTES;
    *header_of(*d_memory) = (struct shared_header){.map_bytes = map_bytes, .file = file};
    cpu_fill_nan(*d_memory, bytes);
    shared_memory_name(file, map_bytes, handle);
    return STATUS_OK;
}

static void cpu_shared_free(struct device *device, void *d_memory)
{
    if (d_memory != NULL) {
        shared_memory_forget(header_of(d_memory)->file);
        cpu_shared_close(device, d_memory);
    }
}

static enum status cpu_shared_open(struct device *device, const struct shared_handle *handle,
                                   void **d_memory)
{
    int file = -1;
    size_t map_bytes = 0;
    void *map = NULL;
    TRY(shared_memory_find(handle, &file, &map_bytes));
    const enum status status = shared_memory_map(file, map_bytes, &map);
    shared_memory_forget(file);
    TRY(status);
    *d_memory = (char *)map + HEADER_BYTES;
    return STATUS_OK;
}

static enum status cpu_flags_write(struct queue *queue, uint32_t *const *d_flags, int nflags,
                                   uint32_t value)
{
    shared_flags_write(d_flags, nflags, value);
    return STATUS_OK;
}

static enum status cpu_flags_wait(struct queue *queue, uint32_t *const *d_flags, int nflags,
                                  uint32_t value, double limit_s)
{
    return shared_flags_wait(d_flags, nflags, value, limit_s);
}

#define VARIANT(variant, text) {.name = #variant, .about = text, .step = cpu_step_##variant},
static const struct kernel_variant variants[] = {
    CPU_STEP_VARIANTS(VARIANT){
        .name = "production",
        .about = "the fastest of `ahead`, `wide` and `planes` with several tile heights",
        .step = cpu_step,
        .settling_calls = TILE_TUNER_ROUNDS * TILE_TUNER_CHOICES,
    },
};

static const struct kernel_variant laplacians[] = {{CPU_LAPLACIAN, cpu_laplacian, 0}, {0}};

/* All memory is the host's, and all work runs at once. */
#define cpu_pinned_alloc cpu_memory_alloc
#define cpu_pinned_free cpu_memory_free
#define cpu_event_wait cpu_event_record
#define cpu_copy_to_device cpu_copy_on_device
#define cpu_copy_to_host cpu_copy_on_device
#define MEMBER(name) .name = cpu_##name,
static const struct runtime runtime = {RUNTIME_FUNCTIONS(MEMBER)};

#define ROW(name) .name = cpu_##name,
static const struct operations operations = {
    OPERATIONS(ROW).steps_most = {[KIND_UNIFORM] = STEPS_MOST,
                                  [KIND_CLASSES] = 1,
                                  [KIND_ENTHALPY] = 1,
                                  [KIND_HIGH_ORDER] = 1,
                                  [KIND_FACES] = 1,
                                  [KIND_GRADED] = 1},
    .variants = variants,
    .nvariants = (int)(sizeof variants / sizeof variants[0]),
    .laplacians = laplacians,
};

const struct backend backend_cpu = {
    .name = "cpu",
    .about = "OpenMP threads and SIMD on this machine's processor",
    .capabilities =
        BACKEND_HOST_ACCESS | BACKEND_HOST_POINTERS | BACKEND_NODE_MEMORY | BACKEND_ALONG_ROWS,
    .runtime = &runtime,
    .operations = &operations,
};
