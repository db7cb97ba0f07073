/* The grid, the medium, and the timeline of a run. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/timeline.h"
#include "tests/test.h"

static const struct rate_facts rates = {.linear = true};

static struct settings plain_settings(void)
{
    struct settings settings = {0};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        settings.grid.cells[axis] = 10;
        settings.grid.upper[axis] = 1;
    }
    settings.material.conductivity = 1;
    settings.material.density = 1;
    settings.material.heat_capacity = 1;
    settings.time.dt_auto = true;
    settings.time.safety = 0.9;
    settings.time.end = 0.01;
    return settings;
}

/* A timeline that is destroyed at the end of its block. */
#define SCOPED __attribute__((cleanup(timeline_destroy))) struct timeline

static struct timeline make_timeline(const struct settings *settings)
{
    struct grid grid;
    struct medium medium;
    struct timeline timeline;
    grid_create(settings, &grid);
    assert_int_equal(medium_create(settings, &medium), STATUS_OK);
    assert_int_equal(timeline_create(settings, &grid, &medium, &rates, &timeline), STATUS_OK);
    return timeline;
}

TEST(grid_has_centres_and_spacing)
{
    struct settings settings = plain_settings();
    settings.grid.cells[AXIS_X] = 4;
    settings.grid.cells[AXIS_Z] = 1;
    settings.grid.lower[AXIS_X] = -1;
    settings.grid.upper[AXIS_X] = 3;
    settings.grid.upper[AXIS_Z] = 0.5;
    struct grid grid;
    grid_create(&settings, &grid);
    assert_int_equal(grid.dimensions, 2);
    assert_true(grid.used[AXIS_X] && grid.used[AXIS_Y] && !grid.used[AXIS_Z]);
    assert_true(grid.spacing[AXIS_X] == 1 && grid.spacing[AXIS_Z] == 0.5);
    assert_true(grid_center(&grid, AXIS_X, 0) == -0.5);
    assert_true(grid_center(&grid, AXIS_X, 3) == 2.5);
    assert_true(grid_center(&grid, AXIS_Z, 0) == 0.25);
    assert_int_equal(grid_total_cells(&grid), 40);
    assert_true(fabs(grid_cell_volume(&grid) - 0.05) < 1e-16);
    settings.grid.cells[AXIS_X] = settings.grid.cells[AXIS_Y] = INT64_C(1) << 20;
    grid_create(&settings, &grid);
    assert_int_equal(grid_total_cells(&grid), INT64_C(1) << 40);
}

/* Widths of 0.1, 0.1, 0.3 and 0.5 m on y. */
TEST(graded_axis_has_widths)
{
    static const double edges[] = {0, 0.1, 0.2, 0.5, 1};
    static const double widths[] = {0.1, 0.3, 0.5};
    static const uint16_t width_of[] = {0, 0, 1, 2};
    struct settings settings = plain_settings();
    settings.grid.cells[AXIS_Y] = 4;
    settings.grid.axis[AXIS_Y].cells = (struct axis_cells){edges, widths, width_of, 3};
    struct grid grid;
    uint16_t size[AXIS_COUNT];
    grid_create(&settings, &grid);
    assert_true(grid_is_graded(&grid));
    assert_true(grid_center(&grid, AXIS_Y, 2) == 0.35 && grid_width(&grid, AXIS_Y, 3) == 0.5);
    assert_true(grid_smallest_width(&grid, AXIS_Y) == 0.1);
    assert_true(grid_largest_width(&grid, AXIS_Y) == 0.5);
    assert_true(fabs(grid_in_cells(&grid, AXIS_Y, 0.275) - 2.25) < 1e-14);
    assert_true(grid_in_cells(&grid, AXIS_Y, 1) == 4);
    assert_int_equal(grid_first_from(&grid, AXIS_Y, 0.3), 2);
    assert_true(fabs(grid_cell_volume(&grid) - 0.001) < 1e-17);
    grid_size_of(&grid, (const int64_t[]){5, 2, 7}, size);
    assert_int_equal(grid_size_index(&grid, size), 1);
    assert_true(fabs(grid_size_volume(&grid, size) - 3) < 1e-14);
    assert_true(grid_size_face(&grid, AXIS_Y, size, size) == 1);
    assert_true(fabs(grid_size_face(&grid, AXIS_Z, size, size) - 3) < 1e-14);
    struct grid part = grid;
    grid_cut(&part, AXIS_Y, 1, 2, 1);
    assert_true(part.lower[AXIS_Y] == 0.1 && part.upper[AXIS_Y] == 0.5);
    assert_true(grid_center(&part, AXIS_Y, 1) == 0.35);
    assert_true(grid_same_axis(&part, &grid, AXIS_X) && !grid_same_axis(&part, &grid, AXIS_Y));
}

TEST(stable_step_follows_the_formula)
{
    struct settings settings = plain_settings();
    settings.material.conductivity = 400;
    settings.material.density = 8960;
    settings.material.heat_capacity = 385;
    settings.grid.cells[AXIS_Y] = 20;
    settings.grid.cells[AXIS_Z] = 1;
    struct grid grid;
    struct medium medium;
    grid_create(&settings, &grid);
    assert_int_equal(medium_create(&settings, &medium), STATUS_OK);
    const double alpha = 400.0 / (8960.0 * 385.0);
    assert_true(fabs(medium.diffusivity / alpha - 1) < 1e-15);
    assert_true(medium.heat_capacity_volume == 8960.0 * 385.0);
    /* the axis that is not in use does not count */
    const double expected = 1 / (2 * alpha * (100 + 400));
    assert_true(fabs(medium_stable_dt(&medium, &grid) / expected - 1) < 1e-14);
}

TEST(last_step_lands_on_the_end)
{
    struct settings settings = plain_settings();
    for (int n = 1; n < 2000; n++) {
        settings.time.safety = 0.1 + 0.00045 * n;
        settings.time.end = 0.0011 * n;
        SCOPED timeline = make_timeline(&settings);
        assert_true(timeline_time(&timeline, timeline.steps) == settings.time.end);
        assert_true(timeline_time(&timeline, 0) == 0);
        assert_true(timeline.dt <= timeline.dt_stable);
        assert_true(timeline.dt_last > 0 && timeline.dt_last <= timeline.dt * (1 + 1e-9));
        assert_true(timeline_dt(&timeline, timeline.steps - 1) == timeline.dt_last);
        if (timeline.steps > 1) {
            assert_true(timeline_dt(&timeline, 0) == timeline.dt);
            const double before = timeline_time(&timeline, timeline.steps - 1);
            assert_true(before < settings.time.end);
            assert_true(fabs(before + timeline.dt_last - settings.time.end) <=
                        4 * DBL_EPSILON * settings.time.end);
        }
    }
}

TEST(whole_numbers_of_steps_stay_whole)
{
    struct settings settings = plain_settings();
    settings.time.dt_auto = false;
    /* quotients that come out a little above or below the whole number */
    static const double steps[] = {1e-3, 1e-4, 3e-4, 7e-5, 1.1e-6};
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
        for (int n = 1; n < 500; n++) {
            settings.time.dt = steps[s];
            settings.time.end = n * steps[s];
            SCOPED timeline = make_timeline(&settings);
            assert_int_equal(timeline.steps, n);
            assert_true(timeline.dt_last == timeline.dt);
            settings.time.end = nextafter(n * steps[s], 1);
            timeline_destroy(&timeline);
            timeline = make_timeline(&settings);
            assert_int_equal(timeline.steps, n);
            assert_true(timeline_time(&timeline, n) == settings.time.end);
        }
    }
}

TEST(a_sliver_is_a_step_of_its_own)
{
    struct settings settings = plain_settings();
    settings.time.dt_auto = false;
    settings.time.dt = 1e-3;
    settings.time.end = 1e-2 + 1e-6;
    SCOPED timeline = make_timeline(&settings);
    assert_int_equal(timeline.steps, 11);
    assert_true(fabs(timeline.dt_last / 1e-6 - 1) < 1e-9);
}

TEST(an_end_within_one_step_shortens_it)
{
    struct settings settings = plain_settings();
    settings.time.end = 1e-5;
    SCOPED timeline = make_timeline(&settings);
    assert_int_equal(timeline.steps, 1);
    assert_true(timeline.dt_last == 1e-5);
    assert_true(timeline_dt(&timeline, 0) == 1e-5 && timeline_time(&timeline, 1) == 1e-5);
}

TEST(counted_steps_define_the_end)
{
    struct settings settings = plain_settings();
    settings.time.by_steps = true;
    settings.time.steps = 123;
    SCOPED timeline = make_timeline(&settings);
    assert_int_equal(timeline.steps, 123);
    assert_true(timeline.dt == 0.9 * timeline.dt_stable);
    assert_true(timeline.dt_last == timeline.dt);
    assert_true(timeline.end == 123 * timeline.dt);
}

TEST(restarts_on_the_way_change_nothing)
{
    struct settings settings = plain_settings();
    SCOPED whole = make_timeline(&settings);
    for (int64_t step = 0; step <= whole.steps; step++) {
        struct timeline timeline = whole;
        const double time = timeline_time(&whole, step);
        assert_int_equal(timeline_continue(&timeline, step, time), STATUS_OK);
        assert_memory_equal(&timeline, &whole, sizeof whole);
    }
}

TEST(restarts_go_on_to_a_later_end)
{
    struct settings settings = plain_settings();
    SCOPED first = make_timeline(&settings);
    settings.time.end = 0.0277;
    SCOPED timeline = make_timeline(&settings);
    assert_true(first.dt_last < first.dt);
    assert_int_equal(timeline_continue(&timeline, first.steps, first.end), STATUS_OK);
    assert_true(timeline_time(&timeline, first.steps) == first.end);
    assert_true(timeline_time(&timeline, timeline.steps) == 0.0277);
    assert_true(timeline_dt(&timeline, first.steps) == timeline.dt);
    const double before = timeline_time(&timeline, timeline.steps - 1);
    assert_true(fabs(before + timeline.dt_last - 0.0277) < 1e-16);
    /* and from beyond the end there is nothing left to do */
    settings.time.end = 0.005;
    timeline_destroy(&timeline);
    timeline = make_timeline(&settings);
    assert_int_equal(timeline_continue(&timeline, first.steps, first.end), STATUS_OK);
    assert_int_equal(timeline.steps, first.steps);
    assert_true(timeline_time(&timeline, first.steps) == first.end);
}

/* A configuration as text, so that messages can name the key. */
static void expect_refusal(const char *time, const char *key, const char *part)
{
    static const char frame[] = "grid: {cells: [10], lower: [0], upper: [1]}\n"
                                "material: {conductivity: 1, density: 1, heat_capacity: 1}\n"
                                "initial: [{uniform: {value: 300}}]\n"
                                "boundary:\n"
                                "  x_min: {type: flux, value: 0}\n"
                                "  x_max: {type: flux, value: 0}\n";
    char text[1024];
    (void)snprintf(text, sizeof text, "%stime: {%s}\n", frame, time);
    struct settings *settings = NULL;
    const enum status status = settings_read_text("case.yaml", text, NULL, 0, &settings);
    if (status != STATUS_OK) {
        print_error("%s\n", fail_message());
    }
    assert_int_equal(status, STATUS_OK);
    struct grid grid;
    struct medium medium;
    struct timeline timeline = {.steps = -1};
    grid_create(settings, &grid);
    assert_int_equal(medium_create(settings, &medium), STATUS_OK);
    assert_int_equal(timeline_create(settings, &grid, &medium, &rates, &timeline), STATUS_INPUT);
    assert_int_equal(timeline.steps, -1);
    assert_non_null(strstr(fail_message(), "case.yaml:7"));
    assert_non_null(strstr(fail_message(), key));
    assert_non_null(strstr(fail_message(), part));
    settings_destroy(settings);
}

TEST(unstable_steps_are_refused)
{
    expect_refusal("end: 1, dt: 0.0051", "time.dt",
                   "unstable on this grid; the largest stable one is 0.005");
    expect_refusal("end: 1, dt: 1e-17", "time.end", "at most 2^53");
}

TEST(the_stable_step_itself_is_fine)
{
    struct settings settings = plain_settings();
    settings.time.dt_auto = false;
    SCOPED automatic = make_timeline(&(struct settings){
        .grid = settings.grid,
        .material = settings.material,
        .time = {.dt_auto = true, .safety = 1, .end = 1},
    });
    settings.time.dt = automatic.dt_stable * (1 + 5e-13);
    SCOPED stable = make_timeline(&settings);
    assert_true(stable.dt == settings.time.dt);
}

TEST(unused_axes_are_shown_as_thick_as_a_cell)
{
    struct settings settings = plain_settings();
    struct grid grid;
    double shown[AXIS_COUNT];
    settings.grid.cells[AXIS_Y] = 20;
    settings.grid.cells[AXIS_Z] = 1;
    grid_create(&settings, &grid);
    grid_shown_spacing(&grid, shown);
    assert_true(shown[AXIS_X] == 0.1 && shown[AXIS_Y] == 0.05 && shown[AXIS_Z] == 0.05);
    assert_true(grid.spacing[AXIS_Z] == 1);
    settings.grid.cells[AXIS_Y] = 1;
    grid_create(&settings, &grid);
    grid_shown_spacing(&grid, shown);
    assert_true(shown[AXIS_X] == 0.1 && shown[AXIS_Y] == 0.1 && shown[AXIS_Z] == 0.1);
    settings.grid.upper[AXIS_Y] = 0.25; /* configured */
    settings.grid.lower[AXIS_Z] = -0.5;
    settings.grid.upper[AXIS_Z] = 0.5;
    grid_create(&settings, &grid);
    grid_shown_spacing(&grid, shown);
    assert_true(shown[AXIS_X] == 0.1 && shown[AXIS_Y] == 0.25 && shown[AXIS_Z] == 1);
}

TEST_MAIN(NULL, NULL)
