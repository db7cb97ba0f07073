/* Names of checkpoints, and finding them; the attributes of a state. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/checkpoint/checkpoint_internal.h"
#include "io/hdf5/step_files.h"

enum status checkpoint_folder(const char *directory, char folder[PATH_BYTES])
{
    return path_join(directory, "checkpoints", folder);
}

enum status checkpoint_remove_temporaries(const char *directory)
{
    char folder[PATH_BYTES];
    TRY(checkpoint_folder(directory, folder));
    return step_files_remove_temporaries(folder);
}

static bool is_same_folder(const char *one, const char *two)
{
    struct stat a;
    struct stat b;
    return stat(one, &a) == 0 && stat(two, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int64_t checkpoint_step_here(const char *directory, const char *path)
{
    char folder[PATH_BYTES];
    SCOPED_FREE char *real = realpath(path, NULL);
    char *slash = real == NULL ? NULL : strrchr(real, '/');
    int64_t step = -1;
    if (slash != NULL && checkpoint_folder(directory, folder) == STATUS_OK) {
        *slash = '\0';
        step = is_same_folder(real, folder) ? step_file_step(slash + 1, ".h5") : -1;
    }
    return step;
}

enum status checkpoint_newest_step(const char *directory, int64_t *step)
{
    char folder[PATH_BYTES];
    TRY(checkpoint_folder(directory, folder));
    return step_files_newest(folder, step);
}

enum status checkpoint_name_latest(const char *folder, int64_t step)
{
    char latest[PATH_BYTES];
    char line[64];
    TRY(path_join(folder, "latest", latest));
    const int length = snprintf(line, sizeof line, "step_%010" PRId64 ".h5\n", step);
    return file_replace(latest, line, (size_t)length);
}

enum status checkpoint_give_up_after(const char *directory, int64_t step)
{
    char folder[PATH_BYTES];
    SCOPED_FREE int64_t *steps = NULL;
    int count = 0;
    TRY(checkpoint_folder(directory, folder));
    TRY(step_files_list(folder, &steps, &count));
    if (count > 0 && steps[0] > step) {
        TRY(checkpoint_name_latest(folder, step));
    }
    for (int i = 0; i < count && steps[i] > step; i++) {
        char path[PATH_BYTES];
        TRY(step_file_path(folder, steps[i], path));
        TRY(file_remove(path));
    }
    return STATUS_OK;
}

enum { DIGITS = 4 };
#define MEMBER(name, kind, count, member)                                                          \
    {                                                                                              \
        name, kind, count, offsetof(struct checkpoint_state, member)                               \
    }
static const struct h5_member always[] = {
    MEMBER("step", H5_INT, 0, step),
    MEMBER("time_s", H5_DOUBLE, 0, time),
    MEMBER("field_hash", H5_HASH, 0, field_hash),
    MEMBER("ledger_start", H5_INT, DIGITS, ledger.start),
    MEMBER("ledger_face_sum", H5_INT, FACE_COUNT *DIGITS, ledger.face_sum),
    MEMBER("ledger_b_sum", H5_INT, FACE_COUNT *DIGITS, ledger.b_sum),
    MEMBER("ledger_booked_J", H5_DOUBLE, 0, ledger.booked_J),
    MEMBER("boundary_heat_J", H5_DOUBLE, 0, boundary_heat)};
static const struct h5_member adapted[] = {MEMBER("adapted_step", H5_INT, 0, adapted_step),
                                           MEMBER("adapted_time_s", H5_DOUBLE, 0, adapted_time),
                                           MEMBER("adapted_dt_s", H5_DOUBLE, 0, adapted_dt)};
static const struct h5_member control[] = {MEMBER("control", H5_INT, 4, control.exponent),
                                           MEMBER("control_K", H5_DOUBLE, 6, control.low)};
static const struct h5_member implicit[] = {
    MEMBER("control_implicit", H5_INT, 4, control.is_implicit)};
static const struct h5_member sources[] = {
    MEMBER("ledger_source_sum", H5_INT, DIGITS, ledger.source_sum),
    MEMBER("ledger_source_booked_J", H5_DOUBLE, 0, ledger.source_booked_J),
    MEMBER("source_heat_J", H5_DOUBLE, 0, source_heat)};
static const struct h5_member surfaces[] = {
    MEMBER("ledger_surface_sum", H5_INT, DIGITS, ledger.surface_sum)};

enum status checkpoint_state(hid_t dataset, struct checkpoint_state *state,
                             enum h5_direction direction)
{
    const bool writes = direction == H5_WRITE;
    TRY(h5_members(dataset, always, sizeof always / sizeof always[0], state, direction));
    if (writes ? state->adapted_dt > 0 : H5Aexists(dataset, "adapted_dt_s") > 0) {
        TRY(h5_members(dataset, adapted, 3, state, direction));
    }
    if (writes ? state->control.levels > 0 : H5Aexists(dataset, "control") > 0) {
        TRY(h5_members(dataset, control, 2, state, direction));
    }
    if (writes ? state->control.cycles > 0 : H5Aexists(dataset, "control_implicit") > 0) {
        TRY(h5_members(dataset, implicit, 1, state, direction));
    }
    if (writes ? state->source_heat != 0 : H5Aexists(dataset, "source_heat_J") > 0) {
        TRY(h5_members(dataset, sources, 3, state, direction));
    }
    if (writes ? exact_sum_value(&state->ledger.surface_sum) != 0
               : H5Aexists(dataset, "ledger_surface_sum") > 0) {
        TRY(h5_members(dataset, surfaces, 1, state, direction));
    }
    return STATUS_OK;
}
