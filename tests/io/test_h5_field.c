/* Moving a field to and from datasets in pieces of any size, and reading other people's files. */
#include "io_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/h5_field.h"

static const int64_t CELLS[AXIS_COUNT] = {13, 6, 7};

static void in_folder(const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%.2000s/%s", rig_folder, name);
}

TEST(test_pieces)
{
    for (int64_t limit = 1; limit < 700; limit += 1 + limit / 5) {
        const int rank = comm_rank(MPI_COMM_WORLD);
        const int64_t cells[AXIS_COUNT] = {9, 8 - rank, 7};
        struct pieces pieces;
        must(pieces_create(MPI_COMM_WORLD, cells, limit, &pieces));
        char seen[9 * 8 * 7] = {0};
        int64_t total = 0;
        for (int64_t p = 0; p < pieces.count; p++) {
            const struct box box = pieces_box(&pieces, p);
            assert_true(box_cells(&box) <= limit && box_cells(&box) <= pieces.piece_cells);
            for (int64_t k = box.lo[2]; k < box.hi[2]; k++) {
                for (int64_t j = box.lo[1]; j < box.hi[1]; j++) {
                    for (int64_t i = box.lo[0]; i < box.hi[0]; i++, total++) {
                        seen[(k * 8 + j) * 9 + i]++;
                    }
                }
            }
        }
        assert_int_equal(total, cells[0] * cells[1] * cells[2]);
        for (size_t c = 0; c < sizeof seen; c++) {
            assert_in_range(seen[c], 0, 1);
        }
        int64_t counts[2] = {pieces.count, -pieces.count};
        MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
        assert_int_equal(counts[0], -counts[1]);
    }
}

static hid_t make_dataset(hid_t file, const char *name, enum precision precision, bool filters)
{
    const hsize_t shape[3] = {7, 6, 13};
    const hsize_t chunk[3] = {2, 4, 5};
    const hid_t space = H5Screate_simple(3, shape, NULL);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (filters) {
        H5Pset_chunk(creation, 3, chunk);
        H5Pset_shuffle(creation);
        H5Pset_deflate(creation, 4);
        H5Pset_fletcher32(creation);
    }
    const hid_t dataset =
        H5Dcreate2(file, name, h5_type(precision), space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    assert_true(dataset >= 0);
    return dataset;
}

/* Write, read back into a field that forgot everything, compare. */
static void transfer(struct rig *rig, hid_t file, int number, bool filters, size_t piece_bytes)
{
    const enum precision precision = rig->field->layout.precision;
    const struct box owned = layout_owned(&rig->field->layout);
    const struct box part = box_shift(&owned, rig->field->placement.offset);
    void *values = malloc((size_t)box_cells(&owned) * precision_bytes(precision));
    char name[32];
    snprintf(name, sizeof name, "/T%d", number);
    const hid_t dataset = make_dataset(file, name, precision, filters);
    rig_fill_rough(rig, number);
    assert_non_null(values);
    must(field_read(rig->field, &owned, values));
    must(h5_part_write(rig->comm, dataset, &part, precision, values, piece_bytes));
    free(values);
    rig_fill_rough(rig, -1);
    must(h5_field_read(rig->comm, dataset, rig->field, piece_bytes));
    rig_expect_rough(rig, number);
    H5Dclose(dataset);
}

/* A new file that every rank has open. */
static hid_t open_new(struct rig *rig, const char *path)
{
    hid_t file = H5I_INVALID_HID;
    if (comm_rank(rig->comm) == 0) {
        must(h5_create_memory(0, &file));
        must(h5_copy_memory(file, path));
        h5_close(file);
    }
    MPI_Barrier(rig->comm);
    must(h5_open_parallel(rig->comm, path, true, &file));
    return file;
}

TEST(test_transfers)
{
    char path[PATH_BYTES];
    in_folder("transfers.h5", path);
    for (int precision = 0; precision < 2; precision++) {
        struct rig rig;
        rig_open(&rig, comm_size(MPI_COMM_WORLD), CELLS, (enum precision)precision, "guard");
        const hid_t file = open_new(&rig, path);
        int number = 0;
        for (size_t bytes = 40; bytes < 8000; bytes += 3 * bytes) {
            transfer(&rig, file, number++, false, bytes);
            transfer(&rig, file, number++, true, bytes);
        }
        must(h5_close_flushed(file, path, STATUS_OK));
        rig_close(&rig);
    }
}

/* A dataset of one type and shape, T = 300 + flat index, made by rank 0 with plain HDF5. */
static void make_foreign(hid_t file, const char *name, hid_t type, int rank, const hsize_t *shape,
                         double spoiled)
{
    enum { MOST = 13 * 6 * 7 };
    double values[MOST];
    hsize_t cells = 1;
    for (int d = 0; d < rank; d++) {
        cells *= shape[d];
    }
    assert_true(cells <= MOST);
    for (hsize_t c = 0; c < cells; c++) {
        values[c] = 300 + (double)c;
    }
    values[cells - 1] += spoiled;
    const hid_t space = H5Screate_simple(rank, shape, NULL);
    const hid_t dataset =
        H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
}

static void make_foreign_file(const char *path)
{
    const hsize_t solid[3] = {7, 6, 13};
    const hsize_t turned[3] = {13, 6, 7};
    const hsize_t deep[4] = {1, 7, 6, 13};
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm_rank(MPI_COMM_WORLD) == 0) {
        const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(file >= 0);
        make_foreign(file, "float64", H5T_IEEE_F64LE, 3, solid, 0);
        make_foreign(file, "big_endian", H5T_IEEE_F32BE, 3, solid, 0);
        make_foreign(file, "short", H5T_STD_I16LE, 3, solid, 0);
        make_foreign(file, "unsigned", H5T_STD_U64BE, 3, solid, 0);
        make_foreign(file, "plane", H5T_IEEE_F64LE, 2, solid + 1, 0);
        make_foreign(file, "line", H5T_IEEE_F64LE, 1, solid + 2, 0);
        make_foreign(file, "turned", H5T_IEEE_F64LE, 3, turned, 0);
        make_foreign(file, "deep", H5T_IEEE_F64LE, 4, deep, 0);
        make_foreign(file, "nan", H5T_IEEE_F64LE, 3, solid, NAN);
        make_foreign(file, "huge", H5T_IEEE_F64LE, 3, solid, -2e12);
        must(h5_text_dataset(file, "text", "no numbers"));
        H5Fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void expect_foreign(struct rig *rig)
{
    const struct field *field = rig->field;
    const struct box owned = layout_owned(&field->layout);
    const struct box global = box_shift(&owned, field->placement.offset);
    const int64_t *n = rig->grid.cells;
    double *found = malloc((size_t)box_cells(&owned) * sizeof *found);
    assert_non_null(found);
    must(field_read(rig->field, &owned, found));
    const double *next = found;
    int64_t wrong = 0;
    for (int64_t k = global.lo[2]; k < global.hi[2]; k++) {
        for (int64_t j = global.lo[1]; j < global.hi[1]; j++) {
            for (int64_t i = global.lo[0]; i < global.hi[0]; i++) {
                wrong += *next++ != 300 + (double)((k * n[1] + j) * n[0] + i);
            }
        }
    }
    free(found);
    assert_int_equal(wrong, 0);
}

static void read_good(const char *path, const char *name, int64_t nx, int64_t ny, int64_t nz)
{
    const int64_t cells[AXIS_COUNT] = {nx, ny, nz};
    struct rig rig;
    rig_open(&rig, comm_size(MPI_COMM_WORLD), cells, PRECISION_FLOAT64, "guard");
    must(read_file(&rig, path, name));
    expect_foreign(&rig);
    rig_close(&rig);
}

TEST(test_foreign_good)
{
    char path[PATH_BYTES];
    in_folder("foreign.h5", path);
    make_foreign_file(path);
    read_good(path, "/float64", 13, 6, 7);
    read_good(path, "big_endian", 13, 6, 7);
    read_good(path, "short", 13, 6, 7);
    read_good(path, "/unsigned", 13, 6, 7);
    read_good(path, "plane", 13, 6, 1);
    read_good(path, "line", 13, 1, 1);
}

TEST(test_foreign_bad)
{
    static const struct {
        enum status status;
        const char *name;
        const char *why;
    } bad[] = {
        {STATUS_FILE, "nothing", "object 'nothing' doesn't exist"},
        {STATUS_INPUT, "turned", "has the shape (13, 6, 7); the grid needs (nz, ny, nx) = (7, 6,"},
        {STATUS_INPUT, "deep", "has the shape (1, 7, 6, 13)"},
        {STATUS_INPUT, "plane", "has the shape (6, 13)"},
        {STATUS_INPUT, "nan", "holds nan at [z][y][x] = [6][5][12]"},
        {STATUS_INPUT, "huge", "holds -2e+12 at"},
        {STATUS_INPUT, "text", "does not hold numbers"},
    };
    char path[PATH_BYTES];
    struct rig rig;
    in_folder("foreign.h5", path);
    make_foreign_file(path);
    rig_open(&rig, comm_size(MPI_COMM_WORLD), CELLS, PRECISION_FLOAT32, "cpu");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        must_fail(bad[i].status, bad[i].why, read_file(&rig, path, bad[i].name));
        assert_true(fail_is_agreed());
    }
    in_folder("missing.h5", path);
    must_fail(STATUS_FILE, "missing.h5: No such file or directory", read_file(&rig, path, "/T"));
    rig_close(&rig);
}

static int begin(void **state)
{
    h5_init();
    return rig_begin(state);
}

TEST_MAIN_RANKS(begin, NULL)
