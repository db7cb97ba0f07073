/* Snapshots: several grids and precisions, written in several openings, cut at restarts. What is
 * in the files is left for check_snapshots.py and check_vtk.py, with expect.json beside it. */
#include "io_rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/snapshot/snapshot.h"

enum { MOST = 64 };
static const int64_t few[AXIS_COUNT] = {9, 8, 7}; /* cells */
static const char TITLE[] = "a <title> & \"more\", 20 \xc2\xb0"
                            "C";
static const char CONFIG[] = "title: for the test\ngrid: {cells: [1, 2, 3]}\n";

/* What a case must contain in the end: the seed stands for the values. */
struct expected {
    int count;
    int64_t steps[MOST];
    int seeds[MOST];
};

struct work {
    struct rig rig;
    struct snapshots *snapshots;
    struct snapshot_setting setting;
    struct view view;
    const char *region; /* as JSON, for the scripts */
    char folder[PATH_BYTES];
    struct expected expected;
};

static double time_of(int64_t step)
{
    return 0.1 * (double)step;
}

/* `region` NULL: the whole grid; `derived`: bits of derived_kind */
static void work_open_derived(struct work *w, const char *name, const int64_t cells[AXIS_COUNT],
                              enum precision field, enum precision file, int compress,
                              const struct region_setting *region, unsigned derived)
{
    memset(w, 0, sizeof *w);
    w->region = "null";
    snprintf(w->folder, sizeof w->folder, "%.2000s/%s", rig_folder, name);
    folder_make_empty(w->folder);
    rig_open(&w->rig, comm_size(MPI_COMM_WORLD), cells, field, "guard");
    if (strncmp(name, "graded", strlen("graded")) == 0) {
        rig_grade(&w->rig.grid);
    }
    view_whole(&w->rig.grid, &w->view);
    if (region != NULL) {
        view_create(&w->rig.grid, region, &w->view);
    }
    w->setting = (struct snapshot_setting){{.every = 10}, file, compress, derived};
    if (derived != 0) {
        struct field *f = w->rig.field;
        must(derived_create(f->backend, f->device, f->layout.cells, derived, &f->derived));
    }
    must(snapshots_open(w->rig.comm, w->folder, "snapshots", &w->view, &w->setting, TITLE, CONFIG,
                        -1, &w->snapshots));
}

static void work_open_region(struct work *w, const char *name, const int64_t cells[AXIS_COUNT],
                             enum precision field, enum precision file, int compress,
                             const struct region_setting *region)
{
    work_open_derived(w, name, cells, field, file, compress, region, 0);
}

static void work_open(struct work *w, const char *name, const int64_t cells[AXIS_COUNT],
                      enum precision field, enum precision file, int compress)
{
    work_open_region(w, name, cells, field, file, compress, NULL);
}

static void work_reopen(struct work *w, int64_t restart_step)
{
    snapshots_close(w->snapshots);
    w->snapshots = NULL;
    must(snapshots_open(w->rig.comm, w->folder, "snapshots", &w->view, &w->setting, TITLE, CONFIG,
                        restart_step, &w->snapshots));
    while (w->expected.count > 0 && w->expected.steps[w->expected.count - 1] > restart_step) {
        w->expected.count--;
    }
}

/* Capture and write a step. */
static enum status put_step(struct work *w, int64_t step)
{
    struct snapshot_capture capture = {0};
    void *memory = malloc(snapshots_capture_bytes(w->snapshots, w->rig.field) + 1);
    enum status status =
        snapshots_capture(w->snapshots, w->rig.field, NULL, step, time_of(step), memory, &capture);
    if (status == STATUS_OK) {
        status = snapshots_put(w->snapshots, &capture);
    }
    free(memory);
    return status;
}

static void work_write(struct work *w, int64_t step, int seed)
{
    rig_fill_plain(&w->rig, seed);
    if (w->setting.derived != 0) {
        rig_fill_derived(&w->rig, seed);
    }
    if (snapshots_wants(w->snapshots, step)) {
        must(put_step(w, step));
    }
    struct expected *expected = &w->expected;
    if (expected->count == 0 || expected->steps[expected->count - 1] < step) {
        expected->steps[expected->count] = step;
        expected->seeds[expected->count] = seed;
        expected->count++;
    }
}

static void write_expected(const struct work *w)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.3000s/expect.json", w->folder);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    const struct grid *grid = &w->rig.grid;
    const struct view *view = &w->view;
    fprintf(out, "{\"grid\": [%" PRId64 ", %" PRId64 ", %" PRId64 "],\n", grid->cells[0],
            grid->cells[1], grid->cells[2]);
    fprintf(out, " \"cells\": [%" PRId64 ", %" PRId64 ", %" PRId64 "],\n", view->grid.cells[0],
            view->grid.cells[1], view->grid.cells[2]);
    fprintf(out, " \"region\": %s,\n", w->region);
    fprintf(out, " \"lower\": [%.17g, %.17g, %.17g],\n", grid->lower[0], grid->lower[1],
            grid->lower[2]);
    fprintf(out, " \"spacing\": [%.17g, %.17g, %.17g],\n", grid->spacing[0], grid->spacing[1],
            grid->spacing[2]);
    fprintf(out, " \"edges\": [");
    for (int a = 0; a < AXIS_COUNT; a++) {
        for (int64_t i = 0; i <= grid->cells[a]; i++) {
            fprintf(out, "%s%.17g",
                    i > 0   ? ", "
                    : a > 0 ? "], ["
                            : "[",
                    grid_edge(grid, (enum axis)a, i));
        }
    }
    fprintf(out, "]],\n \"precision\": \"%s\", \"compress\": %d,\n",
            precision_name(w->setting.precision), w->setting.compress);
    fprintf(out, " \"derived\": {");
    const char *comma = "";
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        if (derived_wants(w->setting.derived, kind)) {
            fprintf(out, "%s\"%s\": %d", comma, derived_label(kind)->name, 1 + kind);
            comma = ", ";
        }
    }
    fprintf(out, "},\n \"snapshots\": [");
    for (int i = 0; i < w->expected.count; i++) {
        fprintf(out, "%s\n  {\"step\": %" PRId64 ", \"time\": %.17g, \"seed\": %d}",
                i > 0 ? "," : "", w->expected.steps[i], time_of(w->expected.steps[i]),
                w->expected.seeds[i]);
    }
    fprintf(out, "]}\n");
    assert_int_equal(fclose(out), 0);
}

static void work_close(struct work *w)
{
    snapshots_close(w->snapshots);
    if (comm_rank(w->rig.comm) == 0) {
        write_expected(w);
    }
    MPI_Barrier(w->rig.comm);
    rig_close(&w->rig);
}

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
    work_write(&w, 10, 1);
    work_write(&w, 20, 2);
    work_reopen(&w, 15);
    work_write(&w, 30, 3);
    work_close(&w);
    work_open_derived(&w, "derived_thin", cells, PRECISION_FLOAT64, PRECISION_FLOAT32, 2, &thin,
                      1U << (unsigned)DERIVED_T_MAX | 1U << (unsigned)DERIVED_FLUX);
    w.region = "{\"stride\": [3, 2, 5]}";
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
