/* Folders (base/file.h). */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

enum status directory_check(const char *path)
{
    struct stat found;
    FAIL_IF(stat(path, &found) != 0,
            fail(STATUS_FILE, "cannot access the folder %s: %s", path, strerror(errno)));
    return S_ISDIR(found.st_mode) ? STATUS_OK : fail(STATUS_FILE, "%s is not a folder", path);
}

static int remove_entry(const char *path, const struct stat *found, int type, struct FTW *place)
{
    return remove(path);
}

void directory_remove(const char *path)
{
    enum { OPEN_FILES = 8 };
    if (file_exists(path) && nftw(path, remove_entry, OPEN_FILES, FTW_DEPTH | FTW_PHYS) != 0) {
        log_warn("cannot remove %s: %s", path, strerror(errno));
    }
}

enum status path_list_add(struct path_list *list, const char *path)
{
    char *copy = strdup(path);
    char **larger = realloc(list->path, ((size_t)list->count + 1) * sizeof *larger);
    list->path = larger != NULL ? larger : list->path;
    if (copy == NULL || larger == NULL) {
        free(copy);
        return fail(STATUS_MEMORY, "no memory for a list of files");
    }
    list->path[list->count++] = copy;
    return STATUS_OK;
}

void path_list_free(struct path_list *list)
{
    for (int i = 0; i < list->count; i++) {
        free(list->path[i]);
    }
    free(list->path);
    *list = (struct path_list){0};
}

enum status directory_list(const char *directory, struct path_list *names)
{
    SCOPED_FREE struct dirent **entries = NULL;
    const int count = scandir(directory, &entries, NULL, alphasort);
    enum status status = STATUS_OK;
    FAIL_IF(count < 0 && errno != ENOENT && errno != ENOTDIR,
            fail(STATUS_FILE, "cannot list the folder %s: %s", directory, strerror(errno)));
    for (int i = 0; i < count; i++) {
        status = status == STATUS_OK ? path_list_add(names, entries[i]->d_name) : status;
        free(entries[i]);
    }
    return status;
}

void directory_existing(const char *path, char found[PATH_BYTES])
{
    snprintf(found, PATH_BYTES, "%s", path);
    while (!file_exists(found)) {
        char *slash = strrchr(found, '/');
        if (slash == NULL || slash == found) {
            snprintf(found, PATH_BYTES, "%s", slash == NULL ? "." : "/");
            break;
        }
        *slash = '\0';
    }
}

bool directory_is_possible(const char *path)
{
    char found[PATH_BYTES];
    struct stat about;
    directory_existing(path, found);
    return stat(found, &about) == 0 && S_ISDIR(about.st_mode) && access(found, W_OK | X_OK) == 0;
}

enum status directory_check_room(const char *directory, uint64_t bytes)
{
    struct statvfs system;
    FAIL_IF(
        statvfs(directory, &system) != 0,
        fail(STATUS_FILE, "cannot determine the free space of %s: %s", directory, strerror(errno)));
    const uint64_t room = (uint64_t)system.f_bavail * system.f_frsize;
    if (room < bytes && system.f_blocks > 0) {
        char has[BYTES_TEXT];
        char needs[BYTES_TEXT];
        char more[BYTES_TEXT];
        return fail(STATUS_FILE,
                    "no room: %s has %s free, %s are needed, %s more; free some or choose another "
                    "output folder",
                    directory, bytes_text((double)room, has), bytes_text((double)bytes, needs),
                    bytes_text((double)(bytes - room), more));
    }
    return STATUS_OK;
}
