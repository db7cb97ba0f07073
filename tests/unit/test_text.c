/* Rows of numbers in files, and rows of results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text/json.h"
#include "base/text/rows.h"
#include "base/text/table.h"
#include "tests/test.h"

static char folder[] = "test_text.XXXXXX";
static char path[PATH_BYTES];

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL || path_join(folder, "rows.csv", path) != STATUS_OK;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* The same value in both, and each only where it has a key or a heading. */
TEST(a_row_is_a_line_and_an_object)
{
    struct json json;
    struct table table = {.has_heading = false};
    assert_int_equal(json_open(&json), STATUS_OK);
    json_begin(&json, NULL, '[');
    for (int row = 0; row < 2; row++) {
        table_row_begin(&table, row == 0 ? &json : NULL);
        table_text(&table, "kernel", "kernel", -8, "copy");
        table_int(&table, "calls", NULL, 0, 3);
        table_int3(&table, "cells", (const int64_t[]){4, 5, 6});
        table_real(&table, "ms", "ms", 6, 2, 1.25);
        table_real(&table, NULL, "error", 8, -1, 0.5);
        table_real(&table, "joules", "J", 4, 1, NAN);
        table_text(&table, NULL, "", -1, row == 0 ? "" : "and more");
        table_row_end(&table);
        assert_string_equal(table.line, row == 0 ? "  copy       1.25  5.0e-01    -"
                                                 : "  copy       1.25  5.0e-01    - and more");
    }
    assert_string_equal(table.heading, "  kernel       ms    error    J  ");
    json_end(&json, ']');
    fflush(json.stream);
    assert_string_equal(json.text, "[\n  {\n    \"kernel\": \"copy\",\n    \"calls\": 3,\n"
                                   "    \"cells\": [4, 5, 6],\n    \"ms\": 1.25,\n"
                                   "    \"joules\": null\n  }\n]");
    json_discard(&json);
}

TEST(rows_are_found_in_files_of_spreadsheets)
{
    static const char *const texts[] = {
        "T,k\n1,2\n3,4\n5,6,7\n8;9\n", "T,k\r1,2\r3,4\r5,6,7\r8;9\r",
        "\xEF\xBB\xBFT,k\r\n1, 2\r\n3\t4\r\n5,6,7\r\n8;9\r\n", "T,k\n  1,2 \n3 ,4\r\n5,6,7\n8;9",
        "T,k\n\"1\",\"2.0e0\"\n3,\" 4\"\n5,6,7\n8;9"};
    static const bool valid[] = {true, true, false, false};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        struct rows rows;
        double row[2];
        assert_int_equal(file_replace(path, texts[t], strlen(texts[t])), STATUS_OK);
        assert_int_equal(rows_open(path, 1000, &rows), STATUS_OK);
        assert_true(rows_next(&rows) && !rows_has_number(&rows));
        assert_string_equal(rows.line, "T,k");
        for (int r = 0; r < 4; r++) {
            assert_true(rows_next(&rows) && rows_has_number(&rows));
            assert_int_equal(rows.number, r + 2);
            assert_int_equal(rows_numbers(&rows, 2, row), valid[r]);
            assert_true(!valid[r] || (row[0] == 2 * r + 1 && row[1] == 2 * r + 2));
        }
        assert_int_equal(rows_fail(&rows, "two"), STATUS_INPUT);
        assert_non_null(strstr(fail_message(), "rows.csv:5: '8;9' is not a row of two"));
        assert_false(rows_next(&rows));
        rows_close(&rows);
    }
    assert_int_equal(file_replace(path, "\n # none\n1 2,,3-4", 17), STATUS_OK);
    struct rows rows;
    double row[4];
    assert_int_equal(rows_open(path, 1000, &rows), STATUS_OK);
    assert_true(rows_next(&rows));
    assert_int_equal(rows.number, 3);
    assert_false(rows_numbers(&rows, 4, row));
    assert_false(rows_next(&rows));
    rows_close(&rows);
    assert_int_equal(file_replace(path, "1,2\n3,\0004\n", 9), STATUS_OK);
    assert_int_equal(rows_open(path, 1000, &rows), STATUS_INPUT);
    assert_non_null(strstr(fail_message(), "rows.csv:2: a zero byte"));
    rows_close(&rows);
    assert_int_equal(rows_open(path, 3, &rows), STATUS_FILE);
    rows_close(&rows);
}

/* "O300,10" is no heading, and "300,,10" no row of two. */
TEST(a_mistyped_row_is_not_a_heading)
{
    static const struct {
        const char *line;
        bool has_number, is_row;
    } cases[] = {{"T [K], k at 300 K", false, false},
                 {"T k300", false, false},
                 {"O300,10", true, false},
                 {"O300 10", true, false},
                 {"300,10", true, true},
                 {"300 , 10", true, true},
                 {"300,,10", true, false},
                 {"2e,10", true, false},
                 {"300,2e", true, false},
                 {"300,10,", true, false},
                 {"300\t10", true, true},
                 {",300,10", true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rows rows;
        double row[2];
        const char *line = cases[i].line;
        assert_int_equal(file_replace(path, line, strlen(line)), STATUS_OK);
        assert_int_equal(rows_open(path, 1000, &rows), STATUS_OK);
        assert_true(rows_next(&rows));
        assert_int_equal(rows_has_number(&rows), cases[i].has_number);
        assert_int_equal(rows_numbers(&rows, 2, row), cases[i].is_row);
        rows_close(&rows);
    }
}

TEST_MAIN(make_folder, remove_folder)
