#include "output/run_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "io/checkpoint/checkpoint.h"
#include "io/hdf5/step_files.h"

/* All files of a run in the folder. */
static enum status list_all(const struct output_setting *requests, struct path_list *files)
{
    TRY(folder_add_file(requests->directory, "report.json", files));
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        TRY(output_kinds[k]->files(requests, files));
    }
    return STATUS_OK;
}

/* --restart auto without a checkpoint replaces an unfinished run, but not a finished one. */
static enum status refuse_file(enum output_mode mode, const char *path)
{
    FAIL_IF(mode == OUTPUT_FRESH,
            fail(STATUS_INPUT,
                 "the output folder already holds a run (%s); continue it with --restart auto, "
                 "replace it with --overwrite, or choose another folder with --output",
                 path));
    FAIL_IF(mode == OUTPUT_RETRY && path_ends_in(path, "/report.json"),
            fail(STATUS_INPUT,
                 "there is no checkpoint to restart from, and the output folder holds a finished "
                 "run (%s); replace it with --overwrite instead of --restart, or choose another "
                 "folder with --output",
                 path));
    return STATUS_OK;
}

static enum status refuse_later(const char *directory, int64_t step)
{
    int64_t newest = -1;
    TRY(checkpoint_newest_step(directory, &newest));
    if (newest <= step) {
        return STATUS_OK;
    }
    return fail(STATUS_INPUT,
                "%s holds states up to step %lld, which a restart from step %lld would remove; "
                "add --overwrite if that is intended, or choose another folder with "
                "--output",
                directory, (long long)newest, (long long)step);
}

/* What lies behind a link is not the folder's: nothing there may be removed. The output folder
 * itself may be one. */
static enum status refuse_linked(const char *directory, const char *path)
{
    char parent[PATH_BYTES];
    struct stat found;
    snprintf(parent, sizeof parent, "%s", path);
    *strrchr(parent, '/') = '\0';
    if (strcmp(parent, directory) == 0) {
        return STATUS_OK;
    }
    FAIL_IF(lstat(parent, &found) != 0,
            fail(STATUS_FILE, "cannot access the folder %s: %s", parent, strerror(errno)));
    if (!S_ISLNK(found.st_mode)) {
        return STATUS_OK;
    }
    return fail(STATUS_INPUT,
                "%s is a symbolic link: the files behind it are outside the output folder and are "
                "not removed; remove the link, or choose another folder with --output",
                parent);
}

bool run_folder_is_continued(const char *directory, const char *from)
{
    return from[0] != '\0' && checkpoint_step_here(directory, from) >= 0;
}

enum status run_folder_check(const struct output_setting *requests, enum output_mode mode,
                             const char *from)
{
    const char *directory = requests->directory;
    const int most = MPI_PATH_MOST - (int)sizeof "/snapshots/step_0000000000.h5.tmp" + 1;
    FAIL_IF(strlen(directory) > (size_t)most,
            fail(STATUS_INPUT,
                 "the path of the output folder has %zu bytes, and a restart could not open "
                 "checkpoints there; give at most %d",
                 strlen(directory), most));
    if (run_folder_is_continued(directory, from) && mode != OUTPUT_REPLACE) {
        return mode == OUTPUT_FRESH ? refuse_later(directory, checkpoint_step_here(directory, from))
                                    : STATUS_OK;
    }
    SCOPED_BY(path_list_free) struct path_list files = {0};
    TRY(list_all(requests, &files));
    for (int i = 0; i < files.count; i++) {
        TRY(refuse_file(mode, files.path[i]));
    }
    for (int i = 0; i < files.count; i++) {
        TRY(refuse_linked(directory, files.path[i]));
    }
    return STATUS_OK;
}

enum status run_folder_clear(const struct output_setting *requests)
{
    SCOPED_BY(path_list_free) struct path_list files = {0};
    TRY(list_all(requests, &files));
    for (int i = 0; i < files.count; i++) {
        TRY(file_remove(files.path[i]));
    }
    return STATUS_OK;
}

enum status run_folder_roll_back(const struct output_setting *requests, int64_t step,
                                 bool with_checkpoints)
{
    if (with_checkpoints) {
        TRY(checkpoint_give_up_after(requests->directory, step));
    }
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        if (output_kinds[k]->roll_back != NULL) {
            TRY(output_kinds[k]->roll_back(requests, step));
        }
    }
    return STATUS_OK;
}

enum status folder_add_file(const char *directory, const char *name, struct path_list *files)
{
    char path[PATH_BYTES];
    TRY(path_join(directory, name, path));
    return file_exists(path) ? path_list_add(files, path) : STATUS_OK;
}

static bool is_of_steps(const char *name)
{
    static const char *const endings[] = {".h5", ".h5.tmp", ".h5.tmp.tmp", ".png", ".png.tmp"};
    bool is = strcmp(name, "latest") == 0 || strcmp(name, "latest.tmp") == 0 ||
              strcmp(name, STEP_FILES_GAPS) == 0;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        is = is || step_file_step(name, endings[i]) >= 0;
    }
    return is;
}

enum status folder_add_steps(const char *directory, const char *name, struct path_list *files)
{
    char folder[PATH_BYTES];
    SCOPED_BY(path_list_free) struct path_list names = {0};
    TRY(path_join(directory, name, folder));
    TRY(directory_list(folder, &names));
    for (int i = 0; i < names.count; i++) {
        TRY(is_of_steps(names.path[i]) ? folder_add_file(folder, names.path[i], files) : STATUS_OK);
    }
    return STATUS_OK;
}

enum status folder_report_uncut(const char *name, enum status status)
{
    if (status != STATUS_OK) {
        log_warn("%s, which this run does not continue, is unchanged: %s", name, fail_message());
        fail_clear();
    }
    return STATUS_OK;
}

void folder_report_gap(const struct output_context *in, const struct cadence *cadence,
                       const struct csv *csv)
{
    const int64_t every = cadence->every;
    const int64_t next = every > 0 ? (csv->last_step / every + 1) * every : INT64_MAX;
    if (csv->last_step >= 0 && next < in->restart_step) {
        log_warn("%s ends at step %lld, and the restart is at step %lld: the rows between them are "
                 "missing. To have them, restart from an earlier checkpoint",
                 csv->path, (long long)csv->last_step, (long long)in->restart_step);
    }
}

enum status folder_cut_csv(const char *directory, const char *file, int64_t step)
{
    char path[PATH_BYTES];
    TRY(path_join(directory, file, path));
    return folder_report_uncut(file, csv_cut(path, step));
}
