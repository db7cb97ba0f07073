/* The lock on the output folder: which locks count, and which a dead run has left. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "output/run_lock.h"
#include "tests/test.h"

static char folder[64];
static char path[PATH_BYTES];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "test_run_lock.XXXXXX");
    unsetenv("SLURM_JOB_ID");
    return mkdtemp(folder) == NULL || path_join(folder, "run.lock", path) != STATUS_OK;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

#define IN_FOLDER(name) TEST_WITH(name, make_folder, remove_folder)

static void write_text(const char *text)
{
    assert_int_equal(file_replace(path, text, strlen(text)), STATUS_OK);
}

static void write_lock(const char *host, long process, const char *start, const char *job)
{
    char text[LOCK_BYTES];
    snprintf(text, sizeof text, "host %s\nprocess %ld\nstart %s\njob %s\nsince 2026-01-02T03:04Z\n",
             host, process, start, job);
    write_text(text);
}

static void set_age(int seconds)
{
    const struct timespec then = {.tv_sec = time(NULL) - seconds};
    const struct timespec times[2] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void check_refused(const char *says)
{
    struct run_lock lock;
    assert_int_equal(run_lock_check(folder), STATUS_INPUT);
    assert_int_equal(run_lock_take(folder, &lock), STATUS_INPUT);
    assert_non_null(strstr(fail_message(), says));
    run_lock_release(&lock);
    assert_true(file_exists(path));
}

static void check_taken(void)
{
    struct run_lock lock;
    assert_int_equal(run_lock_check(folder), STATUS_OK);
    assert_int_equal(run_lock_take(folder, &lock), STATUS_OK);
    assert_true(file_exists(path));
    run_lock_release(&lock);
    assert_false(file_exists(path));
}

IN_FOLDER(a_free_folder_is_taken)
{
    check_taken();
}

/* A process of its own takes the lock and is killed. */
IN_FOLDER(a_live_process_holds_it_until_it_is_dead)
{
    struct run_lock lock;
    const pid_t child = fork();
    if (child == 0) {
        if (run_lock_take(folder, &lock) == STATUS_OK) {
            pause();
        }
        _exit(1);
    }
    while (file_size(path) == 0 && waitpid(child, NULL, WNOHANG) == 0) {
    }
    char says[64];
    snprintf(says, sizeof says, "(process %ld on ", (long)child);
    check_refused(says);
    set_age(100000); /* its age does not count here */
    check_refused(says);
    kill(child, SIGKILL);
    siginfo_t ended;
    waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT);
    assert_int_equal(run_lock_check(folder), STATUS_OK); /* nobody has asked how it ended */
    waitpid(child, NULL, 0);
    check_taken();
}

/* A slow machine, between its look at a stale lock and the removal. */
static bool is_slow;

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
int rename(const char *from, const char *to)
{
    if (is_slow) {
        sleep(2);
    }
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlink(const char *name)
{
    if (is_slow) {
        sleep(2);
    }
    return unlinkat(AT_FDCWD, name, 0);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

IN_FOLDER(of_two_that_find_a_stale_lock_one_takes_it)
{
    struct run_lock lock;
    int code = 0;
    write_lock("elsewhere", 1, "1", "none");
    set_age(1000);
    const pid_t child = fork();
    if (child == 0) {
        is_slow = true;
        _exit((int)run_lock_take(folder, &lock));
    }
    sleep(1); /* until it sleeps */
    assert_int_equal(run_lock_take(folder, &lock), STATUS_OK);
    waitpid(child, &code, 0);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == (int)STATUS_INPUT);
    lock.touched_at -= 31;
    assert_int_equal(run_lock_touch(&lock), STATUS_OK);
    assert_true(file_exists(path));
    run_lock_release(&lock);
}

IN_FOLDER(a_process_that_got_its_number_later_is_another)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    write_lock(host, (long)getppid(), "1", "none");
    check_taken();
    write_lock(host, (long)getpid(), "1", "none");
    check_taken();
}

IN_FOLDER(on_another_host_its_age_counts)
{
    write_lock("elsewhere", 1, "1", "none");
    check_refused("(process 1 on elsewhere, since 2026-01-02T03:04Z)");
    set_age(240);
    check_refused("elsewhere");
    set_age(360);
    check_taken();
}

IN_FOLDER(a_requeued_job_is_not_blocked)
{
    write_lock("elsewhere", 1, "1", "77");
    setenv("SLURM_JOB_ID", "78", 1);
    check_refused("elsewhere");
    setenv("SLURM_JOB_ID", "77", 1);
    check_taken();
    unsetenv("SLURM_JOB_ID");
}

IN_FOLDER(one_that_was_cut_short_is_replaced)
{
    write_text("");
    check_taken();
    write_text("host elsewhere\nproc");
    check_taken();
}

IN_FOLDER(it_is_touched_and_nobody_elses_is)
{
    struct run_lock lock;
    assert_int_equal(run_lock_take(folder, &lock), STATUS_OK);
    struct stat found;
    set_age(1000);
    assert_int_equal(run_lock_touch(&lock), STATUS_OK); /* not yet */
    assert_int_equal(stat(path, &found), 0);
    assert_true(time(NULL) - found.st_mtime > 900);
    lock.touched_at -= 31;
    assert_int_equal(run_lock_touch(&lock), STATUS_OK);
    assert_int_equal(stat(path, &found), 0);
    assert_true(time(NULL) - found.st_mtime < 100);
    write_lock("elsewhere", 1, "1", "none");
    lock.touched_at -= 31;
    assert_int_equal(run_lock_touch(&lock), STATUS_FILE);
    run_lock_release(&lock);
    assert_true(file_exists(path));
}

TEST_MAIN(NULL, NULL)
