/* Status, messages, small files, work divided among threads. */
#include <fcntl.h>
#include <ftw.h>
#include <omp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "base/thread.h"
#include "tests/test.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "test_base.XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void in_folder(const char *name, char path[PATH_BYTES])
{
    assert_int_equal(path_join(folder, name, path), STATUS_OK);
}

static enum status inner_failure(void)
{
    return fail(STATUS_FILE, "%s is %d bytes short", "a.h5", 7);
}

static enum status passes_on(int *reached)
{
    TRY(inner_failure());
    *reached = 1;
    return STATUS_OK;
}

TEST(messages_travel_with_the_status)
{
    int reached = 0;
    assert_int_equal(passes_on(&reached), STATUS_FILE);
    assert_int_equal(reached, 0);
    assert_string_equal(fail_message(), "a.h5 is 7 bytes short");
    assert_int_equal(fail_prefix(STATUS_FILE, "restart %d: ", 3), STATUS_FILE);
    assert_string_equal(fail_message(), "restart 3: a.h5 is 7 bytes short");
    fail_set_agreed("all know");
    assert_true(fail_is_agreed());
    assert_int_equal(fail(STATUS_MPI, "only I know"), STATUS_MPI);
    assert_false(fail_is_agreed());
    fail_clear();
    assert_string_equal(fail_message(), "");
}

TEST(long_messages_are_cut_not_overrun)
{
    static char text[2 * STATUS_MESSAGE_BYTES];
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(fail(STATUS_INPUT, "%s", text), STATUS_INPUT);
    assert_int_equal(strlen(fail_message()), STATUS_MESSAGE_BYTES - 1);
    assert_int_equal(fail_prefix(STATUS_INPUT, "here: "), STATUS_INPUT);
    assert_int_equal(strncmp(fail_message(), "here: xxx", 9), 0);
    assert_int_equal(fail_prefix(STATUS_INPUT, "%s", text), STATUS_INPUT);
    assert_int_equal(strlen(fail_message()), STATUS_MESSAGE_BYTES - 1);
    fail_clear();
}

TEST(exit_codes_are_those_of_the_contract)
{
    assert_int_equal(status_exit_code(STATUS_OK), 0);
    assert_int_equal(status_exit_code(STATUS_INPUT), 2);
    assert_int_equal(status_exit_code(STATUS_FILE), 3);
    assert_int_equal(status_exit_code(STATUS_MEMORY), 4);
    assert_int_equal(status_exit_code(STATUS_DEVICE), 4);
    assert_int_equal(status_exit_code(STATUS_MPI), 4);
    assert_int_equal(status_exit_code(STATUS_NUMERICS), 5);
    assert_int_equal(status_exit_code(STATUS_STOPPED), 75);
}

static void expect_content(const char *path, const char *text)
{
    char *bytes = NULL;
    size_t nbytes = 0;
    assert_int_equal(file_read_all(path, 1 << 20, &bytes, &nbytes), STATUS_OK);
    assert_int_equal(nbytes, strlen(text));
    assert_string_equal(bytes, text);
    free(bytes);
}

TEST(replace_writes_all_or_nothing)
{
    char path[PATH_BYTES];
    char temporary[PATH_BYTES];
    in_folder("report.json", path);
    in_folder("report.json.tmp", temporary);
    assert_int_equal(file_replace(path, "old", 3), STATUS_OK);
    expect_content(path, "old");
    assert_int_equal(file_replace(path, "newer", 5), STATUS_OK);
    expect_content(path, "newer");
    assert_false(file_exists(temporary));

    /* a folder in the place of the temporary file: it cannot be written */
    assert_int_equal(mkdir(temporary, 0777), 0);
    assert_int_equal(file_replace(path, "newest", 6), STATUS_FILE);
    assert_non_null(strstr(fail_message(), "report.json.tmp"));
    expect_content(path, "newer");
    assert_int_equal(rmdir(temporary), 0);
}

TEST(replace_survives_a_failed_rename)
{
    char path[PATH_BYTES];
    char inside[PATH_BYTES];
    char temporary[PATH_BYTES];
    in_folder("busy", path);
    in_folder("busy/file", inside);
    in_folder("busy.tmp", temporary);
    assert_int_equal(directory_make(path), STATUS_OK);
    assert_int_equal(file_replace(inside, "x", 1), STATUS_OK);
    assert_int_equal(file_replace(path, "y", 1), STATUS_FILE);
    expect_content(inside, "x");
    assert_false(file_exists(temporary));
}

TEST(replace_reports_a_full_disk)
{
    char path[PATH_BYTES];
    char temporary[PATH_BYTES];
    in_folder("full", path);
    in_folder("full.tmp", temporary);
    assert_int_equal(file_replace(path, "kept", 4), STATUS_OK);
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    const enum status status = file_replace(path, "lost", 4);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, STATUS_FILE);
    assert_non_null(strstr(fail_message(), "File too large"));
    expect_content(path, "kept");
    assert_false(file_exists(temporary));
}

TEST(links_are_followed_only_where_the_user_names_them)
{
    char path[PATH_BYTES];
    char temporary[PATH_BYTES];
    char target[PATH_BYTES];
    in_folder("linked", path);
    in_folder("linked.tmp", temporary);
    in_folder("target", target);
    assert_int_equal(file_replace(target, "target", 6), STATUS_OK);
    assert_int_equal(symlink("target", temporary), 0);
    assert_int_equal(file_replace(path, "new", 3), STATUS_OK);
    expect_content(target, "target");
    assert_int_equal(symlink("target", temporary), 0);
    assert_int_equal(rename(temporary, path), 0);
    assert_int_equal(file_check_place(path), STATUS_OK);
    assert_int_equal(file_save(path, "saved", 5), STATUS_OK);
    expect_content(target, "saved");
    assert_int_equal(file_replace(path, "new", 3), STATUS_OK);
    expect_content(target, "saved");
    assert_int_equal(symlink("/dev/full", temporary), 0);
    assert_int_equal(file_save(temporary, "lost", 4), STATUS_FILE);
    assert_non_null(strstr(fail_message(), "No space left"));
    assert_int_equal(file_publish(path, temporary), STATUS_FILE);
    assert_non_null(strstr(fail_message(), "a pipe or a device"));
}

TEST(read_all_knows_its_limit)
{
    char path[PATH_BYTES];
    in_folder("large", path);
    static char text[200000];
    memset(text, 'a', sizeof text);
    assert_int_equal(file_replace(path, text, sizeof text), STATUS_OK);
    char *bytes = NULL;
    size_t nbytes = 0;
    assert_int_equal(file_read_all(path, sizeof text, &bytes, &nbytes), STATUS_OK);
    assert_int_equal(nbytes, sizeof text);
    assert_memory_equal(bytes, text, sizeof text);
    assert_int_equal(bytes[nbytes], '\0');
    free(bytes);
    bytes = NULL;
    assert_int_equal(file_read_all(path, sizeof text - 1, &bytes, &nbytes), STATUS_FILE);
    assert_null(bytes);
    assert_int_equal(file_read_all(path, 10, &bytes, &nbytes), STATUS_FILE);
    in_folder("no such file", path);
    assert_int_equal(file_read_all(path, 10, &bytes, &nbytes), STATUS_FILE);
    assert_non_null(strstr(fail_message(), "no such file"));
    assert_int_equal(file_read_all(folder, 10, &bytes, &nbytes), STATUS_FILE);
    assert_null(bytes);
}

TEST(folders_are_made_with_their_parents)
{
    char path[PATH_BYTES];
    in_folder("a/b/c", path);
    assert_int_equal(directory_make(path), STATUS_OK);
    assert_int_equal(directory_make(path), STATUS_OK);
    assert_true(file_exists(path));
    in_folder("a/b/d/", path);
    assert_int_equal(directory_make(path), STATUS_OK);
    in_folder("a/file", path);
    assert_int_equal(file_replace(path, "", 0), STATUS_OK);
    assert_int_equal(directory_make(path), STATUS_FILE);
    in_folder("a/file/under", path);
    assert_int_equal(directory_make(path), STATUS_FILE);
    in_folder("loop", path);
    assert_int_equal(symlink("loop", path), 0);
    assert_int_equal(directory_make(path), STATUS_FILE);
    assert_non_null(strstr(fail_message(), "cannot access the folder"));
    assert_non_null(strstr(fail_message(), "Too many levels"));
    assert_true(file_exists(path)); /* nothing may replace it */
}

TEST(too_long_paths_are_refused)
{
    static char name[2 * PATH_BYTES];
    memset(name, 'n', sizeof name - 1);
    char path[PATH_BYTES];
    assert_int_equal(path_join(folder, name, path), STATUS_INPUT);
    assert_non_null(strstr(fail_message(), "too long"));
    assert_int_equal(directory_make(name), STATUS_INPUT);
    assert_int_equal(file_replace(name, "x", 1), STATUS_FILE);
    /* the longest that fits */
    name[PATH_BYTES - 3] = '\0';
    assert_int_equal(path_join("d", name, path), STATUS_OK);
    assert_int_equal(strlen(path), PATH_BYTES - 1);
    name[PATH_BYTES - 3] = 'n';
    name[PATH_BYTES - 2] = '\0';
    assert_int_equal(path_join("d", name, path), STATUS_INPUT);
}

TEST(bytes_are_told_in_the_unit_that_fits)
{
    static const struct {
        double bytes;
        const char *text;
    } cases[] = {{0, "0 B"},         {1, "1 B"},         {999, "999 B"},    {1000, "1 kB"},
                 {65536, "65.5 kB"}, {999499, "999 kB"}, {1e6, "1 MB"},     {2.5e9, "2.5 GB"},
                 {1e12, "1 TB"},     {1e15, "1 PB"},     {1e18, "1e+03 PB"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[BYTES_TEXT];
        assert_string_equal(bytes_text(cases[i].bytes, text), cases[i].text);
    }
}

TEST(room_is_counted)
{
    assert_int_equal(directory_check_room(folder, 1), STATUS_OK);
    assert_int_equal(directory_check_room(folder, UINT64_C(1) << 62), STATUS_FILE);
    assert_non_null(strstr(fail_message(), folder));
    assert_non_null(strstr(fail_message(), "4.61e+03 PB are needed"));
    assert_int_equal(directory_check_room("/proc", 1), STATUS_OK); /* without a size, as ramfs */
    assert_int_equal(directory_check_room("no such folder", 1), STATUS_FILE);
    assert_non_null(strstr(fail_message(), "no such folder"));
}

/* Does the file system let anything past its cache? */
static bool goes_direct(const char *path, const void *page)
{
    const int fd = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
    const bool goes = fd >= 0 && pwrite(fd, page, FILE_PAGE_BYTES, 0) == FILE_PAGE_BYTES;
    if (fd >= 0) {
        close(fd);
    }
    return goes;
}

/* Write `nbytes` from a buffer that begins with a page to `offset`, beside what others wrote. */
static uint64_t write_large(const char *path, const char *from, size_t nbytes, uint64_t offset,
                            bool direct)
{
    struct file_output file;
    const size_t behind = 100;
    char *wanted = malloc(offset + nbytes + behind);
    char *found = NULL;
    size_t found_bytes = 0;
    assert_non_null(wanted);
    memset(wanted, 'o', offset + nbytes + behind);
    assert_int_equal(file_replace(path, wanted, offset + nbytes + behind), STATUS_OK);
    memcpy(wanted + offset, from, nbytes);
    assert_int_equal(file_output_open(path, direct, &file), STATUS_OK);
    assert_int_equal(file_output_write(&file, from, nbytes, offset), STATUS_OK);
    assert_int_equal(file_output_close(&file), STATUS_OK);
    assert_int_equal(file_read_all(path, SIZE_MAX / 2, &found, &found_bytes), STATUS_OK);
    assert_int_equal(found_bytes, offset + nbytes + behind);
    assert_memory_equal(found, wanted, found_bytes);
    free(found);
    free(wanted);
    return file.direct_bytes;
}

TEST(whole_pages_go_past_the_cache)
{
    enum { PAGE = FILE_PAGE_BYTES, MIB = 1 << 20 };
    char path[PATH_BYTES];
    char *bytes = NULL;
    in_folder("large", path);
    assert_int_equal(posix_memalign((void **)&bytes, PAGE, 3 * (size_t)MIB), 0);
    for (size_t i = 0; i < 3 * (size_t)MIB; i++) {
        bytes[i] = (char)(i * 2654435761U >> 13);
    }
    assert_int_equal(file_replace(path, "", 0), STATUS_OK);
    const uint64_t one = goes_direct(path, bytes) ? 1 : 0;
    assert_int_equal(write_large(path, bytes, 2 * MIB, PAGE, true), one * 2 * MIB);
    assert_int_equal(write_large(path, bytes, 2 * MIB, PAGE, false), 0);
    /* the parts of pages in front and behind go through it */
    assert_int_equal(write_large(path, bytes + 1000, 2 * MIB, PAGE + 1000, true),
                     one * (2 * MIB - PAGE));
    assert_int_equal(write_large(path, bytes, 2 * MIB + 1, 0, true), one * 2 * MIB);
    /* what lies otherwise in memory, or is little */
    assert_int_equal(write_large(path, bytes + 8, 2 * MIB, PAGE, true), 0);
    assert_int_equal(write_large(path, bytes, 2 * MIB - PAGE, 0, true), 0);
    unlink(path);
    /* a file in memory, which is mapped */
    snprintf(path, sizeof path, "/dev/shm/test_base_%ld", (long)getpid());
    if (access("/dev/shm", W_OK) == 0) {
        assert_int_equal(write_large(path, bytes + 8, 2 * MIB + 1, PAGE + 1000, true), 0);
        unlink(path);
    }
    free(bytes);
}

TEST(what_a_terminal_would_obey_is_shown_as_question_marks)
{
    static const char *const cases[][2] = {
        {"plain\n\ttext", "plain\n\ttext"},
        {"\x1b[31mred\x7f\r", "?[31mred??"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5"},
        {"\xc2\x9b"
         "31m",
         "??31m"}, /* CSI as one character */
        {"\xc0\xaf \xed\xa0\x80 \xf5 \xe2\x82",
         "?? ??? ? ??"}, /* overlong, surrogate, too far, cut */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", cases[i][0]);
        assert_string_equal(log_clean(text), cases[i][1]);
    }
}

/* Pieces of which some fail, and how often each was called. */
enum { PIECES = 200 };
struct pieces {
    int fails[2]; /* these and all between them */
    atomic_int calls[PIECES], threads;
    double disk_s;
};

static enum status call_piece(void *context, int64_t piece)
{
    struct pieces *pieces = context;
    atomic_fetch_add(&pieces->calls[piece], 1);
    atomic_fetch_or(&pieces->threads, 1 << omp_get_thread_num());
    file_disk_reset(file_disk_seconds() + pieces->disk_s);
    usleep(100);
    return piece < pieces->fails[0] || piece > pieces->fails[1]
               ? STATUS_OK
               : fail(STATUS_FILE, "piece %d is bad", (int)piece);
}

TEST(every_piece_is_done_once)
{
    for (int threads = 1; threads <= 4; threads += 3) {
        struct pieces pieces = {.fails = {PIECES, PIECES}, .disk_s = 0.25};
        const double before = file_disk_seconds();
        omp_set_num_threads(threads);
        assert_int_equal(thread_divide(PIECES, call_piece, &pieces), STATUS_OK);
        for (int n = 0; n < PIECES; n++) {
            assert_int_equal(pieces.calls[n], 1);
        }
        assert_int_equal(pieces.threads, (1 << threads) - 1);
        assert_true(file_disk_seconds() - before == 0.25 * PIECES / threads);
        assert_int_equal(thread_divide(0, call_piece, &pieces), STATUS_OK);
        assert_int_equal(pieces.calls[0], 1);
    }
    omp_set_num_threads(1);
}

/* Whichever thread meets it first. */
TEST(the_first_failure_is_told)
{
    for (int threads = 1; threads <= 4; threads++) {
        for (int first = 0; first < 20; first++) {
            struct pieces pieces = {.fails = {first, first + 9}};
            omp_set_num_threads(threads);
            fail_clear();
            assert_int_equal(thread_divide(PIECES, call_piece, &pieces), STATUS_FILE);
            char wanted[32];
            snprintf(wanted, sizeof wanted, "piece %d is bad", first);
            assert_string_equal(fail_message(), wanted);
            int calls = 0;
            for (int n = 0; n < PIECES; n++) {
                calls += pieces.calls[n];
                assert_true(pieces.calls[n] == 1 || n > first);
            }
            assert_in_range(calls, first + 1, first + 40); /* few after it */
        }
    }
    omp_set_num_threads(1);
}

TEST_MAIN(make_folder, remove_folder)
