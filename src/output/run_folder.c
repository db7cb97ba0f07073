#include "output/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "io/checkpoint/checkpoint.h"
#include "io/series/csv.h"
#include "io/series/series.h"
#include "io/snapshot/snapshot.h"

/* What a run leaves directly in its folder, and in the folders below it. */
static const char *const own_files[] = {"report.json", "history.csv", "probes.csv", "probes.h5",
                                        "postmortem.h5"};
static const char *const own_endings[] = {".vtkhdf", ".xdmf"};
static const char *const own_folders[] = {"checkpoints", "pictures"};
enum {
    OWN_FILES = sizeof own_files / sizeof own_files[0],
    OWN_ENDINGS = sizeof own_endings / sizeof own_endings[0],
    OWN_FOLDERS = sizeof own_folders / sizeof own_folders[0],
};

typedef enum status visitor(void *context, const char *path);

/* ---- what there is -------------------------------------------------------------------------- */

static bool is_own_entry(const char *name)
{
    return strncmp(name, "step_", 5) == 0 || strcmp(name, "latest") == 0 ||
           strcmp(name, "latest.tmp") == 0;
}

static enum status visit_folder(const char *folder, visitor *visit, void *context)
{
    DIR *stream = opendir(folder);
    enum status status = STATUS_OK;
    for (struct dirent *entry = stream != NULL ? readdir(stream) : NULL;
         entry != NULL && status == STATUS_OK; entry = readdir(stream)) {
        char path[PATH_BYTES];
        if (is_own_entry(entry->d_name)) {
            status = path_join(folder, entry->d_name, path);
            status = status == STATUS_OK ? visit(context, path) : status;
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return status;
}

static enum status visit_file(const char *directory, const char *name, visitor *visit,
                              void *context)
{
    char path[PATH_BYTES];
    TRY(path_join(directory, name, path));
    return file_exists(path) ? visit(context, path) : STATUS_OK;
}

/* First the files that name the others. */
static enum status visit_snapshots(const char *directory, const char *name, visitor *visit,
                                   void *context)
{
    char path[PATH_BYTES];
    for (int i = 0; i < OWN_ENDINGS; i++) {
        char file[PATH_BYTES];
        snprintf(file, sizeof file, "%.200s%s", name, own_endings[i]);
        TRY(visit_file(directory, file, visit, context));
    }
    TRY(path_join(directory, name, path));
    return visit_folder(path, visit, context);
}

static bool ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name);
    return length > strlen(ending) && strcmp(name + length - strlen(ending), ending) == 0;
}

/* NAME of NAME.vtkhdf or NAME.xdmf beside a folder NAME, whichever configuration named it. */
static bool is_series(const char *directory, const char *entry, char name[256])
{
    char path[PATH_BYTES];
    struct stat about;
    for (int i = 0; i < OWN_ENDINGS; i++) {
        if (ends_in(entry, own_endings[i])) {
            snprintf(name, 256, "%.*s", (int)(strlen(entry) - strlen(own_endings[i])), entry);
            return path_join(directory, name, path) == STATUS_OK && stat(path, &about) == 0 &&
                   S_ISDIR(about.st_mode);
        }
    }
    return false;
}

static bool is_line(const char *directory, const char *entry)
{
    char path[PATH_BYTES];
    bool is = false;
    if (!ends_in(entry, ".csv") || path_join(directory, entry, path) != STATUS_OK ||
        series_is_line(path, &is) != STATUS_OK) {
        fail_clear(); /* cannot be read: nobody's */
        return false;
    }
    return is;
}

/* Calls `snapshots` for each series by its name, and `line` for the file of each line cut, that
 * the folder holds. Either may be NULL. */
static enum status for_each_series(const char *directory,
                                   enum status (*snapshots)(void *context, const char *name),
                                   enum status (*line)(void *context, const char *file),
                                   void *context)
{
    struct dirent **entries = NULL;
    const int count = scandir(directory, &entries, NULL, alphasort);
    enum status status = STATUS_OK;
    for (int i = 0; i < count; i++) {
        const char *entry = entries[i]->d_name;
        char name[256];
        if (status == STATUS_OK && is_series(directory, entry, name)) {
            status = snapshots(context, name);
        } else if (status == STATUS_OK && is_line(directory, entry)) {
            status = line(context, entry);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

struct walk {
    const char *directory;
    visitor *visit;
};

static enum status walk_snapshots(void *context, const char *name)
{
    const struct walk *walk = context;
    return visit_snapshots(walk->directory, name, walk->visit, NULL);
}

static enum status walk_line(void *context, const char *file)
{
    const struct walk *walk = context;
    return visit_file(walk->directory, file, walk->visit, NULL);
}

/* Calls for each of a run's files in the folder; stops when `visit` fails. What these settings
 * write counts even where it is not whole. */
static enum status for_each_own_file(const struct settings *settings, visitor *visit)
{
    const char *directory = settings->output.directory;
    struct walk walk = {.directory = directory, .visit = visit};
    TRY(for_each_series(directory, walk_snapshots, walk_line, &walk));
    TRY(visit_snapshots(directory, "snapshots", visit, NULL));
    for (int i = 0; i < settings->output.nregions; i++) {
        TRY(visit_snapshots(directory, settings->output.regions[i].name, visit, NULL));
    }
    for (int i = 0; i < settings->output.nlines; i++) {
        char name[PATH_BYTES];
        snprintf(name, sizeof name, "%.200s.csv", settings->output.lines[i].name);
        TRY(visit_file(directory, name, visit, NULL));
    }
    for (int i = 0; i < OWN_FILES; i++) {
        TRY(visit_file(directory, own_files[i], visit, NULL));
    }
    for (int i = 0; i < OWN_FOLDERS; i++) {
        char folder[PATH_BYTES];
        TRY(path_join(directory, own_folders[i], folder));
        TRY(visit_folder(folder, visit, NULL));
    }
    return STATUS_OK;
}

/* ---- what may happen to it ------------------------------------------------------------------ */

/* --restart auto found no checkpoint: what a run left that ended before its first one is replaced,
 * a finished run is not. */
static enum status refuse_finished(void *context, const char *path)
{
    const char *name = strrchr(path, '/');
    (void)context;
    if (name == NULL || strcmp(name, "/report.json") != 0) {
        return STATUS_OK;
    }
    return fail(STATUS_INPUT,
                "there is no checkpoint to restart from, and the output folder holds a finished "
                "run (%s); replace it by --overwrite instead of --restart, or choose another "
                "folder with --output",
                path);
}

static enum status refuse_file(void *context, const char *path)
{
    (void)context;
    return fail(STATUS_INPUT,
                "the output folder already holds a run (%s); go on with it by --restart auto, "
                "replace it by --overwrite, or choose another folder with --output",
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
                "give --overwrite as well if that is what you mean, or choose another folder with "
                "--output",
                directory, (long long)newest, (long long)step);
}

bool run_folder_goes_on(const char *directory, const char *from)
{
    return from[0] != '\0' && checkpoint_step_here(directory, from) >= 0;
}

enum status run_folder_check(const struct settings *settings, enum output_mode mode,
                             const char *from)
{
    const char *directory = settings->output.directory;
    if (run_folder_goes_on(directory, from)) {
        return mode == OUTPUT_FRESH ? refuse_later(directory, checkpoint_step_here(directory, from))
                                    : STATUS_OK;
    }
    if (mode == OUTPUT_REPLACE) {
        return STATUS_OK;
    }
    return for_each_own_file(settings, mode == OUTPUT_FRESH ? refuse_file : refuse_finished);
}

static enum status remove_file(void *context, const char *path)
{
    (void)context;
    if (unlink(path) != 0) {
        return fail(STATUS_FILE, "cannot remove %s: %s", path, strerror(errno));
    }
    return STATUS_OK;
}

enum status run_folder_clear(const struct settings *settings)
{
    return for_each_own_file(settings, remove_file);
}

/* ---- going on ------------------------------------------------------------------------------- */

struct cut {
    const struct settings *settings;
    int64_t step;
};

/* Of an output that nobody goes on with: its damage is no reason to end the run. */
static enum status tell(const char *name, enum status status)
{
    if (status != STATUS_OK) {
        log_warn("%s, which this run does not go on with, stays as it is: %s", name,
                 fail_message());
        fail_clear();
    }
    return STATUS_OK;
}

static bool writes_snapshots(const struct settings *settings, const char *name)
{
    if (strcmp(name, "snapshots") == 0) {
        return cadence_is_on(&settings->output.snapshots.cadence);
    }
    for (int i = 0; i < settings->output.nregions; i++) {
        const struct region_setting *region = &settings->output.regions[i];
        if (strcmp(name, region->name) == 0) {
            return cadence_is_on(&region->file.cadence);
        }
    }
    return false;
}

static bool writes_line(const struct settings *settings, const char *file)
{
    for (int i = 0; i < settings->output.nlines; i++) {
        const struct line_setting *line = &settings->output.lines[i];
        const size_t length = strlen(line->name);
        if (strncmp(file, line->name, length) == 0 && strcmp(file + length, ".csv") == 0) {
            return cadence_is_on(&line->cadence);
        }
    }
    return false;
}

static bool writes_samples(const struct settings *settings)
{
    bool writes = cadence_is_on(&settings->output.probes.cadence);
    for (int i = 0; i < settings->output.nlines; i++) {
        writes = writes || cadence_is_on(&settings->output.lines[i].cadence);
    }
    return writes;
}

static enum status cut_snapshots(void *context, const char *name)
{
    const struct cut *cut = context;
    char list[PATH_BYTES];
    char path[PATH_BYTES];
    snprintf(list, sizeof list, "%.200s.vtkhdf", name);
    TRY(path_join(cut->settings->output.directory, list, path));
    if (writes_snapshots(cut->settings, name) || !file_exists(path)) {
        return STATUS_OK;
    }
    return tell(name, snapshots_cut(cut->settings->output.directory, name, cut->step));
}

static enum status cut_csv(const struct cut *cut, const char *file)
{
    char path[PATH_BYTES];
    TRY(path_join(cut->settings->output.directory, file, path));
    return tell(file, csv_cut(path, cut->step));
}

static enum status cut_line(void *context, const char *file)
{
    const struct cut *cut = context;
    return writes_line(cut->settings, file) ? STATUS_OK : cut_csv(cut, file);
}

static enum status cut_picture(void *context, const char *path)
{
    const struct cut *cut = context;
    const char *name = strrchr(path, '/') + 1;
    return strtoll(name + strlen("step_"), NULL, 10) > cut->step ? remove_file(NULL, path)
                                                                 : STATUS_OK;
}

static enum status cut_samples(const struct cut *cut)
{
    const enum status status = series_cut_file(cut->settings->output.directory, cut->step);
    if (writes_samples(cut->settings)) {
        fail_clear(); /* who opens it finds that it is damaged, and mends it */
        return STATUS_OK;
    }
    return tell("probes.h5", status);
}

enum status run_folder_take_back(const struct settings *settings, int64_t step,
                                 bool with_checkpoints)
{
    const char *directory = settings->output.directory;
    struct cut cut = {.settings = settings, .step = step};
    char pictures[PATH_BYTES];
    if (with_checkpoints) {
        TRY(checkpoint_give_up_after(directory, step));
    }
    TRY(for_each_series(directory, cut_snapshots, cut_line, &cut));
    if (!cadence_is_on(&settings->output.history)) {
        TRY(cut_csv(&cut, "history.csv"));
    }
    if (!cadence_is_on(&settings->output.probes.cadence)) {
        TRY(cut_csv(&cut, "probes.csv"));
    }
    TRY(cut_samples(&cut));
    TRY(path_join(directory, "pictures", pictures));
    return visit_folder(pictures, cut_picture, &cut);
}
