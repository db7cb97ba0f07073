/* Memory, copies, pack and unpack of every backend. */
#include "kernels/backends.h"
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

static void for_each_backend(void (*check)(struct rig *rig))
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        check(&rig);
        rig_close(&rig);
    }
}

TEST(backends_are_complete)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        const struct backend *backend = rig_backend_at(b);
        assert_ptr_equal(backend_find(backend->name), backend);
        assert_true(backend->operations->nvariants >= 2);
        assert_string_equal(backend->operations->variants[backend->operations->nvariants - 1].name,
                            "production");
        assert_ptr_equal(backend->operations->variants[backend->operations->nvariants - 1].step,
                         backend->operations->step);
        const struct operations *o = backend->operations;
        assert_true(o->add_source != NULL);
        assert_true(o->sum_perfusion != NULL);
        assert_true(o->sum_faces != NULL);
        assert_true(o->sum_surfaces != NULL);
        assert_true(o->summarise_classes != NULL);
        assert_true(o->number_classes != NULL);
        assert_true(o->change_classes != NULL);
        assert_true(o->convert != NULL);
        assert_true(o->liquid_fraction != NULL);
        backend->runtime->queue_destroy(NULL);
        backend->runtime->event_destroy(NULL);
        backend->runtime->close(NULL);
    }
}

TEST(backends_for_tests_are_not_offered)
{
    int offered = 0;
    for (int b = 0; b < backend_count(); b++) {
        const struct backend *backend = backend_at(b);
        assert_int_equal(strstr(backend_names(), backend->name) != NULL, !backend->for_tests);
        offered += !backend->for_tests;
    }
    assert_in_range(offered, 1, backend_count() - 1);
    const struct backend *chosen = NULL;
    char why[256];
    must(backend_choose("auto", &chosen, why, sizeof why));
    assert_false(chosen->for_tests);
}

static void check_info(struct rig *rig)
{
    omp_set_num_threads(2);
    struct device_info info;
    must(rig->backend->runtime->info(rig->device, &info));
    assert_true(strlen(info.name) > 0);
    assert_true(info.memory_bytes > 0);
    assert_true(info.free_bytes > 0 && info.free_bytes <= info.memory_bytes);
    if (!backend_has(rig->backend, BACKEND_GPU)) {
        assert_int_equal(info.threads, 2);
        assert_non_null(strstr(info.name, "2 threads"));
    }
}

TEST(info_names_the_device)
{
    for_each_backend(check_info);
}

/* What a backend says of its memory holds. */
static void check_host_memory(struct rig *rig)
{
    const struct runtime *runtime = rig->backend->runtime;
    double h_values[100];
    double h_back[100];
    void *d_values = NULL;
    for (int i = 0; i < 100; i++) {
        h_values[i] = 1.5 * i;
    }
    must(runtime->memory_alloc(rig->device, sizeof h_values, &d_values));
    if (backend_has(rig->backend, BACKEND_HOST_ACCESS)) {
        memcpy(d_values, h_values, sizeof h_values);
        must(runtime->copy_to_host(rig->queue, h_back, d_values, sizeof h_back));
        must(runtime->queue_wait(rig->queue));
        assert_memory_equal(h_back, h_values, sizeof h_values);
    }
    if (backend_has(rig->backend, BACKEND_HOST_POINTERS)) {
        memset(h_back, 0, sizeof h_back);
        must(runtime->copy_on_device(rig->queue, h_back, h_values, sizeof h_back));
        must(runtime->queue_wait(rig->queue));
        assert_memory_equal(h_back, h_values, sizeof h_values);
    }
    runtime->memory_free(rig->device, d_values);
}

TEST(capabilities_are_true)
{
    for_each_backend(check_host_memory);
}

static void check_fresh_memory(struct rig *rig)
{
    static const size_t sizes[] = {1, 8, 4095, 4096, 100001, 5000000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        void *memory[2];
        must(rig->backend->runtime->memory_alloc(rig->device, sizes[s], &memory[0]));
        must(rig->backend->runtime->pinned_alloc(rig->device, sizes[s], &memory[1]));
        unsigned char *h_copy = rig_download(rig, memory[0], sizes[s]);
        for (size_t i = 0; i < sizes[s]; i++) {
            if (h_copy[i] != 0xFF) {
                fail_msg("%s: byte %zu of %zu is %d", rig->backend->name, i, sizes[s], h_copy[i]);
            }
        }
        free(h_copy);
        for (int m = 0; m < 2; m++) {
            assert_int_equal((uintptr_t)memory[m] % LAYOUT_ALIGN_BYTES, 0);
        }
        rig->backend->runtime->memory_free(rig->device, memory[0]);
        rig->backend->runtime->pinned_free(rig->device, memory[1]);
    }
    rig->backend->runtime->memory_free(rig->device, NULL);
    rig->backend->runtime->pinned_free(rig->device, NULL);
}

TEST(fresh_memory_is_nan)
{
    omp_set_num_threads(2);
    for_each_backend(check_fresh_memory);
}

static void check_too_large(struct rig *rig)
{
    void *d_memory = NULL;
    const size_t huge = (size_t)1 << 50; /* 1 PiB */
    fail_clear();
    assert_int_equal(rig->backend->runtime->memory_alloc(rig->device, huge, &d_memory),
                     STATUS_MEMORY);
    assert_non_null(strstr(fail_message(), "1.13 PB"));
    assert_non_null(strstr(fail_message(), "available"));
    assert_null(d_memory);
    fail_clear();
}

TEST(too_much_memory_is_refused_with_the_numbers)
{
    for_each_backend(check_too_large);
}

/* Every alignment and remainder, small and large enough for all threads. */
static void check_copies(struct rig *rig)
{
    enum { BYTES = 300000, MARGIN = 200 };
    unsigned char *h_bytes = malloc(BYTES);
    uint64_t random = 5;
    for (size_t i = 0; i < BYTES; i++) {
        h_bytes[i] = (unsigned char)random_bits(&random);
    }
    char *d_from = rig_upload(rig, h_bytes, BYTES);
    for (int trial = 0; trial < 60; trial++) {
        const size_t from = (size_t)random_below(&random, MARGIN);
        const size_t to = (size_t)random_below(&random, MARGIN);
        const size_t n = (size_t)random_below(&random, trial % 2 == 0 ? 300 : BYTES - MARGIN);
        char *d_to;
        must(rig->backend->runtime->memory_alloc(rig->device, BYTES, (void **)&d_to));
        must(rig->backend->runtime->copy_on_device(rig->queue, d_to + to, d_from + from, n));
        unsigned char *h_got = rig_download(rig, d_to, BYTES);
        for (size_t i = 0; i < BYTES; i++) {
            const unsigned char expected = i >= to && i < to + n ? h_bytes[from + i - to] : 0xFF;
            if (h_got[i] != expected) {
                fail_msg("%s: %zu bytes from %zu to %zu: byte %zu is wrong", rig->backend->name, n,
                         from, to, i);
            }
        }
        free(h_got);
        rig->backend->runtime->memory_free(rig->device, d_to);
    }
    rig->backend->runtime->memory_free(rig->device, d_from);
    free(h_bytes);
}

TEST(copies_move_these_bytes_and_no_others)
{
    for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        for_each_backend(check_copies);
    }
}

/* A box of a layout, halo included, as pack shall lay it out. */
static void check_pack_of(struct rig *rig, const struct layout *layout, const struct box *box,
                          const void *h_field)
{
    const size_t element = precision_bytes(layout->precision);
    const size_t buffer_bytes = (size_t)box_cells(box) * element;
    const size_t field_bytes = layout_bytes(layout);
    void *d_field = rig_upload(rig, h_field, field_bytes);
    void *d_buffer;
    must(rig->backend->runtime->memory_alloc(rig->device, buffer_bytes, &d_buffer));
    must(ENQUEUE(rig->backend->operations, pack, rig->queue, .layout = *layout, .d_field = d_field,
                 .boxes = box, .d_buffers = &d_buffer, .nboxes = 1));
    char *h_buffer = rig_download(rig, d_buffer, buffer_bytes);

    /* into a field of NaN: the box arrives, the rest stays */
    char *h_expected = host_field(layout);
    size_t at_buffer = 0;
    for (int64_t k = box->lo[2]; k < box->hi[2]; k++) {
        for (int64_t j = box->lo[1]; j < box->hi[1]; j++) {
            for (int64_t i = box->lo[0]; i < box->hi[0]; i++) {
                const size_t at = (size_t)layout_index(layout, i, j, k) * element;
                assert_memory_equal(h_buffer + at_buffer, (const char *)h_field + at, element);
                memcpy(h_expected + at, (const char *)h_field + at, element);
                at_buffer += element;
            }
        }
    }
    void *d_other;
    must(rig->backend->runtime->memory_alloc(rig->device, field_bytes, &d_other));
    must(ENQUEUE(rig->backend->operations, unpack, rig->queue, .layout = *layout,
                 .d_buffers = &d_buffer, .boxes = box, .d_field = d_other, .nboxes = 1));
    void *h_other = rig_download(rig, d_other, field_bytes);
    assert_memory_equal(h_other, h_expected, field_bytes);
    free(h_other);
    free(h_expected);
    free(h_buffer);
    rig->backend->runtime->memory_free(rig->device, d_other);
    rig->backend->runtime->memory_free(rig->device, d_buffer);
    rig->backend->runtime->memory_free(rig->device, d_field);
}

static void check_pack(struct rig *rig)
{
    uint64_t random = 9;
    for (int trial = 0; trial < 60; trial++) {
        const bool large = trial % 10 == 0;
        const int64_t cells[AXIS_COUNT] = {1 + random_below(&random, large ? 40 : 12),
                                           1 + random_below(&random, large ? 40 : 7),
                                           1 + random_below(&random, large ? 40 : 7)};
        const int halo[AXIS_COUNT] = {(int)random_below(&random, 4), (int)random_below(&random, 4),
                                      (int)random_below(&random, 4)};
        struct layout layout;
        must(layout_create(cells, halo, trial % 2 == 0 ? PRECISION_FLOAT64 : PRECISION_FLOAT32,
                           &layout));
        unsigned char *h_field = host_field(&layout);
        for (size_t i = 0; i < layout_bytes(&layout); i++) {
            h_field[i] = (unsigned char)random_bits(&random);
        }
        struct box box;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            const int64_t n = cells[axis] + 2 * halo[axis];
            box.lo[axis] = random_below(&random, n) - halo[axis];
            box.hi[axis] =
                box.lo[axis] + 1 + random_below(&random, cells[axis] + halo[axis] - box.lo[axis]);
            if (large) {
                box.lo[axis] = -halo[axis];
                box.hi[axis] = cells[axis] + halo[axis];
            }
        }
        check_pack_of(rig, &layout, &box, h_field);
        free(h_field);
    }
}

TEST(pack_and_unpack_move_a_box)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        omp_set_num_threads(threads);
        for_each_backend(check_pack);
    }
}

/* Work on one queue after work on another, tied by an event. */
static void check_events(struct rig *rig)
{
    enum { BYTES = 100000 };
    unsigned char *h_bytes = malloc(BYTES);
    memset(h_bytes, 7, BYTES);
    struct queue *second;
    struct event *event;
    void *d_first;
    void *d_second;
    void *h_pinned;
    must(rig->backend->runtime->queue_create(rig->device, QUEUE_HIGH, &second));
    must(rig->backend->runtime->event_create(rig->device, &event));
    must(rig->backend->runtime->memory_alloc(rig->device, BYTES, &d_first));
    must(rig->backend->runtime->memory_alloc(rig->device, BYTES, &d_second));
    /* a wait for an event that was never recorded is no wait */
    must(rig->backend->runtime->event_wait(second, event));
    bool done = false;
    must(rig->backend->runtime->event_done(event, &done));
    assert_true(done);
    for (int round = 0; round < 3; round++) {
        memset(h_bytes, 10 + round, BYTES);
        must(rig->backend->runtime->copy_to_device(rig->queue, d_first, h_bytes, BYTES));
        must(rig->backend->runtime->event_record(rig->queue, event));
        must(rig->backend->runtime->event_wait(second, event));
        must(rig->backend->runtime->copy_on_device(second, d_second, d_first, BYTES));
        must(rig->backend->runtime->queue_wait(second));
        unsigned char *h_got = rig_download(rig, d_second, BYTES);
        assert_int_equal(h_got[0], 10 + round);
        assert_int_equal(h_got[BYTES - 1], 10 + round);
        free(h_got);
        must(rig->backend->runtime->queue_wait(rig->queue));
    }
    /* what arrives without a wait is whole when the event says so */
    must(rig->backend->runtime->pinned_alloc(rig->device, BYTES, &h_pinned));
    must(rig->backend->runtime->copy_to_host(second, h_pinned, d_second, BYTES));
    must(rig->backend->runtime->event_record(second, event));
    for (done = false; !done;) {
        must(rig->backend->runtime->event_done(event, &done));
    }
    assert_memory_equal(h_pinned, h_bytes, BYTES);
    rig->backend->runtime->pinned_free(rig->device, h_pinned);
    rig->backend->runtime->event_destroy(event);
    rig->backend->runtime->memory_free(rig->device, d_first);
    rig->backend->runtime->memory_free(rig->device, d_second);
    rig->backend->runtime->queue_destroy(second);
    free(h_bytes);
}

TEST(events_order_two_queues)
{
    for_each_backend(check_events);
}

/* No more than a clock can be held to: it runs, and it measures the queue's work. */
static void check_stopwatch(struct rig *rig)
{
    const struct runtime *runtime = rig->backend->runtime;
    const size_t bytes = 1000000;
    struct stopwatch *stopwatch;
    double short_s = -1;
    double long_s = -1;
    void *d_memory[2];
    must(runtime->stopwatch_create(rig->device, &stopwatch));
    must(runtime->memory_alloc(rig->device, bytes, &d_memory[0]));
    must(runtime->memory_alloc(rig->device, bytes, &d_memory[1]));
    must(runtime->stopwatch_start(rig->queue, stopwatch));
    must(runtime->stopwatch_stop(rig->queue, stopwatch));
    must(runtime->queue_wait(rig->queue));
    must(runtime->stopwatch_seconds(stopwatch, &short_s));
    must(runtime->stopwatch_start(rig->queue, stopwatch));
    for (int copy = 0; copy < 300; copy++) {
        must(runtime->copy_on_device(rig->queue, d_memory[1], d_memory[0], bytes));
    }
    must(runtime->stopwatch_stop(rig->queue, stopwatch));
    must(runtime->queue_wait(rig->queue));
    must(runtime->stopwatch_seconds(stopwatch, &long_s));
    assert_true(short_s >= 0);
    assert_true(long_s > 0 && long_s < 100);
    runtime->stopwatch_destroy(stopwatch);
    runtime->stopwatch_destroy(NULL);
    runtime->memory_free(rig->device, d_memory[0]);
    runtime->memory_free(rig->device, d_memory[1]);
}

TEST(the_stopwatch_measures)
{
    for_each_backend(check_stopwatch);
}

TEST_MAIN(NULL, NULL)
