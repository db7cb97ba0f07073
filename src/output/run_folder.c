#include "output/run_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "io/checkpoint/checkpoint.h"
#include "io/hdf5/step_files.h"
#include "output/folder.h"

/* Visit each of a run's files in the folder, with its path as context; stops when a visit fails. */
static enum status visit_all(const struct output_setting *requests, output_visitor *visit)
{
    char *directory = requests->directory;
    TRY(folder_visit_file(directory, "report.json", visit, directory));
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        TRY(output_kinds[k]->visit(requests, visit, directory));
    }
    return STATUS_OK;
}

/* --restart auto without a checkpoint: replaces an unfinished run, but not a finished one. */
static enum status refuse_finished(void *context, const char *path)
{
    const char *name = strrchr(path, '/');
    (void)context;
    if (name == NULL || strcmp(name, "/report.json") != 0) {
        return STATUS_OK;
    }
    return fail(STATUS_INPUT,
                "there is no checkpoint to restart from, and the output folder holds a finished "
                "run (%s); replace it with --overwrite instead of --restart, or choose another "
                "folder with --output",
                path);
}

static enum status refuse_file(void *context, const char *path)
{
    (void)context;
    return fail(STATUS_INPUT,
                "the output folder already holds a run (%s); continue it with --restart auto, "
                "replace it with --overwrite, or choose another folder with --output",
                path);
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
static enum status refuse_linked(void *context, const char *path)
{
    const char *directory = context;
    char parent[PATH_BYTES];
    struct stat found;
    snprintf(parent, sizeof parent, "%s", path);
    *strrchr(parent, '/') = '\0';
    if (strcmp(parent, directory) == 0) {
        return STATUS_OK;
    }
    if (lstat(parent, &found) != 0) {
        return fail(STATUS_FILE, "cannot access the folder %s: %s", parent, strerror(errno));
    }
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
    if (strlen(directory) > (size_t)most) {
        return fail(STATUS_INPUT,
                    "the path of the output folder has %zu bytes, and a restart could not open "
                    "checkpoints there; give at most %d",
                    strlen(directory), most);
    }
    if (mode == OUTPUT_REPLACE) {
        TRY(visit_all(requests, refuse_linked));
    }
    if (run_folder_is_continued(directory, from)) {
        return mode == OUTPUT_FRESH ? refuse_later(directory, checkpoint_step_here(directory, from))
                                    : STATUS_OK;
    }
    if (mode == OUTPUT_REPLACE) {
        return STATUS_OK;
    }
    TRY(visit_all(requests, mode == OUTPUT_FRESH ? refuse_file : refuse_finished));
    return visit_all(requests, refuse_linked);
}

static enum status remove_file(void *context, const char *path)
{
    (void)context;
    return file_remove(path);
}

enum status run_folder_clear(const struct output_setting *requests)
{
    return visit_all(requests, remove_file);
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
