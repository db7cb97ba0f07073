/* CSV files, and history.csv of them: rows that read back to the same bits, and restarts that leave
 * no row twice. */
#include "io_rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/series/csv.h"
#include "io/series/history.h"

static char path[PATH_BYTES];

/* x_min and z_max */
static const struct history_columns COLUMNS = {.sources = true,
                                               .faces = {[FACE_X_MIN] = true, [FACE_Z_MAX] = true}};

static struct history_row row_of(int64_t step)
{
    const double s = (double)step;
    return (struct history_row){.step = step,
                                .time = s / 3,
                                .dt = 0.1,
                                .min = 1e-300 / 7,
                                .max = 2e300 / 3,
                                .mean = 300 + 1 / 3.0,
                                .heat = s * 7e20,
                                .boundary_heat = -s / 1e20,
                                .heat_drift = s == 0 ? 0 : 1e-9 / s,
                                .source_heat = s / 5,
                                .flow = {[FACE_X_MIN] = s / 7, [FACE_Z_MAX] = -s / 11},
                                .face_mean = {[FACE_X_MIN] = s / 13, [FACE_Z_MAX] = 1e5 / 17}};
}

static void write_rows(struct history *history, int64_t first, int64_t last)
{
    for (int64_t step = first; step <= last; step++) {
        const struct history_row row = row_of(step);
        must(history_write(history, &row));
    }
}

/* Whole file: the header, then the rows of steps 0 to `last`, each once, exact. */
static void expect_rows(int64_t last)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char line[1024];
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line,
                        "step,time_s,dt_s,min_K,max_K,mean_K,heat_J,boundary_heat_J,heat_drift_J,"
                        "source_heat_J,flow_x_min_W,T_x_min_K,flow_z_max_W,T_z_max_K\n");
    for (int64_t step = 0; step <= last; step++) {
        const struct history_row wanted = row_of(step);
        struct history_row found = {0};
        assert_non_null(fgets(line, sizeof line, file));
        assert_int_equal(
            sscanf(line, "%" SCNd64 ",%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf\n",
                   &found.step, &found.time, &found.dt, &found.min, &found.max, &found.mean,
                   &found.heat, &found.boundary_heat, &found.heat_drift, &found.source_heat,
                   &found.flow[FACE_X_MIN], &found.face_mean[FACE_X_MIN], &found.flow[FACE_Z_MAX],
                   &found.face_mean[FACE_Z_MAX]),
            14);
        assert_memory_equal(&found, &wanted, sizeof wanted);
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
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
    struct history *history = NULL;
    must(history_open(rig_folder, &COLUMNS, -1, &history));
    write_rows(history, 0, 9);
    must(history_close(history));
    expect_rows(9);

    append_text("10,0.5,0.1,3"); /* what a kill leaves */
    must(history_open(rig_folder, &COLUMNS, 6, &history));
    expect_rows(6);
    write_rows(history, 6, 12); /* 6 is there already */
    must(history_close(history));
    expect_rows(12);

    must(history_open(rig_folder, &COLUMNS, 100, &history));
    write_rows(history, 13, 14);
    must(history_close(history));
    expect_rows(14);

    must(history_open(rig_folder, &COLUMNS, -1, &history));
    write_rows(history, 0, 2);
    must(history_close(history));
    expect_rows(2);

    must_fail(STATUS_OK, "", status_agree(MPI_COMM_SELF, history_close(NULL)));
}

TEST_WITH(test_missing_and_damaged, prepare, NULL)
{
    struct history *history = NULL;
    unlink(path);
    must(history_open(rig_folder, &COLUMNS, 5, &history)); /* somebody removed it */
    write_rows(history, 0, 1);
    must(history_close(history));
    expect_rows(1);
    append_text("not a row\n2,1,2\n");
    must_fail(STATUS_FILE, "history.csv:4 is not a valid row",
              history_open(rig_folder, &COLUMNS, 5, &history));
    assert_null(history);
    must(file_replace(path, "a,b\n1,2\n", 8));
    must_fail(STATUS_INPUT, "the columns of", history_open(rig_folder, &COLUMNS, 5, &history));
    must_fail(STATUS_FILE, "cannot create",
              history_open("/no/such/folder", &COLUMNS, -1, &history));
}

/* A restart keeps the columns that the file has: none of faces, as 0.1.0 wrote it, or of others
 * than a new file would have. */
TEST_WITH(test_columns_of_the_file, prepare, NULL)
{
    static const char *const tails[] = {
        "", ",flow_x_min_W,T_x_min_K",
        ",source_heat_J,flow_y_min_W,T_y_min_K,flow_z_max_W,T_z_max_K",
        ",flow_z_max_W,T_z_max_K,heat_a_J,T_lid_K"};
    static const char *const rows[] = {"", ",1,2", ",9,5,6,7,8", ",7,8,10,11"};
    const double more[] = {10, 11};
    struct history_columns columns = COLUMNS;
    columns.more = ",heat_a_J,T_lid_K";
    const struct history_row row = {.step = 4,
                                    .source_heat = 9,
                                    .flow = {1, 3, 5, 0, 0, 7},
                                    .face_mean = {2, 4, 6, 0, 0, 8},
                                    .more = more};
    for (int t = 0; t < 4; t++) {
        const char *base =
            "step,time_s,dt_s,min_K,max_K,mean_K,heat_J,boundary_heat_J,heat_drift_J";
        char text[512];
        char *found = NULL;
        size_t nbytes = 0;
        struct history *history = NULL;
        snprintf(text, sizeof text, "%s%s\n3,0,0,0,0,0,0,0,0%s\n", base, tails[t], rows[t]);
        must(file_replace(path, text, strlen(text)));
        must(history_check(rig_folder, columns.more));
        must(history_open(rig_folder, &columns, 3, &history));
        assert_int_equal(history_columns_of(history)->more != NULL, t == 3);
        assert_int_equal(history_columns_of(history)->faces[FACE_X_MIN], t == 1);
        assert_int_equal(history_columns_of(history)->faces[FACE_Z_MAX], t >= 2);
        assert_int_equal(history_columns_of(history)->sources, t == 2);
        must(history_write(history, &row));
        must(history_close(history));
        must(file_read_all(path, 1000, &found, &nbytes));
        snprintf(text, sizeof text, "%s%s\n3,0,0,0,0,0,0,0,0%s\n4,0,0,0,0,0,0,0,0%s\n", base,
                 tails[t], rows[t], rows[t]);
        assert_string_equal(found, text);
        free(found);
    }
    must_fail(STATUS_INPUT, "the columns of", history_check(rig_folder, ",heat_b_J,T_lid_K"));
    must(file_replace(path, "step,flow_x_min_W,T_x_min_K\n", 28));
    must_fail(STATUS_INPUT, "the columns of", history_check(rig_folder, NULL));
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
    must(csv_append(&csv, csv.last_step, "x\n", 2)); /* is there already */
    must(csv_append(&csv, 100, "100,1\n100,2\n", 12));
    assert_int_equal(csv.bytes, 12);
    must(csv_close(&csv));
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
