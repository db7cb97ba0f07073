/* Finding the states in a file. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/comm.h"
#include "io/checkpoint/checkpoint_internal.h"
#include "io/compare/compare.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/step_files.h"
#include "model/space/grid.h"

/* Also true when it cannot be accessed: opening it then reports the error. */
static bool is_named(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0 || errno != ENOENT;
}

/* An output folder's series or, without one, its newest checkpoint. */
static enum status find_in_folder(const char *directory, char path[PATH_BYTES])
{
    char folder[PATH_BYTES];
    int64_t newest = -1;
    TRY(path_join(directory, "snapshots.vtkhdf", path));
    if (is_named(path)) {
        return STATUS_OK;
    }
    TRY(path_join(directory, "snapshots", folder));
    TRY(step_files_newest(folder, &newest));
    FAIL_IF(newest >= 0,
            fail(STATUS_FILE, "%s/snapshots holds snapshots, but %s, which names them, is missing",
                 directory, path));
    TRY(checkpoint_folder(directory, folder));
    TRY(step_files_newest(folder, &newest));
    FAIL_IF(newest < 0,
            fail(STATUS_FILE,
                 "the folder %s holds neither snapshots.vtkhdf nor checkpoints to compare",
                 directory));
    return step_file_path(folder, newest, path);
}

/* True if the file is meant to be a checkpoint. Any part of a seal counts, so that damage to the
 * other parts is found; other files begin with HDF5's signature. */
static bool has_seal(const char *path)
{
    static const char other[] = "\211HDF\r\n\032\n";
    static const char *const parts[] = {"ISOTHERM CHECKPOINT", " blocks=", " xxh3="};
    char begin[CHECKPOINT_SEAL_BYTES + 1] = "";
    FILE *file = NULL;
    bool found = false;
    if (file_open_stream(path, &file) != STATUS_OK) {
        fail_clear(); /* h5_open_plain reports it */
        return false;
    }
    const size_t bytes = fread(begin, 1, CHECKPOINT_SEAL_BYTES, file);
    fclose(file);
    if (bytes >= sizeof other && memcmp(begin, other, sizeof other - 1) == 0) {
        return false;
    }
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        found = found || memmem(begin, bytes, parts[p], strlen(parts[p])) != NULL;
    }
    return found;
}

/* The dataset of that name in `group`. */
static enum status add_frame(struct frames *frames, const char *path, const char *group)
{
    char dataset[H5_NAME_BYTES];
    TRY(path_print(dataset, sizeof dataset, "%s/%s", group, frames->name));
    struct frame *larger =
        realloc(frames->frame, ((size_t)frames->count + 1) * sizeof *frames->frame);
    TRY(CHECK_MEMORY(larger != NULL, "no memory for the list of states in %s", frames->path));
    frames->frame = larger;
    const struct frame frame = {
        .step = -1, .time = NAN, .path = strdup(path), .dataset = strdup(dataset)};
    frames->frame[frames->count++] = frame;
    return CHECK_MEMORY(frame.path != NULL && frame.dataset != NULL,
                        "no memory for the list of states in %s", frames->path);
}

static void read_step(hid_t object, struct frame *frame)
{
    int64_t step = 0;
    double time = 0;
    if (h5_get_int(object, "step", &step, 0) == STATUS_OK) {
        frame->step = step;
    }
    if (h5_get_double(object, "time_s", &time, 0) == STATUS_OK) {
        frame->time = time;
    }
    fail_clear();
}

/* Snapshots and checkpoints have these attributes in different places: on the dataset, on the
 * temperature next to it, or on the file. */
static void read_about(hid_t file, hid_t dataset, struct frame *frame, struct frames *frames)
{
    char name[H5_NAME_BYTES + 2];
    const int group = (int)(strrchr(frame->dataset, '/') - frame->dataset);
    snprintf(name, sizeof name, "%.*s/T", group, frame->dataset);
    SCOPED_H5 hid_t temperature = H5I_INVALID_HID;
    struct h5_place place;
    if (h5_place_set(frame->path, name, &place) != STATUS_OK ||
        h5_open_dataset(file, &place, &temperature) != STATUS_OK) {
        fail_clear(); /* optional */
    }
    const hid_t places[] = {dataset, temperature, file};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        if (places[p] >= 0 && frame->step < 0) {
            read_step(places[p], frame);
        }
        if (places[p] >= 0 && !frames->has_place) {
            frames->has_place = h5_get_corners(places[p], frames->lower, frames->upper);
        }
    }
}

/* All states of a series have the shape of the first. */
static enum status check_form(const int64_t cells[AXIS_COUNT], const struct frame *frame,
                              struct frames *frames)
{
    if (frame == frames->frame) {
        memcpy(frames->cells, cells, sizeof frames->cells);
        memcpy(frames->merged, (int64_t[]){1, 1, 1}, sizeof frames->merged);
    }
    if (memcmp(frames->cells, cells, sizeof frames->cells) != 0) {
        const int64_t *n = frames->cells;
        return fail(STATUS_INPUT,
                    "step %" PRId64 " of %s has %" PRId64 " x %" PRId64 " x %" PRId64
                    " cells, its first state %" PRId64 " x %" PRId64 " x %" PRId64,
                    frame->step, frames->path, cells[AXIS_X], cells[AXIS_Y], cells[AXIS_Z],
                    n[AXIS_X], n[AXIS_Y], n[AXIS_Z]);
    }
    return STATUS_OK;
}

/* ---- a series -------------------------------------------------------------------------------- */

static enum status add_state(hid_t file, int64_t n, struct frames *frames)
{
    char name[64];
    struct h5_place place;
    snprintf(name, sizeof name, "/snap/%" PRId64, n);
    FAIL_IF(H5Lexists(file, name, H5P_DEFAULT) <= 0,
            fail(STATUS_FILE, "%s has no state %s", frames->path, name));
    TRY(h5_place_set(frames->path, name, &place));
    TRY(h5_find_snapshot(file, &place));
    return add_frame(frames, place.path, place.name);
}

/* The steps that the index lists; NULL without such a list, which other programs may omit. */
static enum status read_steps(hid_t file, const char *path, int64_t **steps, int64_t *count)
{
    const htri_t there = H5Lexists(file, "/steps", H5P_DEFAULT);
    if (there == 0) {
        return STATUS_OK;
    }
    void *found = NULL;
    const enum status status =
        h5_get_list(file, "/steps", H5T_NATIVE_INT64, sizeof **steps, &found, count);
    *steps = found;
    return fail_prefix(status, "%s: ", path);
}

static enum status read_links(hid_t file, int64_t listed, struct frames *frames)
{
    H5G_info_t group;
    FAIL_IF(H5Gget_info_by_name(file, "/snap", &group, H5P_DEFAULT) < 0,
            h5_fail("cannot read /snap of %s", frames->path));
    const int64_t count = (int64_t)group.nlinks;
    FAIL_IF(listed >= 0 && listed != count,
            fail(STATUS_FILE, "%s is damaged: it lists %" PRId64 " state%s and has %" PRId64,
                 frames->path, listed, listed == 1 ? "" : "s", count));
    FAIL_IF(count == 0, fail(STATUS_INPUT, "%s holds no snapshot", frames->path));
    for (int64_t n = 0; n < count; n++) {
        TRY(add_state(file, n, frames));
    }
    return STATUS_OK;
}

/* ---- the states ------------------------------------------------------------------------------ */

/* *found: true if the name is in the file, with all its groups. */
static enum status find_name(hid_t file, const char *path, const char *name, bool *found)
{
    char part[H5_NAME_BYTES];
    const size_t length = strlen(name);
    *found = true;
    for (size_t n = 1; n <= length && *found; n++) {
        if (name[n] != '/' && name[n] != '\0') {
            continue;
        }
        snprintf(part, sizeof part, "%.*s", (int)n, name);
        const htri_t there = H5Lexists(file, part, H5P_DEFAULT);
        FAIL_IF(there < 0, h5_fail("cannot read %s of %s", part, path));
        *found = there > 0;
    }
    return STATUS_OK;
}

static enum status open_dataset(hid_t file, const char *path, const char *name, hid_t *dataset)
{
    bool found = true;
    struct h5_place place;
    TRY(h5_place_set(path, name, &place));
    const enum status status = h5_open_dataset(file, &place, dataset);
    if (status == STATUS_FILE) {
        TRY(find_name(file, path, name, &found));
    }
    return found ? status : fail(STATUS_INPUT, "%s has no dataset %s", path, name);
}

/* `file` holds the state. */
static enum status read_state(hid_t file, int64_t n, struct frames *frames)
{
    struct frame *frame = &frames->frame[n];
    const char *name = frame->dataset;
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    TRY(open_dataset(file, frame->path, name, &dataset));
    read_about(file, dataset, frame, frames);
    if (H5Aexists(dataset, "units") > 0 &&
        h5_get_string(dataset, "units", frames->units, sizeof frames->units) != STATUS_OK) {
        fail_clear(); /* not a string */
        frames->units[0] = '\0';
    }
    FAIL_IF(frames->is_series && frame->step < 0,
            fail(STATUS_FILE, "%s of %s has no attribute step", name, frame->path));
    const struct h5_form form = h5_form(dataset);
    frame->precision = form.bytes > sizeof(float) ? PRECISION_FLOAT64 : PRECISION_FLOAT32;
    FAIL_IF(!form.usable || form.bytes > sizeof(double),
            fail(STATUS_INPUT,
                 "the dataset %s of %s does not hold numbers of up to 8 bytes in one to three "
                 "dimensions",
                 name, frame->path));
    TRY(check_form(form.cells, frame, frames));
    TRY(h5_read_edges(dataset, frames->cells, frames->graded));
    return h5_read_edges(file, frames->cells, frames->graded);
}

static enum status read_states(const int64_t *steps, struct frames *frames)
{
    for (int64_t n = 0; n < frames->count; n++) {
        struct frame *frame = &frames->frame[n];
        SCOPED_H5_FILE hid_t file = H5I_INVALID_HID;
        TRY(h5_open_plain(frame->path, false, &file));
        TRY(read_state(file, n, frames));
        FAIL_IF(steps != NULL && frame->step != steps[n],
                fail(STATUS_FILE, "%s is of step %" PRId64 ", and %s lists it as step %" PRId64,
                     frame->path, frame->step, frames->path, steps[n]));
    }
    return STATUS_OK;
}

static enum status read_index(hid_t file, struct frames *frames, int64_t **steps)
{
    int64_t listed = -1;
    const htri_t there = H5Lexists(file, "/snap", H5P_DEFAULT);
    FAIL_IF(there < 0, h5_fail("cannot read %s", frames->path));
    frames->is_series = there > 0;
    if (!frames->is_series) {
        return add_frame(frames, frames->path, "");
    }
    frames->has_place = h5_get_corners(file, frames->lower, frames->upper);
    TRY(read_steps(file, frames->path, steps, &listed));
    return read_links(file, listed, frames);
}

static enum status read_mine(struct frames *frames)
{
    hid_t file = H5I_INVALID_HID;
    SCOPED_FREE int64_t *steps = NULL;
    TRY(h5_open_plain(frames->path, false, &file));
    const enum status status = read_index(file, frames, &steps);
    h5_close(file);
    TRY(status);
    return read_states(steps, frames);
}

/* Rank 0: the file that `path` stands for. */
static enum status find_file(const char *path, struct frames *frames, int *sealed)
{
    struct stat found;
    TRY(stat(path, &found) == 0 && S_ISDIR(found.st_mode)
            ? find_in_folder(path, frames->path)
            : path_print(frames->path, PATH_BYTES, "%s", path));
    *sealed = has_seal(frames->path) ? 1 : 0;
    return STATUS_OK;
}

static enum status keep_name(const char *name, struct frames *frames)
{
    return snprintf(frames->name, sizeof frames->name, "%s", name) < (int)sizeof frames->name
               ? STATUS_OK
               : fail(STATUS_INPUT, "the name %.60s... of the dataset is too long", name);
}

enum status frames_read(MPI_Comm comm, const char *path, const char *name, struct frames *frames)
{
    int sealed = 0;
    const bool first = comm_rank(comm) == 0;
    *frames = (struct frames){.count = 0};
    h5_init();
    TRY(status_agree(comm, keep_name(name, frames)));
    TRY(status_agree(comm, first ? find_file(path, frames, &sealed) : STATUS_OK));
    TRY_MPI(MPI_Bcast(frames->path, PATH_BYTES, MPI_CHAR, 0, comm));
    TRY_MPI(MPI_Bcast(&sealed, 1, MPI_INT, 0, comm));
    frames->from_folder = strcmp(path, frames->path) != 0;
    if (sealed) {
        TRY(fail_prefix(checkpoint_seal_check(comm, frames->path),
                        "the checkpoint %s is damaged: ", frames->path));
    }
    return status_agree(comm, read_mine(frames));
}

enum status frames_read_alone(const char *path, const char *name, struct frames *frames)
{
    *frames = (struct frames){.count = 0};
    h5_init();
    TRY(keep_name(name, frames));
    TRY(path_print(frames->path, PATH_BYTES, "%s", path));
    return read_mine(frames);
}

enum status frames_configuration(const char *directory, char **text)
{
    enum { MOST_BYTES = 1 << 24 };
    char path[PATH_BYTES];
    SCOPED_H5_FILE hid_t file = H5I_INVALID_HID;
    h5_init();
    TRY(find_in_folder(directory, path));
    TRY(h5_open_plain(path, false, &file));
    return h5_get_text(file, "/configuration", MOST_BYTES, text);
}

void frames_free(struct frames *frames)
{
    for (int64_t n = 0; n < frames->count; n++) {
        free(frames->frame[n].path);
        free(frames->frame[n].dataset);
    }
    free(frames->frame);
    h5_free_edges(frames->graded);
    frames->frame = NULL;
    frames->count = 0;
}

/* Corners written by this program match bitwise; those of others may differ by rounding. */
static bool same_corners(const struct frames *a, const struct frames *b, int axis)
{
    static const double rounding = 1e-6; /* share of a cell */
    const double limit = rounding * fabs(a->upper[axis] - a->lower[axis]) / (double)a->cells[axis];
    return fabs(a->lower[axis] - b->lower[axis]) <= limit &&
           fabs(a->upper[axis] - b->upper[axis]) <= limit;
}

bool frames_share_grid(struct frames *a, struct frames *b)
{
    const bool placed = a->has_place && b->has_place;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t n = a->cells[axis];
        const int64_t m = b->cells[axis];
        if (placed ? !same_corners(a, b, axis) || (n % m != 0 && m % n != 0) : n != m) {
            return false;
        }
        const bool graded = a->graded[axis].edges != NULL || b->graded[axis].edges != NULL;
        if (graded && (n != m || !grid_same_edges(&a->graded[axis], &b->graded[axis], n))) {
            return false;
        }
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t least = a->cells[axis] < b->cells[axis] ? a->cells[axis] : b->cells[axis];
        a->merged[axis] = a->cells[axis] / least;
        b->merged[axis] = b->cells[axis] / least;
        a->cells[axis] = least;
        b->cells[axis] = least;
    }
    return true;
}

void frames_center(const struct frames *frames, const int64_t cell[AXIS_COUNT],
                   double center[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        const double spacing = (frames->upper[a] - frames->lower[a]) / (double)frames->cells[a];
        const double *edges = frames->graded[a].edges;
        center[a] = edges != NULL       ? (edges[cell[a]] + edges[cell[a] + 1]) / 2
                    : frames->has_place ? frames->lower[a] + ((double)cell[a] + 0.5) * spacing
                                        : NAN;
    }
}
