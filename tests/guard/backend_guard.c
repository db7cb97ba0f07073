/* The backend `guard`: it simulates a device. Its memory is accessible only while an operation
 * runs, so host code that touches it crashes; its queues run only when waited for, so that a
 * missing wait or event gives wrong data. */
#include "kernels/backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/cpu/host/memory.h"
#include "tests/guard/guard_device.h"

/* --- recording ------------------------------------------------------------------------------- */

struct copy_args {
    void *to;
    const void *from;
    size_t bytes;
};

static enum status run_copy(struct queue *queue, const void *args)
{
    const struct copy_args *copy = args;
    cpu_copy(copy->to, copy->from, copy->bytes);
    return STATUS_OK;
}

/* Whether a queued copy still has to read some of these bytes. */
static bool is_awaited(const struct device *device, const char *h_bytes, size_t nbytes)
{
    for (const struct queue *queue = device->queues; queue != NULL; queue = queue->next) {
        for (const struct operation *op = queue->first; op != NULL; op = op->next) {
            const struct copy_args *copy = (const struct copy_args *)op->args;
            if (op->run == run_copy && (const char *)copy->from < h_bytes + nbytes &&
                h_bytes < (const char *)copy->from + copy->bytes) {
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

static size_t aligned(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static void *pointer_at(const void *args, const struct host_memory *host)
{
    void *pointer;
    memcpy(&pointer, (const char *)args + host->pointer, sizeof pointer);
    return pointer;
}

static size_t bytes_of(const void *args, const struct host_memory *host)
{
    int count = 1;
    if (host->count > 0) {
        memcpy(&count, (const char *)args + host->count, sizeof count);
    }
    return pointer_at(args, host) != NULL ? host->bytes * (size_t)count : 0;
}

enum status guard_add(struct queue *queue, guard_function *run, const void *args, size_t nbytes,
                      const struct host_memory *host)
{
    size_t total = aligned(nbytes);
    for (const struct host_memory *h = host; h != NULL && h->bytes > 0; h++) {
        total += h->is_result ? 0 : aligned(bytes_of(args, h));
    }
    struct operation *op = malloc(sizeof *op + total);
    TRY(CHECK_MEMORY(op != NULL, "out of memory"));
    op->next = NULL;
    op->run = run;
    op->nbytes = total;
    memcpy(op->args, args, nbytes);
    unsigned char *to = op->args + aligned(nbytes);
    for (const struct host_memory *h = host; h != NULL && h->bytes > 0; h++) {
        void *given = pointer_at(args, h);
        if (given != NULL && h->is_result) {
            poison(queue, given, h->bytes);
        } else if (given != NULL) {
            memcpy(op->args + h->pointer, &to, sizeof to);
            memcpy(to, given, bytes_of(args, h));
            to += aligned(bytes_of(args, h));
        }
    }
    *(queue->last == NULL ? &queue->first : &queue->last->next) = op;
    queue->last = op;
    queue->nadded++;
    return STATUS_OK;
}

/* --- copies, events and flags ---------------------------------------------------------------- */

enum status guard_copy_to_device(struct queue *queue, void *to, const void *from, size_t bytes)
{
    const struct copy_args args = {to, from, bytes};
    return guard_add(queue, run_copy, &args, sizeof args, NULL);
}

enum status guard_copy_to_host(struct queue *queue, void *h_to, const void *d_from, size_t bytes)
{
    poison(queue, h_to, bytes);
    return guard_copy_to_device(queue, h_to, d_from, bytes);
}

/* No cycles: an event names operations that were queued before the wait for it. */
static enum status run_event_wait(struct queue *queue, const void *args)
{
    const struct event *event = args;
    for (struct queue *other = queue->device->queues; other != NULL; other = other->next) {
        if (other->id == event->queue_id && other != queue) {
            return guard_run_until(other, event->position);
        }
    }
    return STATUS_OK;
}

enum status guard_event_wait(struct queue *queue, struct event *event)
{
    return guard_add(queue, run_event_wait, event, sizeof *event, NULL);
}

enum status guard_stopwatch_create(struct device *device, struct stopwatch **stopwatch)
{
    *stopwatch = calloc(1, sizeof **stopwatch);
    return CHECK_MEMORY(*stopwatch != NULL, "out of memory");
}

void guard_stopwatch_destroy(struct stopwatch *stopwatch)
{
    free(stopwatch);
}

static enum status run_mark(struct queue *queue, const void *args)
{
    double *const *mark = args;
    **mark = clock_seconds();
    return STATUS_OK;
}

enum status guard_stopwatch_start(struct queue *queue, struct stopwatch *stopwatch)
{
    return guard_add(queue, run_mark, &(double *){&stopwatch->start}, sizeof(double *), NULL);
}

enum status guard_stopwatch_stop(struct queue *queue, struct stopwatch *stopwatch)
{
    stopwatch->stop = NAN; /* until the queue has been waited for */
    return guard_add(queue, run_mark, &(double *){&stopwatch->stop}, sizeof(double *), NULL);
}

enum status guard_stopwatch_seconds(struct stopwatch *stopwatch, double *seconds)
{
    *seconds = stopwatch->stop - stopwatch->start;
    return STATUS_OK;
}

struct flags_args {
    uint32_t *const *d_flags;
    int nflags;
    uint32_t value;
    double limit_s;
};
static const struct host_memory memory_of_flags[] = {HOST_ARRAY(flags, d_flags, nflags){0}};

static enum status run_flags_write(struct queue *queue, const void *args)
{
    const struct flags_args *flags = args;
    shared_flags_write(flags->d_flags, flags->nflags, flags->value);
    return STATUS_OK;
}

static enum status run_flags_wait(struct queue *queue, const void *args)
{
    const struct flags_args *flags = args;
    return shared_flags_wait(flags->d_flags, flags->nflags, flags->value, flags->limit_s);
}

enum status guard_flags_write(struct queue *queue, uint32_t *const *d_flags, int nflags,
                              uint32_t value)
{
    const struct flags_args args = {d_flags, nflags, value, 0};
    TRY(guard_add(queue, run_flags_write, &args, sizeof args, memory_of_flags));
    /* runtime.h: the flags need no further call; the other rank may be waiting for them */
    return guard_queue_wait(queue);
}

enum status guard_flags_wait(struct queue *queue, uint32_t *const *d_flags, int nflags,
                             uint32_t value, double limit_s)
{
    const struct flags_args args = {d_flags, nflags, value, limit_s};
    return guard_add(queue, run_flags_wait, &args, sizeof args, memory_of_flags);
}

/* --- operations: those of the cpu, recorded --------------------------------------------------- */

#define LIST(...) __VA_ARGS__
#define DEFINE(name, function, type, host, fields)                                                 \
    static enum status run_##name(struct queue *queue, const void *args)                           \
    {                                                                                              \
        static const struct field_access list[] = {LIST fields{0}};                                \
        _Static_assert(sizeof list / sizeof list[0] <= GUARD_FIELDS_MOST + 1, "too many fields");  \
        struct type own = *(const struct type *)args;                                              \
        struct guard_fence fence;                                                                  \
        enum status status = guard_fence_begin(list, &own, &fence);                                \
        if (status == STATUS_OK) {                                                                 \
            status = guard_access_limit(queue->device, list, &own, sizeof own, args);              \
        }                                                                                          \
        if (status == STATUS_OK) {                                                                 \
            status = function(queue->cpu, &own);                                                   \
        }                                                                                          \
        const enum status widened = guard_access_widen(queue->device);                             \
        return guard_fence_end(&fence, status == STATUS_OK ? widened : status);                    \
    }                                                                                              \
    static enum status record_##name(struct queue *queue, const struct type *args)                 \
    {                                                                                              \
        static const struct host_memory memory[] = {LIST host{0}};                                 \
        return guard_add(queue, run_##name, args, sizeof *args, memory);                           \
    }
#define DEFINE_OPERATION(name, host, fields) DEFINE(name, cpu_##name, name##_args, (host), (fields))
#define DEFINE_LIKE_STEP(name)                                                                     \
    DEFINE(name, cpu_##name, step_args,                                                            \
           (HOST_ARRAY(step, levels, nsteps) HOST_ARRAY(step, boxes, nboxes)), (STEP_FIELDS))
#define DEFINE_STEP(variant, about) DEFINE_LIKE_STEP(step_##variant)
GUARD_OPERATIONS(DEFINE_OPERATION)
CPU_STEP_VARIANTS(DEFINE_STEP)
DEFINE_LIKE_STEP(laplacian)

#define VARIANT(variant, text) {.name = #variant, .about = text, .step = record_step_##variant},
static const struct kernel_variant variants[] = {
    CPU_STEP_VARIANTS(VARIANT){
        .name = "production",
        .about = "as of cpu",
        .step = record_step,
    },
};
static const struct kernel_variant laplacians[] = {{CPU_LAPLACIAN, record_laplacian, 0}, {0}};

#define MEMBER(name) .name = guard_##name,
static const struct runtime runtime = {RUNTIME_FUNCTIONS(MEMBER)};

#define ROW(name) .name = record_##name,
static const struct operations operations = {
    OPERATIONS(ROW).steps_most = {[KIND_UNIFORM] = 3, /* so that longer passes are divided */
                                  [KIND_CLASSES] = 1,
                                  [KIND_ENTHALPY] = 1,
                                  [KIND_HIGH_ORDER] = 1,
                                  [KIND_FACES] = 1,
                                  [KIND_GRADED] = 1},
    .variants = variants,
    .nvariants = (int)(sizeof variants / sizeof variants[0]),
    .laplacians = laplacians,
};

const struct backend backend_guard = {
    .name = "guard",
    .about = "the cpu kernels on memory that the host cannot touch",
    .capabilities = BACKEND_FREE_COPIES | BACKEND_ALONG_ROWS,
    .for_tests = true,
    .runtime = &runtime,
    .operations = &operations,
};
