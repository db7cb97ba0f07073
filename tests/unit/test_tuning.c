/* The cache of launch shapes, and the search, on a made-up backend whose clock the test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include "solve/tuning.h"

/* after base/status.h, whose function `fail` its macro of that name would hide */
#include <cmocka.h>

static char folder[] = "/tmp/isotherm_tuning_XXXXXX";

static void must(enum status status)
{
    if (status != STATUS_OK) {
        fail_msg("%s", fail_message());
    }
}

static const char *path_to(const char *name)
{
    static char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const char *text)
{
    must(file_replace(path, text, strlen(text)));
}

static struct tuning_entry entry_of(const char *key, const char *shape)
{
    struct tuning_entry entry = {{0}, {0}};
    snprintf(entry.key, sizeof entry.key, "%s", key);
    snprintf(entry.shape, sizeof entry.shape, "%s", shape);
    return entry;
}

static void check_finds(const char *path, const char *key, const char *shape)
{
    struct tuning_entry entry = entry_of(key, "left over");
    must(tuning_cache_find(path, &entry));
    assert_string_equal(entry.shape, shape);
}

static void what_is_stored_is_found(void **state)
{
    (void)state;
    const char *path = path_to("a/b/shapes.txt"); /* the folders are made */
    check_finds(path, "chip; 8 x 8 x 8", "");
    const struct tuning_entry two[] = {entry_of("chip; 8 x 8 x 8", "wide"),
                                       entry_of("chip; 9 x 8 x 8", "deep, window 9 MiB")};
    must(tuning_cache_store(path, two, 2));
    check_finds(path, "chip; 8 x 8 x 8", "wide");
    check_finds(path, "chip; 9 x 8 x 8", "deep, window 9 MiB");
    check_finds(path, "chip; 9 x 8 x 80", "");
    check_finds(path, "chip; 9 x 8 x", "");
    const struct tuning_entry again = entry_of("chip; 8 x 8 x 8", "pair");
    must(tuning_cache_store(path, &again, 1));
    check_finds(path, "chip; 8 x 8 x 8", "pair");
    check_finds(path, "chip; 9 x 8 x 8", "deep, window 9 MiB");
}

static void the_oldest_goes_when_it_is_full(void **state)
{
    (void)state;
    const char *path = path_to("full.txt");
    struct tuning_entry *many = calloc(600, sizeof *many);
    for (int e = 0; e < 600; e++) {
        snprintf(many[e].key, sizeof many[e].key, "size %d", e);
        snprintf(many[e].shape, sizeof many[e].shape, "shape %d", e);
    }
    must(tuning_cache_store(path, many, 600));
    free(many);
    check_finds(path, "size 0", "");
    check_finds(path, "size 99", "");
    check_finds(path, "size 100", "shape 100");
    check_finds(path, "size 599", "shape 599");
}

static void a_file_that_is_none_of_ours_is_told_and_replaced(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "",
        "isotherm launch shapes 1",               /* cut off */
        "isotherm launch shapes 2\\n",            /* of another version */
        "isotherm launch shapes 1\nkey wide\n",   /* no tab */
        "isotherm launch shapes 1\nkey\twide",    /* cut off */
        "isotherm launch shapes 1\nkey\t\n",      /* no shape */
        "isotherm launch shapes 1\nk\x01y\tx\n",  /* not printable */
        "isotherm launch shapes 1\nkey\tw\n\n\n", /* empty lines */
    };
    const char *path = path_to("broken.txt");
    for (size_t b = 0; b < sizeof broken / sizeof broken[0]; b++) {
        write_file(path, broken[b]);
        struct tuning_entry entry = entry_of("key", "");
        assert_int_equal(tuning_cache_find(path, &entry), STATUS_FILE);
        assert_string_equal(entry.shape, "");
        assert_non_null(strstr(fail_message(), path));
        fail_clear();
        const struct tuning_entry fresh = entry_of("key", "wide");
        must(tuning_cache_store(path, &fresh, 1));
        check_finds(path, "key", "wide");
    }
}

static void what_cannot_be_written_is_told(void **state)
{
    (void)state;
    write_file(path_to("file"), "no folder");
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s", path_to("file/shapes.txt"));
    const struct tuning_entry entry = entry_of("key", "wide");
    assert_int_equal(tuning_cache_store(path, &entry, 1), STATUS_FILE);
    fail_clear();
    /* a folder in its place; nothing is left behind */
    must(directory_make(path_to("taken/shapes.txt/inside")));
    snprintf(path, sizeof path, "%s", path_to("taken/shapes.txt"));
    assert_int_equal(tuning_cache_store(path, &entry, 1), STATUS_FILE);
    fail_clear();
    assert_int_equal(rmdir(path_to("taken/shapes.txt/inside")), 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(path_to("taken")), 0);
}

static void the_path_follows_the_environment(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    setenv("XDG_CACHE_HOME", "/c", 1);
    setenv("HOME", "/h", 1);
    must(tuning_cache_path(path));
    assert_string_equal(path, "/c/isotherm/launch_shapes.txt");
    setenv("XDG_CACHE_HOME", "relative", 1); /* to be ignored, says its specification */
    must(tuning_cache_path(path));
    assert_string_equal(path, "/h/.cache/isotherm/launch_shapes.txt");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_int_equal(tuning_cache_path(path), STATUS_FILE);
    fail_clear();
}

/* --- the search ------------------------------------------------------------------------------ */

static const char *const shape_names[] = {"rule", "slow", "fast", "a little faster"};
static double shape_seconds[] = {1.0, 2.0, 0.5, 0.995};
static int used; /* the shape that the made-up backend was told last */
static int nsteps;
static char driver[64] = "driver 1";

static int fake_shapes(const char *const **names)
{
    *names = shape_names;
    return 4;
}

static enum status fake_shape(struct device *device, enum precision precision,
                              const int64_t extent[AXIS_COUNT], int shape)
{
    (void)device;
    assert_int_equal(precision, PRECISION_FLOAT32);
    assert_int_equal(extent[AXIS_Y], 200);
    used = shape;
    return STATUS_OK;
}

static enum status fake_step(struct queue *queue, const struct layout *layout,
                             const struct step_args *args, void *d_out, const void *d_in,
                             const struct box *boxes, int nboxes)
{
    (void)queue;
    (void)layout;
    (void)args;
    (void)d_out;
    (void)d_in;
    (void)boxes;
    (void)nboxes;
    nsteps++;
    return STATUS_OK;
}

static enum status fake_seconds(struct stopwatch *stopwatch, double *seconds)
{
    (void)stopwatch;
    *seconds = shape_seconds[used];
    return STATUS_OK;
}

static enum status fake_info(struct device *device, struct device_info *info)
{
    (void)device;
    *info = (struct device_info){.name = "Chip\tof a maker"};
    snprintf(info->driver, sizeof info->driver, "%s", driver);
    return STATUS_OK;
}

/* The cpu backend with launch shapes. */
struct scene {
    struct backend backend;
    struct runtime runtime;
    struct operations operations;
    struct layout layout;
    struct tuning_target target;
};

static void scene_open(struct scene *scene)
{
    static const int no_halo[AXIS_COUNT];
    scene->backend = *backend_find("cpu");
    scene->runtime = *scene->backend.runtime;
    scene->operations = *scene->backend.operations;
    scene->operations.step = fake_step;
    scene->operations.step_shapes = fake_shapes;
    scene->operations.step_shape = fake_shape;
    scene->runtime.stopwatch_seconds = fake_seconds;
    scene->runtime.info = fake_info;
    scene->backend.runtime = &scene->runtime;
    scene->backend.operations = &scene->operations;
    must(layout_create((const int64_t[]){300, 200, 100}, no_halo, PRECISION_FLOAT32,
                       &scene->layout));
    scene->target = (struct tuning_target){.backend = &scene->backend, .layout = &scene->layout};
    scene->target.box = layout_owned(&scene->layout);
    must(scene->backend.runtime->open(0, 1, &scene->target.device));
    must(scene->backend.runtime->queue_create(scene->target.device, QUEUE_NORMAL,
                                              &scene->target.queue));
    setenv("XDG_CACHE_HOME", folder, 1);
    used = -1;
    nsteps = 0;
}

static void scene_close(struct scene *scene)
{
    scene->backend.runtime->queue_destroy(scene->target.queue);
    scene->backend.runtime->close(scene->target.device);
}

static void the_fastest_is_taken_and_remembered(void **state)
{
    (void)state;
    struct scene scene;
    struct tuning_result result;
    scene_open(&scene);
    must(tuning_choose(&scene.target, false, &result));
    assert_int_equal(result.source, TUNING_SEARCH);
    assert_string_equal(result.entry.shape, "fast");
    assert_int_equal(used, 2);
    assert_true(nsteps >= 4);
    tuning_remember(&result.entry, 1);

    nsteps = 0;
    used = -1;
    must(tuning_choose(&scene.target, false, &result));
    assert_int_equal(result.source, TUNING_CACHE);
    assert_int_equal(used, 2);
    assert_int_equal(nsteps, 0);

    /* another driver, another number of sums, or --tune: again */
    snprintf(driver, sizeof driver, "driver 2");
    must(tuning_choose(&scene.target, false, &result));
    assert_int_equal(result.source, TUNING_SEARCH);
    snprintf(driver, sizeof driver, "driver 1");
    struct exact_sum sums = {{0}};
    scene.target.args.d_face_sum[FACE_X_MIN] = &sums;
    must(tuning_choose(&scene.target, false, &result));
    assert_int_equal(result.source, TUNING_SEARCH);
    scene.target.args.d_face_sum[FACE_X_MIN] = NULL;
    must(tuning_choose(&scene.target, true, &result));
    assert_int_equal(result.source, TUNING_SEARCH);
    scene_close(&scene);
}

static void noise_does_not_move_the_rule(void **state)
{
    (void)state;
    struct scene scene;
    struct tuning_result result;
    scene_open(&scene);
    shape_seconds[2] = 1.0;
    must(tuning_choose(&scene.target, true, &result));
    assert_string_equal(result.entry.shape, "rule");
    assert_int_equal(used, 0);
    shape_seconds[2] = 0.5;
    scene_close(&scene);
}

static void small_boxes_and_other_backends_are_left_alone(void **state)
{
    (void)state;
    struct scene scene;
    struct tuning_result result;
    scene_open(&scene);
    scene.target.box.hi[AXIS_Z] = 10;
    must(tuning_choose(&scene.target, false, &result));
    assert_int_equal(result.source, TUNING_NONE);
    scene.target.box.hi[AXIS_Z] = 100;
    scene.operations.step_shapes = NULL;
    scene.operations.step_shape = NULL;
    must(tuning_choose(&scene.target, false, &result));
    assert_int_equal(result.source, TUNING_NONE);
    assert_int_equal(nsteps, 0);
    scene_close(&scene);
}

static void without_a_cache_it_goes_on(void **state)
{
    (void)state;
    struct scene scene;
    struct tuning_result result;
    scene_open(&scene);
    setenv("XDG_CACHE_HOME", path_to("file"), 1); /* no folder */
    must(tuning_choose(&scene.target, false, &result));
    assert_int_equal(result.source, TUNING_SEARCH);
    assert_int_equal(used, 2);
    tuning_remember(&result.entry, 1);
    setenv("XDG_CACHE_HOME", path_to("spoilt"), 1);
    must(directory_make(path_to("spoilt/isotherm")));
    write_file(path_to("spoilt/isotherm/launch_shapes.txt"), "nonsense");
    must(tuning_choose(&scene.target, false, &result));
    assert_int_equal(result.source, TUNING_SEARCH);
    assert_int_equal(used, 2);
    scene_close(&scene);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stored_is_found),
        cmocka_unit_test(the_oldest_goes_when_it_is_full),
        cmocka_unit_test(a_file_that_is_none_of_ours_is_told_and_replaced),
        cmocka_unit_test(what_cannot_be_written_is_told),
        cmocka_unit_test(the_path_follows_the_environment),
        cmocka_unit_test(the_fastest_is_taken_and_remembered),
        cmocka_unit_test(noise_does_not_move_the_rule),
        cmocka_unit_test(small_boxes_and_other_backends_are_left_alone),
        cmocka_unit_test(without_a_cache_it_goes_on),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
