/* Moving a field to and from datasets in pieces of any size. Other people's files:
 * tests/cli/test_cli_initial.py. */
#include "io_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/h5_field.h"

static const int64_t CELLS[AXIS_COUNT] = {13, 6, 7};

static void in_folder(const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%.2000s/%s", rig_folder, name);
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
    must(h5_part_write(rig->comm, dataset, &part, h5_type(precision), values, piece_bytes));
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

static int begin(void **state)
{
    h5_init();
    return rig_begin(state);
}

TEST_MAIN_RANKS(begin, NULL)
