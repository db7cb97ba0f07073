#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int my_rank;
static int rank_count = 1;
static int output_errno; /* errno of the last line that could not be written to standard output */
static atomic_bool transient_shown; /* the writer may warn from its own thread */

void log_init(int rank, int nranks)
{
    my_rank = rank;
    rank_count = nranks;
}

void log_open_streams(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    /* a file that gets the number of a closed stream would receive its messages */
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO) {
        fd = open("/dev/null", O_RDWR); /* the lowest number that is free */
    }
    if (fd > STDERR_FILENO) {
        close(fd);
    }
}

int log_rank(void)
{
    return my_rank;
}

/* mpirun copies the ranks' output to its own stderr, which a rank on the same node can inspect. */
static bool launcher_has_terminal(void)
{
    if (getenv("OMPI_COMM_WORLD_RANK") == NULL) {
        return false;
    }
    char link[64];
    char target[64];
    snprintf(link, sizeof link, "/proc/%ld/fd/2", (long)getppid());
    const ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0) {
        return false;
    }
    target[length] = '\0';
    return strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0;
}

bool log_is_terminal(void)
{
    static int known = -1;
    if (known < 0) {
        known = isatty(STDERR_FILENO) == 1 || launcher_has_terminal();
    }
    return known == 1;
}

static void clear_transient(void)
{
    if (transient_shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        transient_shown = false;
    }
}

/* The second bytes that may follow a first one: table 3-7 of the Unicode Standard. */
int utf8_length(const char *text)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        int length;
    } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                 {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] < 0x80) {
        return 1;
    }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (p[0] < forms[i].first_low || p[0] > forms[i].first_high) {
            continue;
        }
        bool whole = p[1] >= forms[i].second_low && p[1] <= forms[i].second_high;
        for (int k = 2; whole && k < forms[i].length; k++) {
            whole = (p[k] & 0xc0) == 0x80;
        }
        return whole ? forms[i].length : 0;
    }
    return 0;
}

char *log_clean(char *text)
{
    for (char *p = text; *p != '\0';) {
        const unsigned char byte = (unsigned char)*p;
        const int length = utf8_length(p);
        const bool low = byte < 0x20 && byte != '\n' && byte != '\t';
        const bool high = byte == 0xc2 && (unsigned char)p[1] < 0xa0; /* U+0080 to U+009F */
        if (length == 0 || low || high || byte == 0x7f) {
            *p++ = '?';
        } else {
            p += length;
        }
    }
    return text;
}

const char *bytes_text(double bytes, char text[BYTES_TEXT])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    int unit = 0;
    while (bytes >= 999.5 && unit < 5) {
        bytes /= 1000;
        unit++;
    }
    snprintf(text, BYTES_TEXT, "%.3g %s", bytes, units[unit]);
    return text;
}

const char *duration_text(double seconds, char text[DURATION_TEXT])
{
    if (seconds > 0 && seconds < 0.9995) {
        snprintf(text, DURATION_TEXT, "%.3g ms", 1e3 * seconds);
    } else if (seconds < 9.95) {
        snprintf(text, DURATION_TEXT, "%.2g s", seconds);
    } else if (seconds < 99.5) {
        snprintf(text, DURATION_TEXT, "%.0f s", seconds);
    } else if (seconds < 5940) {
        snprintf(text, DURATION_TEXT, "%.0f min", seconds / 60);
    } else {
        snprintf(text, DURATION_TEXT, "%.1f h", seconds / 3600);
    }
    return text;
}

static void write_line(FILE *stream, const char *prefix, const char *format, va_list args)
{
    char *text = NULL;
    clear_transient();
    fputs(prefix, stream);
    if (vasprintf(&text, format, args) >= 0) {
        fputs(log_clean(text), stream);
        free(text);
    } /* else out of memory: only the prefix is printed */
    fputc('\n', stream);
    if (fflush(stream) != 0 && stream == stdout) {
        output_errno = errno;
    }
}

void log_info(const char *format, ...)
{
    if (my_rank != 0) {
        return;
    }
    va_list args;
    va_start(args, format);
    write_line(stdout, "", format, args);
    va_end(args);
}

/* The reader of a pipe has closed it, as in `isotherm run ... | head -1`. */
static bool reader_has_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

enum status log_finish(void)
{
    if (fflush(stdout) != 0) {
        output_errno = errno;
    }
    if ((output_errno == 0 && ferror(stdout) == 0) || reader_has_left()) {
        return STATUS_OK;
    }
    return fail(STATUS_FILE, "cannot write to standard output: %s",
                output_errno != 0 ? strerror(output_errno) : "output was lost");
}

void log_warn(const char *format, ...)
{
    if (my_rank != 0) {
        return;
    }
    va_list args;
    va_start(args, format);
    write_line(stderr, "warning: ", format, args);
    va_end(args);
}

void log_error(const char *format, ...)
{
    char prefix[48] = "error: ";
    if (rank_count > 1 && !fail_is_agreed()) {
        snprintf(prefix, sizeof prefix, "error: rank %d: ", my_rank);
    }
    va_list args;
    va_start(args, format);
    write_line(stderr, prefix, format, args);
    va_end(args);
}

void log_transient(const char *format, ...)
{
    if (my_rank != 0 || !log_is_terminal()) {
        return;
    }
    clear_transient();
    if (format[0] == '\0') {
        return;
    }
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fflush(stderr);
    transient_shown = true;
}
