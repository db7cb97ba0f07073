#include "output/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "io/hdf5/step_files.h"

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
    if (count < 0 && errno != ENOENT && errno != ENOTDIR) {
        return fail(STATUS_FILE, "cannot list the folder %s: %s", directory, strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        if (status == STATUS_OK) {
            status = visit(context, entries[i]->d_name);
        }
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
