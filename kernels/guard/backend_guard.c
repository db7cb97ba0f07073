/* The backend `guard`: a device in disguise. Its memory is mapped without access except while an
 * operation runs, so a host that touches it dies on the spot; its queues run nothing before
 * somebody waits, so a forgotten wait or event shows as wrong data. */
#include "kernels/guard/backend_guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/kernels_cpu.h"

struct allocation {
    struct allocation *next;
    void *d_memory;
    char *map; /* whole pages, with one more on either side that is never accessible */
    size_t map_bytes;
};

struct device {
    struct allocation *allocations;
    struct queue *queues;
    size_t page_bytes;
    int open_depth; /* operations that are running: an event may start others in the middle */
    uint64_t last_queue_id;
};

/* A queue's operations count from 1; `nrun` of the `nadded` so far have run. */
struct queue {
    struct queue *next;
    struct device *device;
    uint64_t id; /* events know queues by it: a destroyed one is not found, and so has run */
    struct operation *first, *last;
    uint64_t nadded, nrun;
};

struct event {
    uint64_t queue_id; /* 0: never recorded */
    uint64_t position;
};

/* One queued call: which function it is, and its arguments by value. */
struct operation {
    struct operation *next;
    enum status (*run)(struct queue *queue, const struct operation *op);
    struct layout layout;
    struct placement placement;
    void *to;
    const void *from;
    size_t bytes;
    struct event event;
    cpu_step_function *step;
    struct step_args args;
    int nboxes;
    struct box boxes[];
};

/* --- memory ---------------------------------------------------------------------------------- */

static enum status protect(const struct device *device, const struct allocation *a, int access)
{
    const size_t page = device->page_bytes;
    if (mprotect(a->map + page, a->map_bytes - 2 * page, access) != 0) {
        return fail(STATUS_DEVICE, "guard: mprotect: %s", strerror(errno));
    }
    return STATUS_OK;
}

static enum status protect_all(const struct device *device, int access)
{
    for (const struct allocation *a = device->allocations; a != NULL; a = a->next) {
        TRY(protect(device, a, access));
    }
    return STATUS_OK;
}

/* Between these the memory can be read and written. */
static enum status access_begin(struct device *device)
{
    return device->open_depth++ == 0 ? protect_all(device, PROT_READ | PROT_WRITE) : STATUS_OK;
}

static enum status access_end(struct device *device)
{
    return --device->open_depth == 0 ? protect_all(device, PROT_NONE) : STATUS_OK;
}

static enum status memory_alloc(struct device *device, size_t bytes, void **d_memory)
{
    TRY(host_memory_check(bytes));
    struct allocation *a = calloc(1, sizeof *a);
    if (a == NULL) {
        return fail(STATUS_MEMORY, "out of memory");
    }
    const size_t page = device->page_bytes;
    const size_t inner_bytes = (bytes / page + 1) * page;
    a->map_bytes = inner_bytes + 2 * page;
    a->map = mmap(NULL, a->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a->map == MAP_FAILED) {
        free(a);
        return fail(STATUS_MEMORY, "guard: mmap of %zu bytes: %s", bytes, strerror(errno));
    }
    /* as near to the last page as alignment allows: running over the end is noticed too */
    const size_t align = LAYOUT_ALIGN_BYTES;
    char *start = a->map + page + (inner_bytes - bytes) / align * align;
    enum status status = protect(device, a, PROT_READ | PROT_WRITE);
    if (status == STATUS_OK) {
        cpu_fill_nan(start, bytes);
        status = protect(device, a, PROT_NONE);
    }
    if (status != STATUS_OK) {
        munmap(a->map, a->map_bytes);
        free(a);
        return status;
    }
    a->d_memory = start;
    a->next = device->allocations;
    device->allocations = a;
    *d_memory = start;
    return STATUS_OK;
}

static void free_first(struct allocation **link)
{
    struct allocation *a = *link;
    *link = a->next;
    munmap(a->map, a->map_bytes);
    free(a);
}

static enum status run_all(struct device *device);

static void memory_free(struct device *device, void *d_memory)
{
    if (d_memory == NULL) {
        return;
    }
    (void)run_all(device); /* queued operations may still use it */
    for (struct allocation **link = &device->allocations; *link != NULL; link = &(*link)->next) {
        if ((*link)->d_memory == d_memory) {
            free_first(link);
            return;
        }
    }
}

static enum status pinned_alloc(struct device *device, size_t bytes, void **h_memory)
{
    (void)device;
    TRY(host_memory_alloc(bytes, h_memory));
    cpu_fill_nan(*h_memory, bytes);
    return STATUS_OK;
}

static void pinned_free(struct device *device, void *h_memory)
{
    if (h_memory != NULL) {
        (void)run_all(device);
        free(h_memory);
    }
}

/* --- device ---------------------------------------------------------------------------------- */

static enum status probe(void)
{
    return STATUS_OK;
}

static enum status open_device(int node_rank, int node_size, struct device **device)
{
    (void)node_rank;
    (void)node_size;
    *device = calloc(1, sizeof **device);
    if (*device == NULL) {
        return fail(STATUS_MEMORY, "out of memory");
    }
    (*device)->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    return STATUS_OK;
}

static void close_device(struct device *device)
{
    if (device == NULL) {
        return;
    }
    (void)run_all(device);
    while (device->allocations != NULL) {
        free_first(&device->allocations);
    }
    free(device);
}

static enum status info(struct device *device, struct device_info *info)
{
    (void)device;
    host_info(info);
    return STATUS_OK;
}

/* --- queues and events ----------------------------------------------------------------------- */

static enum status queue_create(struct device *device, enum queue_priority priority,
                                struct queue **queue)
{
    (void)priority;
    *queue = calloc(1, sizeof **queue);
    if (*queue == NULL) {
        return fail(STATUS_MEMORY, "out of memory");
    }
    (*queue)->device = device;
    (*queue)->id = ++device->last_queue_id;
    (*queue)->next = device->queues;
    device->queues = *queue;
    return STATUS_OK;
}

/* Run the queue's operations up to and including number `position`. */
static enum status run_until(struct queue *queue, uint64_t position)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && queue->nrun < position && queue->first != NULL) {
        struct operation *op = queue->first;
        status = op->run(queue, op);
        queue->first = op->next;
        queue->nrun++;
        free(op);
    }
    if (queue->first == NULL) {
        queue->last = NULL;
    }
    return status;
}

static enum status queue_wait(struct queue *queue)
{
    if (queue->first == NULL) {
        return STATUS_OK;
    }
    TRY(access_begin(queue->device));
    const enum status status = run_until(queue, queue->nadded);
    TRY(access_end(queue->device));
    return status;
}

static enum status run_all(struct device *device)
{
    enum status status = STATUS_OK;
    for (struct queue *queue = device->queues; queue != NULL; queue = queue->next) {
        const enum status here = queue_wait(queue);
        status = status == STATUS_OK ? here : status;
    }
    return status;
}

static void queue_destroy(struct queue *queue)
{
    if (queue == NULL) {
        return;
    }
    (void)queue_wait(queue);
    while (queue->first != NULL) { /* left behind by one that failed */
        struct operation *op = queue->first;
        queue->first = op->next;
        free(op);
    }
    struct queue **link = &queue->device->queues;
    while (*link != queue) {
        link = &(*link)->next;
    }
    *link = queue->next;
    free(queue);
}

/* Append `op`, whose arguments are copied, with the boxes. */
static enum status add(struct queue *queue, const struct operation *op, const struct box *boxes)
{
    struct operation *copy = malloc(sizeof *copy + (size_t)op->nboxes * sizeof boxes[0]);
    if (copy == NULL) {
        return fail(STATUS_MEMORY, "out of memory");
    }
    *copy = *op;
    copy->next = NULL;
    for (int b = 0; b < op->nboxes; b++) {
        copy->boxes[b] = boxes[b];
    }
    if (queue->last == NULL) {
        queue->first = copy;
    } else {
        queue->last->next = copy;
    }
    queue->last = copy;
    queue->nadded++;
    return STATUS_OK;
}

static enum status event_create(struct device *device, struct event **event)
{
    (void)device;
    *event = calloc(1, sizeof **event);
    return *event != NULL ? STATUS_OK : fail(STATUS_MEMORY, "out of memory");
}

static void event_destroy(struct event *event)
{
    free(event);
}

static enum status event_record(struct queue *queue, struct event *event)
{
    *event = (struct event){.queue_id = queue->id, .position = queue->nadded};
    return STATUS_OK;
}

/* No cycles: an event names operations that were queued before the wait for it. */
static enum status run_event_wait(struct queue *queue, const struct operation *op)
{
    for (struct queue *other = queue->device->queues; other != NULL; other = other->next) {
        if (other->id == op->event.queue_id && other != queue) {
            return run_until(other, op->event.position);
        }
    }
    return STATUS_OK;
}

static enum status event_wait(struct queue *queue, struct event *event)
{
    return add(queue, &(struct operation){.run = run_event_wait, .event = *event}, NULL);
}

/* --- operations ------------------------------------------------------------------------------ */

static enum status run_copy(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_copy(op->to, op->from, op->bytes);
    return STATUS_OK;
}

static enum status copy(struct queue *queue, void *to, const void *from, size_t bytes)
{
    return add(queue, &(struct operation){.run = run_copy, .to = to, .from = from, .bytes = bytes},
               NULL);
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

/* A result that is read too early shall be seen to be wrong. */
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
    return add(queue, &op, box);
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
    return add(queue, &op, box);
}

static enum status run_summarise(struct queue *queue, const struct operation *op)
{
    (void)queue;
    cpu_summarise(&op->layout, &op->placement, op->from, op->to);
    return STATUS_OK;
}

static enum status summarise(struct queue *queue, const struct layout *layout,
                             const struct placement *placement, const void *d_field,
                             struct field_summary *h_summary)
{
    const struct operation op = {.run = run_summarise,
                                 .layout = *layout,
                                 .placement = *placement,
                                 .from = d_field,
                                 .to = h_summary};
    poison(queue, h_summary, sizeof *h_summary);
    return add(queue, &op, NULL);
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
    return add(queue, &op, NULL);
}

static enum status run_step(struct queue *queue, const struct operation *op)
{
    (void)queue;
    op->step(&op->layout, &op->args, op->to, op->from, op->boxes, op->nboxes);
    return STATUS_OK;
}

#define DEFINE_STEP(variant, about)                                                                \
    static enum status step_##variant(struct queue *queue, const struct layout *layout,            \
                                      const struct step_args *args, void *d_out, const void *d_in, \
                                      const struct box *boxes, int nboxes)                         \
    {                                                                                              \
        const struct operation op = {.run = run_step,                                              \
                                     .layout = *layout,                                            \
                                     .to = d_out,                                                  \
                                     .from = d_in,                                                 \
                                     .step = cpu_step_##variant,                                   \
                                     .args = *args,                                                \
                                     .nboxes = nboxes};                                            \
        return add(queue, &op, boxes);                                                             \
    }
CPU_STEP_VARIANTS(DEFINE_STEP)

#define VARIANT(variant, text) {.name = #variant, .about = text, .step = step_##variant},
static const struct kernel_variant variants[] = {CPU_STEP_VARIANTS(VARIANT)};

const struct backend backend_guard = {
    .name = "guard",
    .about = "the cpu kernels on memory that the host cannot touch; for tests",
    .host_accessible = false,
    .probe = probe,
    .open = open_device,
    .close = close_device,
    .info = info,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .pinned_alloc = pinned_alloc,
    .pinned_free = pinned_free,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_wait = queue_wait,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .copy_to_device = copy,
    .copy_to_host = copy_to_host,
    .copy_on_device = copy,
    .step = step_production,
    .pack = pack,
    .unpack = unpack,
    .summarise = summarise,
    .hash = hash,
    .variants = variants,
    .nvariants = (int)(sizeof variants / sizeof variants[0]),
};
