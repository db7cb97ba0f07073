/* Tables over time in place of a number, and the times of outputs. */
#include "test_settings_common.h"

#include <float.h>
#include <math.h>

#include "config/units.h"

static const char head[] = "grid: {cells: [8], upper: [0.1]}\n"
                           "material: {conductivity: 45, density: 7850, heat_capacity: 490}\n"
                           "initial: [uniform: {value: 300}]\n"
                           "time: {end: 10}\n"
                           "boundary:\n  x_max: {type: convection, ambient: 300, coefficient: 1}\n";

/* The value of the face x_min as a table. */
static struct settings *read_table(const char *table)
{
    char text[1000];
    snprintf(text, sizeof text, "%s  x_min: {type: temperature, value: %s}\n", head, table);
    return read_good(text, NULL, 0);
}

static void expect(const char *text, const double (*value)[2], int count)
{
    struct settings *s = read_table(text);
    const struct number_setting *number = &s->boundary[FACE_X_MIN].number[BOUNDARY_VALUE];
    assert_non_null(number->table);
    assert_ptr_equal(settings_time_tables(s), number->table);
    for (int i = 0; i < count; i++) {
        const double found = table_at(number->table, value[i][0]);
        assert_true(fabs(found - value[i][1]) <= 1e-12 * fabs(value[i][1]));
    }
    settings_destroy(s);
}

TEST(values_between_rows_and_beyond_them)
{
    expect("[[0, 300], [10, 400], [20, 350]]",
           (const double[][2]){{-1, 300}, {0, 300}, {5, 350}, {10, 400}, {15, 375}, {99, 350}}, 6);
    expect("{rows: [[0, 300], [10, 400]], between: steps}",
           (const double[][2]){{-1, 300}, {9.9, 300}, {10, 400}, {99, 400}}, 4);
    expect("{rows: [[0, 300], [10, 400], [20, 300]], period: 20}",
           (const double[][2]){{5, 350}, {25, 350}, {-5, 350}, {30, 400}, {2000010, 400}}, 5);
    /* from the last row to the first of the next period */
    expect("{rows: [[2, 300], [4, 400]], period: 10}",
           (const double[][2]){{8, 350}, {1, 312.5}, {12, 300}, {13, 350}}, 4);
    expect("{rows: [[0, 300], [0.1, 400]], between: steps, period: 0.3}",
           (const double[][2]){{0.29, 400}, {0.3, 300}, {0.6, 300}, {0.7, 400}, {0.9, 300}}, 5);
    expect("[[7, 333]]", (const double[][2]){{0, 333}, {8, 333}}, 2);
}

TEST(rows_in_other_units)
{
    if (units_supported()) {
        expect("{rows: [[0, 20 degC], [1 min, 30 degC]], period: 2 min}",
               (const double[][2]){{0, 293.15}, {30, 298.15}, {180, 303.15}}, 3);
    }
}

TEST(the_next_row)
{
    struct settings *s = read_table("{rows: [[1, 300], [2, 310], [4, 320]], period: 5}");
    const struct table_setting *table = settings_time_tables(s);
    const double next[][2] = {{0, 1}, {1, 2}, {3, 4}, {4, 6}, {6, 7}, {7, 9}, {9, 11}};
    for (int i = 0; i < 7; i++) {
        assert_true(table_next_row(table, next[i][0]) == next[i][1]);
    }
    settings_destroy(s);
    s = read_table("[[1, 300], [2, 310]]");
    assert_true(isinf(table_next_row(settings_time_tables(s), 2)));
    settings_destroy(s);
}

TEST(bad_tables_are_refused)
{
    static const struct {
        const char *table, *message;
    } cases[] = {
        {"[[0, 300], [0, 310]]", "the times of the rows do not increase"},
        {"[[0, 300, 1]]", "not rows [t, value]"},
        {"[[0, x]]", "not a number (x)"},
        {"{rows: []}", "`rows` is not a list"},
        {"{rows: [[0, 1]], files: a.csv}", "not a table: its keys are file or rows"},
        {"{rows: [[0, 1]], file: a.csv}", "not a table"},
        {"{period: 1}", "not a table"},
        {"{rows: [[0, 1]], between: step}", "`between` is not linear or steps"},
        {"{rows: [[0, 1]], period: 0}", "out of range (0)"},
        {"{rows: [[0, 1], [9, 2]], period: 8}", "the rows span 9 s, more than the period of 8 s"},
        {"{rows: [[0, 1]], units: [h, degC]}", "`units` are those of the two columns of a file"},
        {"{file: a.csv, units: h}", "`units` are those of the two columns of a file"},
        {"{file: [a.csv]}", "`file` is not the name of a file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1000];
        struct settings *s = NULL;
        snprintf(text, sizeof text, "%s  x_min: {type: temperature, value: %s}\n", head,
                 cases[i].table);
        assert_int_equal(settings_read_text("c.yaml", text, NULL, 0, &s), STATUS_INPUT);
        if (strstr(fail_message(), cases[i].message) == NULL) {
            fail_msg("%s: \"%s\"", cases[i].table, fail_message());
        }
    }
}

static void expect_times(const char *text, const double *times, int count)
{
    char whole[1000];
    snprintf(whole, sizeof whole, "%s  x_min: {type: flux, value: 0}\noutput:\n  history: {%s}\n",
             head, text);
    struct settings *s = read_good(whole, NULL, 0);
    const struct cadence *cadence = &s->output.history;
    assert_int_equal(cadence->ntimes, count);
    assert_int_equal(cadence->every, 0);
    for (int i = 0; i < count; i++) {
        assert_true(fabs(cadence->times[i] - times[i]) <= 4 * DBL_EPSILON * times[i]);
    }
    settings_destroy(s);
}

TEST(times_of_outputs)
{
    expect_times("times: [1, 2.5, 10]", (const double[]){1, 2.5, 10}, 3);
    expect_times("logarithmic: {from: 0.1, to: 10, per_decade: 1}", (const double[]){0.1, 1, 10},
                 3);
    expect_times("logarithmic: {from: 1, to: 5, per_decade: 2}",
                 (const double[]){1, 3.1622776601683795, 5}, 3);
    static const struct {
        const char *keys, *message;
    } cases[] = {{"times: 3", "not a list of times"},
                 {"times: [3, 2]", "the times do not increase"},
                 {"times: [0, 2]", "out of range (0)"},
                 {"times: [1], every: 2", "output.history.times: given together with every"},
                 {"logarithmic: {from: 1, to: 2}", "not the keys from, to and per_decade"},
                 {"logarithmic: {from: 3, to: 2, per_decade: 1}", "`from` is not below `to`"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char whole[1000];
        struct settings *s = NULL;
        snprintf(whole, sizeof whole,
                 "%s  x_min: {type: flux, value: 0}\noutput:\n  history: {%s}\n", head,
                 cases[i].keys);
        assert_int_equal(settings_read_text("c.yaml", whole, NULL, 0, &s), STATUS_INPUT);
        assert_non_null(strstr(fail_message(), cases[i].message));
    }
}

TEST_MAIN(NULL, NULL)
