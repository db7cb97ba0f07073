#include "model/field/copy_out.h"

#include <stdlib.h>

#include "base/log.h"

/* Copies are split so that copies of the halo, which share the copy engine, can run in between. */
enum { PIECE_BYTES = 8 << 20 };

struct copy_out {
    const struct backend *backend; /* borrowed, as are device and steps */
    struct device *device;
    struct queue *steps;
    struct queue *copies; /* own queue: waiting for other reads does not include these */
    char *d_memory;
    size_t room, used;
    struct event *packed;  /* on `steps`: the latest values are in d_memory */
    struct event *arrived; /* on `copies`: all copies are complete */
    bool is_waited_for;    /* or no copy is in flight */
};

static enum status build(struct copy_out *c)
{
    void *d_memory = NULL;
    TRY(c->backend->runtime->queue_create(c->device, QUEUE_LOW, &c->copies));
    TRY(c->backend->runtime->event_create(c->device, &c->packed));
    TRY(c->backend->runtime->event_create(c->device, &c->arrived));
    TRY(c->backend->runtime->memory_alloc(c->device, c->room, &d_memory));
    c->d_memory = d_memory;
    return STATUS_OK;
}

enum status copy_out_create(const struct backend *backend, struct device *device,
                            struct queue *steps, size_t bytes, struct copy_out **copy_out)
{
    *copy_out = NULL;
    struct copy_out *c = calloc(1, sizeof *c);
    TRY(CHECK_MEMORY(c != NULL, "no memory for the description of copies"));
    *c = (struct copy_out){
        .backend = backend, .device = device, .steps = steps, .room = bytes, .is_waited_for = true};
    const enum status status = build(c);
    if (status == STATUS_OK) {
        *copy_out = c;
    } else {
        copy_out_destroy(c);
    }
    return status;
}

void copy_out_destroy(struct copy_out *c)
{
    if (c == NULL) {
        return;
    }
    /* also on failure: freeing the memory waits for the device */
    if (copy_out_wait(c) != STATUS_OK) {
        log_warn("%s", fail_message());
    }
    c->backend->runtime->queue_destroy(c->copies);
    c->backend->runtime->memory_free(c->device, c->d_memory);
    c->backend->runtime->event_destroy(c->arrived);
    c->backend->runtime->event_destroy(c->packed);
    free(c);
}

size_t copy_out_room(const struct copy_out *c)
{
    return c->room;
}

enum status copy_out_begin(struct copy_out *c)
{
    TRY(copy_out_wait(c));
    c->used = 0;
    return STATUS_OK;
}

enum status copy_out_add(struct copy_out *c, const struct extract_args *args, void *h_values)
{
    const struct box cells = box_of_cells(args->cells);
    const size_t bytes = (size_t)box_cells(&cells) * precision_bytes(args->precision);
    char *d_values = c->d_memory + c->used;
    FAIL_IF(copy_out_bytes(bytes) > c->room - c->used,
            fail(STATUS_MEMORY, "no device memory for another %s in flight to the host",
                 SIZE_TEXT(bytes)));
    c->used += copy_out_bytes(bytes);
    c->is_waited_for = false;
    struct extract_args extract = *args;
    extract.d_values = d_values;
    TRY(c->backend->operations->extract(c->steps, &extract));
    TRY(c->backend->runtime->event_record(c->steps, c->packed));
    TRY(c->backend->runtime->event_wait(c->copies, c->packed));
    for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
        const size_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        TRY(c->backend->runtime->copy_to_host(c->copies, (char *)h_values + at, d_values + at,
                                              piece));
    }
    return c->backend->runtime->event_record(c->copies, c->arrived);
}

bool copy_out_is_under_way(const struct copy_out *c)
{
    return !c->is_waited_for;
}

enum status copy_out_done(struct copy_out *c, bool *done)
{
    if (!c->is_waited_for) {
        TRY(c->backend->runtime->event_done(c->arrived, &c->is_waited_for));
    }
    *done = c->is_waited_for;
    return STATUS_OK;
}

enum status copy_out_wait(struct copy_out *c)
{
    if (!c->is_waited_for) {
        TRY(c->backend->runtime->event_sync(c->arrived));
        c->is_waited_for = true;
    }
    return STATUS_OK;
}
