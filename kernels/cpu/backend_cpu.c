/* The backend `cpu`: host memory, and operations that run at once; queues and events never wait. */
#include "kernels/cpu/backend_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/host/memory.h"
#include "kernels/cpu/host/runtime.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/pass.h"

struct device {
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

static enum status queue_create(struct device *device, enum queue_priority priority,
                                struct queue **queue)
{
    (void)device;
    (void)priority;
    return allocate(sizeof **queue, (void **)queue);
}

static void queue_destroy(struct queue *queue)
{
    if (queue != NULL) {
        free(queue->memory);
    }
    free(queue);
}

static enum status queue_wait(struct queue *queue)
{
    (void)queue;
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

static enum status pack_boxes(struct queue *queue, const struct layout *layout, const void *d_field,
                              const struct box *boxes, void *const *d_buffers, int nboxes)
{
    (void)queue;
    for (int b = 0; b < nboxes; b++) {
        cpu_pack(layout, d_field, &boxes[b], d_buffers[b]);
    }
    return STATUS_OK;
}

static enum status unpack_boxes(struct queue *queue, const struct layout *layout,
                                void *const *d_buffers, const struct box *boxes, int nboxes,
                                void *d_field)
{
    (void)queue;
    for (int b = 0; b < nboxes; b++) {
        cpu_unpack(layout, d_buffers[b], &boxes[b], d_field);
    }
    return STATUS_OK;
}

static enum status summarise(struct queue *queue, const struct layout *layout,
                             const struct placement *placement, const struct device_medium *medium,
                             const void *d_field, struct field_summary *h_summary)
{
    (void)queue;
    cpu_summarise(layout, placement, medium, d_field, h_summary);
    return STATUS_OK;
}

static enum status summarise_classes(struct queue *queue, const struct layout *layout,
                                     const struct device_medium *medium, const uint8_t *d_groups,
                                     const void *d_field, struct class_summary *d_summaries)
{
    (void)queue;
    cpu_summarise_classes(layout, medium, d_groups, d_field, d_summaries);
    return STATUS_OK;
}

static enum status number_classes(struct queue *queue, const struct layout *kept,
                                  const struct device_medium *medium, const uint8_t *d_numbers,
                                  double *d_values)
{
    (void)queue;
    cpu_number_classes(kept, medium, d_numbers, d_values);
    return STATUS_OK;
}

static enum status change_classes(struct queue *queue, const struct layout *layout,
                                  const struct class_changes *change, const void *d_field,
                                  const struct box *box)
{
    (void)queue;
    cpu_change_classes(layout, change, d_field, box);
    return STATUS_OK;
}

static enum status plane_maxima(struct queue *queue, const struct layout *layout,
                                const void *d_field, double limit, uint64_t *d_planes)
{
    (void)queue;
    cpu_plane_maxima(layout, d_field, limit, d_planes);
    return STATUS_OK;
}

static enum status hash(struct queue *queue, const struct layout *layout,
                        const struct placement *placement, const void *d_field, uint64_t *h_hash)
{
    (void)queue;
    cpu_hash(layout, placement, d_field, h_hash);
    return STATUS_OK;
}

static enum status add_source(struct queue *queue, const struct layout *layout,
                              const struct source_args *args, void *d_field, const struct box *box)
{
    (void)queue;
    cpu_add_source(layout, args, d_field, box);
    return STATUS_OK;
}

static enum status sum_perfusion(struct queue *queue, const struct layout *layout,
                                 const struct device_medium *medium, const void *d_field,
                                 const struct box *box, struct exact_sum *d_sum)
{
    (void)queue;
    cpu_sum_perfusion(layout, medium, d_field, box, d_sum);
    return STATUS_OK;
}

static enum status gather(struct queue *queue, enum precision precision, const void *d_field,
                          const int64_t *d_elements, int64_t count, void *d_values)
{
    (void)queue;
    cpu_gather(precision, d_field, d_elements, count, d_values);
    return STATUS_OK;
}

static enum status track(struct queue *queue, const struct layout *layout,
                         const struct layout *kept, const struct track_args *args,
                         const void *d_field)
{
    (void)queue;
    cpu_track(layout, kept, args, d_field);
    return STATUS_OK;
}

static enum status flux_squared(struct queue *queue, const struct layout *layout,
                                const struct layout *kept, const struct flux_args *args,
                                const void *d_field, double *d_flux)
{
    (void)queue;
    cpu_flux_squared(layout, kept, args, d_field, d_flux);
    return STATUS_OK;
}

static enum status extract(struct queue *queue, const struct layout *layout,
                           const struct extract_args *args, const void *d_field, void *d_values)
{
    (void)queue;
    cpu_extract(layout, args, d_field, d_values);
    return STATUS_OK;
}

static enum status convert(struct queue *queue, const struct layout *layout,
                           const struct device_medium *medium, enum enthalpy_conversion conversion,
                           const void *d_in, void *d_out)
{
    (void)queue;
    cpu_convert(layout, medium, conversion, d_in, d_out);
    return STATUS_OK;
}

static enum status liquid_fraction(struct queue *queue, const struct layout *layout,
                                   const struct layout *kept, const struct device_medium *medium,
                                   const void *d_field, double *d_fraction)
{
    (void)queue;
    cpu_liquid_fraction(layout, kept, medium, d_field, d_fraction);
    return STATUS_OK;
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

static const struct runtime runtime = {
    .probe = probe,
    .open = open_device,
    .close = close_device,
    .info = info,
    .memory_alloc = host_memory_fresh,
    .memory_free = host_memory_free,
    .pinned_alloc = host_memory_fresh,
    .pinned_free = host_memory_free,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_wait = queue_wait,
    .event_create = host_event_create,
    .event_destroy = host_event_destroy,
    .event_record = host_event_order,
    .event_wait = host_event_order,
    .stopwatch_create = host_stopwatch_create,
    .stopwatch_destroy = host_stopwatch_destroy,
    .stopwatch_start = host_stopwatch_start,
    .stopwatch_stop = host_stopwatch_stop,
    .stopwatch_seconds = host_stopwatch_seconds,
    .event_sync = host_event_sync,
    .event_done = host_event_done,
    .copy_to_device = copy,
    .copy_to_host = copy,
    .copy_on_device = copy,
    .shared_alloc = host_shared_alloc,
    .shared_free = host_shared_free,
    .shared_open = host_shared_open,
    .shared_close = host_shared_close,
    .flags_write = host_flags_write,
    .flags_wait = host_flags_wait,
};

#define ROW(name, host) .name = cpu_##name,
static const struct operations operations = {
    OPERATIONS(ROW).steps_most = {[KIND_UNIFORM] = STEPS_MOST,
                                  [KIND_CLASSES] = STEPS_MOST,
                                  [KIND_ENTHALPY] = STEPS_MOST,
                                  [KIND_HIGH_ORDER] = STEPS_MOST},
    .pack = pack,
    .unpack = unpack,
    .pack_boxes = pack_boxes,
    .unpack_boxes = unpack_boxes,
    .summarise = summarise,
    .summarise_classes = summarise_classes,
    .number_classes = number_classes,
    .change_classes = change_classes,
    .plane_maxima = plane_maxima,
    .hash = hash,
    .add_source = add_source,
    .sum_perfusion = sum_perfusion,
    .gather = gather,
    .track = track,
    .flux_squared = flux_squared,
    .extract = extract,
    .convert = convert,
    .liquid_fraction = liquid_fraction,
    .variants = variants,
    .nvariants = (int)(sizeof variants / sizeof variants[0]),
};

const struct backend backend_cpu = {
    .name = "cpu",
    .about = "OpenMP threads and SIMD on this machine's processor",
    .capabilities =
        BACKEND_HOST_ACCESS | BACKEND_HOST_POINTERS | BACKEND_NODE_MEMORY | BACKEND_ALONG_ROWS,
    .runtime = &runtime,
    .operations = &operations,
};
