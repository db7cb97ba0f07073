#include "output/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static const double TOUCH_EVERY = 30; /* s */
/* An output may keep the step loop from touching the lock for minutes. */
enum { DEAD_AFTER_MINUTES = 5 };

struct holder {
    char host[256], job[64], since[32];
    long process;
    unsigned long long start; /* of the process, in ticks of its machine's clock */
    time_t touched;
    char text[LOCK_BYTES]; /* of the file */
};

static void short_pause(void)
{
    const struct timespec half = {.tv_nsec = 500000000};
    nanosleep(&half, NULL);
}

/* "" when there is no such file. */
static time_t read_text(const char *path, char text[LOCK_BYTES])
{
    struct stat found = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t n = fd >= 0 ? read(fd, text, LOCK_BYTES - 1) : -1;
    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0) {
        (void)fstat(fd, &found);
        close(fd);
    }
    return found.st_mtime;
}

/* When the process began, by /proc/PID/stat; 0 when it has ended or is another user's that the
 * system hides. */
static unsigned long long process_start(long process)
{
    char path[64];
    char text[LOCK_BYTES];
    char state = 'X';
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    read_text(path, text);
    const char *rest = strrchr(text, ')'); /* the program's name may hold anything */
    if (rest == NULL ||
        sscanf(rest,
               ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &state, &start) != 2 ||
        state == 'Z' || state == 'X') {
        return 0;
    }
    return start;
}

static bool is_process_alive(const struct holder *holder)
{
    const unsigned long long start = process_start(holder->process);
    if (start != 0) {
        return start == holder->start;
    }
    return kill((pid_t)holder->process, 0) != 0 && errno == EPERM; /* hidden */
}

static void this_process(struct holder *own)
{
    const char *job = getenv("SLURM_JOB_ID");
    const time_t now = time(NULL);
    struct tm utc;
    *own = (struct holder){.process = (long)getpid(), .touched = now};
    own->start = process_start(own->process);
    if (gethostname(own->host, sizeof own->host - 1) != 0 || own->host[0] == '\0') {
        snprintf(own->host, sizeof own->host, "unknown");
    }
    snprintf(own->job, sizeof own->job, "%s", job != NULL && job[0] != '\0' ? job : "none");
    strftime(own->since, sizeof own->since, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

/* False when there is no lock, or one that was cut short when its run was killed. */
static bool read_holder(const char *path, struct holder *holder)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        *holder = (struct holder){.process = 0};
        holder->touched = read_text(path, holder->text);
        if (sscanf(holder->text, "host %255s process %ld start %llu job %63s since %31s",
                   holder->host, &holder->process, &holder->start, holder->job,
                   holder->since) == 5) {
            return true;
        }
        if (!file_exists(path)) {
            return false;
        }
        short_pause(); /* it may just be being written */
    }
    return false;
}

static bool is_at_work(const struct holder *holder)
{
    struct holder own;
    this_process(&own);
    if (strcmp(holder->host, own.host) == 0) {
        return holder->process != own.process && is_process_alive(holder);
    }
    const bool same_job = strcmp(own.job, "none") != 0 && strcmp(holder->job, own.job) == 0;
    return !same_job && own.touched - holder->touched < 60 * DEAD_AFTER_MINUTES;
}

static enum status check(const char *directory, const char *path, char text[LOCK_BYTES])
{
    struct holder holder;
    const bool is_lock = read_holder(path, &holder);
    memcpy(text, holder.text, LOCK_BYTES);
    if (!is_lock || !is_at_work(&holder)) {
        return STATUS_OK;
    }
    return fail(STATUS_INPUT,
                "another run is at work in the output folder %.1000s (process %ld on %s, since "
                "%s); wait for its end, end it by the file %.1000s/stop, or choose another folder "
                "with --output. If it has crashed on another host, wait %d minutes or remove "
                "run.lock there",
                directory, holder.process, holder.host, holder.since, directory,
                DEAD_AFTER_MINUTES);
}

enum status run_lock_check(const char *directory)
{
    char path[PATH_BYTES];
    char text[LOCK_BYTES];
    TRY(path_join(directory, "run.lock", path));
    return check(directory, path, text);
}

/* Remove a lock with this text. Between the look at it and here another run may have replaced it:
 * what is renamed is looked at again, and put back unless it is that one. */
static enum status remove_stale(const char *path, const char *stale)
{
    char aside[PATH_BYTES + 32];
    char text[LOCK_BYTES];
    snprintf(aside, sizeof aside, "%s.%ld", path, (long)getpid());
    if (rename(path, aside) != 0) {
        return errno == ENOENT ? STATUS_OK
                               : fail(STATUS_FILE, "cannot remove %s: %s", path, strerror(errno));
    }
    read_text(aside, text);
    if (strcmp(text, stale) != 0 && link(aside, path) != 0 && errno != EEXIST &&
        rename(aside, path) != 0) { /* a file system without links */
        return fail(STATUS_FILE, "cannot restore %s from %s: %s", path, aside, strerror(errno));
    }
    return file_remove(aside);
}

/* *made false when there is one already. */
static enum status make_file(const char *path, const char *text, bool *made)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *made = fd >= 0;
    if (fd < 0) {
        return errno == EEXIST ? STATUS_OK
                               : fail(STATUS_FILE, "cannot create %s: %s", path, strerror(errno));
    }
    const enum status status = file_close(fd, path, file_write(fd, path, text, strlen(text)));
    if (status != STATUS_OK) {
        unlink(path);
    }
    return status;
}

/* Is the file there and not ours? */
static bool is_lost(const char *path, const char *own)
{
    char text[LOCK_BYTES];
    read_text(path, text);
    return text[0] != '\0' && strcmp(text, own) != 0;
}

enum status run_lock_take(const char *directory, struct run_lock *lock)
{
    char text[LOCK_BYTES];
    char stale[LOCK_BYTES];
    struct holder own;
    bool made = false;
    bool replaced = false;
    lock->text[0] = '\0';
    TRY(path_join(directory, "run.lock", lock->path));
    this_process(&own);
    snprintf(text, sizeof text, "host %s\nprocess %ld\nstart %llu\njob %s\nsince %s\n", own.host,
             own.process, own.start, own.job, own.since);
    TRY(make_file(lock->path, text, &made));
    while (!made) {
        TRY(check(directory, lock->path, stale));
        TRY(remove_stale(lock->path, stale));
        replaced = true;
        TRY(make_file(lock->path, text, &made));
    }
    if (replaced) {
        /* two runs may have found the same old lock: the later one has removed the other's */
        short_pause();
        FAIL_IF(is_lost(lock->path, text),
                fail(STATUS_INPUT,
                     "another run has begun in the output folder %s just now; "
                     "choose another folder with --output",
                     directory));
        log_info("replaced stale lock %s: the run that created it no longer exists", lock->path);
    }
    snprintf(lock->text, sizeof lock->text, "%s", text);
    lock->touched_at = clock_seconds();
    return STATUS_OK;
}

enum status run_lock_touch(struct run_lock *lock)
{
    const double now = clock_seconds();
    if (lock->text[0] == '\0' || now - lock->touched_at < TOUCH_EVERY) {
        return STATUS_OK;
    }
    lock->touched_at = now;
    FAIL_IF(is_lost(lock->path, lock->text),
            fail(STATUS_FILE, "another run has taken over the output folder (%s): this one ends",
                 lock->path));
    (void)utimensat(AT_FDCWD, lock->path, NULL, 0); /* removed by hand: the user's wish */
    return STATUS_OK;
}

void run_lock_release(struct run_lock *lock)
{
    if (lock->text[0] == '\0') {
        return;
    }
    if (!is_lost(lock->path, lock->text) && unlink(lock->path) != 0 && errno != ENOENT) {
        log_warn("cannot remove %s: %s", lock->path, strerror(errno));
    }
    lock->text[0] = '\0';
}
