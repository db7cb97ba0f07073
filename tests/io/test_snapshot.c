/* Snapshots: several grids and precisions, written in several openings, cut at restarts. */
#include "snapshot_rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t few[AXIS_COUNT] = {9, 8, 7}; /* cells */

static void write_case(const char *name, int64_t nx, int64_t ny, int64_t nz, enum precision field,
                       enum precision file, int compress, int count)
{
    const int64_t cells[AXIS_COUNT] = {nx, ny, nz};
    struct work w;
    work_open(&w, name, cells, field, file, compress);
    for (int i = 0; i < count; i++) {
        work_write(&w, 10 * i, i);
    }
    work_close(&w);
}

/* Two snapshots, a restart from between them, and a third. */
static void write_restarted(struct work *w)
{
    work_write(w, 10, 1);
    work_write(w, 20, 2);
    work_reopen(w, 15);
    work_write(w, 30, 3);
    work_close(w);
}

TEST(test_shapes)
{
    const enum precision f64 = PRECISION_FLOAT64;
    const enum precision f32 = PRECISION_FLOAT32;
    write_case("count_1", 7, 5, 6, f64, f32, 0, 1);
    write_case("count_2", 7, 5, 6, f64, f32, 0, 2);
    write_case("count_3", 7, 5, 6, f64, f64, 0, 3);
    write_case("gzip_2d", 23, 11, 1, f32, f32, 5, 3);
    write_case("line_1d", 40, 1, 1, f32, f64, 0, 2);
    /* several chunks, those at the end not full, and shared between ranks */
    write_case("chunks", 130, 75, 50, f64, f64, 0, 2);
    write_case("chunks_gzip", 130, 75, 50, f64, f32, 1, 3);
    write_case("graded", 23, 17, 19, f64, f64, 0, 3);
}

/* The grid of the rig: from -1, -0.75, -0.5 m on, in cells of 1/2, 1/4, 1/6 m. */
static void write_region(const char *name, const int64_t cells[AXIS_COUNT], enum precision file,
                         int compress, const struct region_setting *region, const char *json)
{
    struct work w;
    work_open_region(&w, name, cells, PRECISION_FLOAT64, file, compress, region);
    w.region = json;
    for (int i = 0; i < 3; i++) {
        work_write(&w, 10 * i, i);
    }
    work_reopen(&w, 15);
    work_write(&w, 30, 5);
    work_close(&w);
}

TEST(test_regions)
{
    static const int64_t cells[AXIS_COUNT] = {23, 17, 19};
    static const int64_t plane[AXIS_COUNT] = {23, 17, 1};
    static const int64_t line[AXIS_COUNT] = {23, 1, 1};
    const enum precision f64 = PRECISION_FLOAT64;
    const enum precision f32 = PRECISION_FLOAT32;
    const struct region_setting box = {
        .has_box = true, .lower = {1.25, 0.5, -0.3}, .upper = {6.5, 2.0, 1.6}, .stride = {1, 1, 1}};
    const char *json_box = "{\"lower\": [1.25, 0.5, -0.3], \"upper\": [6.5, 2.0, 1.6]}";
    write_region("region_box", cells, f64, 0, &box, json_box);
    const struct region_setting across_x = {
        .has_slice = true, .slice_axis = AXIS_X, .slice_at = 3.9, .stride = {1, 1, 1}};
    write_region("region_x", cells, f32, 0, &across_x, "{\"axis\": 0, \"at\": 3.9}");
    const struct region_setting across_y = {
        .has_slice = true, .slice_axis = AXIS_Y, .slice_at = 0.5, .stride = {1, 1, 1}};
    write_region("region_y", cells, f64, 4, &across_y, "{\"axis\": 1, \"at\": 0.5}");
    const struct region_setting thin = {.stride = {3, 2, 5}};
    write_region("region_stride", cells, f64, 0, &thin, "{\"stride\": [3, 2, 5]}");
    const struct region_setting all = {.has_box = true,
                                       .lower = {-1, 0.6, -0.5},
                                       .upper = {10.5, 2.7, 2.0},
                                       .has_slice = true,
                                       .slice_axis = AXIS_Z,
                                       .slice_at = 2.0,
                                       .stride = {4, 3, 6}};
    write_region("region_all", cells, f32, 1, &all,
                 "{\"lower\": [-1, 0.6, -0.5], \"upper\": [10.5, 2.7, 2.0], \"axis\": 2, "
                 "\"at\": 2.0, \"stride\": [4, 3, 6]}");
    write_region("graded_x", cells, f32, 0, &across_x, "{\"axis\": 0, \"at\": 3.9}");
    write_region("graded_box", cells, f64, 0, &box, json_box);
    write_region("region_2d", plane, f64, 0, &across_y, "{\"axis\": 1, \"at\": 0.5}");
    write_region("region_1d", line, f64, 0, &thin, "{\"stride\": [3, 1, 1]}");
}

TEST(test_derived)
{
    static const int64_t cells[AXIS_COUNT] = {23, 17, 19};
    static const struct region_setting thin = {.stride = {3, 2, 5}};
    const unsigned all = (1U << (unsigned)DERIVED_COUNT) - 1;
    struct work w;
    work_open_derived(&w, "derived", cells, PRECISION_FLOAT32, PRECISION_FLOAT64, 0, NULL, all);
    write_restarted(&w);
    work_open_derived(&w, "derived_thin", cells, PRECISION_FLOAT64, PRECISION_FLOAT32, 2, &thin,
                      1U << (unsigned)DERIVED_T_MAX | 1U << (unsigned)DERIVED_FLUX);
    w.region = "{\"stride\": [3, 2, 5]}";
    work_write(&w, 10, 1);
    work_write(&w, 20, 2);
    work_close(&w);
}

TEST(test_gaps)
{
    static const int64_t cells[AXIS_COUNT] = {23, 17, 19};
    static const struct region_setting thin = {.stride = {3, 2, 5}};
    const unsigned two = 1U << (unsigned)DERIVED_T_MAX | 1U << (unsigned)DERIVED_MATERIAL;
    struct work w;
    work_open_derived(&w, "gaps", cells, PRECISION_FLOAT32, PRECISION_FLOAT64, 0, NULL, two);
    write_restarted(&w);
    work_open_derived(&w, "gaps_thin", cells, PRECISION_FLOAT64, PRECISION_FLOAT32, 2, &thin, 0);
    w.region = "{\"stride\": [3, 2, 5]}";
    work_write(&w, 10, 1);
    work_close(&w);
    work_open_derived(&w, "graded_gaps", cells, PRECISION_FLOAT64, PRECISION_FLOAT32, 0, NULL, two);
    work_write(&w, 10, 1);
    work_write(&w, 20, 2);
    work_close(&w);
}

TEST(test_restarts)
{
    struct work w;
    work_open(&w, "restart", few, PRECISION_FLOAT64, PRECISION_FLOAT64, 0);
    for (int i = 0; i < 5; i++) {
        work_write(&w, 10 * i, i);
    }
    work_reopen(&w, 25); /* 30 and 40 go */
    work_write(&w, 30, 33);
    work_write(&w, 30, 44); /* there already: not written twice */
    work_reopen(&w, 30);
    work_write(&w, 30, 55);
    work_write(&w, 37, 37);
    w.setting.precision = PRECISION_FLOAT32; /* the file's precision stays */
    work_reopen(&w, 100);
    work_write(&w, 50, 66);
    w.setting.precision = PRECISION_FLOAT64;
    work_close(&w);

    work_open(&w, "restart_all", few, PRECISION_FLOAT32, PRECISION_FLOAT32, 3);
    work_write(&w, 10, 1);
    work_write(&w, 20, 2);
    work_reopen(&w, 5); /* nothing stays */
    work_write(&w, 10, 7);
    work_close(&w);

    work_open(&w, "restart_fresh", few, PRECISION_FLOAT32, PRECISION_FLOAT32, 0);
    work_write(&w, 10, 1);
    work_reopen(&w, -1); /* new files */
    work_write(&w, 0, 2);
    work_close(&w);
}

static bool exists(const struct work *w, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/%s", w->folder, name);
    return file_exists(path);
}

/* What kills leave: a file half written, and one that is whole and that no list names. */
static void leave_unfinished(const struct work *w, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/snapshots/%s", w->folder, name);
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm_rank(MPI_COMM_WORLD) == 0) {
        must(file_replace(path, "half a snapshot", 15));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(test_killed_writes)
{
    struct work w;
    work_open(&w, "killed", few, PRECISION_FLOAT64, PRECISION_FLOAT32, 0);
    work_write(&w, 10, 1);
    work_write(&w, 20, 2);
    leave_unfinished(&w, "step_0000000030.h5.tmp");
    leave_unfinished(&w, "step_0000000030.h5.tmp.tmp");
    leave_unfinished(&w, "step_0000000025.h5");
    leave_unfinished(&w, "step_mine.h5");
    work_reopen(&w, 20);
    assert_false(exists(&w, "snapshots/step_0000000030.h5.tmp"));
    assert_false(exists(&w, "snapshots/step_0000000030.h5.tmp.tmp"));
    assert_false(exists(&w, "snapshots/step_0000000025.h5"));
    assert_true(exists(&w, "snapshots/step_0000000020.h5"));
    assert_true(exists(&w, "snapshots/step_mine.h5"));
    leave_unfinished(&w, "step_0000000030.h5"); /* replaced */
    work_write(&w, 30, 3);
    work_close(&w);
}

/* Rank 0 truncates a file, or renames it when `length` < 0. */
static void spoil(const struct work *w, const char *name, long length)
{
    char path[PATH_BYTES];
    char away[PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/%s", w->folder, name);
    snprintf(away, sizeof away, "%.2000s/away", w->folder);
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm_rank(MPI_COMM_WORLD) == 0) {
        assert_int_equal(length < 0 ? rename(path, away) : truncate(path, length), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(test_bad_files)
{
    struct work w;
    struct snapshots *none = NULL;
    work_open(&w, "moved", few, PRECISION_FLOAT64, PRECISION_FLOAT64, 0);
    work_write(&w, 10, 1);
    work_write(&w, 20, 2);
    snapshots_close(w.snapshots);
    struct view other = w.view;
    other.grid.cells[AXIS_Y] = 9;
    must_fail(STATUS_INPUT, "snapshots of another grid: on the y axis 8 cells",
              snapshots_open(w.rig.comm, w.folder, "snapshots", &other, &w.setting, TITLE, CONFIG,
                             20, &none));
    assert_null(none);
    spoil(&w, "snapshots/step_0000000020.h5", -1);
    must_fail(STATUS_FILE, "step_0000000020.h5 is missing",
              snapshots_open(w.rig.comm, w.folder, "snapshots", &w.view, &w.setting, TITLE, CONFIG,
                             20, &none));
    spoil(&w, "snapshots.vtkhdf", 5000);
    must_fail(STATUS_FILE, "move ",
              snapshots_open(w.rig.comm, w.folder, "snapshots", &w.view, &w.setting, TITLE, CONFIG,
                             20, &none));
    spoil(&w, "snapshots.vtkhdf", -1);
    /* from the files themselves: what is left of them, if it is of the same form */
    must_fail(STATUS_INPUT, "snapshots of another grid: on the y axis 8 cells",
              snapshots_open(w.rig.comm, w.folder, "snapshots", &other, &w.setting, TITLE, CONFIG,
                             20, &none));
    must(snapshots_open(w.rig.comm, w.folder, "snapshots", &w.view, &w.setting, TITLE, CONFIG, 20,
                        &w.snapshots));
    w.expected.count = 1;
    work_write(&w, 30, 3);
    work_close(&w);
}

/* 0: it is not there. */
static ino_t inode_of(const struct work *w, const char *name)
{
    char path[PATH_BYTES];
    struct stat found;
    snprintf(path, sizeof path, "%.2000s/%s", w->folder, name);
    MPI_Barrier(MPI_COMM_WORLD);
    const bool there = stat(path, &found) == 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return there ? found.st_ino : 0;
}

static bool is_there(const struct work *w, const char *name)
{
    return inode_of(w, name) != 0;
}

/* Readers crash on a series without a state, so there is none. */
TEST(test_no_states)
{
    struct work w;
    work_open(&w, "no_states", few, PRECISION_FLOAT64, PRECISION_FLOAT64, 0);
    assert_false(is_there(&w, "snapshots.vtkhdf"));
    work_write(&w, 10, 1);
    assert_true(is_there(&w, "snapshots.vtkhdf"));
    assert_true(is_there(&w, "snapshots.xdmf"));
    work_reopen(&w, 5);
    assert_false(is_there(&w, "snapshots.vtkhdf"));
    assert_false(is_there(&w, "snapshots.xdmf"));
    assert_false(is_there(&w, "snapshots/step_0000000010.h5"));
    work_write(&w, 20, 2);
    work_close(&w);
}

/* A list that someone has changed is replaced. */
TEST(test_many)
{
    struct work w;
    work_open(&w, "many", few, PRECISION_FLOAT64, PRECISION_FLOAT32, 0);
    for (int i = 0; i < 50; i++) {
        work_write(&w, 10 * i, i);
    }
    spoil(&w, "snapshots.xdmf", -1);
    work_write(&w, 500, 50);
    work_close(&w);
}

/* A series that the run does not go on with, by what its own file says of it. */
TEST(test_cut)
{
    struct work w;
    work_open_derived(&w, "cut", few, PRECISION_FLOAT64, PRECISION_FLOAT32, 0, NULL,
                      1U << DERIVED_T_MAX);
    for (int step = 10; step <= 40; step += 10) {
        work_write(&w, step, step / 10);
    }
    snapshots_close(w.snapshots);
    if (comm_rank(MPI_COMM_WORLD) == 0) {
        must(snapshots_cut(w.folder, "snapshots", 25));
    }
    assert_false(is_there(&w, "snapshots/step_0000000030.h5"));
    must(snapshots_open(w.rig.comm, w.folder, "snapshots", &w.view, &w.setting, TITLE, CONFIG, 40,
                        &w.snapshots));
    w.expected.count = 2;
    work_close(&w);
}

TEST(test_full_disk)
{
    static const int64_t cells[AXIS_COUNT] = {33, 17, 21};
    struct work w;
    work_open(&w, "full_disk", cells, PRECISION_FLOAT64, PRECISION_FLOAT64, 0);
    work_write(&w, 10, 1);
    work_write(&w, 20, 2);
    static const rlim_t limits[] = {100, 5000, 50000, 100000};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        rig_fill_plain(&w.rig, 3);
        rig_limit_file_size(limits[i]);
        must_fail(STATUS_FILE, "the snapshot of step 30 could not be written", put_step(&w, 30));
        rig_limit_file_size(RLIM_INFINITY);
    }
    work_reopen(&w, 20);
    work_write(&w, 40, 4);
    work_close(&w);
}

TEST(test_bytes)
{
    const struct grid grid = {.cells = {2048, 2048, 2048}};
    const struct snapshot_setting setting = {{.every = 1}, PRECISION_FLOAT32, 0, 0};
    const double excess = (double)snapshot_file_bytes(&grid, &setting) / 0x1p35 - 1;
    assert_true(excess >= 0 && excess < 0.01);
    assert_true(checkpoint_file_bytes(&grid, PRECISION_FLOAT64) >= UINT64_C(1) << 36);
}

TEST_MAIN_RANKS(rig_begin, NULL)
