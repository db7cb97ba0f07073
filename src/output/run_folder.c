#include "output/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "io/checkpoint/checkpoint.h"
#include "io/hdf5/step_files.h"

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

enum status folder_visit_file(const char *directory, const char *name, output_visitor *visit,
                              void *context)
{
    char path[PATH_BYTES];
    TRY(path_join(directory, name, path));
    return file_exists(path) ? visit(context, path) : STATUS_OK;
}

enum status folder_scan(const char *directory,
                        enum status (*visit)(void *context, const char *entry), void *context)
{
    SCOPED_FREE struct dirent **entries = NULL;
    const int count = scandir(directory, &entries, NULL, alphasort);
    enum status status = STATUS_OK;
    FAIL_IF(count < 0 && errno != ENOENT && errno != ENOTDIR,
            fail(STATUS_FILE, "cannot list the folder %s: %s", directory, strerror(errno)));
    for (int i = 0; i < count; i++) {
        status = status == STATUS_OK ? visit(context, entries[i]->d_name) : status;
        free(entries[i]);
    }
    return status;
}

struct walk {
    const char *folder;
    output_visitor *visit;
    void *context;
};

static enum status visit_step(void *context, const char *name)
{
    const struct walk *walk = context;
    static const char *const endings[] = {".h5", ".h5.tmp", ".h5.tmp.tmp", ".png", ".png.tmp"};
    bool own = strcmp(name, "latest") == 0 || strcmp(name, "latest.tmp") == 0;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        own = own || step_file_step(name, endings[i]) >= 0;
    }
    return own ? folder_visit_file(walk->folder, name, walk->visit, walk->context) : STATUS_OK;
}

enum status folder_visit_steps(const char *directory, const char *name, output_visitor *visit,
                               void *context)
{
    char folder[PATH_BYTES];
    TRY(path_join(directory, name, folder));
    struct walk walk = {.folder = folder, .visit = visit, .context = context};
    TRY(folder_visit_file(folder, STEP_FILES_GAPS, visit, context));
    return folder_scan(folder, visit_step, &walk);
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
