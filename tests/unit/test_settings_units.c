/* Numbers with a unit. Built twice, the second time without UDUNITS. */
#include "config/units.h"
#include "test_settings_common.h"

static void skip_unless(bool sensible)
{
    if (!sensible) {
        skip();
    }
}

static struct settings *with(const char *first, const char *second)
{
    const char *const sets[] = {first, second};
    return read_good(base_text, sets, second != NULL ? 2 : 1);
}

/* The time of "time.end=TEXT". */
static double seconds(const char *text)
{
    char set[96];
    snprintf(set, sizeof set, "time.end=%s", text);
    struct settings *s = with(set, NULL);
    const double end = s->time.end;
    settings_destroy(s);
    return end;
}

/* "123.4 ms" has the bits of 123.4e-3, whatever the prefix. */
TEST(test_prefixes_are_exact)
{
    skip_unless(units_supported());
    static const struct schema_unit second = {"s", "a time", NULL, 0, 0};
    static const struct {
        const char *unit;
        int power;
    } prefixes[] = {{"ns", -9}, {"µs", -6}, {"ms", -3}, {"s", 0}, {"ks", 3}, {"Ms", 6}};
    struct units *units = NULL;
    char text[64];
    unsigned number = 1;
    for (int i = 0; i < 3000; i++) {
        const size_t p = (size_t)i % (sizeof prefixes / sizeof prefixes[0]);
        double value = 0;
        bool has_zero = true;
        number = (number * 1103515245U + 12345U) & 0x7fffffffU;
        snprintf(text, sizeof text, "%u.%u", number % 1000, number / 1000 % 1000 + 1);
        assert_int_equal(units_convert(&units, text, prefixes[p].unit, &second, &value, &has_zero),
                         STATUS_OK);
        snprintf(text + strlen(text), 16, "e%d", prefixes[p].power);
        assert_true(value == strtod(text, NULL) && !has_zero);
    }
    units_destroy(units);
    assert_true(seconds("5e-2 ms") == 5e-5);
    assert_true(seconds("+.5E+1ks") == 5000);
}

TEST(test_every_kind)
{
    skip_unless(units_supported());
    struct settings *s = with("grid.upper=[400 mm, 3 dm]", "material.conductivity=0.45 W/(cm K)");
    assert_true(s->grid.upper[0] == 0.4 && s->grid.upper[1] == 0.3 && s->grid.upper[2] == 1);
    assert_true(s->material.conductivity == 45);
    settings_destroy(s);
    s = with("material.density=7.85 g/cm^3", "material.heat_capacity=0.49 J g-1 degC-1");
    assert_true(s->material.density == 7850 && s->material.heat_capacity == 490);
    settings_destroy(s);
    s = with("boundary.x_max.value=-5 kW/m²", "boundary.y_min.coefficient=1 mW/mm^2/K");
    assert_true(s->boundary[FACE_X_MAX].number[BOUNDARY_VALUE].value == -5000);
    assert_true(s->boundary[FACE_Y_MIN].number[BOUNDARY_COEFFICIENT].value == 1000);
    settings_destroy(s);
    s = with("boundary.x_min.value=80 degC", "boundary.y_max.value=36.6 °C");
    assert_true(s->boundary[FACE_X_MIN].number[BOUNDARY_VALUE].value == 353.15 &&
                s->boundary[FACE_X_MIN].number[BOUNDARY_VALUE].formula == NULL);
    assert_true(s->boundary[FACE_Y_MAX].number[BOUNDARY_VALUE].value == 309.75);
    settings_destroy(s);
    s = with("initial[0].uniform.value=-20 degC",
             "output.pictures={every: 5, range: [0 degC, 900 K]}");
    assert_true(s->initial[0].value == 253.15);
    assert_true(s->output.pictures.range[0] == 273.15 && s->output.pictures.range[1] == 900);
    settings_destroy(s);
    s = with("time.dt=2 ms", "boundary.x_min.value=32 degF");
    assert_true(!s->time.dt_auto && s->time.dt == 0.002);
    assert_float_equal(s->boundary[FACE_X_MIN].number[BOUNDARY_VALUE].value, 273.15, 1e-12);
    settings_destroy(s);
    assert_true(seconds("3 min") == 180 && seconds("0.1 h") == 360 && seconds("2 d") == 172800);
}

/* What a run stores can be read without UDUNITS, and is the same configuration. */
TEST(test_stored_as_plain_numbers)
{
    skip_unless(units_supported());
    struct settings *s = with("grid.upper=[400 mm, '3 dm']", "time.end=0.1 min");
    assert_non_null(strstr(s->text, "upper: [0.4, 0.3]\n"));
    assert_non_null(strstr(s->text, "end: 6\n"));
    struct settings *again = read_good(s->text, NULL, 0);
    assert_string_equal(again->text, s->text);
    assert_memory_equal(again->grid.upper, s->grid.upper, sizeof s->grid.upper);
    settings_destroy(again);
    settings_destroy(s);
}

TEST(test_refused)
{
    skip_unless(units_supported());
    static const struct damage cases[] = {
        {"density: 7850", "density: 5 kg",
         "c.yaml:8: material.density: not a density (5 kg); give a number above 0, in kg/m^3, such "
         "as 7.8 g/cm^3"},
        {"density: 7850", "density: 5 kgg/m3",
         "c.yaml:8: material.density: unknown unit (5 kgg/m3); give a number above 0, in kg/m^3, "
         "such as 7.8 g/cm^3"},
        {"density: 7850", "density: -5 g/cm3",
         "c.yaml:8: material.density: out of range (-5 g/cm3); give a number above 0, in kg/m^3"},
        {"upper: [0.4, 0.3]", "upper: [0.4, 3 s]",
         "c.yaml:5: grid.upper: not a length (3 s); give a list of 1 to 3 numbers, in m, such as "
         "5 mm"},
        {"end: 10", "end: 10 Hz",
         "c.yaml:23: time.end: not a time (10 Hz); give a number above 0, in s, such as 3 min"},
        {"end: 10", "end: 10 lg(re s)",
         "c.yaml:23: time.end: not a time (10 lg(re s)); give a number above 0, in s, such as "
         "3 min"},
        {"end: 10", "end: 10\n  safety: 0.9 m",
         "c.yaml:24: time.safety: a number with a unit, where none belongs (0.9 m); give a number "
         "above 0 and at most 1"},
        {"end: 10", "steps: 10 s",
         "c.yaml:23: time.steps: not an integer (10 s): 'end' takes a time; give an integer of 1 "
         "or more"},
        {"cells: [16, 12]", "cells: [16 mm, 12]",
         "c.yaml:3: grid.cells: not an integer (16 mm); give a list of 1 to 3 integers of 1 or "
         "more, such as [128, 128, 64]"},
        {"value: 350", "value: 350 C",
         "c.yaml:18: boundary.x_min.value: not a temperature (350 C); give a number, a formula in "
         "x, y, z, t or a table of t, in K, such as 20 degC"},
        {"value: 350", "value: -300 degC",
         "c.yaml:18: boundary.x_min.value: -300 degC is -26.85 K, below absolute zero; give 0 K or "
         "more"}};
    EXPECT_ALL(cases);
}

/* A zero point of a scale is neither added to a difference nor left out. */
TEST(test_differences)
{
    skip_unless(units_supported());
    static const char *const sets[] = {"run.watch.temperature=difference",
                                       "boundary.x_min.value=20 degC"};
    expect_refused(base_text, sets, 2,
                   "--set boundary.x_min.value=20 degC: boundary.x_min.value: 20 degC is not a "
                   "difference of temperatures, which run.watch.temperature asks for: its scale "
                   "has a zero point of its own; give a difference in K");
    struct settings *s = with("run.watch.temperature=difference", "boundary.x_min.value=-20 mK");
    assert_true(s->boundary[FACE_X_MIN].number[BOUNDARY_VALUE].value == -0.02);
    settings_destroy(s);
}

TEST(test_no_database)
{
    skip_unless(units_supported());
    setenv("UDUNITS2_XML_PATH", "/nowhere.xml", 1);
    static const char *const sets[] = {"time.end=3 min"};
    expect_refused(base_text, sets, 1,
                   "--set time.end=3 min: time.end: units cannot be converted: UDUNITS cannot read "
                   "its database /nowhere.xml, set UDUNITS2_XML_PATH to its udunits2.xml (3 min); "
                   "give a number above 0, in s, such as 3 min");
    unsetenv("UDUNITS2_XML_PATH");
}

TEST(test_no_library)
{
    skip_unless(!units_supported());
    static const char *const sets[] = {"time.end=3 min", "boundary.x_min.value=20 degC"};
    expect_refused(base_text, sets, 2,
                   "--set boundary.x_min.value=20 degC: boundary.x_min.value: this build has no "
                   "UDUNITS, which converts units (20 degC); give a number, a formula in x, y, "
                   "z, t or a "
                   "table of t, in "
                   "K\n"
                   "--set time.end=3 min: time.end: this build has no UDUNITS, which converts "
                   "units (3 min); give a number above 0, in s");
    struct settings *s = with("time.end=180", NULL);
    settings_destroy(s);
}

TEST_MAIN(NULL, NULL)
