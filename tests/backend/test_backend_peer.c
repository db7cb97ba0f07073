/* What the halo transport `peer` lives on: several boxes at once, memory for other processes, and
 * flags. That other processes really see it is tested in tests/mpi/test_halo.c. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#undef fail /* ours, of base/status.h */

enum { BOXES = 30, ROUNDS = 8 }; /* more boxes than fit one launch */

static const int64_t cells[AXIS_COUNT] = {21, 13, 11};
static const int halo[AXIS_COUNT] = {2, 1, 3};

static struct box random_box(uint64_t *state)
{
    struct box box;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        box.lo[axis] = random_below(state, cells[axis] + halo[axis]) - halo[axis];
        box.hi[axis] =
            box.lo[axis] + 1 + random_below(state, cells[axis] + halo[axis] - box.lo[axis]);
    }
    return box;
}

static size_t bytes_of(const struct box *box, enum precision precision)
{
    return (size_t)box_cells(box) * precision_bytes(precision);
}

static void *random_field(const struct layout *layout, uint64_t *state)
{
    void *h_field = host_field(layout);
    for (int64_t at = 0; at < layout->elements; at++) {
        host_set(layout, h_field, at, random_between(state, 200, 400));
    }
    return h_field;
}

/* All at once, and one by one. */
static void pack_round(struct rig *rig, const struct layout *layout, uint64_t *state)
{
    const struct backend *backend = rig->backend;
    struct box boxes[BOXES];
    void *d_buffers[BOXES];
    void *h_field = random_field(layout, state);
    void *d_field = rig_upload(rig, h_field, layout_bytes(layout));
    for (int b = 0; b < BOXES; b++) {
        boxes[b] = random_box(state);
        must(backend->runtime->memory_alloc(rig->device, bytes_of(&boxes[b], layout->precision),
                                            &d_buffers[b]));
    }
    must(ENQUEUE(backend->operations, pack, rig->queue, .layout = *layout, .d_field = d_field,
                 .boxes = boxes, .d_buffers = d_buffers, .nboxes = BOXES));
    for (int b = 0; b < BOXES; b++) {
        const size_t bytes = bytes_of(&boxes[b], layout->precision);
        void *d_alone;
        must(backend->runtime->memory_alloc(rig->device, bytes, &d_alone));
        must(ENQUEUE(backend->operations, pack, rig->queue, .layout = *layout, .d_field = d_field,
                     .boxes = &boxes[b], .d_buffers = &d_alone, .nboxes = 1));
        void *found = rig_download(rig, d_buffers[b], bytes);
        void *expected = rig_download(rig, d_alone, bytes);
        assert_memory_equal(found, expected, bytes);
        free(found);
        free(expected);
        backend->runtime->memory_free(rig->device, d_alone);
    }
    /* and back into an empty field: what lies in the boxes, and nothing else */
    void *h_empty = host_field(layout);
    void *d_empty = rig_upload(rig, h_empty, layout_bytes(layout));
    must(ENQUEUE(backend->operations, unpack, rig->queue, .layout = *layout, .d_buffers = d_buffers,
                 .boxes = boxes, .nboxes = BOXES, .d_field = d_empty));
    void *found = rig_download(rig, d_empty, layout_bytes(layout));
    for (int b = 0; b < BOXES; b++) {
        for (int64_t k = boxes[b].lo[2]; k < boxes[b].hi[2]; k++) {
            for (int64_t j = boxes[b].lo[1]; j < boxes[b].hi[1]; j++) {
                for (int64_t i = boxes[b].lo[0]; i < boxes[b].hi[0]; i++) {
                    const int64_t at = layout_index(layout, i, j, k);
                    host_set(layout, h_empty, at, host_get(layout, h_field, at));
                }
            }
        }
    }
    assert_memory_equal(found, h_empty, layout_bytes(layout));
    for (int b = 0; b < BOXES; b++) {
        backend->runtime->memory_free(rig->device, d_buffers[b]);
    }
    backend->runtime->memory_free(rig->device, d_field);
    backend->runtime->memory_free(rig->device, d_empty);
    free(h_field);
    free(h_empty);
    free(found);
}

TEST(boxes_at_once_equal_boxes_in_turn)
{
    uint64_t random = 7;
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        struct layout layout;
        rig_open(&rig, rig_backend_at(b));
        for (int round = 0; round < ROUNDS; round++) {
            must(layout_create(cells, halo, round % 2 == 0 ? PRECISION_FLOAT64 : PRECISION_FLOAT32,
                               &layout));
            pack_round(&rig, &layout, &random);
        }
        rig_close(&rig);
    }
}

enum { FLAGS = 3, FLAG_STRIDE = 16 };

static enum status wait_for(struct rig *rig, uint32_t *const *d_flags, uint32_t value,
                            double limit_s)
{
    const enum status status =
        rig->backend->runtime->flags_wait(rig->queue, d_flags, FLAGS, value, limit_s);
    const enum status later = rig->backend->runtime->queue_wait(rig->queue);
    return status != STATUS_OK ? status : later;
}

TEST(flags_count_and_a_wait_ends)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        struct shared_handle handle;
        void *d_memory;
        uint32_t *d_flags[FLAGS];
        rig_open(&rig, rig_backend_at(b));
        const struct runtime *runtime = rig.backend->runtime;
        must(runtime->shared_alloc(rig.device, FLAGS * FLAG_STRIDE * sizeof(uint32_t), &d_memory,
                                   &handle));
        for (int f = 0; f < FLAGS; f++) {
            d_flags[f] = (uint32_t *)d_memory + f * FLAG_STRIDE;
        }
        must(wait_for(&rig, d_flags, UINT32_MAX, 60)); /* fresh: -1 */
        const double start = clock_seconds();
        assert_int_equal(wait_for(&rig, d_flags, 1, 0.05), STATUS_DEVICE);
        assert_true(clock_seconds() - start >= 0.04);
        assert_non_null(strstr(fail_message(), "was not set within 0.05 s"));
        /* two of three are not all */
        must(runtime->flags_write(rig.queue, d_flags, FLAGS - 1, 1));
        assert_int_equal(wait_for(&rig, d_flags, 1, 0.05), STATUS_DEVICE);
        must(runtime->flags_write(rig.queue, d_flags, FLAGS, 5));
        must(wait_for(&rig, d_flags, 1, 60)); /* later is as good */
        must(wait_for(&rig, d_flags, 5, 60));
        assert_int_equal(wait_for(&rig, d_flags, 6, 0.05), STATUS_DEVICE);
        /* round the end of 32 bits */
        must(runtime->flags_write(rig.queue, d_flags, FLAGS, UINT32_MAX));
        assert_int_equal(wait_for(&rig, d_flags, 1, 0.05), STATUS_DEVICE);
        must(runtime->flags_write(rig.queue, d_flags, FLAGS, 1));
        must(wait_for(&rig, d_flags, UINT32_MAX, 60));
        runtime->shared_free(rig.device, d_memory);
        rig_close(&rig);
    }
}

/* Whoever waits for flags gets them even if nobody waits for the queue that writes them. */
TEST(flags_come_by_themselves)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        struct shared_handle handle;
        struct queue *writing;
        void *d_memory;
        rig_open(&rig, rig_backend_at(b));
        const struct runtime *runtime = rig.backend->runtime;
        must(runtime->queue_create(rig.device, QUEUE_NORMAL, &writing));
        must(runtime->shared_alloc(rig.device, sizeof(uint32_t), &d_memory, &handle));
        uint32_t *d_flag = d_memory;
        must(runtime->flags_write(writing, &d_flag, 1, 1));
        must(runtime->flags_wait(rig.queue, &d_flag, 1, 1, 20));
        must(runtime->queue_wait(rig.queue));
        must(runtime->queue_wait(writing));
        runtime->shared_free(rig.device, d_memory);
        runtime->queue_destroy(writing);
        rig_close(&rig);
    }
}

/* event_sync makes the host wait for the work before the mark. */
TEST(a_mark_can_be_waited_for)
{
    enum { BYTES = 1 << 16 };
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        struct event *event;
        void *h_memory;
        rig_open(&rig, rig_backend_at(b));
        const struct runtime *runtime = rig.backend->runtime;
        unsigned char *bytes = malloc(BYTES);
        assert_non_null(bytes);
        memset(bytes, 0x33, BYTES);
        void *d_bytes = rig_upload(&rig, bytes, BYTES);
        must(runtime->pinned_alloc(rig.device, BYTES, &h_memory));
        must(runtime->event_create(rig.device, &event));
        must(runtime->event_sync(event)); /* never recorded: nothing to wait for */
        must(runtime->copy_to_host(rig.queue, h_memory, d_bytes, BYTES));
        must(runtime->event_record(rig.queue, event));
        must(runtime->event_sync(event));
        assert_memory_equal(h_memory, bytes, BYTES);
        must(runtime->queue_wait(rig.queue));
        runtime->event_destroy(event);
        runtime->pinned_free(rig.device, h_memory);
        runtime->memory_free(rig.device, d_bytes);
        free(bytes);
        rig_close(&rig);
    }
}

TEST_MAIN(NULL, NULL)
