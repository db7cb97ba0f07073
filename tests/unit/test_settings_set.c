/* --set key.path=value: what it can change, and what it answers when it cannot. */
#include "test_settings_common.h"

static struct settings *with(const char *first, const char *second)
{
    const char *const sets[] = {first, second};
    return read_good(base_text, sets, second != NULL ? 2 : 1);
}

TEST(test_replaces_values)
{
    struct settings *s = with("grid.cells=[8, 9]", "material.density=2.5e3");
    assert_int_equal(s->grid.cells[0], 8);
    assert_int_equal(s->grid.cells[1], 9);
    assert_true(s->material.density == 2500);
    settings_destroy(s);
    s = with("grid.cells[1]=32", "title=three words");
    assert_int_equal(s->grid.cells[0], 16);
    assert_int_equal(s->grid.cells[1], 32);
    assert_string_equal(s->title, "three words");
    settings_destroy(s);
    s = with("time.dt=0.5", "time.dt=0.25");
    assert_true(s->time.dt == 0.25);
    settings_destroy(s);
}

TEST(test_reaches_into_lists)
{
    struct settings *s = with("initial.1.sphere.radius=0.1", "initial[1].sphere.value=1000");
    assert_true(s->initial[1].radius == 0.1);
    assert_true(s->initial[1].value == 1000);
    settings_destroy(s);
    s = with("initial.3={uniform: {value: 5}}", "initial[4].uniform.value=6");
    assert_int_equal(s->ninitial, 5);
    assert_true(s->initial[3].value == 5);
    assert_true(s->initial[4].value == 6);
    settings_destroy(s);
    s = with("initial=[{uniform: {value: 5}}]", NULL);
    assert_int_equal(s->ninitial, 1);
    settings_destroy(s);
}

TEST(test_makes_sections)
{
    struct settings *s = with("output.pictures.every=5", "run.halo.overlap=on");
    assert_int_equal(s->output.pictures.cadence.every, 5);
    assert_int_equal(s->run.overlap, OVERLAP_ON);
    settings_destroy(s);
    s = with("run.decomposition[0]=2", "run.decomposition[1]=3");
    assert_int_equal(s->run.decomposition[0], 2);
    assert_int_equal(s->run.decomposition[1], 3);
    settings_destroy(s);
}

TEST(test_replaces_subtrees)
{
    struct settings *s = with("boundary.x_min={type: flux, value: 0}", NULL);
    assert_int_equal(s->boundary[FACE_X_MIN].kind, BOUNDARY_FLUX);
    settings_destroy(s);
    static const char *const sets[] = {"boundary.x_min.value=300 + 10*sin(t)",
                                       "boundary.x_max.type=temperature",
                                       "run.watch.temperature=difference"};
    s = read_good(base_text, sets, 3);
    assert_string_equal(s->boundary[FACE_X_MIN].number[BOUNDARY_VALUE].formula, "300 + 10*sin(t)");
    assert_int_equal(s->boundary[FACE_X_MAX].kind, BOUNDARY_TEMPERATURE);
    settings_destroy(s);
}

/* Texts and formulas need no quotes of YAML's own. */
TEST(test_takes_texts_as_they_stand)
{
    struct settings *s = with("boundary.x_min.value=t > 5 ? 1 : 2", "title=a: b # c");
    assert_string_equal(s->boundary[FACE_X_MIN].number[BOUNDARY_VALUE].formula, "t > 5 ? 1 : 2");
    assert_string_equal(s->title, "a: b # c");
    settings_destroy(s);
    s = with("initial[0]={expression: {value: x}}", "initial[0].expression.value=x > y ? x : y");
    assert_string_equal(s->initial[0].expression, "x > y ? x : y");
    settings_destroy(s);
    s = with("output.directory=\"a: b\"", "title='it''s'");
    assert_string_equal(s->output.directory, "a: b");
    assert_string_equal(s->title, "it's");
    settings_destroy(s);
}

TEST(test_steps_and_end_replace_each_other)
{
    struct settings *s = with("time.steps=5", NULL);
    assert_true(s->time.by_steps);
    assert_int_equal(s->time.steps, 5);
    assert_null(strstr(s->text, "end:"));
    settings_destroy(s);
    s = with("time.steps=5", "time.end=3");
    assert_false(s->time.by_steps);
    assert_true(s->time.end == 3);
    settings_destroy(s);
}

TEST(test_text_has_them)
{
    struct settings *s = with("material.density=1234", "output.directory=elsewhere");
    assert_non_null(strstr(s->text, "density: 1234"));
    assert_non_null(strstr(s->text, "directory: elsewhere"));
    assert_null(strstr(s->text, "7850"));
    settings_destroy(s);
}

static const struct {
    const char *set;
    const char *message;
} refusals[] = {
    {"grid.cells=[0,1,1]",
     "grid.cells: out of range (0); give a list of 1 to 3 integers of 1 or more, such as "
     "[128, 128, 64]"},
    {"grid.cells[0]=0",
     "grid.cells: out of range (0); give a list of 1 to 3 integers of 1 or more, such as "
     "[128, 128, 64]"},
    {"grid.cells=[0,1",
     "not valid YAML: did not find expected ',' or ']' while parsing a flow sequence"},
    {"time.steps", "not of the form key.path=value, such as --set time.steps=100"},
    {"=3", "not of the form key.path=value, such as --set time.steps=100"},
    {"", "not of the form key.path=value, such as --set time.steps=100"},
    {"material.densty=3", "material.densty: unknown key; did you mean 'density'? valid keys: "
                          "conductivity, density, heat_capacity, diffusivity"},
    {"outptu.directory=x",
     "outptu: unknown key; did you mean 'output'? valid keys: title, quantity, grid, material, "
     "materials, parts, contacts, ambients, surfaces, sources, initial, boundary, time, run, "
     "output"},
    {"grid=3", "grid: not a section (3); give a section with the keys cells, lower, upper, "
               "geometry, x, y, z"},
    {"grid[0]=3", "grid: a section, not a list; it has no entry [0]"},
    {"initial[7].uniform.value=3",
     "initial: a list with 3 entries; give a number from 0 (3 adds an entry), not '7'"},
    {"initial.sphere.radius=3",
     "initial: a list with 3 entries; give a number from 0 (3 adds an entry), not 'sphere'"},
    {"initial[x].uniform=3",
     "initial[x].uniform: not a key; write it like time.steps or initial[0].sphere.radius"},
    {"initial[0]uniform=3",
     "initial[0]uniform: not a key; write it like time.steps or initial[0].sphere.radius"},
    {"grid..cells=3",
     "grid..cells: not a key; write it like time.steps or initial[0].sphere.radius"},
    {"grid.=3", "grid.: not a key; write it like time.steps or initial[0].sphere.radius"},
    {".grid=3", ".grid: not a key; write it like time.steps or initial[0].sphere.radius"},
    {"initial.0.uniform.value=abc",
     "initial[0].uniform.value: not a number (abc); give a number, in K"},
    {"initial.0.sphere.radius=1",
     "initial[0]: two kinds in one entry (uniform, sphere); begin a new entry with '- sphere:'"},
    {"material.density.x=3", "material.density: a single value (7850); it has no part 'x'"},
    {"time.steps=abc", "time.steps: not an integer (abc); give an integer of 1 or more"},
    {"time={end: 1, steps: 1}", "time.steps: given together with end; give one of them"},
    {"initial[1].sphere.center=[9, 9]",
     "initial[1].sphere.center: the sphere lies outside the grid (it is 12.2332 m away, the radius "
     "is 0.05 m); give a centre nearer to the grid or a larger radius"},
    {"boundary.y_max.value=sin(", "boundary.y_max.value: not a formula: Unexpected end of "
                                  "expression at column 6 (sin(); give a number or a formula in "
                                  "x, y, z, t"},
    {"title=", "title: empty; give a string"},
    {"title={a: b}", "title: not a string ({...}); give a string"},
    {"title='a", "not valid YAML: found unexpected end of stream while scanning a quoted scalar"},
};

TEST(test_messages_are_one_line)
{
    static const char *const sets[] = {"material=--- a\n--- b"};
    expect_refused(base_text, sets, 1,
                   "--set material=--- a --- b: a second YAML document starts here; give one");
}

TEST(test_refusals)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        char message[1024];
        snprintf(message, sizeof message, "--set %s: %s", refusals[i].set, refusals[i].message);
        expect_refused(base_text, &refusals[i].set, 1, message);
    }
}

/* A --set can leave a key of the file without sense: then the file's line is the one named. */
TEST(test_blames_the_right_place)
{
    static const char *const type[] = {"boundary.x_min.type=convection"};
    expect_refused(
        base_text, type, 1,
        "c.yaml:18: boundary.x_min.value: not a key of type convection (350); valid "
        "keys: type, coefficient, ambient, emissivity, surroundings, coefficient_factor, "
        "ambient_factor, patches");
    static const char *const shrink[] = {"grid.upper=[0.25, 0.3]"};
    expect_refused(base_text, shrink, 1,
                   "c.yaml:15: initial[2].box.upper: the box lies outside the grid in x (0.3); "
                   "give a value from 0 to 0.25");
    static const char *const face[] = {"boundary.x_min={}"};
    expect_refused(base_text, face, 1,
                   "--set boundary.x_min={}: boundary.x_min.type: missing; give one of "
                   "temperature, flux, convection, radiation, periodic");
}

TEST(test_on_an_empty_file)
{
    static const char *const sets[] = {
        "grid.cells=[4]", "material={conductivity: 1, density: 1, heat_capacity: 1}",
        "initial=[uniform: {value: 1}]",
        "boundary={x_min: {type: periodic}, x_max: {type: periodic}}", "time.steps=1"};
    settings_destroy(read_good("", sets, 5));
}

/* An option of its own stands before its value in messages, which is no YAML. */
TEST(test_options)
{
    static const struct settings_option options[] = {
        {"--output", "output.directory", "it's [here]: # null"}, {"--backend", "run.backend", ""}};
    static const char *const sets[] = {"output.directory=elsewhere"};
    struct settings_overrides words = {.sets = sets, .nsets = 1, .options = options, .noptions = 1};
    struct settings *s = NULL;
    const size_t nbytes = strlen(base_text);
    assert_int_equal(settings_read_bytes("c.yaml", base_text, nbytes, &words, &s), STATUS_OK);
    assert_string_equal(s->output.directory, "it's [here]: # null");
    (void)!settings_fail(s, "output.directory", "full");
    assert_string_equal(fail_message(), "--output it's [here]: # null: output.directory: full");
    settings_destroy(s);
    words.noptions = 2;
    assert_int_equal(settings_read_bytes("c.yaml", base_text, nbytes, &words, &s), STATUS_INPUT);
    assert_string_equal(fail_message(), "--backend : run.backend: empty; give a string");
}

/* They would be in every file of the run. */
TEST(test_not_utf8)
{
    static const char *const title[] = {"title=a\x80z"};
    expect_refused(base_text, title, 1,
                   "--set title=a?z: not valid UTF-8: byte 0x80 at column 8; give UTF-8");
    static const struct settings_option options[] = {{"--output", "output.directory", "out\xff"}};
    const struct settings_overrides words = {.options = options, .noptions = 1};
    struct settings *s = NULL;
    const size_t nbytes = strlen(base_text);
    assert_int_equal(settings_read_bytes("c.yaml", base_text, nbytes, &words, &s), STATUS_INPUT);
    assert_string_equal(fail_message(),
                        "--output out?: not valid UTF-8: byte 0xff at column 4; give UTF-8");
    static const char *const alias[] = {"title=&a [*a]", "output.directory=*a"};
    s = read_good(base_text, alias, 2); /* texts stand as they are */
    assert_string_equal(s->title, "&a [*a]");
    assert_string_equal(s->output.directory, "*a");
    settings_destroy(s);
    static const char *const cycle[] = {"run.halo.transport=&a [*a]"};
    expect_refused(base_text, cycle, 1,
                   "--set run.halo.transport=&a [*a]: nested deeper than 16 levels; use fewer");
    static const char *const escape[] = {"run.halo.transport=\"\\e[31m\xc2\x9b\""};
    assert_int_equal(settings_read_text("c.yaml", base_text, escape, 1, &s), STATUS_INPUT);
    assert_null(strstr(fail_message(), "\x1b"));
    assert_null(strstr(fail_message(), "\x9b"));
}

TEST_MAIN(NULL, NULL)
