/* The search for the fastest launch shape, on a made-up backend whose clock the test sets. */

#include "kernels/backends.h"
#include "solve/start/tuning.h"
#include "tests/test.h"

static void must(enum status status)
{
    if (status != STATUS_OK) {
        fail_msg("%s", fail_message());
    }
}

static const char *const shape_names[] = {"rule", "slow", "fast", "a little faster"};
static double shape_seconds[] = {1.0, 2.0, 0.5, 0.995};
static int used; /* the shape that the made-up backend was told last */
static int nsteps;

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

static enum status fake_step(struct queue *queue, const struct step_args *args)
{
    (void)queue;
    (void)args;
    nsteps++;
    return STATUS_OK;
}

static enum status fake_seconds(struct stopwatch *stopwatch, double *seconds)
{
    (void)stopwatch;
    *seconds = shape_seconds[used];
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
    scene->backend.runtime = &scene->runtime;
    scene->backend.operations = &scene->operations;
    must(layout_create((const int64_t[]){300, 200, 100}, no_halo, PRECISION_FLOAT32,
                       &scene->layout));
    scene->target = (struct tuning_target){.backend = &scene->backend, .layout = &scene->layout};
    scene->target.box = layout_owned(&scene->layout);
    must(scene->backend.runtime->open(0, 1, &scene->target.device));
    must(scene->backend.runtime->queue_create(scene->target.device, QUEUE_NORMAL,
                                              &scene->target.queue));
    used = -1;
    nsteps = 0;
}

static void scene_close(struct scene *scene)
{
    scene->backend.runtime->queue_destroy(scene->target.queue);
    scene->backend.runtime->close(scene->target.device);
}

TEST(the_fastest_is_taken)
{
    struct scene scene;
    struct tuning_result result;
    scene_open(&scene);
    must(tuning_choose(&scene.target, &result));
    assert_string_equal(result.shape, "fast");
    assert_int_equal(result.nshapes, 4);
    assert_true(result.seconds[2] == 0.5 && result.seconds[1] == 2.0);
    assert_int_equal(used, 2);
    assert_true(nsteps >= 4);
    scene_close(&scene);
}

TEST(noise_does_not_move_the_rule)
{
    struct scene scene;
    struct tuning_result result;
    scene_open(&scene);
    shape_seconds[2] = 1.0;
    must(tuning_choose(&scene.target, &result));
    assert_string_equal(result.shape, "rule");
    assert_int_equal(used, 0);
    shape_seconds[2] = 0.5;
    scene_close(&scene);
}

TEST(small_boxes_and_other_backends_are_left_alone)
{
    struct scene scene;
    struct tuning_result result;
    scene_open(&scene);
    scene.target.box.hi[AXIS_Z] = 10;
    must(tuning_choose(&scene.target, &result));
    assert_null(result.shape);
    scene.target.box.hi[AXIS_Z] = 100;
    scene.operations.step_shapes = NULL;
    scene.operations.step_shape = NULL;
    must(tuning_choose(&scene.target, &result));
    assert_null(result.shape);
    assert_int_equal(nsteps, 0);
    scene_close(&scene);
}

TEST_MAIN(NULL, NULL)
