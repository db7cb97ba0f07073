/* Names of checkpoints, and which are there. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/checkpoint_internal.h"

enum status checkpoint_folder(const char *directory, char folder[PATH_BYTES])
{
    return path_join(directory, "checkpoints", folder);
}

enum status checkpoint_path(const char *folder, int64_t step, char path[PATH_BYTES])
{
    char name[64];
    snprintf(name, sizeof name, "step_%010" PRId64 ".h5", step);
    return path_join(folder, name, path);
}

/* The step in "step_0000000123<suffix>", -1 for any other name. */
static int64_t step_of_name(const char *name, const char *suffix)
{
    static const char prefix[] = "step_";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) {
        return -1;
    }
    const char *digits = name + sizeof prefix - 1;
    const size_t ndigits = strspn(digits, "0123456789");
    if (ndigits < 10 || ndigits > 18 || strcmp(digits + ndigits, suffix) != 0) {
        return -1;
    }
    return strtoll(digits, NULL, 10);
}

static int newest_first(const void *a, const void *b)
{
    const int64_t first = *(const int64_t *)a;
    const int64_t second = *(const int64_t *)b;
    return (first < second) - (first > second);
}

static enum status list_stream(DIR *stream, const char *suffix, int64_t **steps, int *count)
{
    int64_t *found = NULL;
    int nfound = 0;
    for (const struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        const int64_t step = step_of_name(entry->d_name, suffix);
        if (step < 0) {
            continue;
        }
        int64_t *larger = realloc(found, ((size_t)nfound + 1) * sizeof *found);
        if (larger == NULL) {
            free(found);
            return fail(STATUS_MEMORY, "no memory to list the checkpoints");
        }
        found = larger;
        found[nfound++] = step;
    }
    if (nfound > 0) {
        qsort(found, (size_t)nfound, sizeof *found, newest_first);
    }
    *steps = found;
    *count = nfound;
    return STATUS_OK;
}

static enum status list(const char *folder, const char *suffix, int64_t **steps, int *count)
{
    *steps = NULL;
    *count = 0;
    DIR *stream = opendir(folder);
    if (stream == NULL) {
        return errno == ENOENT ? STATUS_OK
                               : fail(STATUS_FILE, "cannot list %s: %s", folder, strerror(errno));
    }
    const enum status status = list_stream(stream, suffix, steps, count);
    closedir(stream);
    return status;
}

enum status checkpoint_list(const char *folder, int64_t **steps, int *count)
{
    return list(folder, ".h5", steps, count);
}

static enum status remove_all(const char *folder, const char *suffix)
{
    int64_t *steps = NULL;
    int count = 0;
    TRY(list(folder, suffix, &steps, &count));
    enum status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        char name[64];
        char path[PATH_BYTES];
        snprintf(name, sizeof name, "step_%010" PRId64 "%s", steps[i], suffix);
        status = path_join(folder, name, path);
        if (status == STATUS_OK && unlink(path) != 0 && errno != ENOENT) {
            status = fail(STATUS_FILE, "cannot remove %s: %s", path, strerror(errno));
        }
    }
    free(steps);
    return status;
}

enum status checkpoint_remove_temporaries(const char *folder)
{
    TRY(remove_all(folder, ".h5.tmp.tmp")); /* of file_replace, for the temporary file itself */
    return remove_all(folder, ".h5.tmp");
}

/* ---- for a restart -----------------------------------------------------------------------------
 */

static bool is_same_folder(const char *one, const char *two)
{
    struct stat a;
    struct stat b;
    return stat(one, &a) == 0 && stat(two, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int64_t checkpoint_step_here(const char *directory, const char *path)
{
    char folder[PATH_BYTES];
    char *real = realpath(path, NULL);
    char *slash = real == NULL ? NULL : strrchr(real, '/');
    int64_t step = -1;
    if (slash != NULL && checkpoint_folder(directory, folder) == STATUS_OK) {
        *slash = '\0';
        step = is_same_folder(real, folder) ? step_of_name(slash + 1, ".h5") : -1;
    }
    free(real);
    return step;
}

enum status checkpoint_newest_step(const char *directory, int64_t *step)
{
    char folder[PATH_BYTES];
    int64_t *steps = NULL;
    int count = 0;
    TRY(checkpoint_folder(directory, folder));
    TRY(checkpoint_list(folder, &steps, &count));
    *step = count > 0 ? steps[0] : -1;
    free(steps);
    return STATUS_OK;
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
    int64_t *steps = NULL;
    int count = 0;
    TRY(checkpoint_folder(directory, folder));
    TRY(checkpoint_list(folder, &steps, &count));
    enum status status =
        count > 0 && steps[0] > step ? checkpoint_name_latest(folder, step) : STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < count && steps[i] > step; i++) {
        char path[PATH_BYTES];
        status = checkpoint_path(folder, steps[i], path);
        if (status == STATUS_OK && unlink(path) != 0) {
            status =
                fail(STATUS_FILE, "cannot remove the checkpoint %s: %s", path, strerror(errno));
        }
    }
    free(steps);
    return status;
}
