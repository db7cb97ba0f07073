/* What the backend `guard` is for: wrong use of device memory and forgotten waits show up. */
#include "rig.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

#include "kernels/backend.h"
#include "tests/guard/guard_device.h"

enum { BYTES = 100000 };

static bool is_filled_with(const unsigned char *bytes, int value)
{
    for (size_t i = 0; i < BYTES; i++) {
        if (bytes[i] != value) {
            return false;
        }
    }
    return true;
}

/* The signal that ends a child which touches this byte; 0 when it survives. */
static int signal_on_touch(volatile unsigned char *byte, bool write)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* not the sanitizer's or cmocka's handler */
        if (write) {
            *byte = 1;
        } else {
            (void)*byte;
        }
        _exit(0);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFSIGNALED(how) ? WTERMSIG(how) : 0;
}

TEST(the_host_cannot_touch_its_memory)
{
    struct rig rig;
    rig_open(&rig, &backend_guard);
    unsigned char *d_bytes;
    must(backend_guard.runtime->memory_alloc(rig.device, BYTES, (void **)&d_bytes));
    assert_false(backend_has(&backend_guard, BACKEND_HOST_ACCESS));
    for (int round = 0; round < 2; round++) {
        assert_int_equal(signal_on_touch(d_bytes, false), SIGSEGV);
        assert_int_equal(signal_on_touch(d_bytes + BYTES - 1, true), SIGSEGV);
        /* and again after operations have used it */
        free(rig_download(&rig, d_bytes, BYTES));
    }
    unsigned char *h_pinned;
    must(backend_guard.runtime->pinned_alloc(rig.device, BYTES, (void **)&h_pinned));
    assert_int_equal(signal_on_touch(h_pinned, true), 0);
    backend_guard.runtime->pinned_free(rig.device, h_pinned);
    backend_guard.runtime->memory_free(rig.device, d_bytes);
    rig_close(&rig);
}

/* Kernels that run past the end die too. */
TEST(there_is_nothing_behind_an_allocation)
{
    struct rig rig;
    rig_open(&rig, &backend_guard);
    unsigned char *d_bytes;
    must(backend_guard.runtime->memory_alloc(rig.device, 4096, (void **)&d_bytes));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        unsigned char h_bytes[8192] = {0};
        const bool done =
            backend_guard.runtime->copy_to_device(rig.queue, d_bytes, h_bytes, 4097) == STATUS_OK &&
            backend_guard.runtime->queue_wait(rig.queue) == STATUS_OK;
        _exit(done ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGSEGV);
    backend_guard.runtime->memory_free(rig.device, d_bytes);
    rig_close(&rig);
}

TEST(results_are_not_there_before_the_wait)
{
    struct rig rig;
    rig_open(&rig, &backend_guard);
    unsigned char *h_from = malloc(BYTES);
    unsigned char *h_to = malloc(BYTES);
    memset(h_from, 1, BYTES);
    memset(h_to, 2, BYTES);
    void *d_bytes;
    must(backend_guard.runtime->memory_alloc(rig.device, BYTES, &d_bytes));
    must(backend_guard.runtime->copy_to_device(rig.queue, d_bytes, h_from, BYTES));
    must(backend_guard.runtime->copy_to_host(rig.queue, h_to, d_bytes, BYTES));
    assert_true(is_filled_with(h_to, 0xFF));
    /* who changes the source before the wait has changed what arrives */
    memset(h_from, 3, BYTES);
    must(backend_guard.runtime->queue_wait(rig.queue));
    assert_true(is_filled_with(h_to, 3));

    struct layout layout;
    const struct placement placement = {.global_cells = {5, 1, 1}};
    must(layout_create((const int64_t[]){5, 1, 1}, (const int[]){0, 0, 0}, PRECISION_FLOAT64,
                       &layout));
    struct field_summary summary = {.bad_cells = 0};
    uint64_t hash = 0;
    must(ENQUEUE(backend_guard.operations, summarise, rig.queue, .layout = layout,
                 .placement = placement, .d_field = d_bytes, .h_summary = &summary));
    must(ENQUEUE(backend_guard.operations, hash, rig.queue, .layout = layout,
                 .placement = placement, .d_field = d_bytes, .h_hash = &hash));
    assert_int_equal(summary.bad_cells, -1);
    assert_true(hash == UINT64_MAX);
    must(backend_guard.runtime->queue_wait(rig.queue));
    assert_int_equal(summary.bad_cells, 0);
    assert_true(hash != UINT64_MAX);
    backend_guard.runtime->memory_free(rig.device, d_bytes);
    free(h_from);
    free(h_to);
    rig_close(&rig);
}

/* One buffer as the source of a copy and then the target of another: legal, and not poisoned. */
TEST(a_source_that_is_still_needed_is_not_poisoned)
{
    struct rig rig;
    rig_open(&rig, &backend_guard);
    unsigned char *h_bytes = malloc(BYTES);
    memset(h_bytes, 6, BYTES);
    void *d_one;
    void *d_two;
    must(backend_guard.runtime->memory_alloc(rig.device, BYTES, &d_one));
    must(backend_guard.runtime->memory_alloc(rig.device, BYTES, &d_two));
    must(backend_guard.runtime->copy_to_device(rig.queue, d_one, h_bytes, BYTES));
    must(backend_guard.runtime->copy_to_host(rig.queue, h_bytes, d_two, BYTES));
    must(backend_guard.runtime->copy_on_device(rig.queue, d_two, d_one, BYTES));
    must(backend_guard.runtime->queue_wait(rig.queue));
    assert_true(is_filled_with(h_bytes, 0xFF)); /* fresh d_two */
    unsigned char *h_two = rig_download(&rig, d_two, BYTES);
    assert_true(is_filled_with(h_two, 6));
    free(h_two);
    free(h_bytes);
    rig_close(&rig); /* frees d_one and d_two */
}

/* Two queues without an event: the second does not see what the first has not done. */
TEST(a_forgotten_event_shows)
{
    struct rig rig;
    rig_open(&rig, &backend_guard);
    struct queue *second;
    struct event *event;
    void *d_one;
    void *d_two;
    unsigned char *h_bytes = malloc(BYTES);
    memset(h_bytes, 9, BYTES);
    must(backend_guard.runtime->queue_create(rig.device, QUEUE_HIGH, &second));
    must(backend_guard.runtime->event_create(rig.device, &event));
    must(backend_guard.runtime->memory_alloc(rig.device, BYTES, &d_one));
    must(backend_guard.runtime->memory_alloc(rig.device, BYTES, &d_two));
    for (int with_event = 0; with_event < 2; with_event++) {
        must(backend_guard.runtime->copy_to_device(rig.queue, d_one, h_bytes, BYTES));
        must(backend_guard.runtime->event_record(rig.queue, event));
        if (with_event) {
            must(backend_guard.runtime->event_wait(second, event));
        }
        unsigned char *h_got = malloc(BYTES);
        must(backend_guard.runtime->copy_to_host(second, h_got, d_one, BYTES));
        must(backend_guard.runtime->queue_wait(second));
        assert_true(is_filled_with(h_got, with_event ? 9 : 0xFF));
        free(h_got);
        if (!with_event) {
            /* what comes after the mark is not waited for */
            must(backend_guard.runtime->copy_on_device(rig.queue, d_one, d_two, BYTES));
        }
    }
    /* an event of a queue that is gone has happened */
    must(backend_guard.runtime->event_record(second, event));
    must(backend_guard.runtime->event_wait(rig.queue, event));
    backend_guard.runtime->queue_destroy(second);
    must(backend_guard.runtime->queue_wait(rig.queue));
    must(backend_guard.runtime->event_wait(rig.queue, event));
    must(backend_guard.runtime->queue_wait(rig.queue));
    backend_guard.runtime->event_destroy(event);
    backend_guard.runtime->memory_free(rig.device, d_one);
    backend_guard.runtime->memory_free(rig.device, d_two);
    free(h_bytes);
    rig_close(&rig);
}

/* Work that nobody waits for comes late, and then all of it up to the mark. */
TEST(an_event_comes_true_after_a_while)
{
    struct rig rig;
    struct event *event;
    void *d_bytes;
    unsigned char *h_bytes = malloc(BYTES);
    unsigned char *h_got = malloc(BYTES);
    rig_open(&rig, &backend_guard);
    memset(h_bytes, 5, BYTES);
    must(backend_guard.runtime->event_create(rig.device, &event));
    must(backend_guard.runtime->memory_alloc(rig.device, BYTES, &d_bytes));
    for (int round = 0; round < 2; round++) {
        bool done = false;
        int asked = 0;
        must(backend_guard.runtime->copy_to_device(rig.queue, d_bytes, h_bytes, BYTES));
        must(backend_guard.runtime->copy_to_host(rig.queue, h_got, d_bytes, BYTES));
        must(backend_guard.runtime->event_record(rig.queue, event));
        for (; !done && asked < 100; asked++) {
            assert_true(is_filled_with(h_got, 0xFF));
            must(backend_guard.runtime->event_done(event, &done));
        }
        assert_true(done && asked > 6); /* PASSES_AHEAD, and two steps */
        assert_true(is_filled_with(h_got, 5));
    }
    bool done = false;
    must(backend_guard.runtime->copy_to_host(rig.queue, h_got, d_bytes, BYTES));
    must(backend_guard.runtime->event_record(rig.queue, event));
    must(backend_guard.runtime->queue_wait(rig.queue));
    must(backend_guard.runtime->event_done(event, &done)); /* somebody has waited */
    assert_true(done);
    backend_guard.runtime->event_destroy(event);
    backend_guard.runtime->memory_free(rig.device, d_bytes);
    free(h_bytes);
    free(h_got);
    rig_close(&rig);
}

TEST(freeing_and_closing_finish_the_work_first)
{
    struct rig rig;
    rig_open(&rig, &backend_guard);
    unsigned char *h_bytes = malloc(BYTES);
    unsigned char *h_got = malloc(BYTES);
    memset(h_bytes, 4, BYTES);
    void *d_bytes;
    must(backend_guard.runtime->memory_alloc(rig.device, BYTES, &d_bytes));
    must(backend_guard.runtime->copy_to_device(rig.queue, d_bytes, h_bytes, BYTES));
    must(backend_guard.runtime->copy_to_host(rig.queue, h_got, d_bytes, BYTES));
    backend_guard.runtime->memory_free(rig.device, d_bytes);
    assert_true(is_filled_with(h_got, 4));
    must(backend_guard.runtime->memory_alloc(rig.device, BYTES, &d_bytes));
    must(backend_guard.runtime->copy_to_host(rig.queue, h_got, d_bytes, BYTES));
    rig_close(&rig); /* frees d_bytes */
    assert_true(is_filled_with(h_got, 0xFF));
    free(h_bytes);
    free(h_got);
}

/* Six cells along x, two fields of one plane: a step of cells 1 to 3, the face x_min closed. */
TEST(a_step_sees_and_changes_its_cells_only)
{
    static double in[1024];
    static double out[1024];
    struct layout layout;
    must(layout_create((const int64_t[]){6, 1, 1}, (const int[]){2, 0, 0}, PRECISION_FLOAT64,
                       &layout));
    assert_true(layout.elements <= 1024);
    double *first = &in[layout.origin];
    double *result = &out[layout.origin];
    for (int i = -2; i < 8; i++) {
        first[i] = result[i] = i;
    }
    struct coefficients level = {.closed = {[FACE_X_MIN] = true}};
    const struct box boxes[] = {{{0, 0, 0}, {2, 1, 1}}, {{3, 0, 0}, {4, 1, 1}}};
    static const struct field_access of_step[] = {STEP_FIELDS{0}};
    const struct step_args given = {.layout = layout,
                                    .levels = &level,
                                    .nsteps = 1,
                                    .d_out = out,
                                    .d_in = in,
                                    .boxes = boxes,
                                    .nboxes = 2};
    struct step_args args = given;
    struct guard_fence fence;
    must(guard_fence_begin(of_step, &args, &fence));
    const double *seen = (const double *)args.d_in + layout.origin;
    for (int i = -2; i < 8; i++) {
        assert_int_equal(seen[i] == i, i >= 0 && i <= 4);
        assert_int_equal(result[i] == i, i < 0 || i == 2 || i > 3);
    }
    result[1] = 7;
    assert_int_equal(guard_fence_end(&fence, STATUS_OK), STATUS_OK);
    args = given;
    must(guard_fence_begin(of_step, &args, &fence));
    result[2] = 7;
    assert_int_equal(guard_fence_end(&fence, STATUS_OK), STATUS_DEVICE);

    static const struct field_access of_convert[] = {READS_OWNED(convert, d_in)
                                                         WRITES_OWNED(convert, d_out, layout){0}};
    struct convert_args convert = {.layout = layout, .d_in = in, .d_out = out};
    must(guard_fence_begin(of_convert, &convert, &fence));
    seen = (const double *)convert.d_in + layout.origin;
    for (int i = -2; i < 8; i++) {
        assert_int_equal(seen[i] == i, i >= 0 && i < 6);
    }
    result[6] = 7; /* in the halo */
    assert_int_equal(guard_fence_end(&fence, STATUS_OK), STATUS_DEVICE);
    convert.d_in = out; /* in place */
    must(guard_fence_begin(of_convert, &convert, &fence));
    assert_ptr_equal(convert.d_in, out);
    assert_int_equal(guard_fence_end(&fence, STATUS_OK), STATUS_OK);
}

TEST(an_operation_reaches_what_its_arguments_name)
{
    static const struct field_access of_gather[] = {READS(gather, d_field)
                                                        READS(gather, d_elements){0}};
    struct rig rig;
    unsigned char *d_bytes[3];
    rig_open(&rig, &backend_guard);
    for (int i = 0; i < 3; i++) {
        must(backend_guard.runtime->memory_alloc(rig.device, BYTES, (void **)&d_bytes[i]));
    }
    const struct gather_args args = {.d_field = d_bytes[0], .d_values = d_bytes[1]};
    struct operation *op = calloc(1, sizeof *op + sizeof args);
    op->nbytes = sizeof args;
    must(guard_access_begin(rig.device));
    must(guard_access_limit(rig.device, of_gather, &args, sizeof args, op->args));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(signal_on_touch(d_bytes[i], false), i == 2 ? SIGSEGV : 0);
        assert_int_equal(signal_on_touch(d_bytes[i], true), i != 1 ? SIGSEGV : 0);
    }
    must(guard_access_widen(rig.device));
    assert_int_equal(signal_on_touch(d_bytes[2], true), 0);
    must(guard_access_end(rig.device));
    free(op);
    rig_close(&rig); /* frees them */
}

TEST_MAIN(NULL, NULL)
