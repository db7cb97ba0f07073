/* Good configurations: every value arrives, every default is filled in, and the text that the
 * settings carry says the same again. */
#include "test_settings_common.h"

#include <locale.h>

TEST(test_values)
{
    struct settings *s = read_good(base_text, NULL, 0);
    assert_string_equal(s->title, "base");
    const int64_t cells[] = {16, 12, 1};
    const double upper[] = {0.4, 0.3, 1};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        assert_int_equal(s->grid.cells[axis], cells[axis]);
        assert_true(s->grid.lower[axis] == 0);
        assert_true(s->grid.upper[axis] == upper[axis]);
    }
    assert_true(s->material.conductivity == 45);
    assert_true(s->material.density == 7850);
    assert_true(s->material.heat_capacity == 490);

    assert_int_equal(s->ninitial, 3);
    assert_int_equal(s->initial[0].kind, INITIAL_UNIFORM);
    assert_true(s->initial[0].value == 300);
    assert_int_equal(s->initial[1].kind, INITIAL_SPHERE);
    assert_true(s->initial[1].center[1] == 0.1 && s->initial[1].radius == 0.05);
    assert_true(s->initial[1].value == 900);
    assert_int_equal(s->initial[2].kind, INITIAL_BOX);
    assert_true(s->initial[2].lower[0] == 0.2 && s->initial[2].upper[1] == 0.2);
    assert_true(s->initial[2].value == 200);

    assert_int_equal(s->boundary[FACE_X_MIN].kind, BOUNDARY_TEMPERATURE);
    assert_true(s->boundary[FACE_X_MIN].number[BOUNDARY_VALUE].value == 350);
    assert_null(s->boundary[FACE_X_MIN].number[BOUNDARY_VALUE].formula);
    assert_int_equal(s->boundary[FACE_X_MAX].kind, BOUNDARY_FLUX);
    assert_true(s->boundary[FACE_X_MAX].number[BOUNDARY_VALUE].value == -5);
    assert_int_equal(s->boundary[FACE_Y_MIN].kind, BOUNDARY_CONVECTION);
    assert_true(s->boundary[FACE_Y_MIN].number[BOUNDARY_COEFFICIENT].value == 10);
    assert_true(s->boundary[FACE_Y_MIN].number[BOUNDARY_AMBIENT].value == 293);
    assert_string_equal(s->boundary[FACE_Y_MAX].number[BOUNDARY_VALUE].formula, "300 + t");
    assert_int_equal(s->boundary[FACE_Z_MIN].kind, BOUNDARY_UNUSED);
    assert_int_equal(s->boundary[FACE_Z_MAX].kind, BOUNDARY_UNUSED);
    assert_false(s->time.by_steps);
    assert_true(s->time.end == 10);
    settings_destroy(s);
}

TEST(test_defaults)
{
    char *text = base_with("title: base\n", "");
    struct settings *s = read_good(text, NULL, 0);
    assert_string_equal(s->title, "untitled");
    assert_true(s->time.dt_auto);
    assert_true(s->time.safety == 0.9);
    assert_string_equal(s->run.backend, "auto");
    assert_int_equal(s->run.precision, PRECISION_FLOAT64);
    assert_true(s->run.decomposition_auto);
    assert_string_equal(s->run.transport, "auto");
    assert_int_equal(s->run.overlap, OVERLAP_AUTO);
    assert_string_equal(s->output.directory, "out");
    assert_int_equal(s->output.history.every, 10);
    assert_int_equal(s->output.snapshots.cadence.every, 0);
    assert_int_equal(s->output.checkpoints.cadence.every, 0);
    assert_int_equal(s->output.pictures.cadence.every, 0);
    settings_destroy(s);
    free(text);
}

/* Seconds of simulated time instead of steps; the default of the history gives way. */
TEST(test_intervals)
{
    static const char *const sets[] = {"output.history.interval=0.5",
                                       "output.checkpoints={interval: 2, walltime: 60}",
                                       "output.pictures={interval: 3}"};
    struct settings *s = read_good(base_text, sets, 3);
    assert_int_equal(s->output.history.every, 0);
    assert_true(s->output.history.interval == 0.5);
    assert_int_equal(s->output.checkpoints.cadence.every, 0);
    assert_true(s->output.checkpoints.cadence.interval == 2);
    assert_true(s->output.checkpoints.walltime == 60);
    assert_true(s->output.pictures.cadence.interval == 3);
    settings_destroy(s);
    static const char *const clock[] = {"output.checkpoints.walltime=1800"};
    s = read_good(base_text, clock, 1);
    assert_false(cadence_is_on(&s->output.checkpoints.cadence));
    settings_destroy(s);
}

TEST(test_everything_given)
{
    char *text =
        base_with("  end: 10\n", "  steps: 9007199254740992\n  dt: 1e-3\n  safety: 1\n"
                                 "run:\n  backend: guard\n  precision: float32\n"
                                 "  decomposition: [3, 2]\n"
                                 "  halo: {transport: staged, overlap: off}\n"
                                 "output:\n  directory: some/where\n  history: {every: 0}\n"
                                 "  snapshots: {every: 7, precision: float64, compress: 9}\n"
                                 "  checkpoints: {every: 8, keep: 5}\n"
                                 "  pictures: {every: 9, plane: x, range: [-1, 2.5e2],\n"
                                 "             colormap: magma}\n");
    struct settings *s = read_good(text, NULL, 0);
    assert_true(s->time.by_steps);
    assert_int_equal(s->time.steps, INT64_C(9007199254740992));
    assert_false(s->time.dt_auto);
    assert_true(s->time.dt == 1e-3);
    assert_true(s->time.safety == 1);
    assert_string_equal(s->run.backend, "guard");
    assert_int_equal(s->run.precision, PRECISION_FLOAT32);
    assert_false(s->run.decomposition_auto);
    assert_int_equal(s->run.decomposition[0], 3);
    assert_int_equal(s->run.decomposition[1], 2);
    assert_int_equal(s->run.decomposition[2], 1);
    assert_string_equal(s->run.transport, "staged");
    assert_int_equal(s->run.overlap, OVERLAP_OFF);
    assert_string_equal(s->output.directory, "some/where");
    assert_int_equal(s->output.history.every, 0);
    assert_int_equal(s->output.snapshots.cadence.every, 7);
    assert_int_equal(s->output.snapshots.precision, PRECISION_FLOAT64);
    assert_int_equal(s->output.snapshots.compress, 9);
    assert_int_equal(s->output.checkpoints.cadence.every, 8);
    assert_int_equal(s->output.checkpoints.keep, 5);
    assert_int_equal(s->output.pictures.cadence.every, 9);
    assert_int_equal(s->output.pictures.plane_normal, AXIS_X);
    assert_int_equal(s->output.pictures.colormap, COLORMAP_MAGMA);
    assert_false(s->output.pictures.range_auto);
    assert_true(s->output.pictures.range[0] == -1 && s->output.pictures.range[1] == 250);
    settings_destroy(s);
    free(text);
}

TEST(test_given_sections_have_defaults)
{
    char *text = base_with("time:", "run:\noutput:\n  history: {}\n  snapshots: {every: 3}\n"
                                    "  checkpoints: {every: 3}\n  pictures: {every: 3}\ntime:");
    struct settings *s = read_good(text, NULL, 0);
    assert_int_equal(s->output.history.every, 10);
    assert_int_equal(s->output.snapshots.precision, PRECISION_FLOAT32);
    assert_int_equal(s->output.snapshots.compress, 0);
    assert_int_equal(s->output.checkpoints.keep, 2);
    assert_int_equal(s->output.pictures.plane_normal, AXIS_Z);
    assert_int_equal(s->output.pictures.colormap, COLORMAP_INFERNO);
    assert_true(s->output.pictures.range_auto);
    settings_destroy(s);
    free(text);
}

/* Formulas, files, anchors, quotes, comments, carriage returns. */
TEST(test_other_spellings)
{
    static const char text[] = "grid: {cells: [4], lower: [-1, 0, 0], upper: [1, 1, 1]} # a rod\r\n"
                               "material: {conductivity: 1E0, density: +1, heat_capacity: .5}\r\n"
                               "initial:\r\n"
                               "- expression: {value: \"x < 0 ? 300 : 400\"}\r\n"
                               "- file: {path: a b.h5}\r\n"
                               "- file: {path: b.h5, dataset: /snap/0/T}\r\n"
                               "boundary: {x_min: &end {type: periodic}, x_max: *end}\r\n"
                               "time: {\"end\": \"5\"}\r\n";
    struct settings *s = read_good(text, NULL, 0);
    assert_string_equal(s->initial[0].expression, "x < 0 ? 300 : 400");
    assert_int_equal(s->initial[1].kind, INITIAL_FILE);
    assert_string_equal(s->initial[1].path, "a b.h5");
    assert_string_equal(s->initial[1].dataset, "/T");
    assert_string_equal(s->initial[2].dataset, "/snap/0/T");
    assert_int_equal(s->boundary[FACE_X_MAX].kind, BOUNDARY_PERIODIC);
    assert_true(s->time.end == 5);
    assert_true(s->grid.lower[0] == -1);
    settings_destroy(s);
}

/* One value for a list of one, and integers as a calculator writes them. */
TEST(test_lists_of_one)
{
    static const char text[] =
        "grid: {cells: 4e2, lower: -1, upper: 1}\n"
        "material: {conductivity: 1, density: 1, heat_capacity: 1}\n"
        "initial:\n"
        "- uniform: {value: 300}\n"
        "- sphere: {center: 0.5, radius: 0.1, value: 400}\n"
        "- box: {lower: -0.5, upper: 0, value: 500}\n"
        "boundary: {x_min: {type: periodic}, x_max: {type: periodic}}\n"
        "time: {steps: 200.0}\n"
        "run: {decomposition: 2.0}\n"
        "output:\n"
        "  snapshots: {every: +1e1, derived: T_max}\n"
        "  regions: [{name: a, every: 1, stride: 4}]\n"
        "  probes: {every: 1, points: [{name: p, at: 0.25}]}\n"
        "  lines: [{name: l, from: -1, to: 0.75, points: 101.00, every: 1}]\n";
    struct settings *s = read_good(text, NULL, 0);
    assert_int_equal(s->grid.cells[0], 400);
    assert_int_equal(s->grid.cells[1], 1);
    assert_true(s->grid.lower[0] == -1 && s->grid.lower[1] == 0 && s->grid.upper[1] == 1);
    assert_true(s->initial[1].center[0] == 0.5 && s->initial[2].upper[0] == 0);
    assert_int_equal(s->time.steps, 200);
    assert_int_equal(s->run.decomposition[0], 2);
    assert_int_equal(s->run.decomposition[2], 1);
    assert_int_equal(s->output.snapshots.cadence.every, 10);
    assert_int_equal(s->output.snapshots.derived, 1U << DERIVED_T_MAX);
    assert_int_equal(s->output.regions[0].stride[0], 4);
    assert_int_equal(s->output.regions[0].stride[1], 1);
    assert_true(s->output.probes.points[0].at[0] == 0.25 && s->output.lines[0].to[0] == 0.75);
    assert_int_equal(s->output.lines[0].points, 101);
    settings_destroy(read_good(s->text, NULL, 0));
    settings_destroy(s);
}

/* What reaches out of the grid by rounding only, or does not matter, is accepted. */
TEST(test_tolerance)
{
    static const char *const changes[][2] = {
        {"upper: [0.3, 0.2]", "upper: [0.4000000000001, 0.2]"},
        {"lower: [0.2, 0.1]", "lower: [0.2, -0.0000000000001]"},
        {"center: [0.1, 0.1]", "center: [0.44, 0.1]"},
        {"center: [0.1, 0.1]", "center: [0.1, 0.1, 99]"},
        {"upper: [0.3, 0.2]", "upper: [0.3, 0.2, -7]"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *text = base_with(changes[i][0], changes[i][1]);
        settings_destroy(read_good(text, NULL, 0));
        free(text);
    }
}

static void assert_same(const struct settings *a, const struct settings *b)
{
    assert_string_equal(a->title, b->title);
    assert_memory_equal(&a->grid, &b->grid, sizeof a->grid);
    assert_memory_equal(&a->material, &b->material, sizeof a->material);
    assert_int_equal(a->ninitial, b->ninitial);
    for (int i = 0; i < a->ninitial; i++) {
        assert_int_equal(a->initial[i].kind, b->initial[i].kind);
        assert_true(a->initial[i].value == b->initial[i].value);
        assert_memory_equal(a->initial[i].lower, b->initial[i].lower, sizeof a->initial[i].lower);
        if (a->initial[i].expression != NULL) {
            assert_string_equal(a->initial[i].expression, b->initial[i].expression);
        }
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        assert_int_equal(a->boundary[face].kind, b->boundary[face].kind);
        assert_true(a->boundary[face].number[BOUNDARY_VALUE].value ==
                    b->boundary[face].number[BOUNDARY_VALUE].value);
        assert_true((a->boundary[face].number[BOUNDARY_VALUE].formula == NULL) ==
                    (b->boundary[face].number[BOUNDARY_VALUE].formula == NULL));
    }
    assert_true(a->time.by_steps == b->time.by_steps);
    assert_int_equal(a->time.steps, b->time.steps);
    assert_true(a->time.end == b->time.end);
    assert_string_equal(a->output.directory, b->output.directory);
    assert_int_equal(a->output.pictures.cadence.every, b->output.pictures.cadence.every);
    assert_string_equal(a->text, b->text);
}

TEST(test_text_round_trip)
{
    static const char *const sets[] = {"title=\"a: b # c\\n\\\"quoted\\\" \\u00e9\"",
                                       "output=",
                                       "boundary.y_max.value=300 + (t > 5 ? 1 : 2)",
                                       "output.directory=  spaces kept  ",
                                       "initial.3={expression: {value: \"x, y\"}}",
                                       "initial[3].expression.value=max(x, y)",
                                       "output.pictures.every=4",
                                       "time.steps=12",
                                       "output.pictures.range=[1, 2]"};
    struct settings *first = read_good(base_text, sets, 9);
    struct settings *second = read_good(first->text, NULL, 0);
    assert_same(first, second);
    assert_string_equal(second->title, "a: b # c\n\"quoted\" \xc3\xa9");
    settings_destroy(first);
    settings_destroy(second);
}

/* Checks elsewhere name the place a key came from, or the nearest place above it. */
TEST(test_settings_fail)
{
    static const char *const sets[] = {"run.decomposition=[2, 2]"};
    struct settings *s = read_good(base_text, sets, 1);
    assert_int_equal(settings_fail(s, "grid.cells", "too few (%d)", 3), STATUS_INPUT);
    assert_string_equal(fail_message(), "c.yaml:3: grid.cells: too few (3)");
    (void)!settings_fail(s, "initial[2].box.upper", "bad");
    assert_string_equal(fail_message(), "c.yaml:15: initial[2].box.upper: bad");
    (void)!settings_fail(s, "time.dt", "too large");
    assert_string_equal(fail_message(), "c.yaml:22: time.dt: too large");
    (void)!settings_fail(s, "output.directory", "bad");
    assert_string_equal(fail_message(), "c.yaml:1: output.directory: bad");
    (void)!settings_fail(s, "run.decomposition", "too many");
    assert_string_equal(fail_message(),
                        "--set run.decomposition=[2, 2]: run.decomposition: too many");
    settings_destroy(s);
    const struct settings by_hand = {0};
    (void)!settings_fail(&by_hand, "grid", "bad");
    assert_string_equal(fail_message(), "grid: bad");
}

/* Numbers are read with a point, whatever the locale says. */
TEST(test_locale)
{
    static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    for (int i = 0; i < 3 && setlocale(LC_ALL, commas[i]) == NULL; i++) {
    }
    struct settings *s = read_good(base_text, NULL, 0);
    assert_true(s->grid.upper[0] == 0.4);
    settings_destroy(s);
    setlocale(LC_ALL, "C");
}

TEST_MAIN(NULL, NULL)
