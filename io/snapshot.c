#include "io/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "io/h5_field.h"
#include "io/snapshot_index.h"
#include "io/xdmf.h"

static const char DATA_NAME[] = "snapshots.vtkhdf";
static const char XDMF_NAME[] = "snapshots.xdmf";

/* Near the file system's stripes; checksum and compression work on whole chunks. */
enum { CHUNK_BYTES = 1 << 20 };

struct snapshots {
    MPI_Comm comm; /* borrowed */
    struct grid grid;
    struct snapshot_setting setting; /* precision is the file's */
    char *title;
    char directory[PATH_BYTES];
    char path[PATH_BYTES];
    char xdmf_path[PATH_BYTES];
    struct snapshot_list list; /* the same on all ranks */
};

/* Whole rows, then whole planes, as many as fit; an axis that must be cut is cut evenly, because
 * the last chunk of an axis takes room in full. */
static void chunk_shape(const struct grid *grid, enum precision precision,
                        hsize_t shape[AXIS_COUNT])
{
    int64_t room = CHUNK_BYTES / (int64_t)precision_bytes(precision);
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int64_t most = room < 1 ? 1 : room;
        const int64_t pieces = (grid->cells[a] + most - 1) / most;
        const int64_t extent = (grid->cells[a] + pieces - 1) / pieces;
        shape[AXIS_COUNT - 1 - a] = (hsize_t)extent;
        room /= extent;
    }
}

uint64_t snapshot_file_bytes(const struct grid *grid, const struct snapshot_setting *setting)
{
    enum { STRUCTURES = 4096, PER_CHUNK = 64 };
    hsize_t chunk[AXIS_COUNT];
    chunk_shape(grid, setting->precision, chunk);
    uint64_t chunks = 1;
    uint64_t chunk_bytes = precision_bytes(setting->precision);
    for (int a = 0; a < AXIS_COUNT; a++) {
        const uint64_t extent = chunk[AXIS_COUNT - 1 - a];
        chunks *= ((uint64_t)grid->cells[a] + extent - 1) / extent;
        chunk_bytes *= extent;
    }
    return chunks * (chunk_bytes + PER_CHUNK) + STRUCTURES;
}

/* Rank 0. */
static enum status start_files(struct snapshots *s, const char *config_text, int64_t restart_step)
{
    if (restart_step >= 0 && file_exists(s->path)) {
        TRY(snapshot_index_resume(s->path, &s->grid, restart_step, &s->list));
        if (s->list.precision != s->setting.precision) {
            log_warn("snapshots stay %s, as %s began; another precision needs another file",
                     precision_name(s->list.precision), s->path);
        }
    } else {
        s->list.precision = s->setting.precision;
        TRY(snapshot_index_create(s->path, &s->grid, s->setting.precision, s->title, config_text));
    }
    return xdmf_write(s->xdmf_path, DATA_NAME, s->title, &s->grid, &s->list);
}

/* Collective, agreed: rank 0's list for all. */
static enum status share_list(struct snapshots *s)
{
    int64_t head[2] = {s->list.count, (int64_t)s->list.precision};
    TRY_MPI(MPI_Bcast(head, 2, MPI_INT64_T, 0, s->comm));
    enum status status = STATUS_OK;
    if (comm_rank(s->comm) != 0) {
        for (int64_t i = 0; status == STATUS_OK && i < head[0]; i++) {
            status = snapshot_list_add(&s->list, 0, 0);
        }
    }
    TRY(status_agree(s->comm, status));
    s->list.precision = (enum precision)head[1];
    s->setting.precision = s->list.precision;
    TRY_MPI(MPI_Bcast(s->list.steps, (int)head[0], MPI_INT64_T, 0, s->comm));
    TRY_MPI(MPI_Bcast(s->list.times, (int)head[0], MPI_DOUBLE, 0, s->comm));
    return STATUS_OK;
}

static enum status prepare(const char *directory, const char *title, struct snapshots *s)
{
    TRY(path_join(directory, DATA_NAME, s->path));
    TRY(path_join(directory, XDMF_NAME, s->xdmf_path));
    snprintf(s->directory, sizeof s->directory, "%s", directory);
    s->title = strdup(title);
    return s->title != NULL ? STATUS_OK : fail(STATUS_MEMORY, "no memory for the snapshots");
}

enum status snapshots_open(MPI_Comm comm, const char *directory, const struct grid *grid,
                           const struct snapshot_setting *setting, const char *title,
                           const char *config_text, int64_t restart_step,
                           struct snapshots **snapshots)
{
    *snapshots = NULL;
    h5_init();
    struct snapshots *s = calloc(1, sizeof *s);
    enum status status = STATUS_OK;
    if (s == NULL) {
        status = fail(STATUS_MEMORY, "no memory for the snapshots");
    } else {
        *s = (struct snapshots){.comm = comm, .grid = *grid, .setting = *setting};
        status = prepare(directory, title, s);
        if (status == STATUS_OK && comm_rank(comm) == 0) {
            status = start_files(s, config_text, restart_step);
        }
    }
    status = status_agree(comm, status);
    if (status == STATUS_OK) {
        status = share_list(s);
    }
    if (status != STATUS_OK) {
        snapshots_close(s);
        return status;
    }
    *snapshots = s;
    return STATUS_OK;
}

static hid_t creation_properties(const struct snapshots *s)
{
    hsize_t chunk[AXIS_COUNT];
    chunk_shape(&s->grid, s->setting.precision, chunk);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, AXIS_COUNT, chunk);
    if (s->setting.compress > 0) {
        H5Pset_shuffle(creation);
        H5Pset_deflate(creation, (unsigned)s->setting.compress);
    }
    H5Pset_fletcher32(creation); /* HDF5 would hand out flipped bits without a word */
    return creation;
}

static hid_t create_dataset(const struct snapshots *s, hid_t file)
{
    const int64_t *n = s->grid.cells;
    const hsize_t shape[AXIS_COUNT] = {(hsize_t)n[AXIS_Z], (hsize_t)n[AXIS_Y], (hsize_t)n[AXIS_X]};
    char name[SNAPSHOT_NAME_BYTES];
    snapshot_name(s->list.count, "", name);
    const hid_t group = snapshot_group_create(file, name);
    const hid_t space = H5Screate_simple(AXIS_COUNT, shape, NULL);
    const hid_t creation = creation_properties(s);
    const hid_t dataset = H5Dcreate2(group, "T", h5_type(s->setting.precision), space, H5P_DEFAULT,
                                     creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    if (group >= 0) {
        H5Gclose(group);
    }
    return dataset;
}

/* Rank 0. */
static enum status make_room(const struct snapshots *s)
{
    const uint64_t bytes = snapshot_file_bytes(&s->grid, &s->setting);
    TRY(directory_check_room(s->directory, bytes));
    return h5_reserve(s->path, bytes);
}

/* Collective, agreed: the temperature, through the parallel driver. */
static enum status write_values(struct snapshots *s, struct field *field)
{
    hid_t file = H5I_INVALID_HID;
    TRY(h5_open_parallel(s->comm, s->path, true, &file));
    const hid_t dataset = create_dataset(s, file);
    enum status status = STATUS_OK;
    if (dataset < 0) {
        status = h5_fail("cannot make a dataset");
    }
    status = status_agree(s->comm, status);
    if (status == STATUS_OK) {
        status =
            h5_field_write(s->comm, dataset, field, s->setting.precision, H5_FIELD_PIECE_BYTES);
    }
    if (status != STATUS_OK) {
        h5_close(file);
        return status;
    }
    H5Dclose(dataset);
    return status_agree(s->comm, h5_close_flushed(file, s->path));
}

/* Rank 0: now that the data are there, say so to the viewers. */
static enum status enter(struct snapshots *s)
{
    TRY(snapshot_index_append(s->path, &s->list));
    return xdmf_write(s->xdmf_path, DATA_NAME, s->title, &s->grid, &s->list);
}

static enum status write_one(struct snapshots *s, struct field *field, int64_t step, double time)
{
    const bool first = comm_rank(s->comm) == 0;
    const int64_t count = s->list.count;
    TRY(status_agree(s->comm, first ? make_room(s) : STATUS_OK));
    enum status status = write_values(s, field);
    if (status == STATUS_OK) {
        status = status_agree(s->comm, snapshot_list_add(&s->list, step, time));
    }
    if (status == STATUS_OK) {
        status = status_agree(s->comm, first ? enter(s) : STATUS_OK);
    }
    if (status != STATUS_OK) {
        s->list.count = count;
        if (first) {
            snapshot_index_drop(s->path, &s->list);
        }
    }
    return status;
}

enum status snapshots_write(struct snapshots *s, struct field *field, int64_t step, double time)
{
    if (s->list.count > 0 && step <= s->list.steps[s->list.count - 1]) {
        return STATUS_OK;
    }
    const enum status status = write_one(s, field, step, time);
    if (status != STATUS_OK) {
        fail_prefix(status, "the snapshot of step %" PRId64 " could not be written to %s: ", step,
                    s->path);
    }
    return status;
}

void snapshots_close(struct snapshots *snapshots)
{
    if (snapshots != NULL) {
        snapshot_list_free(&snapshots->list);
        free(snapshots->title);
        free(snapshots);
    }
}
