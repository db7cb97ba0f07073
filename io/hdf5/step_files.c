#include "io/hdf5/step_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status step_file_path(const char *folder, int64_t step, char path[PATH_BYTES])
{
    char name[64];
    snprintf(name, sizeof name, "step_%010" PRId64 ".h5", step);
    return path_join(folder, name, path);
}

int64_t step_file_step(const char *name, const char *suffix)
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
        const int64_t step = step_file_step(entry->d_name, suffix);
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

enum status step_files_list(const char *folder, int64_t **steps, int *count)
{
    return list(folder, ".h5", steps, count);
}

static enum status remove_all(const char *folder, const char *suffix)
{
    int64_t *steps = NULL;
    int count = 0;
    TRY(list(folder, suffix, &steps, &count));
    enum status status = STATUS_OK;
    for (int i = 0; i < count; i++) {
        char name[64];
        char path[PATH_BYTES];
        snprintf(name, sizeof name, "step_%010" PRId64 "%s", steps[i], suffix);
        TRY_GOTO(path_join(folder, name, path));
        TRY_GOTO(file_remove(path));
    }
done:
    free(steps);
    return status;
}

enum status step_files_remove_temporaries(const char *folder)
{
    TRY(remove_all(folder, ".h5.tmp.tmp")); /* file_replace's own */
    return remove_all(folder, ".h5.tmp");
}
