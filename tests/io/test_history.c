/* CSV files: rows that read back to the same bits, and restarts that leave
 * no row twice. */
#include "io_rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/series/csv.h"

static char path[PATH_BYTES];
static const struct csv_format FORMAT = {"step,T_K,heat_J\n", 1, false};

static void write_rows(struct csv *csv, int64_t first, int64_t last)
{
    for (int64_t step = first; step <= last; step++) {
        fprintf(csv_rows(csv), "%" PRId64 ",%.17g,%.17g\n", step, (double)step / 3, 2e300 / 3);
        must(csv_append(csv, step));
    }
}

/* Whole file: the header, then the rows of steps 0 to `last`, each once, exact. */
static void expect_rows(int64_t last)
{
    struct csv_table table;
    must(csv_read(path, &table));
    assert_string_equal(table.text, "step,T_K,heat_J");
    assert_int_equal(table.nrows, last + 1);
    for (int64_t step = 0; step <= last; step++) {
        const double wanted[] = {(double)step, (double)step / 3, 2e300 / 3};
        assert_memory_equal(table.values + 3 * step, wanted, sizeof wanted);
    }
    csv_table_free(&table);
}

static void append_text(const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int prepare(void **unused)
{
    (void)unused;
    snprintf(path, sizeof path, "%.2000s/history.csv", rig_folder);
    return 0;
}

TEST_WITH(test_restarts, prepare, NULL)
{
    struct csv csv;
    must(csv_open(rig_folder, "history.csv", &FORMAT, -1, &csv));
    write_rows(&csv, 0, 9);
    csv_close(&csv);
    expect_rows(9);

    append_text("10,0.5,0.1"); /* what a kill leaves */
    must(csv_open(rig_folder, "history.csv", &FORMAT, 6, &csv));
    expect_rows(6);
    write_rows(&csv, 6, 12); /* 6 is there already */
    csv_close(&csv);
    expect_rows(12);

    must(csv_open(rig_folder, "history.csv", &FORMAT, 100, &csv));
    write_rows(&csv, 13, 14);
    csv_close(&csv);
    expect_rows(14);

    must(csv_open(rig_folder, "history.csv", &FORMAT, -1, &csv));
    write_rows(&csv, 0, 2);
    csv_close(&csv);
    expect_rows(2);

    csv_close(&csv); /* once more */
}

static void must_not_open(enum status status, const char *message, const char *folder, int64_t step)
{
    struct csv csv;
    must_fail(status, message, csv_open(folder, "history.csv", &FORMAT, step, &csv));
    csv_close(&csv);
}

TEST_WITH(test_missing_and_damaged, prepare, NULL)
{
    struct csv csv;
    unlink(path);
    must(csv_open(rig_folder, "history.csv", &FORMAT, 5, &csv)); /* somebody removed it */
    write_rows(&csv, 0, 1);
    csv_close(&csv);
    expect_rows(1);
    append_text("not a row\n2,1,2\n");
    must_not_open(STATUS_FILE, "history.csv:4 is not a valid row", rig_folder, 5);
    must(file_replace(path, "a,b\n1,2\n", 8));
    must_not_open(STATUS_INPUT, "the columns of", rig_folder, 5);
    must_not_open(STATUS_FILE, "cannot create", "/no/such/folder", -1);
}

/* A restart keeps the groups of columns that the file has. */
TEST_WITH(test_columns_of_the_file, prepare, NULL)
{
    static const char groups[] = "step,a\n,b,c\n,d\n,e\n";
    static const struct {
        const char *file; /* NULL: none */
        const char *line;
        bool has[4];
    } cases[] = {
        {NULL, "step,a,b,c,e\n", {true, true, false, true}},
        {"step,a\n", "step,a\n", {true}},
        {"step,a,b,c\n1,2,3,4\n", "step,a,b,c\n", {true, true}},
        {"step,a,b,c,d,e\n", "step,a,b,c,d,e\n", {true, true, true, true}},
        {"step,a,d\n", "step,a,d\n", {true, false, true}},
        {"step,a,b,d\n", "step,a\n", {true}},
        {"step,b,c\n", "step,a\n", {false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char columns[sizeof groups];
        bool has[4] = {true, true, false, true};
        memcpy(columns, groups, sizeof groups);
        unlink(path);
        if (cases[i].file != NULL) {
            must(file_replace(path, cases[i].file, strlen(cases[i].file)));
        }
        must(csv_select_columns(path, columns, has));
        assert_string_equal(columns, cases[i].line);
        assert_memory_equal(has, cases[i].has, sizeof has);
    }
    char columns[sizeof groups];
    bool has[4] = {true, false, true, false};
    memcpy(columns, groups, sizeof groups);
    must(csv_select_columns(NULL, columns, has));
    assert_string_equal(columns, "step,a,d\n");
}

/* What is left of `rows` of a file with two rows in each step. */
static void expect_left(int64_t restart_step, const char *rows, const char *left, int64_t last_step)
{
    static const struct csv_format format = {"step,T_K\n", 2, false};
    char text[256];
    char *found = NULL;
    size_t nbytes = 0;
    struct csv csv;
    snprintf(text, sizeof text, "step,T_K\n%s", rows);
    must(file_replace(path, text, strlen(text)));
    must(csv_open(rig_folder, "history.csv", &format, restart_step, &csv));
    assert_int_equal(csv.last_step, last_step);
    fputs("x\n", csv_rows(&csv));
    must(csv_append(&csv, csv.last_step)); /* is there already */
    fputs("100,1\n100,2\n", csv_rows(&csv));
    must(csv_append(&csv, 100));
    assert_int_equal(csv.bytes, 12);
    csv_close(&csv);
    must(file_read_all(path, 1000, &found, &nbytes));
    snprintf(text, sizeof text, "step,T_K\n%s100,1\n100,2\n", left);
    assert_string_equal(found, text);
    free(found);
}

TEST_WITH(test_whole_steps, prepare, NULL)
{
    const char *two = "0,1\n0,2\n4,3\n4,4\n";
    expect_left(99, two, two, 4);
    expect_left(3, two, "0,1\n0,2\n", 0);
    expect_left(99, "0,1\n0,2\n4,3\n", "0,1\n0,2\n", 0);
    expect_left(99, "0,1\n0,2\n4,3\n4", "0,1\n0,2\n", 0);
    expect_left(99, "0,1\n4,3\n4,4\n", "4,3\n4,4\n", 4);
    expect_left(99, "0,1\n0,2\n0,2\n4,3\n4,4\n2,5\n2,6\n", two, 4);
    expect_left(5, "0,1\n0,2\n8,9\n8,9\n4,3\n4,4\n", two, 4);
    expect_left(99, "", "", -1);
}

TEST_MAIN_RANKS(rig_begin, NULL)
