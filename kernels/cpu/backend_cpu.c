/* The backend `cpu`: host memory, and operations that run at once, so queues and events have
 * nothing to keep. */
#include "kernels/cpu/backend_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/kernels_cpu.h"

struct device {
    char unused;
};
struct queue {
    char unused;
};
struct event {
    char unused;
};

static enum status allocate(size_t bytes, void **object)
{
    *object = calloc(1, bytes);
    return *object != NULL ? STATUS_OK : fail(STATUS_MEMORY, "out of memory");
}

static enum status probe(void)
{
    return STATUS_OK;
}

static enum status open_device(int node_rank, int node_size, struct device **device)
{
    (void)node_rank;
    (void)node_size;
    return allocate(sizeof **device, (void **)device);
}

static void close_device(struct device *device)
{
    free(device);
}

static enum status info(struct device *device, struct device_info *info)
{
    (void)device;
    host_info(info);
    return STATUS_OK;
}

static enum status memory_alloc(struct device *device, size_t bytes, void **d_memory)
{
    (void)device;
    TRY(host_memory_alloc(bytes, d_memory));
    cpu_fill_nan(*d_memory, bytes);
    return STATUS_OK;
}

static void memory_free(struct device *device, void *memory)
{
    (void)device;
    free(memory);
}

static enum status queue_create(struct device *device, enum queue_priority priority,
                                struct queue **queue)
{
    (void)device;
    (void)priority;
    return allocate(sizeof **queue, (void **)queue);
}

static void queue_destroy(struct queue *queue)
{
    free(queue);
}

static enum status queue_wait(struct queue *queue)
{
    (void)queue;
    return STATUS_OK;
}

static enum status event_create(struct device *device, struct event **event)
{
    (void)device;
    return allocate(sizeof **event, (void **)event);
}

static void event_destroy(struct event *event)
{
    free(event);
}

static enum status event_order(struct queue *queue, struct event *event)
{
    (void)queue;
    (void)event;
    return STATUS_OK;
}

static enum status copy(struct queue *queue, void *to, const void *from, size_t bytes)
{
    (void)queue;
    cpu_copy(to, from, bytes);
    return STATUS_OK;
}

static enum status pack(struct queue *queue, const struct layout *layout, const void *d_field,
                        const struct box *box, void *d_buffer)
{
    (void)queue;
    cpu_pack(layout, d_field, box, d_buffer);
    return STATUS_OK;
}

static enum status unpack(struct queue *queue, const struct layout *layout, const void *d_buffer,
                          const struct box *box, void *d_field)
{
    (void)queue;
    cpu_unpack(layout, d_buffer, box, d_field);
    return STATUS_OK;
}

static enum status summarise(struct queue *queue, const struct layout *layout,
                             const struct placement *placement, const void *d_field,
                             struct field_summary *h_summary)
{
    (void)queue;
    cpu_summarise(layout, placement, d_field, h_summary);
    return STATUS_OK;
}

static enum status hash(struct queue *queue, const struct layout *layout,
                        const struct placement *placement, const void *d_field, uint64_t *h_hash)
{
    (void)queue;
    cpu_hash(layout, placement, d_field, h_hash);
    return STATUS_OK;
}

/* Each kernel as a queued operation, and the table of them. */
#define DEFINE_STEP(variant, about)                                                                \
    static enum status step_##variant(struct queue *queue, const struct layout *layout,            \
                                      const struct step_args *args, void *d_out, const void *d_in, \
                                      const struct box *boxes, int nboxes)                         \
    {                                                                                              \
        (void)queue;                                                                               \
        cpu_step_##variant(layout, args, d_out, d_in, boxes, nboxes);                              \
        return STATUS_OK;                                                                          \
    }
CPU_STEP_VARIANTS(DEFINE_STEP)

#define VARIANT(variant, text) {.name = #variant, .about = text, .step = step_##variant},
static const struct kernel_variant variants[] = {CPU_STEP_VARIANTS(VARIANT)};

const struct backend backend_cpu = {
    .name = "cpu",
    .about = "OpenMP threads and SIMD on this machine's processor",
    .host_accessible = true,
    .probe = probe,
    .open = open_device,
    .close = close_device,
    .info = info,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .pinned_alloc = memory_alloc,
    .pinned_free = memory_free,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_wait = queue_wait,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_order,
    .event_wait = event_order,
    .copy_to_device = copy,
    .copy_to_host = copy,
    .copy_on_device = copy,
    .step = step_production,
    .pack = pack,
    .unpack = unpack,
    .summarise = summarise,
    .hash = hash,
    .variants = variants,
    .nvariants = (int)(sizeof variants / sizeof variants[0]),
};
