/* Steps that land on the times of outputs. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/read/settings_tree.h"
#include "model/timeline.h"
#include "tests/test.h"

static const struct rate_facts rates = {.linear = true};

enum { REGIONS = 3 };

struct scene {
    struct settings settings;
    struct region_setting region[REGIONS];
    struct timeline timeline;
};

static enum status create(struct scene *scene)
{
    struct grid grid;
    struct medium medium;
    grid_create(&scene->settings, &grid);
    assert_int_equal(medium_create(&scene->settings, &medium), STATUS_OK);
    return timeline_create(&scene->settings, &grid, &medium, &rates, &scene->timeline);
}

/* dt is 1/1024 s: sums of it have no rounding. */
static void lay(struct scene *scene, double end, int64_t steps, double whole, double first,
                double second)
{
    memset(scene, 0, sizeof *scene);
    struct settings *settings = &scene->settings;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        settings->grid.cells[axis] = axis == AXIS_X ? 10 : 1;
        settings->grid.upper[axis] = 1;
    }
    settings->material.conductivity = 1;
    settings->material.density = 1;
    settings->material.heat_capacity = 1;
    settings->time.dt = 1.0 / 1024;
    settings->time.by_steps = steps > 0;
    settings->time.steps = steps;
    settings->time.end = end;
    settings->output.snapshots.cadence.interval = whole;
    scene->region[0].file.cadence.interval = first;
    scene->region[1].file.cadence.interval = second;
    scene->region[2].file.cadence.every = 7;
    settings->output.regions = scene->region;
    settings->output.nregions = REGIONS;
    assert_int_equal(create(scene), STATUS_OK);
}

/* Every step is as long as the clock says and no longer than dt; no landing is missed. */
static void expect_sound(const struct scene *scene)
{
    const struct timeline *t = &scene->timeline;
    char key[CADENCE_KEY_BYTES];
    const struct cadence *cadence = NULL;
    for (int64_t n = 0; n < t->steps; n++) {
        const double before = timeline_time(t, n);
        const double after = timeline_time(t, n + 1);
        const double dt = timeline_dt(t, n);
        assert_true(dt > 0 && dt <= t->dt * (1 + 1e-9));
        assert_true(fabs(after - before - dt) <= 8 * DBL_EPSILON * after);
    }
    for (int i = 0; (cadence = settings_cadence(&scene->settings.output, i, key)) != NULL; i++) {
        int64_t found = 0;
        int64_t next = -1;
        for (int64_t n = t->steps; n >= 0; n--) {
            assert_int_equal(timeline_next_due(t, cadence, n), next);
            found += timeline_is_due(t, cadence, n) ? 1 : 0;
            next = timeline_is_due(t, cadence, n) ? n : next;
        }
        assert_int_equal(timeline_count_due(t, cadence), found);
        if (cadence->interval > 0) {
            const double whole = floor(t->end / cadence->interval * (1 + 1e-12));
            const bool end_too = whole * cadence->interval < t->end * (1 - 1e-12);
            assert_int_equal(found, 1 + (int64_t)whole + (end_too ? 1 : 0));
        }
    }
}

/* The step that lands on the k-th multiple, exactly. */
static void expect_landings(const struct scene *scene, const struct cadence *cadence)
{
    const struct timeline *t = &scene->timeline;
    int64_t k = 0;
    for (int64_t n = 0; n < t->steps; n++) {
        if (timeline_is_due(t, cadence, n)) {
            assert_true(timeline_time(t, n) == (double)k * cadence->interval);
            k++;
        }
    }
    assert_true(k > 1);
}

TEST(steps_land_on_every_multiple)
{
    struct scene scene;
    lay(&scene, 0.1, 0, 0.0123, 0, 0);
    expect_sound(&scene);
    expect_landings(&scene, &scene.settings.output.snapshots.cadence);
    /* 12 whole steps and a short one, eight times; then 1.6 steps to the end */
    assert_int_equal(scene.timeline.steps, 8 * 13 + 2);
    assert_true(scene.timeline.end == 0.1);
    assert_true(timeline_dt(&scene.timeline, 11) == scene.timeline.dt);
    assert_true(fabs(timeline_dt(&scene.timeline, 12) - (0.0123 - 12.0 / 1024)) < 1e-15);
    timeline_destroy(&scene.timeline);
}

TEST(intervals_of_whole_steps_change_no_step)
{
    struct scene scene;
    lay(&scene, 0.5, 0, 16.0 / 1024, 0, 4.0 / 1024);
    expect_sound(&scene);
    assert_int_equal(scene.timeline.steps, 512);
    for (int64_t n = 0; n < 512; n++) {
        assert_true(timeline_dt(&scene.timeline, n) == scene.timeline.dt);
        assert_true(timeline_time(&scene.timeline, n) == (double)n / 1024);
    }
    timeline_destroy(&scene.timeline);
}

/* 3 x 0.1 is not 0.3 in floating point: one landing all the same, which serves both. */
TEST(landings_that_differ_by_rounding_are_one)
{
    struct scene scene;
    lay(&scene, 3.001, 0, 0.3, 0.1, 0.7);
    expect_sound(&scene);
    for (int64_t n = 0; n + 1 < scene.timeline.steps; n++) {
        assert_true(timeline_dt(&scene.timeline, n) > 1e-6);
    }
    timeline_destroy(&scene.timeline);
}

TEST(intervals_shorter_than_a_step_shorten_all)
{
    struct scene scene;
    lay(&scene, 0.01, 0, 0.0003, 0, 0);
    expect_sound(&scene);
    assert_int_equal(scene.timeline.steps, 34);
    timeline_destroy(&scene.timeline);
}

TEST(counted_steps_run_out_between_landings)
{
    for (int64_t steps = 1; steps < 60; steps++) {
        struct scene scene;
        lay(&scene, 0, steps, 0.0123, 0.0077, 0);
        expect_sound(&scene);
        assert_int_equal(scene.timeline.steps, steps);
        timeline_destroy(&scene.timeline);
    }
}

TEST(restarts_on_the_way_change_nothing)
{
    struct scene scene;
    struct scene again;
    lay(&scene, 0.1, 0, 0.0123, 0.0077, 0);
    for (int64_t n = 0; n <= scene.timeline.steps; n++) {
        lay(&again, 0.1, 0, 0.0123, 0.0077, 0);
        const struct stretch *before = again.timeline.stretch;
        const double time = timeline_time(&scene.timeline, n);
        assert_int_equal(timeline_continue(&again.timeline, n, time), STATUS_OK);
        assert_ptr_equal(again.timeline.stretch, before);
        timeline_destroy(&again.timeline);
    }
    timeline_destroy(&scene.timeline);
}

TEST(restarts_elsewhere_land_on_the_same_times)
{
    struct scene scene;
    lay(&scene, 0.1, 0, 0.0123, 0, 0);
    struct timeline *t = &scene.timeline;
    assert_int_equal(timeline_continue(t, 1000, 0.05), STATUS_OK);
    assert_true(timeline_time(t, 1000) == 0.05);
    assert_true(t->end == 0.1);
    int64_t k = 5; /* 5 x 0.0123 is the first behind 0.05 */
    for (int64_t n = 1000; n < t->steps; n++) {
        if (timeline_is_due(t, &scene.settings.output.snapshots.cadence, n)) {
            assert_true(timeline_time(t, n) == (double)k * 0.0123);
            k++;
        }
    }
    assert_int_equal(k, 9);
    timeline_destroy(t);
}

/* A search that walks along the landings would look at 10^10 of them here. */
TEST(the_next_output_is_found_without_a_walk)
{
    enum { OUTPUTS = 200000 };
    struct scene scene;
    lay(&scene, OUTPUTS * 0.01, 0, 0.01, OUTPUTS * 0.005, OUTPUTS * 0.007);
    const struct timeline *t = &scene.timeline;
    int64_t found = 0;
    for (int64_t n = 0; n < t->steps; found++) {
        assert_true(timeline_time(t, n) == (double)found * 0.01);
        const int64_t half = timeline_next_due(t, &scene.region[0].file.cadence, n);
        const int64_t late = timeline_next_due(t, &scene.region[1].file.cadence, n);
        assert_true(timeline_time(t, half) == OUTPUTS * (found < OUTPUTS / 2 ? 0.005 : 0.01));
        assert_true(late == t->steps || found < OUTPUTS / 10 * 7);
        n = timeline_next_due(t, &scene.settings.output.snapshots.cadence, n);
    }
    assert_int_equal(found, OUTPUTS);
    timeline_destroy(&scene.timeline);
}

TEST(too_many_landings_are_refused)
{
    struct scene scene;
    lay(&scene, 10, 0, 0, 0, 0);
    timeline_destroy(&scene.timeline);
    scene.region[1].file.cadence.interval = 1e-6;
    assert_int_equal(create(&scene), STATUS_INPUT);
    assert_string_equal(fail_message(), "output.regions[1].interval: an output every 1e-06 s is "
                                        "written more than 1000000 times; give a longer interval");
}

/* Multiples that are one number: no walk along them would end. */
TEST(intervals_beyond_reason_are_refused_at_once)
{
    static const double intervals[] = {1e-30, 1e-300, 4e-324, 1e-14};
    for (size_t i = 0; i < 2 * sizeof intervals / sizeof intervals[0]; i++) {
        struct scene scene;
        lay(&scene, 10, i % 2 == 0 ? 0 : 5, 0, 0, 0);
        timeline_destroy(&scene.timeline);
        scene.settings.output.history.interval = intervals[i / 2];
        assert_int_equal(create(&scene), STATUS_INPUT);
        assert_non_null(strstr(fail_message(), "output.history.interval: an output every "));
        assert_non_null(strstr(fail_message(), " s is far too often for steps of 0.000976562 s"));
    }
}

/* Also with an interval beside them, one time after the end, and a table with a period. */
TEST(steps_land_on_listed_times_and_on_rows)
{
    static double times[] = {0.01, 0.0123, 0.05, 0.3};
    static double rows[][2] = {{0.004, 1}, {0.0333, 2}};
    struct table_setting table = {.row = rows, .nrows = 2, .period = 0.04};
    struct settings_origin origin = {.tables = &table};
    for (int with = 0; with < 4; with++) {
        struct scene scene;
        lay(&scene, 0.1, with < 2 ? 0 : 90, with % 2 == 0 ? 0 : 0.03, 0, 0);
        timeline_destroy(&scene.timeline);
        scene.region[0].file.cadence = (struct cadence){.times = times, .ntimes = 4};
        scene.settings.origin = &origin;
        assert_int_equal(create(&scene), STATUS_OK);
        expect_sound(&scene);
        const struct timeline *t = &scene.timeline;
        const double expected[] = {0.004, 0.01, 0.0123, 0.0333, 0.04 + 0.004, 0.05, 0.04 + 0.0333};
        int64_t due = 0;
        int found = 0;
        for (int64_t n = 0; n <= t->steps; n++) {
            for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
                found += timeline_time(t, n) == expected[i] ? 1 : 0;
            }
            due += timeline_is_due(t, &scene.region[0].file.cadence, n) ? 1 : 0;
        }
        assert_int_equal(found, 7);
        assert_int_equal(due, 5); /* three of the list, the start and the end */
        timeline_destroy(&scene.timeline);
    }
}

TEST_MAIN(NULL, NULL)
