/* Wrong keys and values, one at a time, each with its exact message. */
#include "config/expression.h"

#include "test_settings_common.h"

#define GIVE_CELLS "give a list of 1 to 3 integers of 1 or more, such as [128, 128, 64]"
#define GIVE_DENSITY "give a number above 0, in kg/m^3"
#define GIVE_RANKS "give auto or a list of 1 to 3 integers of 1 or more, such as [2, 2, 1]"
#define TOP_KEYS                                                                                   \
    "valid keys: title, quantity, grid, material, materials, parts, contacts, ambients, "          \
    "surfaces, sources, initial, boundary, time, run, output"
#define TOO_HOT "sums of temperatures are exact only below 1e12 K in magnitude"

static const struct damage unknown_keys[] = {
    {"conductivity", "conductivty",
     "c.yaml:7: material.conductivty: unknown key; did you mean 'conductivity'? valid keys: "
     "conductivity, density, heat_capacity, diffusivity"},
    {"title:", "titel:", "c.yaml:1: titel: unknown key; did you mean 'title'? " TOP_KEYS},
    {"time:", "speed:", "c.yaml:22: speed: unknown key; " TOP_KEYS},
    {"time:", "\"a\\nb\": 1\ntime:", "c.yaml:22: a b: unknown key; " TOP_KEYS},
    {"time:", "run: {halo: {transprot: auto}}\ntime:",
     "c.yaml:22: run.halo.transprot: unknown key; did you mean 'transport'? valid keys: "
     "transport, overlap"},
};

static const struct damage missing_keys[] = {
    {"  conductivity: 45\n", "",
     "c.yaml:6: material.conductivity: missing, and so is diffusivity; give a number above 0, in "
     "W/(m K)"},
    {"  cells: [16, 12]\n", "", "c.yaml:2: grid.cells: missing; " GIVE_CELLS},
    {"title: base\ngrid", "grod", "c.yaml:1: grod: unknown key; did you mean 'grid'? " TOP_KEYS},
    {"time:\n  end: 10\n", "",
     "c.yaml:1: time: missing; give a section with the keys end, steps, scheme, stages, monotone, "
     "backward_euler, "
     "dt, "
     "tolerance, max_error, until, safety, adapt_every, steady"},
    {"  y_min: {type: convection, coefficient: 10, ambient: 293}\n", "",
     "c.yaml:17: boundary.y_min: missing: the y axis has 12 cells, so its faces need a boundary; "
     "give a type: one of temperature, flux, convection, radiation, periodic"},
    {"{type: flux, value: -5}", "{value: -5}",
     "c.yaml:19: boundary.x_max.type: missing; give one of temperature, flux, convection, "
     "radiation, periodic"},
    {"{type: flux, value: -5}", "{type: flux}",
     "c.yaml:19: boundary.x_max.value: missing; give a number, a formula in x, y, z, t or a "
     "table of t, in "
     "W/m^2"},
    {"{type: flux, value: -5}", "",
     "c.yaml:19: boundary.x_max.type: missing; give one of temperature, flux, convection, "
     "radiation, periodic"},
    {"coefficient: 10, ", "",
     "c.yaml:20: boundary.y_min.coefficient: missing; give a number of 0 or more, a formula in "
     "x, y, z, t "
     "or a table of t, in W/(m^2 K)"},
    {"time:", "output: {snapshots: {}}\ntime:",
     "c.yaml:22: output.snapshots: neither every nor interval nor times nor logarithmic; give one "
     "of them"},
    {"uniform: {value: 300}", "file: {dataset: /U}",
     "c.yaml:11: initial[0].file.path: missing; give a string, such as start.h5"},
    {"uniform: {value: 300}", "expression: {}",
     "c.yaml:11: initial[0].expression.value: missing; give a formula in x, y, z, in K, such as "
     "\"300 + 10*sin(pi*x)\""},
};

static const struct damage wrong_types[] = {
    {"7850", "heavy", "c.yaml:8: material.density: not a number (heavy); " GIVE_DENSITY},
    {"7850", "[1]", "c.yaml:8: material.density: not a single value ([1]); " GIVE_DENSITY},
    {"7850", "1e", "c.yaml:8: material.density: not a number (1e); " GIVE_DENSITY},
    {"[16, 12]", "16",
     "c.yaml:4: grid.lower: 2 entries ([0, 0]); give 1, as many as grid.cells, or 3"},
    {"[16, 12]", "many", "c.yaml:3: grid.cells: not an integer (many); " GIVE_CELLS},
    {"[16, 12]", "[16, 1.5]", "c.yaml:3: grid.cells: not an integer (1.5); " GIVE_CELLS},
    {"[16, 12]", "[16, [12]]", "c.yaml:3: grid.cells: not a single value ([12]); " GIVE_CELLS},
    {"[16, 12]", "", "c.yaml:3: grid.cells: empty; " GIVE_CELLS},
    {"[16, 12]", "{x: 16, y: 12}", "c.yaml:3: grid.cells: not a list ({...}); " GIVE_CELLS},
    {"title: base", "title:", "c.yaml:1: title: empty; give a string"},
    {"value: 350", "value: [350]",
     "c.yaml:18: boundary.x_min.value: not a single value ([350]); give a number, a formula in "
     "x, y, z, t "
     "or a table of t, in K"},
    {"value: -5", "value: \"5*u\"",
     "c.yaml:19: boundary.x_max.value: not a formula: unknown name \"u\" at column 3 (5*u); names "
     "are x, y, z, t, pi, e, functions " EXPRESSION_FUNCTIONS "; give a number or a formula in "
     "x, y, z, t"},
    {"uniform: {value: 300}", "uniform: 300",
     "c.yaml:11: initial[0].uniform: not a section (300); give a section with the keys value"},
    {"uniform: {value: 300}", "expression: {value: [x]}",
     "c.yaml:11: initial[0].expression.value: not a formula ([x]); give a formula in x, y, z, in "
     "K, such as \"300 + 10*sin(pi*x)\""},
    {"end: 10", "steps: ten",
     "c.yaml:23: time.steps: not an integer (ten); give an integer of 1 or more"},
    {"end: 10", "end: 10\n  dt: fast",
     "c.yaml:24: time.dt: not a number (fast); give auto or a number above 0, in s"},
    {"time:\n  end: 10", "time: 10",
     "c.yaml:22: time: not a section (10); give a section with the keys end, steps, scheme, "
     "stages, monotone, backward_euler, dt, "
     "tolerance, max_error, until, safety, adapt_every, steady"},
    {"time:", "run: fast\ntime:",
     "c.yaml:22: run: not a section (fast); give a section with the keys backend, precision, "
     "stencil, decomposition, steps_per_pass, sleeping_tiles, halo, watch, self_check, "
     "walltime, walltime_margin, watchdog"},
    {"time:", "run: {halo: {transport: [peer]}}\ntime:",
     "c.yaml:22: run.halo.transport: not a single word ([peer]); give one of auto, host, staged, "
     "gpu-aware, peer"},
};

static const struct damage ranges[] = {
    {"7850", "-1", "c.yaml:8: material.density: out of range (-1); " GIVE_DENSITY},
    {"7850", "0", "c.yaml:8: material.density: out of range (0); " GIVE_DENSITY},
    {"value: -5", "value: -2e30",
     "c.yaml:19: boundary.x_max.value: out of range (-2e30): the smallest is -1e+30; give a "
     "number, a formula in x, y, z, t or a table of t, in W/m^2"},
    {"[16, 12]", "[16, 0]", "c.yaml:3: grid.cells: out of range (0); " GIVE_CELLS},
    {"[16, 12]", "[99999999999999999999, 1]",
     "c.yaml:3: grid.cells: out of range (99999999999999999999): the largest is "
     "9007199254740992; " GIVE_CELLS},
    {"[16, 12]", "[]", "c.yaml:3: grid.cells: 0 entries ([]); " GIVE_CELLS},
    {"[16, 12]", "[1, 2, 3, 4]", "c.yaml:3: grid.cells: 4 entries ([1, 2, 3, 4]); " GIVE_CELLS},
    {"[16, 12]", "[1, 1]",
     "c.yaml:3: grid.cells: one cell in total; give at least one axis more than one cell"},
    {"[16, 12]", "[1000000000, 1000000000]",
     "c.yaml:3: grid.cells: 1e+18 cells in total; give at most 5e+17, so that sizes fit 64 bits"},
    {"radius: 0.05", "radius: 0",
     "c.yaml:12: initial[1].sphere.radius: out of range (0); give a number above 0, in m"},
    {"value: 300}", "value: 1e12}",
     "c.yaml:11: initial[0].uniform.value: out of range (1e12): " TOO_HOT "; give a number, in K"},
    {"value: 350", "value: -2e12",
     "c.yaml:18: boundary.x_min.value: out of range (-2e12): " TOO_HOT
     "; give a number, a formula in x, y, z, t or a table of t, in K"},
    {"coefficient: 10", "coefficient: -10",
     "c.yaml:20: boundary.y_min.coefficient: out of range (-10); give a number of 0 or more, a "
     "formula in x, y, z, t or a table of t, in W/(m^2 K)"},
    {"ambient: 293", "ambient: 1e13",
     "c.yaml:20: boundary.y_min.ambient: out of range (1e13): " TOO_HOT
     "; give a number, a formula in x, y, z, t or a table of t, in K"},
    {"end: 10", "steps: 0",
     "c.yaml:23: time.steps: out of range (0); give an integer of 1 or more"},
    {"end: 10", "steps: 99999999999999999999",
     "c.yaml:23: time.steps: out of range (99999999999999999999): the largest is 9007199254740992; "
     "give an integer of 1 or "
     "more"},
    {"end: 10", "steps: 9007199254740993",
     "c.yaml:23: time.steps: out of range (9007199254740993): the largest is 9007199254740992; "
     "give an integer of 1 or more"},
    {"end: 10", "end: 10\n  dt: 0",
     "c.yaml:24: time.dt: out of range (0); give auto or a number above 0, in s"},
    {"end: 10", "end: 10\n  safety: 0",
     "c.yaml:24: time.safety: out of range (0); give a number above 0 and at most 1"},
    {"end: 10", "end: 10\n  safety: 1.01",
     "c.yaml:24: time.safety: out of range (1.01): the largest is 1; give a number above 0 and at "
     "most 1"},
    {"time:", "run: {steps_per_pass: 9}\ntime:",
     "c.yaml:22: run.steps_per_pass: out of range (9): the largest is 8; give auto or an integer "
     "from 1 to 8"},
    {"time:", "run: {steps_per_pass: many}\ntime:",
     "c.yaml:22: run.steps_per_pass: not an integer (many); give auto or an integer from 1 to 8"},
    {"time:", "run: {decomposition: [2, 0]}\ntime:",
     "c.yaml:22: run.decomposition: out of range (0); " GIVE_RANKS},
    {"time:", "run: {decomposition: [3000000000]}\ntime:",
     "c.yaml:22: run.decomposition: out of range (3000000000): the largest is "
     "2147483647; " GIVE_RANKS},
    {"time:", "output: {history: {every: -1}}\ntime:",
     "c.yaml:22: output.history.every: out of range (-1); give an integer of 0 or more, in "
     "steps"},
    {"time:", "output: {snapshots: {every: 1, compress: 10}}\ntime:",
     "c.yaml:22: output.snapshots.compress: out of range (10): the largest is 9; give an integer "
     "from 0 to 9"},
    {"time:", "output: {pictures: {every: 1, range: [300]}}\ntime:",
     "c.yaml:22: output.pictures.range: 1 entry ([300]); give auto or a list of 2 numbers, in K, "
     "such as [273, 900]"},
    {"time:", "output: {directory: \"\"}\ntime:",
     "c.yaml:22: output.directory: empty; give a string"},
};

static const struct damage choices[] = {
    {"time:", "run: {precision: float16}\ntime:",
     "c.yaml:22: run.precision: unknown (float16), did you mean 'float64'? give one of float64, "
     "float32"},
    {"time:", "run: {halo: {transport: gpu_aware}}\ntime:",
     "c.yaml:22: run.halo.transport: unknown (gpu_aware), did you mean 'gpu-aware'? give one of "
     "auto, host, staged, gpu-aware, peer"},
    {"time:", "run: {walltime: soon}\ntime:",
     "c.yaml:22: run.walltime: not a number (soon); give auto or a number above 0, in s"},
    {"time:", "run: {halo: {overlap: yes}}\ntime:",
     "c.yaml:22: run.halo.overlap: unknown (yes); give one of auto, on, off"},
};

TEST_REFUSED(unknown_keys)
TEST_REFUSED(missing_keys)
TEST_REFUSED(wrong_types)
TEST_REFUSED(ranges)
TEST_REFUSED(choices)

/* All of them at once, in the order of the file, the command line last. */
TEST(test_several)
{
    static const char *const sets[] = {"time.end=never", "time.end.x=1"};
    char *text = base_with("lower: [0, 0]\n  upper: [0.4, 0.3]\nmaterial:\n  conductivity: 45\n  "
                           "density: 7850\n  heat_capacity: 490",
                           "lowr: [0, 0]\nmaterial:\n  density: heavy\n  heat_capacity: -1\n"
                           "output: {history: {every: 2, evry: 3}}");
    static const char expected[] =
        "c.yaml:4: grid.lowr: unknown key; did you mean 'lower'? valid keys: cells, lower, "
        "upper, geometry, x, y, z\n"
        "c.yaml:5: material.conductivity: missing, and so is diffusivity; give a number above 0, "
        "in W/(m K)\n"
        "c.yaml:6: material.density: not a number (heavy); " GIVE_DENSITY "\n"
        "c.yaml:7: material.heat_capacity: out of range (-1); give a number above 0, in J/(kg K)\n"
        "c.yaml:8: output.history.evry: unknown key; did you mean 'every'? valid keys: "
        "every, interval, times, logarithmic, materials, melt_pool\n";
    char message[1024];
    snprintf(message, sizeof message, "%.*s", (int)(sizeof expected - 2), expected);
    expect_refused(text, NULL, 0, message);
    snprintf(message, sizeof message,
             "%s--set time.end=never: time.end: not a number (never); give a number above 0, in s",
             expected);
    expect_refused(text, sets, 1, message);
    /* a word of the command line without sense comes before everything else */
    expect_refused(text, sets, 2,
                   "--set time.end.x=1: time.end: a single value (never); it has no part 'x'");
    free(text);
    /* what must hold between keys, when each is right by itself */
    text = base_with("radius: 0.05, value: 900}\n  - box:\n      lower: [0.2, 0.1]",
                     "radius: 0.05, value: 900}\n  - box:\n      lower: [0.2, 0.25]");
    static const char *const between[] = {"time.steps=3", "boundary.x_max={type: periodic}",
                                          "output.history={every: 1, interval: 1}"};
    expect_refused(text, between, 3,
                   "c.yaml:15: initial[2].box.upper: the box has no length in y (from 0.25 to "
                   "0.2); give an upper corner above the lower one\n"
                   "--set boundary.x_max={type: periodic}: boundary.x_max: periodic, but x_min is "
                   "not; make both faces of the x axis periodic, or neither\n"
                   "--set output.history={every: 1, interval: 1}: output.history.interval: given "
                   "together with every; give one of them");
    free(text);
}

TEST(test_more_than_ten)
{
    char shapes[1024] = "- uniform: {value: 300}";
    size_t used = strlen(shapes);
    for (int i = 0; i < 12; i++) {
        used +=
            (size_t)snprintf(shapes + used, sizeof shapes - used,
                             "\n  - sphere: {center: [0.1, 0.1], radius: -%d, value: 1}", i + 1);
    }
    char *text = base_with("- uniform: {value: 300}", shapes);
    struct settings *settings = NULL;
    assert_int_equal(settings_read_text("c.yaml", text, NULL, 0, &settings), STATUS_INPUT);
    const char *message = fail_message();
    assert_non_null(strstr(message, "c.yaml:12: initial[1].sphere.radius: out of range (-1);"));
    assert_non_null(strstr(message, "\nc.yaml:21: initial[10].sphere.radius: out of range (-10);"));
    assert_null(strstr(message, "c.yaml:22"));
    assert_string_equal(strrchr(message, '\n'), "\nand 2 more");
    free(text);
}

/* What an attribute of a file can hold is not much. */
TEST(test_longest_text)
{
    enum { MOST = 4000 };
    char title[sizeof "title=" + MOST + 1] = "title=";
    const char *const set = title;
    memset(title + 6, 'x', MOST);
    struct settings *settings = read_good(base_text, &set, 1);
    assert_int_equal(strlen(settings->title), MOST);
    settings_destroy(settings);
    title[6 + MOST] = 'x';
    assert_int_equal(settings_read_text("c.yaml", base_text, &set, 1, &settings), STATUS_INPUT);
    assert_non_null(strstr(fail_message(), "title: too long (xxxx"));
    assert_non_null(strstr(fail_message(), "...): 4001 bytes, of at most 4000; give a string"));
}

TEST_MAIN(NULL, NULL)
