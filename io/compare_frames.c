/* What states a file holds. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/comm.h"
#include "io/checkpoint_internal.h"
#include "io/compare.h"
#include "io/h5.h"

static bool is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/* An output folder's series or, without one, its newest checkpoint. */
static enum status find_in_folder(const char *directory, char path[PATH_BYTES])
{
    char folder[PATH_BYTES];
    int64_t *steps = NULL;
    int count = 0;
    TRY(path_join(directory, "snapshots.vtkhdf", path));
    if (file_exists(path)) {
        return STATUS_OK;
    }
    TRY(checkpoint_folder(directory, folder));
    TRY(checkpoint_list(folder, &steps, &count));
    const int64_t newest = count > 0 ? steps[0] : -1;
    free(steps);
    if (newest < 0) {
        return fail(STATUS_FILE,
                    "the folder %s holds neither snapshots.vtkhdf nor checkpoints to compare",
                    directory);
    }
    return checkpoint_path(folder, newest, path);
}

/* Does the file claim to be a checkpoint? Then its seal counts. */
static bool has_seal(const char *path)
{
    static const char mark[] = "ISOTHERM CHECKPOINT";
    char begin[sizeof mark] = "";
    FILE *file = fopen(path, "rb");
    const bool read = file != NULL && fread(begin, 1, sizeof mark - 1, file) == sizeof mark - 1;
    if (file != NULL) {
        fclose(file);
    }
    return read && memcmp(begin, mark, sizeof mark - 1) == 0;
}

static enum status add_frame(struct frames *frames, int64_t step, double time)
{
    struct frame *larger =
        realloc(frames->frame, ((size_t)frames->count + 1) * sizeof *frames->frame);
    if (larger == NULL) {
        return fail(STATUS_MEMORY, "no memory for the list of states in %s", frames->path);
    }
    frames->frame = larger;
    frames->frame[frames->count++] = (struct frame){step, time};
    return STATUS_OK;
}

/* The step is an attribute that is written last: a state without it was not finished. */
static bool read_step(hid_t object, struct frame *frame)
{
    const bool good = h5_get_int(object, "step", &frame->step, 0) == STATUS_OK &&
                      h5_get_double(object, "time_s", &frame->time, 0) == STATUS_OK;
    fail_clear();
    return good;
}

static enum status read_series(hid_t file, struct frames *frames)
{
    for (;;) {
        char name[64];
        struct frame frame;
        snprintf(name, sizeof name, "/snap/%" PRId64, frames->count);
        if (H5Lexists(file, name, H5P_DEFAULT) <= 0) {
            return STATUS_OK;
        }
        snprintf(name, sizeof name, "/snap/%" PRId64 "/T", frames->count);
        const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
        const bool finished = dataset >= 0 && read_step(dataset, &frame);
        if (dataset >= 0) {
            H5Dclose(dataset);
        }
        if (!finished) {
            return STATUS_OK;
        }
        TRY(add_frame(frames, frame.step, frame.time));
    }
}

static void read_place(hid_t object, struct frames *frames)
{
    frames->has_place = h5_get_double(object, "lower_m", frames->lower, AXIS_COUNT) == STATUS_OK &&
                        h5_get_double(object, "upper_m", frames->upper, AXIS_COUNT) == STATUS_OK;
    fail_clear();
}

static enum status read_form(hid_t dataset, const char *name, struct frames *frames)
{
    hsize_t shape[H5S_MAX_RANK];
    const hid_t space = H5Dget_space(dataset);
    const hid_t type = H5Dget_type(dataset);
    const int rank = H5Sget_simple_extent_dims(space, shape, NULL);
    const H5T_class_t class = H5Tget_class(type);
    frames->precision = H5Tget_size(type) > sizeof(float) ? PRECISION_FLOAT64 : PRECISION_FLOAT32;
    H5Tclose(type);
    H5Sclose(space);
    if ((class != H5T_FLOAT && class != H5T_INTEGER) || rank < 1 || rank > AXIS_COUNT) {
        return fail(STATUS_INPUT,
                    "the dataset %s of %s does not hold numbers in one to three dimensions", name,
                    frames->path);
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        frames->cells[a] = a < rank ? (int64_t)shape[rank - 1 - a] : 1;
    }
    return STATUS_OK;
}

static enum status read_first(hid_t file, struct frames *frames)
{
    char name[128];
    snprintf(name, sizeof name, frames->is_series ? "/snap/0/%s" : "/%s", frames->name);
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (dataset < 0) {
        return fail(STATUS_INPUT, "%s has no dataset %s", frames->path, name);
    }
    enum status status = read_form(dataset, name, frames);
    if (status == STATUS_OK && !frames->is_series) {
        struct frame frame;
        const bool known = read_step(dataset, &frame);
        status = add_frame(frames, known ? frame.step : -1, known ? frame.time : NAN);
        read_place(dataset, frames);
    }
    H5Dclose(dataset);
    return status;
}

static enum status read_open(hid_t file, struct frames *frames)
{
    frames->is_series = H5Lexists(file, "/snap", H5P_DEFAULT) > 0;
    if (frames->is_series) {
        TRY(read_series(file, frames));
        if (frames->count == 0) {
            return fail(STATUS_INPUT, "%s holds no finished snapshot", frames->path);
        }
        read_place(file, frames);
    }
    return read_first(file, frames);
}

static enum status read_mine(struct frames *frames)
{
    hid_t file = H5I_INVALID_HID;
    TRY(h5_open_plain(frames->path, false, &file));
    const enum status status = read_open(file, frames);
    h5_close(file);
    return status;
}

/* Rank 0: the file that `path` stands for. */
static enum status find_file(const char *path, struct frames *frames, int *sealed)
{
    if (is_folder(path)) {
        TRY(find_in_folder(path, frames->path));
    } else if (snprintf(frames->path, PATH_BYTES, "%s", path) >= PATH_BYTES) {
        return fail(STATUS_INPUT, "the path %.60s... is too long", path);
    }
    *sealed = has_seal(frames->path) ? 1 : 0;
    return STATUS_OK;
}

enum status frames_read(MPI_Comm comm, const char *path, const char *name, struct frames *frames)
{
    int sealed = 0;
    const bool first = comm_rank(comm) == 0;
    *frames = (struct frames){.count = 0};
    h5_init();
    snprintf(frames->name, sizeof frames->name, "%s", name);
    TRY(status_agree(comm, first ? find_file(path, frames, &sealed) : STATUS_OK));
    TRY_MPI(MPI_Bcast(frames->path, PATH_BYTES, MPI_CHAR, 0, comm));
    TRY_MPI(MPI_Bcast(&sealed, 1, MPI_INT, 0, comm));
    if (sealed) {
        const enum status status = checkpoint_seal_check(comm, frames->path);
        if (status != STATUS_OK) {
            return fail_prefix(status, "the checkpoint %s is damaged: ", frames->path);
        }
    }
    return status_agree(comm, read_mine(frames));
}

void frames_free(struct frames *frames)
{
    free(frames->frame);
    frames->frame = NULL;
    frames->count = 0;
}

void frames_center(const struct frames *frames, const int64_t cell[AXIS_COUNT],
                   double center[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        const double spacing = (frames->upper[a] - frames->lower[a]) / (double)frames->cells[a];
        center[a] = frames->has_place ? frames->lower[a] + ((double)cell[a] + 0.5) * spacing : NAN;
    }
}
