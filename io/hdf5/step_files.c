#include "io/hdf5/step_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static enum status path_of(const char *folder, int64_t step, const char *suffix,
                           char path[PATH_BYTES])
{
    char name[64];
    snprintf(name, sizeof name, "step_%010" PRId64 "%s", step, suffix);
    return path_join(folder, name, path);
}

enum status step_file_path(const char *folder, int64_t step, char path[PATH_BYTES])
{
    return path_of(folder, step, ".h5", path);
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

static enum status list(const char *folder, const char *suffix, int64_t **steps, int *count)
{
    SCOPED_BY(path_list_free) struct path_list names = {0};
    *steps = NULL;
    *count = 0;
    TRY(file_exists(folder) ? directory_check(folder) : STATUS_OK);
    TRY(directory_list(folder, &names));
    *steps = malloc(((size_t)names.count + 1) * sizeof **steps);
    TRY(CHECK_MEMORY(*steps != NULL, "no memory to list the checkpoints"));
    for (int n = 0; n < names.count; n++) {
        const int64_t step = step_file_step(names.path[n], suffix);
        if (step >= 0) {
            (*steps)[(*count)++] = step;
        }
    }
    qsort(*steps, (size_t)*count, sizeof **steps, newest_first);
    return STATUS_OK;
}

enum status step_files_list(const char *folder, int64_t **steps, int *count)
{
    return list(folder, ".h5", steps, count);
}

enum status step_files_newest(const char *folder, int64_t *step)
{
    SCOPED_FREE int64_t *steps = NULL;
    int count = 0;
    TRY(step_files_list(folder, &steps, &count));
    *step = count > 0 ? steps[0] : -1;
    return STATUS_OK;
}

/* Does no other process have the file open? Else a write lease is refused. Asked only where leases
 * know all processes: those of file systems over a network may know this node's alone. Until the
 * lease is given back, this process would be told of another's open by a signal, which would end
 * it unless it is one of those that are ignored. */
static bool is_unused(int fd)
{
    struct statfs system;
    if (fstatfs(fd, &system) != 0 ||
        (system.f_type != EXT4_SUPER_MAGIC && system.f_type != XFS_SUPER_MAGIC &&
         system.f_type != TMPFS_MAGIC)) {
        return false;
    }
    return fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0 &&
           fcntl(fd, F_SETLEASE, F_UNLCK) == 0;
}

/* May the file be written over: `bytes` of it are on the disk, and this is its only use? */
static bool is_free(const char *path, uint64_t bytes)
{
    enum { UNIT = 512 }; /* of st_blocks */
    SCOPED_FD const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat found;
    return fd >= 0 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink == 1 &&
           found.st_uid == geteuid() && (found.st_mode & S_IWUSR) != 0 &&
           (uint64_t)found.st_blocks * UNIT >= bytes && is_unused(fd);
}

/* reuse_as: NULL to remove all. */
static enum status remove_all(const char *folder, const char *suffix, uint64_t bytes,
                              const char *reuse_as, bool *reused)
{
    SCOPED_FREE int64_t *steps = NULL;
    int count = 0;
    TRY(list(folder, suffix, &steps, &count));
    for (int i = 0; i < count; i++) {
        char path[PATH_BYTES];
        TRY(path_of(folder, steps[i], suffix, path));
        if (reuse_as != NULL && !*reused && is_free(path, bytes) && rename(path, reuse_as) == 0) {
            *reused = true;
        } else if (reuse_as == NULL || !*reused || strcmp(path, reuse_as) != 0) {
            TRY(file_remove(path));
        }
    }
    return STATUS_OK;
}

static const char incomplete[] = ".h5.tmp";

enum status step_files_reuse_temporary(const char *folder, uint64_t bytes, const char *path,
                                       bool *reused)
{
    *reused = false;
    TRY(remove_all(folder, ".h5.tmp.tmp", 0, NULL, NULL)); /* file_replace's own */
    return remove_all(folder, incomplete, bytes, path, reused);
}

enum status step_files_remove_temporaries(const char *folder)
{
    bool reused;
    return step_files_reuse_temporary(folder, 0, NULL, &reused);
}

bool step_files_give_up(const char *folder, int64_t step)
{
    char path[PATH_BYTES];
    char temporary[PATH_BYTES];
    return step_file_path(folder, step, path) == STATUS_OK &&
           path_of(folder, step, incomplete, temporary) == STATUS_OK &&
           rename(path, temporary) == 0;
}
