#include "io/raw/h5_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/file.h"

enum { NAME_BYTES = 256 };

static void sums_name(const char *name, char sums[NAME_BYTES])
{
    const char *slash = strrchr(name, '/');
    snprintf(sums, NAME_BYTES, "/checksums/%s", slash == NULL ? name : slash + 1);
}

/* Create a dataset with allocated space in the file, and write nothing to it. */
static enum status make_dataset(hid_t file, const char *name, hid_t type, int rank,
                                const hsize_t *shape, hid_t *dataset)
{
    SCOPED_H5 const hid_t space = H5Screate_simple(rank, shape, NULL);
    SCOPED_H5 const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    SCOPED_H5 const hid_t link = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(link, 1);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(creation, false); /* the bytes must not depend on the time of day */
    *dataset = H5Dcreate2(file, name, type, space, link, creation, H5P_DEFAULT);
    return *dataset < 0 ? h5_fail("cannot create the dataset %s", name) : STATUS_OK;
}

static enum status get_offset(hid_t dataset, const char *name, uint64_t *offset)
{
    const haddr_t address = H5Dget_offset(dataset);
    *offset = (uint64_t)address;
    return address == HADDR_UNDEF ? h5_fail("the dataset %s has no offset in its file", name)
                                  : STATUS_OK;
}

static enum status describe_sums(hid_t dataset, const struct raw_place *place)
{
    TRY(h5_attribute_string(dataset, "long_name",
                            "for each block of lines the sum modulo 2^64 of XXH3 (64 bits) of "
                            "each line's bytes, with the line's number as the seed"));
    TRY(h5_attribute_int(dataset, "line_cells", &place->line_cells, 0));
    return h5_attribute_int(dataset, "block_lines", &place->block_lines, 0);
}

static enum status make_sums(hid_t file, const char *name, struct raw_place *place)
{
    char sums[NAME_BYTES];
    const hsize_t blocks = (hsize_t)place->blocks;
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    sums_name(name, sums);
    TRY(make_dataset(file, sums, H5T_STD_U64LE, 1, &blocks, &dataset));
    TRY(describe_sums(dataset, place));
    return get_offset(dataset, sums, &place->sums_offset);
}

enum status h5_raw_make(hid_t file, const char *name, const int64_t cells[AXIS_COUNT],
                        enum precision precision, struct raw_place *place)
{
    const hsize_t shape[AXIS_COUNT] = {(hsize_t)cells[AXIS_Z], (hsize_t)cells[AXIS_Y],
                                       (hsize_t)cells[AXIS_X]};
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    raw_layout(cells, precision, place);
    TRY(make_sums(file, name, place));
    TRY(make_dataset(file, name, h5_type(precision), AXIS_COUNT, shape, &dataset));
    return get_offset(dataset, name, &place->offset);
}

uint64_t h5_raw_bytes(const int64_t cells[AXIS_COUNT], enum precision precision)
{
    struct raw_place place;
    raw_layout(cells, precision, &place);
    return (uint64_t)place.blocks * sizeof(uint64_t) + H5_ALIGNMENT_BYTES;
}

/* ---- checking ------------------------------------------------------------------------------- */

/* The findings of rank 0. */
struct found {
    bool has_sums;
    struct raw_place place;
    char path[PATH_BYTES]; /* path of the file that holds the dataset */
};

static enum status find_cells(hid_t dataset, const char *name, struct raw_place *place)
{
    const struct h5_form form = h5_form(dataset);
    SCOPED_H5 const hid_t type = H5Dget_type(dataset);
    const bool is_double = H5Tequal(type, H5T_NATIVE_DOUBLE) > 0;
    const bool is_float = H5Tequal(type, H5T_NATIVE_FLOAT) > 0;
    FAIL_IF(
        !form.usable || form.rank != AXIS_COUNT || (!is_double && !is_float),
        fail(STATUS_FILE, "the dataset %s does not have the shape or type of its checksums", name));
    raw_layout(form.cells, is_double ? PRECISION_FLOAT64 : PRECISION_FLOAT32, place);
    return get_offset(dataset, name, &place->offset);
}

static enum status check_form(hid_t dataset, const char *name, const struct raw_place *place)
{
    int64_t line_cells = 0;
    int64_t block_lines = 0;
    TRY(h5_get_int(dataset, "line_cells", &line_cells, 0));
    TRY(h5_get_int(dataset, "block_lines", &block_lines, 0));
    SCOPED_H5 const hid_t space = H5Dget_space(dataset);
    const hssize_t blocks = H5Sget_simple_extent_npoints(space);
    FAIL_IF(line_cells != place->line_cells || block_lines != place->block_lines ||
                blocks != place->blocks,
            fail(STATUS_FILE, "%s has a form that this program does not support", name));
    return STATUS_OK;
}

static enum status read_sums(hid_t file, const char *name, const struct raw_place *place,
                             uint64_t **sums)
{
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    TRY(h5_dataset_open(file, name, &dataset));
    TRY(check_form(dataset, name, place));
    *sums = malloc((size_t)place->blocks * sizeof **sums);
    TRY(CHECK_MEMORY(*sums != NULL, "no memory for checksums"));
    return H5Dread(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, *sums) < 0
               ? h5_fail("cannot read %s", name)
               : STATUS_OK;
}

/* An error is not "no checksums": the cells would then pass unchecked. */
static enum status find_sums(hid_t file, const char *of_sums, bool *found)
{
    htri_t there = H5Lexists(file, "/checksums", H5P_DEFAULT);
    if (there > 0) {
        there = H5Lexists(file, of_sums, H5P_DEFAULT);
    }
    *found = there > 0;
    return there < 0 ? h5_fail("cannot read %s", of_sums) : STATUS_OK;
}

/* `file` holds the dataset. */
static enum status find_in(hid_t file, hid_t dataset, const char *name, struct found *found,
                           uint64_t **sums)
{
    char of_sums[NAME_BYTES];
    sums_name(name, of_sums);
    FAIL_IF(H5Fget_name(file, found->path, sizeof found->path) < 0,
            h5_fail("cannot determine which file holds %s", name));
    TRY(find_sums(file, of_sums, &found->has_sums));
    if (!found->has_sums) {
        return STATUS_OK;
    }
    TRY(find_cells(dataset, name, &found->place));
    return read_sums(file, of_sums, &found->place, sums);
}

/* Rank 0. A dataset that cannot be opened is reported by its reader. */
static enum status find(const char *path, const char *name, struct found *found, uint64_t **sums)
{
    SCOPED_H5_FILE hid_t file = H5I_INVALID_HID;
    TRY(h5_open_plain(path, false, &file));
    enum status status = STATUS_OK;
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (dataset >= 0) {
        const hid_t holder = H5Iget_file_id(dataset);
        status = fail_prefix(find_in(holder, dataset, name, found, sums), "%s: ", found->path);
        H5Fclose(holder);
        H5Dclose(dataset);
    }
    return status;
}

/* Collective, agreed. */
static enum status share_sums(MPI_Comm comm, const struct raw_place *place, uint64_t **sums)
{
    if (*sums == NULL) {
        *sums = malloc((size_t)place->blocks * sizeof **sums);
    }
    TRY(status_agree(comm, CHECK_MEMORY(*sums != NULL, "no memory for checksums")));
    return comm_check(MPI_Bcast(*sums, (int)place->blocks, MPI_UINT64_T, 0, comm), "MPI_Bcast");
}

enum status h5_raw_check(MPI_Comm comm, const char *path, const char *name, uint64_t *hash)
{
    struct found found;
    SCOPED_FREE uint64_t *sums = NULL;
    h5_init();
    memset(&found, 0, sizeof found);
    const bool first = comm_rank(comm) == 0;
    TRY(status_agree(comm, first ? find(path, name, &found, &sums) : STATUS_OK));
    TRY(comm_check(MPI_Bcast(&found, (int)sizeof found, MPI_BYTE, 0, comm), "MPI_Bcast"));
    if (found.has_sums) {
        TRY(share_sums(comm, &found.place, &sums));
        TRY(raw_check(comm, found.path, name, &found.place, sums, hash));
    }
    return STATUS_OK;
}
