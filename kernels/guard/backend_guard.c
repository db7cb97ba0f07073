/* The backend `guard`: it simulates a device. Its memory is accessible only while an operation
 * runs, so host code that touches it crashes; its queues run only when waited for, so that a
 * missing wait or event gives wrong data. */
#include "kernels/guard/backend_guard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/cpu/host/shared_memory.h"
#include "kernels/guard/guard_device.h"

/* --- operations ------------------------------------------------------------------------------ */

/* No cycles: an event names operations that were queued before the wait for it. */
static enum status run_event_wait(struct queue *queue, const struct operation *op)
{
    for (struct queue *other = queue->device->queues; other != NULL; other = other->next) {
        if (other->id == op->event.queue_id && other != queue) {
            return guard_run_until(other, op->event.position);
        }
    }
    return STATUS_OK;
}

static enum status event_wait(struct queue *queue, struct event *event)
{
    return guard_add(queue, &(struct operation){.run = run_event_wait, .event = *event}, NULL);
}

static enum status stopwatch_create(struct device *device, struct stopwatch **stopwatch)
{
    (void)device;
    *stopwatch = calloc(1, sizeof **stopwatch);
    return *stopwatch != NULL ? STATUS_OK : fail(STATUS_MEMORY, "out of memory");
}

static void stopwatch_destroy(struct stopwatch *stopwatch)
{
    free(stopwatch);
}

static enum status run_mark(struct queue *queue, const struct operation *op)
{
    (void)queue;
    *(double *)op->to = clock_seconds();
    return STATUS_OK;
}

static enum status stopwatch_start(struct queue *queue, struct stopwatch *stopwatch)
{
    return guard_add(queue, &(struct operation){.run = run_mark, .to = &stopwatch->start}, NULL);
}

static enum status stopwatch_stop(struct queue *queue, struct stopwatch *stopwatch)
{
    stopwatch->stop = NAN; /* until the queue has been waited for */
    return guard_add(queue, &(struct operation){.run = run_mark, .to = &stopwatch->stop}, NULL);
}

static enum status stopwatch_seconds(struct stopwatch *stopwatch, double *seconds)
{
    *seconds = stopwatch->stop - stopwatch->start;
    return STATUS_OK;
}

static enum status run_copy(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_copy(op->to, op->from, op->bytes);
    return STATUS_OK;
}

static enum status copy(struct queue *queue, void *to, const void *from, size_t bytes)
{
    return guard_add(
        queue, &(struct operation){.run = run_copy, .to = to, .from = from, .bytes = bytes}, NULL);
}

/* Whether a queued copy still has to read some of these bytes. */
static bool is_awaited(const struct device *device, const char *h_bytes, size_t nbytes)
{
    for (const struct queue *queue = device->queues; queue != NULL; queue = queue->next) {
        for (const struct operation *op = queue->first; op != NULL; op = op->next) {
            const char *from = op->from;
            if (op->run == run_copy && from < h_bytes + nbytes && h_bytes < from + op->bytes) {
                return true;
            }
        }
    }
    return false;
}

/* So that a result that is read too early is wrong. */
static void poison(const struct queue *queue, void *h_result, size_t nbytes)
{
    if (!is_awaited(queue->device, h_result, nbytes)) {
        memset(h_result, 0xFF, nbytes);
    }
}

static enum status copy_to_host(struct queue *queue, void *h_to, const void *d_from, size_t bytes)
{
    poison(queue, h_to, bytes);
    return copy(queue, h_to, d_from, bytes);
}

static enum status run_pack(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_pack(&op->layout, op->from, &op->boxes[0], op->to);
    return STATUS_OK;
}

static enum status pack(struct queue *queue, const struct layout *layout, const void *d_field,
                        const struct box *box, void *d_buffer)
{
    const struct operation op = {
        .run = run_pack, .layout = *layout, .from = d_field, .to = d_buffer, .nboxes = 1};
    return guard_add(queue, &op, box);
}

static enum status run_unpack(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_unpack(&op->layout, op->from, &op->boxes[0], op->to);
    return STATUS_OK;
}

static enum status unpack(struct queue *queue, const struct layout *layout, const void *d_buffer,
                          const struct box *box, void *d_field)
{
    const struct operation op = {
        .run = run_unpack, .layout = *layout, .from = d_buffer, .to = d_field, .nboxes = 1};
    return guard_add(queue, &op, box);
}

static enum status pack_boxes(struct queue *queue, const struct layout *layout, const void *d_field,
                              const struct box *boxes, void *const *d_buffers, int nboxes)
{
    for (int b = 0; b < nboxes; b++) {
        TRY(pack(queue, layout, d_field, &boxes[b], d_buffers[b]));
    }
    return STATUS_OK;
}

static enum status unpack_boxes(struct queue *queue, const struct layout *layout,
                                void *const *d_buffers, const struct box *boxes, int nboxes,
                                void *d_field)
{
    for (int b = 0; b < nboxes; b++) {
        TRY(unpack(queue, layout, d_buffers[b], &boxes[b], d_field));
    }
    return STATUS_OK;
}

static enum status run_flags_write(struct queue *queue, const struct operation *op)
{
    (void)queue;
    shared_flags_write(op->flags, op->nflags, op->value);
    return STATUS_OK;
}

static enum status run_flags_wait(struct queue *queue, const struct operation *op)
{
    (void)queue;
    return shared_flags_wait(op->flags, op->nflags, op->value, op->limit_s);
}

static enum status add_flags(struct queue *queue, struct operation *op, uint32_t *const *d_flags,
                             int nflags)
{
    for (int n = 0; n < nflags; n++) {
        op->flags[op->nflags++] = d_flags[n];
        if (op->nflags == GUARD_FLAGS || n == nflags - 1) {
            TRY(guard_add(queue, op, NULL));
            op->nflags = 0;
        }
    }
    return STATUS_OK;
}

static enum status flags_write(struct queue *queue, uint32_t *const *d_flags, int nflags,
                               uint32_t value)
{
    struct operation op = {.run = run_flags_write, .value = value};
    TRY(add_flags(queue, &op, d_flags, nflags));
    /* runtime.h: the flags need no further call; the other rank may be waiting for them */
    return guard_queue_wait(queue);
}

static enum status flags_wait(struct queue *queue, uint32_t *const *d_flags, int nflags,
                              uint32_t value, double limit_s)
{
    struct operation op = {.run = run_flags_wait, .value = value, .limit_s = limit_s};
    return add_flags(queue, &op, d_flags, nflags);
}

static enum status run_summarise(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_summarise(&op->layout, &op->placement, op->given, op->from, op->to);
    return STATUS_OK;
}

static enum status summarise(struct queue *queue, const struct layout *layout,
                             const struct placement *placement, const struct device_medium *medium,
                             const void *d_field, struct field_summary *h_summary)
{
    const struct operation op = {.run = run_summarise,
                                 .layout = *layout,
                                 .placement = *placement,
                                 .given = medium,
                                 .from = d_field,
                                 .to = h_summary};
    poison(queue, h_summary, sizeof *h_summary);
    return guard_add(queue, &op, NULL);
}

static enum status run_hash(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_hash(&op->layout, &op->placement, op->from, op->to);
    return STATUS_OK;
}

static enum status hash(struct queue *queue, const struct layout *layout,
                        const struct placement *placement, const void *d_field, uint64_t *h_hash)
{
    const struct operation op = {
        .run = run_hash, .layout = *layout, .placement = *placement, .from = d_field, .to = h_hash};
    poison(queue, h_hash, sizeof *h_hash);
    return guard_add(queue, &op, NULL);
}

static enum status run_call(struct queue *queue, const struct operation *op)
{
    (void)queue;
    op->call(op->arguments, op->to, op->from);
    return STATUS_OK;
}

enum status guard_call(struct queue *queue,
                       void (*call)(const void *arguments, void *to, const void *from),
                       const void *arguments, size_t nbytes, void *d_to, const void *d_from)
{
    struct operation op = {.run = run_call, .call = call, .to = d_to, .from = d_from};
    if (nbytes > sizeof op.arguments) {
        return fail(STATUS_DEVICE, "guard: %zu bytes of arguments are too many", nbytes);
    }
    memcpy(op.arguments, arguments, nbytes);
    return guard_add(queue, &op, NULL);
}

/* --- operations of the cpu, recorded --------------------------------------------------------- */

static size_t aligned(size_t bytes)
{
    const size_t unit = 16;
    return (bytes + unit - 1) / unit * unit;
}

static size_t host_bytes(const struct host_memory *host, const char *args)
{
    int count = 1;
    if (host->count > 0) {
        memcpy(&count, args + host->count, sizeof count);
    }
    return host->bytes * (size_t)count;
}

/* Queue a function with a copy of its arguments and of the host memory that they point to. */
static enum status record(struct queue *queue,
                          enum status (*run)(struct queue *queue, const struct operation *op),
                          const void *args, size_t nbytes, const struct host_memory *host)
{
    size_t total = aligned(sizeof(struct operation)) + aligned(nbytes);
    for (const struct host_memory *h = host; h->bytes > 0; h++) {
        total += h->is_result ? 0 : aligned(host_bytes(h, args));
    }
    struct operation *op = calloc(1, total);
    TRY(CHECK_MEMORY(op != NULL, "out of memory"));
    char *at = (char *)op + aligned(sizeof *op);
    op->run = run;
    op->recorded = memcpy(at, args, nbytes);
    at += aligned(nbytes);
    for (const struct host_memory *h = host; h->bytes > 0; h++) {
        const size_t size = host_bytes(h, args);
        void *given;
        memcpy(&given, (const char *)args + h->pointer, sizeof given);
        if (given != NULL && h->is_result) {
            poison(queue, given, size);
        } else if (given != NULL) {
            memcpy(at, given, size);
            memcpy((char *)op->recorded + h->pointer, &(void *){at}, sizeof given);
            at += aligned(size);
        }
    }
    guard_append(queue, op);
    return STATUS_OK;
}

#define DEFINE(name, function, type, ...)                                                          \
    static enum status run_##name(struct queue *queue, const struct operation *op)                 \
    {                                                                                              \
        return function(queue->cpu, op->recorded);                                                 \
    }                                                                                              \
    static enum status record_##name(struct queue *queue, const struct type *args)                 \
    {                                                                                              \
        static const struct host_memory memory[] = {__VA_ARGS__{.bytes = 0}};                      \
        return record(queue, run_##name, args, sizeof *args, memory);                              \
    }
#define DEFINE_OPERATION(name, host) DEFINE(name, cpu_##name, name##_args, host)
#define DEFINE_STEP(variant, about)                                                                \
    DEFINE(step_##variant, cpu_step_##variant, step_args,                                          \
           HOST_ARRAY(step, levels, nsteps) HOST_ARRAY(step, boxes, nboxes))
OPERATIONS(DEFINE_OPERATION)
CPU_STEP_VARIANTS(DEFINE_STEP)

#define VARIANT(variant, text) {.name = #variant, .about = text, .step = record_step_##variant},
static const struct kernel_variant variants[] = {
    CPU_STEP_VARIANTS(VARIANT){
        .name = "production",
        .about = "as of cpu",
        .step = record_step,
    },
};

static const struct runtime runtime = {
    .probe = guard_probe,
    .open = guard_open,
    .close = guard_close,
    .info = guard_info,
    .memory_alloc = guard_memory_alloc,
    .memory_free = guard_memory_free,
    .pinned_alloc = guard_pinned_alloc,
    .pinned_free = guard_pinned_free,
    .queue_create = guard_queue_create,
    .queue_destroy = guard_queue_destroy,
    .queue_wait = guard_queue_wait,
    .event_create = guard_event_create,
    .event_destroy = guard_event_destroy,
    .event_record = guard_event_record,
    .event_wait = event_wait,
    .stopwatch_create = stopwatch_create,
    .stopwatch_destroy = stopwatch_destroy,
    .stopwatch_start = stopwatch_start,
    .stopwatch_stop = stopwatch_stop,
    .stopwatch_seconds = stopwatch_seconds,
    .event_sync = guard_event_sync,
    .event_done = guard_event_done,
    .copy_to_device = copy,
    .copy_to_host = copy_to_host,
    .copy_on_device = copy,
    .shared_alloc = guard_shared_alloc,
    .shared_free = guard_memory_free,
    .shared_open = guard_shared_open,
    .shared_close = guard_memory_free,
    .flags_write = flags_write,
    .flags_wait = flags_wait,
};

#define ROW(name, host) .name = record_##name,
static const struct operations operations = {
    OPERATIONS(ROW).steps_most = {[KIND_UNIFORM] = 3, /* so that longer passes are divided */
                                  [KIND_CLASSES] = 3,
                                  [KIND_ENTHALPY] = 3,
                                  [KIND_HIGH_ORDER] = 3},
    .pack = pack,
    .unpack = unpack,
    .pack_boxes = pack_boxes,
    .unpack_boxes = unpack_boxes,
    .summarise = summarise,
    .summarise_classes = guard_summarise_classes,
    .number_classes = guard_number_classes,
    .change_classes = guard_change_classes,
    .plane_maxima = guard_plane_maxima,
    .hash = hash,
    .add_source = guard_add_source,
    .sum_perfusion = guard_sum_perfusion,
    .gather = guard_gather,
    .track = guard_track,
    .flux_squared = guard_flux_squared,
    .extract = guard_extract,
    .convert = guard_convert,
    .liquid_fraction = guard_liquid_fraction,
    .variants = variants,
    .nvariants = (int)(sizeof variants / sizeof variants[0]),
};

const struct backend backend_guard = {
    .name = "guard",
    .about = "the cpu kernels on memory that the host cannot touch",
    .capabilities = BACKEND_FREE_COPIES | BACKEND_ALONG_ROWS,
    .for_tests = true,
    .runtime = &runtime,
    .operations = &operations,
};
