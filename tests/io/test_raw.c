/* Contiguous datasets: whoever holds which cells, the file has the same bytes, and every damaged
 * byte is found, with its block. */
#include "io_rig.h"

#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/raw/h5_raw.h"

static void in_folder(const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%.2000s/%s", rig_folder, name);
}

/* What a cell holds: all its bytes depend on its index. */
static double value_of(int64_t index)
{
    return rig_rough(index, 3);
}

static void fill(const int64_t cells[AXIS_COUNT], const struct box *box, enum precision precision,
                 void *values)
{
    int64_t n = 0;
    for (int64_t k = box->lo[AXIS_Z]; k < box->hi[AXIS_Z]; k++) {
        for (int64_t j = box->lo[AXIS_Y]; j < box->hi[AXIS_Y]; j++) {
            for (int64_t i = box->lo[AXIS_X]; i < box->hi[AXIS_X]; i++, n++) {
                const double value = value_of((k * cells[AXIS_Y] + j) * cells[AXIS_X] + i);
                if (precision == PRECISION_FLOAT64) {
                    ((double *)values)[n] = value;
                } else {
                    ((float *)values)[n] = (float)value;
                }
            }
        }
    }
}

/* Rank 0's part of the work on a file with one dataset, /T. */
static enum status make_file(const char *path, const int64_t cells[AXIS_COUNT],
                             enum precision precision, struct raw_place *place)
{
    hid_t file = H5I_INVALID_HID;
    TRY(h5_create_memory(512, &file));
    TRY(h5_save_temporary(file, path, false, STATUS_OK));
    TRY(h5_open_plain(path, true, &file));
    TRY(h5_raw_make(file, "T", cells, precision, place));
    return h5_close_flushed(file, path, STATUS_OK);
}

/* Collective over `comm`: this rank has the cells of `box`. */
static void write_file(MPI_Comm comm, const char *path, const int64_t cells[AXIS_COUNT],
                       enum precision precision, const struct box *box, enum raw_after after)
{
    struct raw_place place;
    uint64_t hash = 0;
    memset(&place, 0, sizeof place);
    void *memory = malloc(raw_room_bytes((size_t)box_cells(box) * precision_bytes(precision)));
    assert_non_null(memory);
    /* those that are read back lie anywhere */
    void *values = after == RAW_FORGET ? raw_align(memory, cells, precision, box) : memory;
    fill(cells, box, precision, values);
    const struct raw_part part = {"T", values, &hash};
    must(status_agree(comm, comm_rank(comm) == 0 ? make_file(path, cells, precision, &place)
                                                 : STATUS_OK));
    must(raw_fill(comm, path, &place, &part, 1, box, after));
    must(h5_raw_check(comm, path, "/T", NULL));
    assert_true((hash != 0) == (after == RAW_READ_BACK));
    free(memory);
}

/* This rank's box of a decomposition into ranks along the axes; empty beyond them. */
static struct box block_of(const int64_t cells[AXIS_COUNT], const int ranks[AXIS_COUNT], int rank)
{
    struct box box = {{0, 0, 0}, {0, 0, 0}};
    int left = rank;
    for (int a = 0; a < AXIS_COUNT && rank < ranks[0] * ranks[1] * ranks[2]; a++) {
        const int at = left % ranks[a];
        left /= ranks[a];
        box.lo[a] = cells[a] * at / ranks[a];
        box.hi[a] = cells[a] * (at + 1) / ranks[a];
    }
    return box;
}

static void expect_same_bytes(const char *one, const char *two)
{
    enum { MOST = 1 << 26 };
    char *bytes[2];
    size_t nbytes[2];
    must(file_read_all(one, MOST, &bytes[0], &nbytes[0]));
    must(file_read_all(two, MOST, &bytes[1], &nbytes[1]));
    assert_int_equal(nbytes[0], nbytes[1]);
    assert_memory_equal(bytes[0], bytes[1], nbytes[0]);
    free(bytes[0]);
    free(bytes[1]);
}

/* The whole dataset through HDF5. */
static void expect_values(const char *path, const int64_t cells[AXIS_COUNT],
                          enum precision precision)
{
    const struct box all = box_of_cells(cells);
    const size_t bytes = (size_t)box_cells(&all) * precision_bytes(precision);
    char *wanted = malloc(bytes);
    char *found = malloc(bytes);
    hid_t file = H5I_INVALID_HID;
    assert_true(wanted != NULL && found != NULL);
    fill(cells, &all, precision, wanted);
    must(h5_open_plain(path, false, &file));
    const hid_t dataset = H5Dopen2(file, "/T", H5P_DEFAULT);
    must(h5_read_box(dataset, &all, precision, false, found));
    H5Dclose(dataset);
    h5_close(file);
    assert_memory_equal(wanted, found, bytes);
    free(found);
    free(wanted);
}

/* Written by one rank and by all: in every way that three ranks can cut it. */
static void try_shape(int64_t nx, int64_t ny, int64_t nz, enum precision precision)
{
    static const int ways[][AXIS_COUNT] = {{1, 1, 3}, {1, 3, 1}, {3, 1, 1}, {2, 1, 1}, {1, 1, 2}};
    const int64_t cells[AXIS_COUNT] = {nx, ny, nz};
    const bool first = comm_rank(MPI_COMM_WORLD) == 0;
    const int nranks = comm_size(MPI_COMM_WORLD);
    char alone[PATH_BYTES];
    char together[PATH_BYTES];
    in_folder("alone.h5", alone);
    in_folder("together.h5", together);
    if (first) {
        const struct box all = box_of_cells(cells);
        write_file(MPI_COMM_SELF, alone, cells, precision, &all, RAW_READ_BACK);
        expect_values(alone, cells, precision);
        write_file(MPI_COMM_SELF, together, cells, precision, &all, RAW_FORGET);
        expect_same_bytes(alone, together);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0] && nranks >= 3; w++) {
        const struct box box = block_of(cells, ways[w], comm_rank(MPI_COMM_WORLD));
        write_file(MPI_COMM_WORLD, together, cells, precision, &box, RAW_FORGET);
        if (first) {
            expect_same_bytes(alone, together);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(test_decompositions)
{
    try_shape(7, 5, 6, PRECISION_FLOAT64);
    try_shape(13, 1, 1, PRECISION_FLOAT32);
    try_shape(1, 9, 4, PRECISION_FLOAT32);
    /* lines longer than 65,536 cells, whose end no rank's block has */
    try_shape(200003, 1, 1, PRECISION_FLOAT64);
    try_shape(70001, 3, 2, PRECISION_FLOAT32);
    /* several checksums, writers and system calls; past the cache, with shares that begin with a
     * page and within one */
    try_shape(130, 75, 50, PRECISION_FLOAT64);
    try_shape(128, 64, 210, PRECISION_FLOAT32);
    try_shape(301, 97, 93, PRECISION_FLOAT32);
}

static void flip(const char *path, off_t at, unsigned char bits)
{
    unsigned char byte = 0;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= bits;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* Many pieces, dealt to one thread and to several. */
TEST(test_threads)
{
    static const int64_t cells[AXIS_COUNT] = {301, 193, 93};
    static const enum raw_after after[] = {RAW_READ_BACK, RAW_FORGET};
    const int nranks = comm_size(MPI_COMM_WORLD);
    const bool first = comm_rank(MPI_COMM_WORLD) == 0;
    char one[PATH_BYTES];
    char several[PATH_BYTES];
    in_folder("one.h5", one);
    in_folder("several.h5", several);
    for (int n = 0; n < 4; n++) {
        const int ways[AXIS_COUNT] = {1, n % 2 == 0 ? 1 : nranks, n % 2 == 0 ? nranks : 1};
        const struct box box = block_of(cells, ways, comm_rank(MPI_COMM_WORLD));
        omp_set_num_threads(1);
        write_file(MPI_COMM_WORLD, one, cells, PRECISION_FLOAT64, &box, after[n / 2]);
        omp_set_num_threads(4);
        write_file(MPI_COMM_WORLD, several, cells, PRECISION_FLOAT64, &box, after[n / 2]);
        if (first) {
            expect_same_bytes(one, several);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (first) {
        expect_values(several, cells, PRECISION_FLOAT64);
    }
    omp_set_num_threads(1);
}

/* Pieces that any thread cannot write, and damage that any thread finds. */
TEST(test_failing_threads)
{
    static const int64_t cells[AXIS_COUNT] = {301, 193, 93};
    const struct box all = box_of_cells(cells);
    struct raw_place place;
    struct rlimit limit;
    struct rlimit low;
    char path[PATH_BYTES];
    in_folder("limited.h5", path);
    if (comm_rank(MPI_COMM_WORLD) != 0) {
        return;
    }
    double *values = malloc((size_t)box_cells(&all) * sizeof *values);
    assert_non_null(values);
    fill(cells, &all, PRECISION_FLOAT64, values);
    const struct raw_part part = {"T", values, NULL};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    low = limit;
    low.rlim_cur = 20 << 20;
    signal(SIGXFSZ, SIG_IGN);
    for (int threads = 1; threads <= 4; threads += 3) {
        omp_set_num_threads(threads);
        must(make_file(path, cells, PRECISION_FLOAT64, &place));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
        must_fail(STATUS_FILE, "/limited.h5: File too large",
                  raw_fill(MPI_COMM_SELF, path, &place, &part, 1, &all, RAW_READ_BACK));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        must(make_file(path, cells, PRECISION_FLOAT64, &place));
        must(raw_fill(MPI_COMM_SELF, path, &place, &part, 1, &all, RAW_READ_BACK));
        for (int block = 40; block > 0; block -= 13) {
            flip(path, (off_t)place.offset + 301 * 8 * place.block_lines * block, 1);
        }
        must_fail(STATUS_FILE, "block 2 of 42 is damaged",
                  h5_raw_check(MPI_COMM_SELF, path, "T", NULL));
        assert_int_equal(truncate(path, (off_t)place.offset + (30 << 20)), 0);
        must_fail(STATUS_FILE, "limited.h5", h5_raw_check(MPI_COMM_SELF, path, "T", NULL));
    }
    omp_set_num_threads(1);
    signal(SIGXFSZ, SIG_DFL);
    free(values);
}

/* The place of the cells, as h5py would tell it. */
static off_t offset_of(const char *path, const char *name)
{
    hid_t file = H5I_INVALID_HID;
    must(h5_open_plain(path, false, &file));
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    const off_t offset = (off_t)H5Dget_offset(dataset);
    H5Dclose(dataset);
    h5_close(file);
    return offset;
}

/* Every byte of the cells and of their checksums. */
TEST(test_every_byte)
{
    static const int64_t cells[AXIS_COUNT] = {7, 5, 6};
    char path[PATH_BYTES];
    in_folder("flipped.h5", path);
    if (comm_rank(MPI_COMM_WORLD) != 0) {
        return;
    }
    const struct box all = box_of_cells(cells);
    write_file(MPI_COMM_SELF, path, cells, PRECISION_FLOAT32, &all, RAW_READ_BACK);
    const off_t begin[2] = {offset_of(path, "/T"), offset_of(path, "/checksums/T")};
    const off_t bytes[2] = {7 * 5 * 6 * 4, 8};
    off_t missed = 0;
    for (int part = 0; part < 2; part++) {
        for (off_t at = begin[part]; at < begin[part] + bytes[part]; at++) {
            const unsigned char bit = (unsigned char)(1U << (at % 8));
            flip(path, at, bit);
            missed += h5_raw_check(MPI_COMM_SELF, path, "T", NULL) != STATUS_FILE;
            flip(path, at, bit);
        }
    }
    assert_int_equal(missed, 0);
    must(h5_raw_check(MPI_COMM_SELF, path, "T", NULL));
}

/* On all ranks: the first damaged block by its cells; lines exchanged; a file cut off; and the
 * readers that have to notice. */
TEST(test_places)
{
    static const int64_t cells[AXIS_COUNT] = {130, 75, 50};
    static const int ways[AXIS_COUNT] = {1, 1, 1};
    const enum precision f64 = PRECISION_FLOAT64;
    const bool first = comm_rank(MPI_COMM_WORLD) == 0;
    const struct box box = block_of(cells, ways, comm_rank(MPI_COMM_WORLD));
    char path[PATH_BYTES];
    struct rig rig;
    in_folder("places.h5", path);
    write_file(MPI_COMM_WORLD, path, cells, f64, &box, RAW_READ_BACK);
    const off_t begin = offset_of(path, "/T");
    MPI_Barrier(MPI_COMM_WORLD);
    if (first) {
        flip(path, begin + 130 * 75 * 49 * 8, 1);
        flip(path, begin + 130 * 1009 * 8, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* 1 MiB are 1,009 lines of 1,040 bytes */
    must_fail(STATUS_FILE, "block 2 of 4 is damaged, from [z][y][x] = [13][34][0] to [26][67][129]",
              h5_raw_check(MPI_COMM_WORLD, path, "/T", NULL));
    rig_open(&rig, comm_size(MPI_COMM_WORLD), cells, f64, "cpu");
    must_fail(STATUS_FILE, "block 2 of 4 is damaged", read_file(&rig, path, "/T"));
    MPI_Barrier(MPI_COMM_WORLD);
    if (first) {
        flip(path, begin + 130 * 1009 * 8, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    must_fail(STATUS_FILE, "block 4 of 4 is damaged", read_file(&rig, path, "/T"));
    MPI_Barrier(MPI_COMM_WORLD);
    if (first) {
        flip(path, begin + 130 * 75 * 49 * 8, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    must(read_file(&rig, path, "/T"));
    rig_close(&rig);
    must(h5_raw_check(MPI_COMM_WORLD, path, "/T", NULL));
}

static int begin(void **state)
{
    h5_init();
    return rig_begin(state);
}

TEST_MAIN_RANKS(begin, NULL)
