/* Preloaded into the program under test: one chosen call on the files below a folder fails, is cut
 * short, or is where the process dies. The environment says which:
 *
 *     FAULT_FOLDER  absolute path; other files are left alone
 *     FAULT_CALLS   which calls count, a list with commas: open (for writing), write (in all its
 *                   forms), open_direct and write_direct (past the cache), fsync, truncate,
 *                   allocate, rename, unlink, close (of what was opened for writing); empty: all
 *                   of them
 *     FAULT_AT      the number of the call, from 1; 0: none, they are only counted
 *     FAULT_KIND    ENOSPC, EDQUOT, EIO, EINVAL; HANG: it never returns; SHORT: half of a write;
 *                   KILL: SIGKILL in front of the call, KILL_HALF: after half of a write,
 *                   KILL_AFTER: behind the call
 *     FAULT_ONCE    1: this call only; else all from there on (after a SHORT one: ENOSPC)
 *     FAULT_RANK    the rank that it happens on; empty: all ranks
 *     FAULT_LOG     a file name; each rank appends a line a call to FAULT_LOG.<rank>:
 *                   number, call, path, and "fault" where it was made to fail
 *
 * The half second that a run waits behind a stale lock for another run with the same idea is left
 * out: the tests start one run after the other.
 *
 * What goes through stdio is not seen: libc writes it by calls of its own. So no file of a run is
 * written that way. */
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind { KIND_ERROR, KIND_HANG, KIND_SHORT, KIND_KILL, KIND_KILL_HALF, KIND_KILL_AFTER };

/* What is to happen at a call. */
enum verdict { PASS, FAIL, HALF, DIE_HALF, DIE_AFTER };

static struct {
    bool active;
    char folder[PATH_MAX];
    size_t folder_bytes;
    char calls[256]; /* ",write,fsync," */
    long at;
    enum kind kind;
    int error;
    bool once;
    int log;
} plan = {.log = -1};

static atomic_long count;

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value == NULL ? "" : value;
}

static void read_kind(const char *name)
{
    static const struct {
        const char *name;
        enum kind kind;
        int error;
    } kinds[] = {
        {"ENOSPC", KIND_ERROR, ENOSPC},
        {"EDQUOT", KIND_ERROR, EDQUOT},
        {"EIO", KIND_ERROR, EIO},
        {"EINVAL", KIND_ERROR, EINVAL},
        {"HANG", KIND_HANG, 0},
        {"SHORT", KIND_SHORT, ENOSPC},
        {"KILL", KIND_KILL, 0},
        {"KILL_HALF", KIND_KILL_HALF, 0},
        {"KILL_AFTER", KIND_KILL_AFTER, 0},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            plan.kind = kinds[i].kind;
            plan.error = kinds[i].error;
        }
    }
}

__attribute__((constructor)) static void read_plan(void)
{
    const char *rank = setting("OMPI_COMM_WORLD_RANK");
    const char *wanted = setting("FAULT_RANK");
    char name[PATH_MAX];
    snprintf(plan.folder, sizeof plan.folder, "%s", setting("FAULT_FOLDER"));
    snprintf(plan.calls, sizeof plan.calls, ",%s,", setting("FAULT_CALLS"));
    plan.folder_bytes = strlen(plan.folder);
    plan.at = strtol(setting("FAULT_AT"), NULL, 10);
    plan.once = strcmp(setting("FAULT_ONCE"), "1") == 0;
    read_kind(setting("FAULT_KIND"));
    if (wanted[0] != '\0' && strcmp(wanted, rank) != 0) {
        plan.at = 0;
    }
    if (setting("FAULT_LOG")[0] != '\0') {
        snprintf(name, sizeof name, "%s.%s", setting("FAULT_LOG"), rank[0] != '\0' ? rank : "0");
        plan.log = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    }
    plan.active = plan.folder_bytes > 0;
}

static bool is_counted(const char *call)
{
    char item[32];
    snprintf(item, sizeof item, ",%s,", call);
    return plan.calls[1] == ',' || strstr(plan.calls, item) != NULL;
}

static void write_log(long number, const char *call, const char *path, bool fault)
{
    char line[PATH_MAX + 64];
    const int bytes =
        snprintf(line, sizeof line, "%ld %s %s%s\n", number, call, path, fault ? " fault" : "");
    if (plan.log >= 0 && bytes > 0 && (size_t)bytes < sizeof line) {
        syscall(SYS_write, plan.log, line, (size_t)bytes);
    }
}

/* What `path` is called in the folder: "." for that itself; NULL when it lies elsewhere. */
static const char *name_within(const char *path)
{
    if (!plan.active || strncmp(path, plan.folder, plan.folder_bytes) != 0) {
        return NULL;
    }
    const char *rest = path + plan.folder_bytes;
    return *rest == '/' ? rest + 1 : *rest == '\0' ? "." : NULL;
}

static enum verdict judge_path(const char *call, const char *path)
{
    const char *name = name_within(path);
    if (name == NULL || !is_counted(call)) {
        return PASS;
    }
    const long number = atomic_fetch_add(&count, 1) + 1;
    const bool first = number == plan.at;
    const bool hit = plan.at > 0 && (first || (number > plan.at && !plan.once));
    write_log(number, call, name, hit);
    if (!hit) {
        return PASS;
    }
    switch (plan.kind) {
    case KIND_HANG:
        for (;;) {
            pause();
        }
    case KIND_KILL:
        kill(getpid(), SIGKILL);
        return FAIL;
    case KIND_KILL_HALF:
        return DIE_HALF;
    case KIND_KILL_AFTER:
        return DIE_AFTER;
    case KIND_SHORT:
        return first ? HALF : FAIL;
    default:
        return FAIL;
    }
}

/* Paths are relative to the working folder in most calls. */
static enum verdict judge_name(const char *call, const char *name)
{
    char path[2 * PATH_MAX];
    char here[PATH_MAX] = "";
    if (!plan.active) {
        return PASS;
    }
    if (name[0] != '/' && getcwd(here, sizeof here) != NULL) {
        snprintf(path, sizeof path, "%s/%s", here, name);
    } else {
        snprintf(path, sizeof path, "%s", name);
    }
    return judge_path(call, path);
}

static enum verdict judge_fd(const char *call, int fd)
{
    char link[64];
    char path[PATH_MAX];
    if (!plan.active) {
        return PASS;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t bytes = readlink(link, path, sizeof path - 1);
    if (bytes < 0) {
        return PASS;
    }
    path[bytes] = '\0';
    return judge_path(call, path);
}

/* Folders are opened for reading and synced all the same; only their closing is no risk. */
static enum verdict judge_close(int fd)
{
    const int flags = plan.active ? fcntl(fd, F_GETFL) : -1;
    return flags < 0 || (flags & O_ACCMODE) == O_RDONLY ? PASS : judge_fd("close", fd);
}

static int refuse(void)
{
    errno = plan.error;
    return -1;
}

/* The result of a call that was let through. */
static long done(enum verdict verdict, long result)
{
    if (verdict == DIE_HALF || verdict == DIE_AFTER) {
        kill(getpid(), SIGKILL);
    }
    return result;
}

/* One byte cannot be cut in halves: 0 bytes written is no short write but none. */
static size_t cut(enum verdict verdict, size_t bytes)
{
    return bytes > 1 && (verdict == HALF || verdict == DIE_HALF) ? bytes / 2 : bytes;
}

/* The function of that name in the libraries behind this one. */
#define NEXT(type, name) ((type)(uintptr_t)dlsym(RTLD_NEXT, name))

/* ---- writing --------------------------------------------------------------------------------- */

/* The parameters' names in libc's headers are reserved ones. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

ssize_t write(int fd, const void *buffer, size_t bytes)
{
    const enum verdict verdict = judge_fd("write", fd);
    if (verdict == FAIL) {
        return refuse();
    }
    return done(verdict, syscall(SYS_write, fd, buffer, cut(verdict, bytes)));
}

static ssize_t write_at(int fd, const void *buffer, size_t bytes, off_t offset)
{
    const bool direct = plan.active && (fcntl(fd, F_GETFL) & O_DIRECT) != 0;
    const enum verdict verdict = judge_fd(direct ? "write_direct" : "write", fd);
    if (verdict == FAIL) {
        return refuse();
    }
    return done(verdict, syscall(SYS_pwrite64, fd, buffer, cut(verdict, bytes), offset));
}

ssize_t pwrite(int fd, const void *buffer, size_t bytes, off_t offset)
{
    return write_at(fd, buffer, bytes, offset);
}

ssize_t pwrite64(int fd, const void *buffer, size_t bytes, off_t offset)
{
    return write_at(fd, buffer, bytes, offset);
}

/* Half: the first half of the first part that has bytes. */
static bool first_half(const struct iovec *parts, int nparts, enum verdict verdict,
                       struct iovec *half)
{
    for (int i = 0; i < nparts && (verdict == HALF || verdict == DIE_HALF); i++) {
        if (parts[i].iov_len > 0) {
            *half = parts[i];
            half->iov_len = cut(verdict, half->iov_len);
            return true;
        }
    }
    return false;
}

ssize_t writev(int fd, const struct iovec *parts, int nparts)
{
    struct iovec half;
    const enum verdict verdict = judge_fd("write", fd);
    if (verdict == FAIL) {
        return refuse();
    }
    if (first_half(parts, nparts, verdict, &half)) {
        return done(verdict, syscall(SYS_writev, fd, &half, 1));
    }
    return done(verdict, syscall(SYS_writev, fd, parts, nparts));
}

static ssize_t write_parts_at(int fd, const struct iovec *parts, int nparts, off_t offset)
{
    struct iovec half;
    const enum verdict verdict = judge_fd("write", fd);
    if (verdict == FAIL) {
        return refuse();
    }
    if (first_half(parts, nparts, verdict, &half)) {
        return done(verdict, syscall(SYS_pwritev, fd, &half, 1, offset, 0));
    }
    return done(verdict, syscall(SYS_pwritev, fd, parts, nparts, offset, 0));
}

ssize_t pwritev(int fd, const struct iovec *parts, int nparts, off_t offset)
{
    return write_parts_at(fd, parts, nparts, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int nparts, off_t offset)
{
    return write_parts_at(fd, parts, nparts, offset);
}

/* libc's threads write by calls of their own: refused as a whole or not at all. */
static int write_later(struct aiocb *block, const char *name)
{
    const enum verdict verdict = judge_fd("write", block->aio_fildes);
    if (verdict == FAIL) {
        return refuse();
    }
    block->aio_nbytes = cut(verdict, block->aio_nbytes);
    return (int)done(verdict, NEXT(int (*)(struct aiocb *), name)(block));
}

int aio_write(struct aiocb *block)
{
    return write_later(block, "aio_write");
}

int aio_write64(struct aiocb64 *block)
{
    return write_later((struct aiocb *)block, "aio_write64");
}

/* ---- everything else that changes files ------------------------------------------------------ */

/* Do `call` unless it is to fail. */
#define UNLESS_REFUSED(verdict_of_it, call)                                                        \
    do {                                                                                           \
        const enum verdict verdict = (verdict_of_it);                                              \
        return verdict == FAIL ? refuse() : (int)done(verdict, call);                              \
    } while (0)

static int open_for(const char *name, int flags, unsigned mode)
{
    const char *call = (flags & O_DIRECT) != 0 ? "open_direct" : "open";
    UNLESS_REFUSED((flags & O_ACCMODE) == O_RDONLY ? PASS : judge_name(call, name),
                   syscall(SYS_openat, AT_FDCWD, name, flags, mode));
}

#define DEFINE_OPEN(open_of_some_size)                                                             \
    int open_of_some_size(const char *name, int flags, ...)                                        \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, unsigned) : 0;   \
        va_end(args);                                                                              \
        return open_for(name, flags, mode);                                                        \
    }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

int close(int fd)
{
    const enum verdict verdict = judge_close(fd);
    const long result = done(verdict, syscall(SYS_close, fd));
    return verdict == FAIL ? refuse() : (int)result; /* Linux frees the number all the same */
}

int fsync(int fd)
{
    UNLESS_REFUSED(judge_fd("fsync", fd), syscall(SYS_fsync, fd));
}

int fdatasync(int fd)
{
    UNLESS_REFUSED(judge_fd("fsync", fd), syscall(SYS_fdatasync, fd));
}

int ftruncate(int fd, off_t bytes)
{
    UNLESS_REFUSED(judge_fd("truncate", fd), syscall(SYS_ftruncate, fd, bytes));
}

int ftruncate64(int fd, off_t bytes)
{
    return ftruncate(fd, bytes);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    UNLESS_REFUSED(judge_fd("allocate", fd), syscall(SYS_fallocate, fd, mode, offset, bytes));
}

int fallocate64(int fd, int mode, off_t offset, off_t bytes)
{
    return fallocate(fd, mode, offset, bytes);
}

/* It returns its error instead of setting errno. */
int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    return fallocate(fd, 0, offset, bytes) == 0 ? 0 : errno;
}

int posix_fallocate64(int fd, off_t offset, off_t bytes)
{
    return posix_fallocate(fd, offset, bytes);
}

int rename(const char *from, const char *to)
{
    UNLESS_REFUSED(judge_name("rename", to), syscall(SYS_rename, from, to));
}

int unlink(const char *name)
{
    UNLESS_REFUSED(judge_name("unlink", name), syscall(SYS_unlink, name));
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    const bool behind_a_lock = time->tv_sec == 0 && time->tv_nsec == 500000000;
    return behind_a_lock ? 0 : (int)syscall(SYS_nanosleep, time, left);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
