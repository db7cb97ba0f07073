/* Steps as a run takes them with overlap: the interior on one queue, faces and shell on another,
 * tied by events alone while the host runs ahead. The bits must be those of one step after the
 * other on one queue. Periodic in all directions, so every face travels.
 *
 * And passes of several steps on a device that is busy: with more blocks than it can hold, other
 * kernels on a second queue, and a second process with passes of its own. They may be slow, but
 * must end, with the same bits. */
#include "rig.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FACES = FACE_COUNT, MOST_SHELL = 8 };

struct scene {
    struct rig rig;
    struct queue *halo_queue;
    struct event *bulk_done, *halo_done;
    struct layout layout;
    struct coefficients args;
    struct box interior, shell[MOST_SHELL];
    int nshell;
    struct box from[FACES], to[FACES];
    void *d_face[FACES];
    void *d_field[2];
    void *h_start;
};

/* The layer inside a face goes to the halo beyond the opposite one. */
static void describe_faces(struct scene *s)
{
    const struct box owned = layout_owned(&s->layout);
    for (int face = 0; face < FACES; face++) {
        const enum axis axis = face_axis((enum face)face);
        const int64_t n = s->layout.cells[axis];
        const bool min = face_side((enum face)face) == SIDE_MIN;
        s->from[face] = owned;
        s->from[face].lo[axis] = min ? 0 : n - 1;
        s->from[face].hi[axis] = min ? 1 : n;
        s->to[face] = owned;
        s->to[face].lo[axis] = min ? n : -1;
        s->to[face].hi[axis] = min ? n + 1 : 0;
    }
}

static void scene_open(struct scene *s, const struct backend *backend,
                       const int64_t cells[AXIS_COUNT], enum precision precision)
{
    memset(s, 0, sizeof *s);
    rig_open(&s->rig, backend);
    must(layout_create(cells, (const int[]){1, 1, 1}, precision, &s->layout));
    must(backend->runtime->queue_create(s->rig.device, QUEUE_HIGH, &s->halo_queue));
    must(backend->runtime->event_create(s->rig.device, &s->bulk_done));
    must(backend->runtime->event_create(s->rig.device, &s->halo_done));
    const struct box owned = layout_owned(&s->layout);
    s->interior = owned;
    for (int face = 0; face < FACES; face++) {
        s->interior = box_shrink_face(&s->interior, (enum face)face, 1);
    }
    s->nshell = box_shell(&owned, &s->interior, s->shell);
    describe_faces(s);
    for (int face = 0; face < FACES; face++) {
        const size_t bytes = (size_t)box_cells(&s->from[face]) * precision_bytes(precision);
        must(backend->runtime->memory_alloc(s->rig.device, bytes, &s->d_face[face]));
    }
    s->args = (struct coefficients){.r = {0.11, 0.13, 0.15}};
    if (precision == PRECISION_FLOAT32) {
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            s->args.r[axis] = (double)(float)s->args.r[axis];
        }
    }
    s->h_start = host_field(&s->layout);
    uint64_t random = 3;
    for (int64_t k = 0; k < cells[2]; k++) {
        for (int64_t j = 0; j < cells[1]; j++) {
            for (int64_t i = 0; i < cells[0]; i++) {
                host_set(&s->layout, s->h_start, layout_index(&s->layout, i, j, k),
                         random_between(&random, 200.0, 900.0));
            }
        }
    }
}

static void scene_close(struct scene *s)
{
    const struct runtime *runtime = s->rig.backend->runtime;
    for (int face = 0; face < FACES; face++) {
        runtime->memory_free(s->rig.device, s->d_face[face]);
    }
    runtime->event_destroy(s->bulk_done);
    runtime->event_destroy(s->halo_done);
    runtime->queue_destroy(s->halo_queue);
    free(s->h_start);
    rig_close(&s->rig);
}

static void exchange(struct scene *s, struct queue *queue, void *d_now)
{
    const struct operations *operations = s->rig.backend->operations;
    for (int face = 0; face < FACES; face++) {
        must(ENQUEUE(operations, pack, queue, .layout = s->layout, .d_field = d_now,
                     .boxes = &s->from[face], .d_buffers = &s->d_face[face], .nboxes = 1));
    }
    for (int face = 0; face < FACES; face++) {
        must(ENQUEUE(operations, unpack, queue, .layout = s->layout, .d_buffers = &s->d_face[face],
                     .boxes = &s->to[face], .d_field = d_now, .nboxes = 1));
    }
}

/* One step of some boxes. */
static struct step_args step_of(const struct scene *s, void *d_out, const void *d_in,
                                const struct box *boxes, int nboxes)
{
    return (struct step_args){.layout = s->layout,
                              .levels = &s->args,
                              .nsteps = 1,
                              .d_out = d_out,
                              .d_in = d_in,
                              .boxes = boxes,
                              .nboxes = nboxes};
}

static void step_in_turn(struct scene *s, step_function *step, void *d_next, void *d_now)
{
    const struct box owned = layout_owned(&s->layout);
    const struct step_args all = step_of(s, d_next, d_now, &owned, 1);
    exchange(s, s->rig.queue, d_now);
    must(step(s->rig.queue, &all));
}

/* As step.c has it. */
static void step_overlapped(struct scene *s, step_function *step, void *d_next, void *d_now)
{
    const struct runtime *runtime = s->rig.backend->runtime;
    must(runtime->event_record(s->rig.queue, s->bulk_done));
    must(runtime->event_record(s->halo_queue, s->halo_done));
    must(runtime->event_wait(s->rig.queue, s->halo_done));
    const struct step_args interior = step_of(s, d_next, d_now, &s->interior, 1);
    const struct step_args shell = step_of(s, d_next, d_now, s->shell, s->nshell);
    must(step(s->rig.queue, &interior));
    exchange(s, s->halo_queue, d_now);
    must(runtime->event_wait(s->halo_queue, s->bulk_done));
    must(step(s->halo_queue, &shell));
}

static uint64_t run(struct scene *s, step_function *step, bool overlap, int steps)
{
    const struct backend *backend = s->rig.backend;
    const struct placement placement = {
        .global_cells = {s->layout.cells[0], s->layout.cells[1], s->layout.cells[2]}};
    void *d_field[2];
    for (int f = 0; f < 2; f++) {
        d_field[f] = rig_upload(&s->rig, s->h_start, layout_bytes(&s->layout));
    }
    for (int n = 0; n < steps; n++) {
        (overlap ? step_overlapped : step_in_turn)(s, step, d_field[(n + 1) % 2], d_field[n % 2]);
    }
    uint64_t hash = 0;
    must(backend->runtime->queue_wait(s->halo_queue));
    must(backend->runtime->queue_wait(s->rig.queue));
    must(ENQUEUE(backend->operations, hash, s->rig.queue, .layout = s->layout,
                 .placement = placement, .d_field = d_field[steps % 2], .h_hash = &hash));
    must(backend->runtime->queue_wait(s->rig.queue));
    for (int f = 0; f < 2; f++) {
        backend->runtime->memory_free(s->rig.device, d_field[f]);
    }
    return hash;
}

static void check_size(const struct backend *backend, const int64_t cells[AXIS_COUNT],
                       enum precision precision, int steps)
{
    struct scene s;
    scene_open(&s, backend, cells, precision);
    const uint64_t expected = run(&s, backend->operations->step, false, steps);
    int wrong = 0;
    for (int v = 0; v < backend->operations->nvariants; v++) {
        for (int attempt = 0; attempt < 2; attempt++) {
            if (run(&s, backend->operations->variants[v].step, true, steps) != expected) {
                print_error("%s %s, %s, %d x %d x %d cells, %d steps: other bits with overlap\n",
                            backend->name, backend->operations->variants[v].name,
                            precision_name(precision), (int)cells[0], (int)cells[1], (int)cells[2],
                            steps);
                wrong++;
            }
        }
    }
    scene_close(&s);
    assert_int_equal(wrong, 0);
}

/* The program's argument, for compute-sanitizer, which takes minutes otherwise: so many steps of
 * one size only. */
static int few_steps;

/* Where two queues really run at the same time. */
static void check_device(const struct backend *backend, enum precision precision)
{
    check_size(backend, (const int64_t[]){128, 128, 128}, precision,
               few_steps > 0 ? few_steps : 200);
    if (few_steps == 0) {
        check_size(backend, (const int64_t[]){256, 200, 150}, precision, 60);
        check_size(backend, (const int64_t[]){256, 256, 256}, precision, 60);
    }
}

TEST(overlap_changes_no_bit)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        const struct backend *backend = rig_backend_at(b);
        for (int precision = 0; precision < 2; precision++) {
            const enum precision p = (enum precision)precision;
            check_size(backend, (const int64_t[]){35, 12, 9}, p, 5);
            if (backend_has(backend, BACKEND_GPU)) {
                check_device(backend, p);
            }
        }
    }
}

/* ---- passes on a busy device ---- */

enum { PASSES = 6, STEPS_BESIDE = 5 };

static void scene_open_closed(struct scene *s, const struct backend *backend)
{
    const bool gpu = backend_has(backend, BACKEND_GPU);
    scene_open(s, backend, gpu ? (const int64_t[]){768, 768, 96} : (const int64_t[]){64, 48, 24},
               PRECISION_FLOAT64);
    for (int face = 0; face < FACES; face++) {
        s->args.closed[face] = true;
        s->args.a[face] = 0.1 * face;
        s->args.b[face] = 300.0 + face;
    }
}

/* The hashes of two fields, one advanced by passes, the other by single steps, packing and copies
 * on the second queue, while both queues have work all the time. */
static void run_passes(struct scene *s, uint64_t hash[2])
{
    const struct runtime *runtime = s->rig.backend->runtime;
    const struct operations *operations = s->rig.backend->operations;
    const struct box owned = layout_owned(&s->layout);
    const size_t bytes = layout_bytes(&s->layout);
    const int64_t *cells = s->layout.cells;
    const struct placement placement = {.global_cells = {cells[0], cells[1], cells[2]}};
    struct coefficients args[STEPS_MOST];
    void *d_field[2];
    void *d_other[3];
    for (int n = 0; n < STEPS_MOST; n++) {
        args[n] = s->args;
    }
    for (int f = 0; f < 3; f++) {
        d_other[f] = rig_upload(&s->rig, s->h_start, bytes);
    }
    for (int f = 0; f < 2; f++) {
        d_field[f] = rig_upload(&s->rig, s->h_start, bytes);
    }
    int beside = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        for (int n = 0; n < STEPS_BESIDE; n++, beside++) {
            void *d_next = d_other[(beside + 1) % 2];
            const struct step_args step = step_of(s, d_next, d_other[beside % 2], &owned, 1);
            must(operations->step(s->halo_queue, &step));
            exchange(s, s->halo_queue, d_next);
            must(runtime->copy_on_device(s->halo_queue, d_other[2], d_next, bytes));
        }
        struct step_args several =
            step_of(s, d_field[(pass + 1) % 2], d_field[pass % 2], &owned, 1);
        several.levels = args;
        several.nsteps = operations->steps_most[KIND_UNIFORM];
        must(operations->step(s->rig.queue, &several));
    }
    must(runtime->queue_wait(s->halo_queue));
    must(runtime->queue_wait(s->rig.queue));
    const void *d_end[2] = {d_field[PASSES % 2], d_other[2]};
    for (int f = 0; f < 2; f++) {
        must(ENQUEUE(operations, hash, s->rig.queue, .layout = s->layout, .placement = placement,
                     .d_field = d_end[f], .h_hash = &hash[f]));
        must(runtime->queue_wait(s->rig.queue));
    }
    for (int f = 0; f < 3; f++) {
        runtime->memory_free(s->rig.device, d_other[f]);
    }
    for (int f = 0; f < 2; f++) {
        runtime->memory_free(s->rig.device, d_field[f]);
    }
}

/* What the second process does: passes until its input ends, after a byte at the first. */
static int keep_busy(const char *backend_name)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    for (int b = 0; b < rig_backend_count(); b++) {
        if (strcmp(rig_backend_at(b)->name, backend_name) == 0) {
            struct scene s;
            uint64_t hash[2];
            scene_open_closed(&s, rig_backend_at(b));
            do {
                run_passes(&s, hash);
                if (write(STDOUT_FILENO, "+", 1) != 1) {
                    return 1;
                }
            } while (poll(&input, 1, 0) == 0);
            scene_close(&s);
            return 0;
        }
    }
    return 1;
}

struct companion {
    pid_t pid;
    int input, output; /* its standard input, which ends it, and its standard output */
};

static void companion_start(struct companion *companion, const char *backend_name)
{
    int in[2];
    int out[2];
    char byte = 0;
    char *words[] = {"test_backend_overlap", "busy", (char *)(uintptr_t)backend_name, NULL};
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    for (int end = 0; end < 2; end++) {
        posix_spawn_file_actions_addclose(&actions, in[end]);
        posix_spawn_file_actions_addclose(&actions, out[end]);
    }
    assert_int_equal(posix_spawn(&companion->pid, "/proc/self/exe", &actions, NULL, words, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    companion->input = in[1];
    companion->output = out[0];
    assert_int_equal(read(companion->output, &byte, 1), 1);
}

static void companion_end(struct companion *companion)
{
    char byte;
    int code = 0;
    assert_int_equal(close(companion->input), 0);
    while (read(companion->output, &byte, 1) == 1) {
    }
    close(companion->output);
    assert_int_equal(waitpid(companion->pid, &code, 0), companion->pid);
    assert_int_equal(code, 0);
}

TEST(a_busy_device_is_slow_and_not_stuck)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        const struct backend *backend = rig_backend_at(b);
        if (few_steps > 0) {
            continue;
        }
        struct scene s;
        struct companion companion;
        uint64_t hash[2];
        scene_open_closed(&s, backend);
        const int in_passes = PASSES * backend->operations->steps_most[KIND_UNIFORM];
        const uint64_t expected[2] = {
            run(&s, backend->operations->step, false, in_passes),
            run(&s, backend->operations->step, false, PASSES * STEPS_BESIDE)};
        companion_start(&companion, backend->name);
        for (int round = 0; round < 3; round++) {
            run_passes(&s, hash);
            assert_memory_equal(hash, expected, sizeof hash);
        }
        companion_end(&companion);
        scene_close(&s);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "busy") == 0) {
        return keep_busy(argv[2]);
    }
    few_steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    return test_run(NULL, NULL);
}
