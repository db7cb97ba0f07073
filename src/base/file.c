#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"

static _Thread_local double disk_seconds;

double file_disk_seconds(void)
{
    return disk_seconds;
}

void file_disk_reset(double seconds)
{
    disk_seconds = seconds;
}

static int timed_fsync(int fd)
{
    const double since = clock_seconds();
    const int failed = fsync(fd);
    disk_seconds += clock_seconds() - since;
    return failed;
}

/* The message shows only the beginning: the whole path would leave no space for the reason. */
static enum status temporary_of(const char *path, char temporary[PATH_BYTES])
{
    return snprintf(temporary, PATH_BYTES, "%s.tmp", path) < PATH_BYTES
               ? STATUS_OK
               : fail(STATUS_FILE,
                      "the path %.200s... is too long; at most %d characters are allowed", path,
                      PATH_BYTES - 1);
}

enum status path_print(char *text, size_t bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const bool fits = vsnprintf(text, bytes, format, args) < (int)bytes;
    va_end(args);
    return fits ? STATUS_OK : fail(STATUS_INPUT, "the name or path %.200s... is too long", text);
}

enum status path_join(const char *directory, const char *name, char path[PATH_BYTES])
{
    return path_print(path, PATH_BYTES, "%s/%s", directory, name);
}

bool path_ends_in(const char *path, const char *ending)
{
    const size_t length = strlen(path);
    return length > strlen(ending) && strcmp(path + length - strlen(ending), ending) == 0;
}

static enum status sync_parent(const char *path)
{
    char parent[PATH_BYTES];
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    if (slash == NULL) {
        snprintf(parent, sizeof parent, ".");
    } else if (slash == parent) {
        parent[1] = '\0';
    } else {
        *slash = '\0';
    }
    SCOPED_FD const int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FAIL_IF(fd < 0, fail(STATUS_FILE, "cannot open the folder %s: %s", parent, strerror(errno)));
    /* EINVAL: the file system cannot sync folders */
    return timed_fsync(fd) == 0 || errno == EINVAL
               ? STATUS_OK
               : fail(STATUS_FILE, "cannot flush the folder %s: %s", parent, strerror(errno));
}

/* Opening a pipe would wait for its other end, and renaming a file over a device would remove it
 * for all programs. A missing file passes: the caller reports it. */
static enum status check_regular(const char *path)
{
    struct stat found;
    return stat(path, &found) != 0 || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)
               ? STATUS_OK
               : fail(STATUS_FILE, "%s is not a regular file but a pipe or a device; give a file",
                      path);
}

enum status file_publish(const char *temporary, const char *path)
{
    TRY(check_regular(path));
    FAIL_IF(rename(temporary, path) != 0,
            fail(STATUS_FILE, "cannot rename %s to %s: %s", temporary, path, strerror(errno)));
    return sync_parent(path);
}

enum status file_open(const char *path, int flags, int *fd)
{
    *fd = -1;
    TRY(check_regular(path));
    *fd = open(path, flags | O_CLOEXEC);
    return *fd >= 0 ? STATUS_OK : fail(STATUS_FILE, "cannot open %s: %s", path, strerror(errno));
}

/* All bytes, at an offset; below 0: where the file stands. */
static enum status write_all(int fd, const char *path, const char *bytes, size_t nbytes,
                             off_t offset)
{
    const double since = clock_seconds();
    enum status status = STATUS_OK;
    size_t done = 0;
    while (status == STATUS_OK && done < nbytes) {
        const ssize_t n = offset < 0
                              ? write(fd, bytes + done, nbytes - done)
                              : pwrite(fd, bytes + done, nbytes - done, offset + (off_t)done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            status = fail(STATUS_FILE, "cannot write %s: %s", path, strerror(errno));
        }
    }
    if (offset >= 0) {
        (void)sync_file_range(fd, offset, (off_t)done, SYNC_FILE_RANGE_WRITE);
    }
    disk_seconds += clock_seconds() - since;
    return status;
}

enum status file_write(int fd, const char *path, const char *bytes, size_t nbytes)
{
    return write_all(fd, path, bytes, nbytes, -1);
}

enum status file_write_at(int fd, const char *path, const void *bytes, size_t nbytes,
                          uint64_t offset)
{
    return write_all(fd, path, bytes, nbytes, (off_t)offset);
}

enum status file_output_open(const char *path, bool direct, struct file_output *file)
{
    struct statfs system;
    *file = (struct file_output){.path = path, .direct_fd = -1, .direct = direct};
    TRY(file_open(path, O_RDWR | O_NOFOLLOW, &file->fd));
    file->in_memory = fstatfs(file->fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
    return STATUS_OK;
}

/* Copy to a file in memory; *done: it was possible. The pages are allocated first, since memory
 * that is missing in a mapping would be a signal and not an error. */
static enum status write_mapped(const struct file_output *file, const char *bytes, size_t nbytes,
                                uint64_t offset, bool *done)
{
    const double since = clock_seconds();
    const size_t before = (size_t)(offset % FILE_PAGE_BYTES);
    *done = false;
    if (fallocate(file->fd, 0, (off_t)offset, (off_t)nbytes) != 0) {
        return errno == EOPNOTSUPP || errno == EINTR
                   ? STATUS_OK
                   : fail(STATUS_FILE, "cannot write %s: %s", file->path, strerror(errno));
    }
    char *pages = mmap(NULL, before + nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                       file->fd, (off_t)(offset - before));
    if (pages != MAP_FAILED) {
        memcpy(pages + before, bytes, nbytes);
        munmap(pages, before + nbytes);
        *done = true;
    }
    disk_seconds += clock_seconds() - since;
    return STATUS_OK;
}

/* Many file systems refuse direct output, some only in the write itself; then the page cache is
 * used. */
static bool is_refusal(int reason)
{
    return reason == EINVAL || reason == EOPNOTSUPP;
}

static enum status open_direct(struct file_output *file)
{
    enum status status = STATUS_OK;
    /* set by the first of the threads that write, unless another has been refused since */
#pragma omp critical(file_open_direct)
    if (file->direct && file->direct_fd < 0) {
        file->direct_fd = open(file->path, O_WRONLY | O_DIRECT | O_CLOEXEC);
        if (file->direct_fd < 0 && !is_refusal(errno)) {
            status = fail(STATUS_FILE, "cannot open %s: %s", file->path, strerror(errno));
        }
        file->direct = file->direct_fd >= 0;
    }
    return status;
}

/* Write pages bypassing the page cache. `done` is the number of bytes written. The caller writes
 * the rest: data that the file system refused, or that follow a write that ended within a page. */
static enum status write_pages(struct file_output *file, const char *bytes, size_t nbytes,
                               uint64_t offset, size_t *done)
{
    const double since = clock_seconds();
    enum status status = STATUS_OK;
    bool whole = true;
    while (status == STATUS_OK && file->direct && whole && *done < nbytes) {
        const ssize_t n =
            pwrite(file->direct_fd, bytes + *done, nbytes - *done, (off_t)(offset + *done));
        if (n > 0) {
            *done += (size_t)n;
            file->direct_bytes += (uint64_t)n;
            whole = n % FILE_PAGE_BYTES == 0;
        } else if (n < 0 && is_refusal(errno)) {
            file->direct = false;
        } else if (n == 0 || errno != EINTR) {
            status = fail(STATUS_FILE, "cannot write %s: %s", file->path, strerror(errno));
        }
    }
    disk_seconds += clock_seconds() - since;
    return status;
}

/* smaller writes are better collected in the page cache (docs/developers/files_design.md) */
enum { LEAST_BYTES = 2 << 20 };

/* The bytes that bypass the page cache: whole pages, if there are enough of them. */
static size_t direct_part(const struct file_output *file, const char *bytes, size_t nbytes,
                          size_t head)
{
    const bool wanted =
        file->direct && nbytes >= LEAST_BYTES && ((uintptr_t)bytes + head) % FILE_PAGE_BYTES == 0;
    return wanted ? (nbytes - head) / FILE_PAGE_BYTES * FILE_PAGE_BYTES : 0;
}

enum status file_output_write(struct file_output *file, const void *bytes, size_t nbytes,
                              uint64_t offset)
{
    const char *from = bytes;
    const size_t head = (size_t)(-offset % FILE_PAGE_BYTES);
    const size_t pages = direct_part(file, from, nbytes, head);
    size_t done = 0;
    bool mapped = false;
    if (file->in_memory && nbytes >= LEAST_BYTES) {
        TRY(write_mapped(file, from, nbytes, offset, &mapped));
        if (mapped) {
            return STATUS_OK;
        }
    }
    if (pages > 0) {
        TRY(open_direct(file));
        TRY(write_pages(file, from + head, pages, offset + head, &done));
    }
    if (done > 0 && head > 0) {
        TRY(file_write_at(file->fd, file->path, from, head, offset));
    }
    done += done > 0 ? head : 0;
    return done == nbytes
               ? STATUS_OK
               : file_write_at(file->fd, file->path, from + done, nbytes - done, offset + done);
}

enum status file_close(int fd, const char *path, enum status status)
{
    FAIL_IF(close(fd) != 0 && status == STATUS_OK,
            fail(STATUS_FILE, "cannot close %s: %s", path, strerror(errno)));
    return status;
}

enum status file_output_close(struct file_output *file)
{
    const int direct_fd = file->direct_fd;
    const enum status status =
        direct_fd >= 0 ? file_close(direct_fd, file->path, STATUS_OK) : STATUS_OK;
    return file->fd >= 0 ? file_close(file->fd, file->path, status) : status;
}

enum status file_read_at(int fd, const char *path, void *bytes, size_t nbytes, uint64_t offset)
{
    size_t done = 0;
    while (done < nbytes) {
        const ssize_t n = pread(fd, (char *)bytes + done, nbytes - done, (off_t)(offset + done));
        FAIL_IF(n == 0, fail(STATUS_FILE, "%s ends too early", path));
        FAIL_IF(n < 0 && errno != EINTR,
                fail(STATUS_FILE, "cannot read %s: %s", path, strerror(errno)));
        done += n > 0 ? (size_t)n : 0;
    }
    return STATUS_OK;
}

enum status file_sync(int fd, const char *path)
{
    return timed_fsync(fd) != 0
               ? fail(STATUS_FILE, "cannot flush %s to disk: %s", path, strerror(errno))
               : STATUS_OK;
}

void file_forget(int fd)
{
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

enum status file_sync_named(const char *path)
{
    int fd = -1;
    TRY(file_open(path, O_RDWR, &fd));
    return file_close(fd, path, file_sync(fd, path));
}

/* A new file: a link or a pipe that stands there is removed, not opened. */
static enum status create(const char *path, const char *bytes, size_t nbytes, bool synced)
{
    enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
    int fd = open(path, FLAGS, 0666);
    if (fd < 0 && errno == EEXIST && unlink(path) == 0) {
        fd = open(path, FLAGS, 0666);
    }
    FAIL_IF(fd < 0, fail(STATUS_FILE, "cannot create %s: %s", path, strerror(errno)));
    enum status status = file_write(fd, path, bytes, nbytes);
    if (status == STATUS_OK && synced) {
        status = file_sync(fd, path);
    }
    status = file_close(fd, path, status);
    if (status != STATUS_OK) {
        unlink(path);
    }
    return status;
}

enum status file_create(const char *path, const char *bytes, size_t nbytes)
{
    return create(path, bytes, nbytes, false);
}

enum status file_overwrite(const char *path, const char *bytes, size_t nbytes)
{
    static const char zeros[1 << 16];
    int fd = -1;
    TRY(file_open(path, O_WRONLY | O_NOFOLLOW, &fd));
    enum status status = file_write(fd, path, bytes, nbytes);
    status = status == STATUS_OK ? file_write(fd, path, zeros, sizeof zeros) : status;
    return file_close(fd, path, status);
}

enum status file_replace(const char *path, const char *bytes, size_t nbytes)
{
    char temporary[PATH_BYTES];
    enum status status;
    TRY(temporary_of(path, temporary));
    TRY_GOTO(create(temporary, bytes, nbytes, true));
    TRY_GOTO(file_publish(temporary, path));
    return STATUS_OK;
done:
    unlink(temporary);
    return status;
}

/* A link, a device or a pipe. */
static bool is_in_place(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

enum status file_save(const char *path, const char *bytes, size_t nbytes)
{
    if (!is_in_place(path)) {
        return file_replace(path, bytes, nbytes);
    }
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
    return fd >= 0 ? file_close(fd, path, file_write(fd, path, bytes, nbytes))
                   : fail(STATUS_FILE, "cannot open %s: %s", path, strerror(errno));
}

enum status file_remove(const char *path)
{
    return unlink(path) != 0 && errno != ENOENT
               ? fail(STATUS_FILE, "cannot remove %s: %s", path, strerror(errno))
               : STATUS_OK;
}

enum status file_check_place(const char *path)
{
    char temporary[PATH_BYTES];
    struct stat found;
    TRY(temporary_of(path, temporary));
    FAIL_IF(stat(path, &found) == 0 && S_ISDIR(found.st_mode),
            fail(STATUS_FILE, "cannot write %s: it is a folder", path));
    if (is_in_place(path) && (access(path, W_OK) == 0 || errno == ENOENT)) {
        return STATUS_OK;
    }
    TRY(create(temporary, "", 0, false));
    unlink(temporary);
    return STATUS_OK;
}

static enum status read_stream(FILE *stream, const char *path, size_t limit, char **bytes,
                               size_t *nbytes)
{
    SCOPED_FREE char *buffer = NULL;
    size_t capacity = 0;
    size_t used = 0;
    do {
        const size_t more = capacity > 0 ? 2 * capacity : 65536;
        capacity = more <= limit ? more : limit + 1;
        char *larger = realloc(buffer, capacity + 1);
        TRY(CHECK_MEMORY(larger != NULL, "no memory to read %s", path));
        buffer = larger;
        used += fread(buffer + used, 1, capacity - used, stream);
    } while (used == capacity && used <= limit);
    FAIL_IF(ferror(stream) != 0, fail(STATUS_FILE, "cannot read %s: %s", path, strerror(errno)));
    FAIL_IF(used > limit,
            fail(STATUS_FILE, "%s is larger than %zu bytes: not what was expected", path, limit));
    buffer[used] = '\0';
    *bytes = buffer;
    *nbytes = used;
    buffer = NULL;
    return STATUS_OK;
}

enum status file_open_stream(const char *path, FILE **stream)
{
    int fd = -1;
    TRY(file_open(path, O_RDONLY, &fd));
    *stream = fdopen(fd, "rb");
    if (*stream == NULL) {
        close(fd);
    }
    return CHECK_MEMORY(*stream != NULL, "no memory to read %s", path);
}

enum status file_read_all(const char *path, size_t limit, char **bytes, size_t *nbytes)
{
    FILE *stream = NULL;
    TRY(file_open_stream(path, &stream));
    const enum status status = read_stream(stream, path, limit, bytes, nbytes);
    fclose(stream);
    return status;
}

enum status directory_make(const char *path)
{
    char partial[PATH_BYTES];
    TRY(path_print(partial, sizeof partial, "%s", path));
    for (char *p = partial + 1;; p++) {
        if (*p != '/' && *p != '\0') {
            continue;
        }
        const char kept = *p;
        *p = '\0';
        FAIL_IF(mkdir(partial, 0777) != 0 && errno != EEXIST,
                fail(STATUS_FILE, "cannot create the folder %s: %s", partial, strerror(errno)));
        *p = kept;
        if (kept == '\0') {
            break;
        }
    }
    return directory_check(path);
}

bool file_exists(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

uint64_t file_size(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 ? (uint64_t)found.st_size : 0;
}
