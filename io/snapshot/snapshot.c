#include "io/snapshot/snapshot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "io/hdf5/h5_field.h"
#include "io/raw/h5_raw.h"
#include "io/snapshot/snapshot_index.h"

/* About a stripe of the file system; checksums and compression work on whole chunks. */
enum { CHUNK_BYTES = 1 << 20 };

struct snapshots {
    MPI_Comm comm; /* borrowed */
    struct view view;
    struct snapshot_setting setting; /* precision is the file's */
    struct snapshot_series series;
    struct snapshot_list list; /* for the write half; equal on all ranks */
    struct snapshot_index index;
    int64_t captured_step; /* for the capture half */
    bool has_gaps_file;    /* or needs none */
};

/* Whole rows, then whole planes. An axis is divided evenly, since its last chunk is stored in full.
 */
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

enum { STRUCTURES = 16384 }; /* HDF5's headers, attributes */

/* Upper limit for one compressed field. */
static uint64_t chunked_bytes(const struct grid *grid, enum precision precision)
{
    enum { PER_CHUNK = 64 };
    hsize_t chunk[AXIS_COUNT];
    chunk_shape(grid, precision, chunk);
    uint64_t chunks = 1;
    uint64_t chunk_bytes = precision_bytes(precision);
    for (int a = 0; a < AXIS_COUNT; a++) {
        const uint64_t extent = chunk[AXIS_COUNT - 1 - a];
        chunks *= ((uint64_t)grid->cells[a] + extent - 1) / extent;
        chunk_bytes *= extent;
    }
    return chunks * (chunk_bytes + PER_CHUNK);
}

uint64_t snapshot_file_bytes(const struct grid *grid, const struct snapshot_setting *setting)
{
    const uint64_t fields = 1 + (uint64_t)derived_count(setting->derived);
    const uint64_t plain = (uint64_t)grid_total_cells(grid) * precision_bytes(setting->precision);
    const uint64_t centers =
        (uint64_t)(grid->cells[AXIS_X] + grid->cells[AXIS_Y] + grid->cells[AXIS_Z]) *
        sizeof(double);
    return STRUCTURES + centers +
           fields * (setting->compress > 0 ? chunked_bytes(grid, setting->precision)
                                           : plain + h5_raw_bytes(grid->cells, setting->precision));
}

/* HDF5 compares the size of a file with what its header says. */
static enum status report_damage(const struct snapshots *s)
{
    for (int64_t i = 0; i < s->list.count; i++) {
        char path[PATH_BYTES];
        hid_t file = H5I_INVALID_HID;
        TRY(snapshot_file_path(&s->series, s->list.steps[i], "", path));
        if (h5_open_plain(path, false, &file) != STATUS_OK) {
            log_warn("an earlier snapshot is damaged; the run continues, and programs that read "
                     "the snapshots will fail there: %s",
                     fail_message());
            fail_clear();
        }
        h5_close(file);
    }
    return STATUS_OK;
}

/* Rank 0. */
static enum status find_earlier(struct snapshots *s, int64_t restart_step)
{
    bool rebuilt = false;
    TRY(snapshot_index_read(&s->series, restart_step, &s->list, &rebuilt));
    if (rebuilt && s->list.count > 0) {
        log_warn("%s is missing: rebuilt from the %" PRId64 " file%s in %s", s->series.path,
                 s->list.count, s->list.count == 1 ? "" : "s", s->series.folder);
    }
    if (s->list.precision != s->setting.precision) {
        log_warn("snapshots remain %s, the precision of %s; use a new file for another precision",
                 precision_name(s->list.precision), s->series.path);
    }
    return report_damage(s);
}

/* Rank 0. A file is complete before the list names it, and removed only after the list drops it. */
static enum status start_files(struct snapshots *s, int64_t restart_step)
{
    s->list.precision = s->setting.precision;
    if (restart_step >= 0) {
        TRY(find_earlier(s, restart_step));
    }
    TRY(directory_make(s->series.folder));
    TRY(snapshot_lists_write(&s->series, &s->list, &s->index));
    return snapshot_files_drop_others(&s->series, &s->list);
}

/* Collective, agreed: rank 0's list for all. */
static enum status share_list(struct snapshots *s)
{
    int64_t head[2] = {s->list.count, (int64_t)s->list.precision};
    TRY_MPI(MPI_Bcast(head, 2, MPI_INT64_T, 0, s->comm));
    enum status status = STATUS_OK;
    while (status == STATUS_OK && s->list.count < head[0]) { /* not on rank 0 */
        status = snapshot_list_add(&s->list, 0, 0);
    }
    TRY(status_agree(s->comm, status));
    s->list.precision = (enum precision)head[1];
    s->setting.precision = s->list.precision;
    TRY_MPI(MPI_Bcast(s->list.steps, (int)head[0], MPI_INT64_T, 0, s->comm));
    TRY_MPI(MPI_Bcast(s->list.times, (int)head[0], MPI_DOUBLE, 0, s->comm));
    return STATUS_OK;
}

static enum status prepare(const char *directory, const char *name, const char *title,
                           const char *config_text, struct snapshots *s)
{
    struct snapshot_series *series = &s->series;
    series->grid = s->view.grid;
    series->has_gaps = s->view.has_gaps;
    series->derived = s->setting.derived;
    TRY(snapshot_series_name(directory, name, series));
    series->title = strdup(title);
    series->config_text = strdup(config_text);
    return CHECK_MEMORY(series->title != NULL && series->config_text != NULL,
                        "no memory for the snapshots");
}

enum status snapshots_open(MPI_Comm comm, const char *directory, const char *name,
                           const struct view *view, const struct snapshot_setting *setting,
                           const char *title, const char *config_text, int64_t restart_step,
                           struct snapshots **snapshots)
{
    *snapshots = NULL;
    h5_init();
    struct snapshots *s = calloc(1, sizeof *s);
    enum status status = CHECK_MEMORY(s != NULL, "no memory for the snapshots");
    if (s != NULL) {
        *s = (struct snapshots){
            .comm = comm, .view = *view, .setting = *setting, .has_gaps_file = !view->has_gaps};
        status = prepare(directory, name, title, config_text, s);
        if (status == STATUS_OK && comm_rank(comm) == 0) {
            status = start_files(s, restart_step);
        }
    }
    TRY_GOTO(status_agree(comm, status));
    TRY_GOTO(share_list(s));
    s->captured_step = s->list.count > 0 ? s->list.steps[s->list.count - 1] : -1;
    *snapshots = s;
    return STATUS_OK;
done:
    snapshots_close(s);
    return status;
}

static hid_t creation_properties(const struct snapshots *s)
{
    hsize_t chunk[AXIS_COUNT];
    chunk_shape(&s->view.grid, s->setting.precision, chunk);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, AXIS_COUNT, chunk);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, s->setting.compress > 0 ? (unsigned)s->setting.compress : 1);
    H5Pset_fletcher32(creation); /* else HDF5 returns flipped bits silently */
    return creation;
}

static hid_t create_dataset(const struct snapshots *s, hid_t file, const char *name, hid_t type)
{
    const int64_t *n = s->view.grid.cells;
    const hsize_t shape[AXIS_COUNT] = {(hsize_t)n[AXIS_Z], (hsize_t)n[AXIS_Y], (hsize_t)n[AXIS_X]};
    SCOPED_H5 const hid_t space = H5Screate_simple(AXIS_COUNT, shape, NULL);
    SCOPED_H5 const hid_t creation = creation_properties(s);
    return H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
}

/* Rank 0. The file, with space for the data. */
static enum status make_file(const struct snapshots *s, const char *temporary)
{
    uint64_t bytes = snapshot_file_bytes(&s->view.grid, &s->setting);
    if (s->setting.compress > 0 && directory_check_room(s->series.folder, bytes) != STATUS_OK) {
        fail_clear();
        bytes /= 10; /* a common size of compressed values */
    }
    TRY(directory_check_room(s->series.folder, bytes));
    return snapshot_file_start(&s->series, temporary, bytes);
}

/* Collective, agreed: one field, of numbers of `type`. */
static enum status write_field(struct snapshots *s, hid_t file, const char *name, hid_t type,
                               const struct box *part, const void *values)
{
    const hid_t dataset = create_dataset(s, file, name, type);
    TRY(status_agree(s->comm,
                     dataset < 0 ? h5_fail("cannot create the dataset %s", name) : STATUS_OK));
    TRY(h5_part_write(s->comm, dataset, part, type, values, H5_FIELD_PIECE_BYTES));
    H5Dclose(dataset); /* not after a failure: it may wait for other ranks */
    return STATUS_OK;
}

/* Collective, agreed: all fields, through the parallel driver. */
static enum status write_values(struct snapshots *s, const struct snapshot_capture *capture,
                                const char *temporary)
{
    hid_t file = H5I_INVALID_HID;
    TRY(h5_open_parallel(s->comm, temporary, true, &file));
    enum status status = STATUS_OK;
    const struct derived_label *label = NULL;
    for (int n = 0; (label = snapshot_content(s->setting.derived, n)) != NULL; n++) {
        TRY_GOTO(write_field(s, file, label->name, h5_type(s->setting.precision), &capture->part,
                             capture->values[n]));
    }
    return h5_close_parallel(s->comm, file, temporary);
done:
    h5_give_up(file);
    return status;
}

/* Collective, agreed: the file under its temporary name, complete and on disk. */
static enum status write_file(struct snapshots *s, const struct snapshot_capture *capture,
                              const char *temporary)
{
    const bool first = comm_rank(s->comm) == 0;
    const bool compressed = s->setting.compress > 0;
    struct raw_place places[SNAPSHOT_FIELDS];
    struct raw_part parts[SNAPSHOT_FIELDS];
    int nparts = 0;
    const struct derived_label *label = NULL;
    while ((label = snapshot_content(s->setting.derived, nparts)) != NULL) {
        parts[nparts] = (struct raw_part){label->name, capture->values[nparts], NULL};
        nparts++;
    }
    memset(places, 0, sizeof places);
    TRY(status_agree(s->comm, first ? make_file(s, temporary) : STATUS_OK));
    if (compressed) {
        TRY(write_values(s, capture, temporary));
    }
    TRY(status_agree(s->comm, first ? snapshot_file_describe(
                                          &s->series, temporary, s->setting.precision,
                                          capture->step, capture->time, compressed ? NULL : places)
                                    : STATUS_OK));
    return compressed
               ? status_agree(s->comm, first ? file_sync_named(temporary) : STATUS_OK)
               : raw_fill(s->comm, temporary, places, parts, nparts, &capture->part, RAW_FORGET);
}

/* Rank 0: the file of the gaps, without them. */
static enum status start_gaps(const struct snapshots *s, const char *temporary)
{
    hid_t file = H5I_INVALID_HID;
    TRY(file_remove(temporary)); /* a killed run leaves it */
    TRY(h5_create_memory(0, &file));
    return h5_save_temporary(file, temporary, false, snapshot_write_root(file, &s->series));
}

/* Collective, agreed. Write the ghost types of this part. */
static enum status fill_gaps(struct snapshots *s, const struct snapshot_capture *capture,
                             const char *temporary, uint8_t *types)
{
    hid_t file = H5I_INVALID_HID;
    const int64_t row = box_extent(&capture->part, AXIS_X);
    for (int64_t c = 0; c < box_cells(&capture->part); c += row) {
        int64_t cell[AXIS_COUNT];
        box_cell(&capture->part, c, cell);
        view_gaps_of_row(&s->view, capture->gaps, capture->offset, cell, row, &types[c]);
        for (int64_t i = 0; i < row; i++) {
            types[c + i] = (uint8_t)(types[c + i] * SNAPSHOT_HIDDEN);
        }
    }
    TRY(h5_open_parallel(s->comm, temporary, true, &file));
    const enum status status =
        write_field(s, file, SNAPSHOT_GHOSTS, H5T_NATIVE_UINT8, &capture->part, types);
    if (status != STATUS_OK) {
        h5_give_up(file);
        return status;
    }
    return h5_close_parallel(s->comm, file, temporary);
}

/* Collective, agreed. Write the ghost types once for all snapshots. */
static enum status write_gaps(struct snapshots *s, const struct snapshot_capture *capture)
{
    const bool first = comm_rank(s->comm) == 0;
    char path[PATH_BYTES];
    char temporary[PATH_BYTES];
    SCOPED_FREE uint8_t *types = malloc((size_t)box_cells(&capture->part) + 1);
    enum status status = CHECK_MEMORY(types != NULL, "no memory for the cells of ambients");
    status = status == STATUS_OK ? path_join(s->series.folder, STEP_FILES_GAPS, path) : status;
    status = status == STATUS_OK
                 ? path_print(temporary, sizeof temporary, "%s" SNAPSHOT_TEMPORARY, path)
                 : status;
    status = status == STATUS_OK && first ? start_gaps(s, temporary) : status;
    TRY(status_agree(s->comm, status));
    TRY(fill_gaps(s, capture, temporary, types));
    TRY(status_agree(s->comm, first ? file_sync_named(temporary) : STATUS_OK));
    TRY(status_agree(s->comm, first ? file_publish(temporary, path) : STATUS_OK));
    s->has_gaps_file = true;
    return STATUS_OK;
}

/* The values of the capture that are none; the numbers of materials stay. */
static enum status blank_gaps(const struct snapshots *s, const struct snapshot_capture *capture)
{
    const char *material = derived_label(DERIVED_MATERIAL)->name;
    const int64_t row = box_extent(&capture->part, AXIS_X);
    const struct derived_label *label = NULL;
    SCOPED_FREE uint8_t *is_gap = malloc((size_t)row + 1);
    TRY(CHECK_MEMORY(is_gap != NULL, "no memory for the cells of ambients"));
    for (int64_t c = 0; c < box_cells(&capture->part); c += row) {
        int64_t cell[AXIS_COUNT];
        box_cell(&capture->part, c, cell);
        view_gaps_of_row(&s->view, capture->gaps, capture->offset, cell, row, is_gap);
        for (int n = 0; (label = snapshot_content(s->setting.derived, n)) != NULL; n++) {
            for (int64_t i = 0; i < row && label->name != material; i++) {
                if (is_gap[i]) {
                    precision_set(s->setting.precision, capture->values[n], c + i, NAN);
                }
            }
        }
    }
    return STATUS_OK;
}

/* Rank 0: the name, and then the lists. */
static enum status publish(struct snapshots *s, const char *temporary, int64_t step)
{
    char path[PATH_BYTES];
    TRY(snapshot_file_path(&s->series, step, "", path));
    TRY(file_publish(temporary, path));
    return snapshot_lists_write(&s->series, &s->list, &s->index);
}

static enum status write_one(struct snapshots *s, const struct snapshot_capture *capture)
{
    const bool first = comm_rank(s->comm) == 0;
    const int64_t count = s->list.count;
    char temporary[PATH_BYTES];
    enum status status = STATUS_OK;
    TRY(snapshot_file_path(&s->series, capture->step, SNAPSHOT_TEMPORARY, temporary));
    if (s->view.has_gaps) {
        TRY_GOTO(s->has_gaps_file ? STATUS_OK : write_gaps(s, capture));
        TRY_GOTO(status_agree(s->comm, blank_gaps(s, capture)));
    }
    TRY_GOTO(write_file(s, capture, temporary));
    TRY_GOTO(status_agree(s->comm, snapshot_list_add(&s->list, capture->step, capture->time)));
    TRY_GOTO(status_agree(s->comm, first ? publish(s, temporary, capture->step) : STATUS_OK));
    return STATUS_OK;
done:
    s->list.count = count;
    snapshot_index_close(&s->index);
    if (first) {
        unlink(temporary);
    }
    return status;
}

bool snapshots_wants(const struct snapshots *s, int64_t step)
{
    return step > s->captured_step;
}

/* Global indices. */
static struct box owned_by(const struct field *field)
{
    const struct box cells = layout_owned(&field->layout);
    return box_shift(&cells, field->placement.offset);
}

/* The bytes of one field. */
static size_t values_bytes(const struct snapshot_setting *setting, const struct box *part)
{
    return raw_room_bytes((size_t)box_cells(part) * precision_bytes(setting->precision));
}

size_t snapshot_capture_bytes(const struct view *view, const struct snapshot_setting *setting,
                              const struct box *owned)
{
    const struct box part = view_part(view, owned);
    return (1 + (size_t)derived_count(setting->derived)) * values_bytes(setting, &part);
}

size_t snapshots_capture_bytes(const struct snapshots *s, const struct field *field)
{
    const struct box owned = owned_by(field);
    return snapshot_capture_bytes(&s->view, &s->setting, &owned);
}

enum status snapshots_capture(struct snapshots *s, struct field *field, struct copy_out *copy_out,
                              int64_t step, double time, void *h_memory,
                              struct snapshot_capture *capture)
{
    const struct box owned = owned_by(field);
    const struct box part = view_part(&s->view, &owned);
    const struct derived *derived = field->derived;
    const enum precision precision = s->setting.precision;
    const size_t bytes = values_bytes(&s->setting, &part);
    const int fields = 1 + derived_count(s->setting.derived);
    *capture =
        (struct snapshot_capture){.step = step, .time = time, .part = part, .gaps = &field->gaps};
    memcpy(capture->offset, field->placement.offset, sizeof capture->offset);
    s->captured_step = step;
    for (int n = 0; n < fields; n++) {
        capture->values[n] =
            raw_align((char *)h_memory + (size_t)n * bytes, s->view.grid.cells, precision, &part);
    }
    TRY(view_take(&s->view, copy_out, field, &field->layout, field_temperature(field),
                  VIEW_AS_IT_IS, precision, capture->values[0]));
    int n = 1;
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        if (derived_wants(s->setting.derived, kind)) {
            /* the device has the square of the heat flux */
            TRY(view_take(&s->view, copy_out, field, &derived->layout, derived->d_values[kind],
                          kind == DERIVED_FLUX ? VIEW_ROOT : VIEW_AS_IT_IS, precision,
                          capture->values[n++]));
        }
    }
    return STATUS_OK;
}

enum status snapshots_put(struct snapshots *s, const struct snapshot_capture *capture)
{
    return fail_prefix(write_one(s, capture),
                       "the snapshot of step %" PRId64 " could not be written to %s: ",
                       capture->step, s->series.path);
}

uint64_t snapshots_size(const struct snapshots *s, int64_t step)
{
    char path[PATH_BYTES];
    if (snapshot_file_path(&s->series, step, "", path) != STATUS_OK) {
        fail_clear();
        return 0;
    }
    return file_size(path);
}

void snapshots_close(struct snapshots *snapshots)
{
    if (snapshots != NULL) {
        snapshot_index_close(&snapshots->index);
        snapshot_list_free(&snapshots->list);
        snapshot_series_free(&snapshots->series);
        free(snapshots);
    }
}
