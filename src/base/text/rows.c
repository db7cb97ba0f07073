#include "base/text/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum status rows_check(const char *name, const char *text, size_t nbytes)
{
    int line = 1;
    for (const char *c = text; c < text + nbytes; c++) {
        FAIL_IF(*c == '\0',
                fail(STATUS_INPUT, "%.400s:%d: a zero byte: repair the file or move it elsewhere",
                     name, line));
        line += *c == '\n';
    }
    return STATUS_OK;
}

/* CR LF, and CR alone, become LF; numbers lose their quotes. */
static void plain_lines(char *text)
{
    char *to = text;
    for (const char *c = text; *c != '\0'; c++) {
        const size_t digits = *c == '"' ? strspn(c + 1, "0123456789+-.eE ") : 0;
        if (digits > 0 && c[digits + 1] == '"') {
            memmove(to, c + 1, digits);
            to += digits;
            c += digits + 1;
        } else if (*c != '\r' || c[1] != '\n') {
            *to++ = (char)(*c == '\r' ? '\n' : *c);
        }
    }
    *to = '\0';
}

enum status rows_open(const char *name, size_t limit, struct rows *rows)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    const size_t length = strlen(byte_order_mark);
    size_t nbytes = 0;
    *rows = (struct rows){.name = name};
    TRY(file_read_all(name, limit, &rows->text, &nbytes));
    TRY(rows_check(name, rows->text, nbytes));
    plain_lines(rows->text);
    const bool marked = strncmp(rows->text, byte_order_mark, length) == 0;
    rows->next = rows->text + (marked ? length : 0);
    return STATUS_OK;
}

void rows_close(struct rows *rows)
{
    free(rows->text);
    *rows = (struct rows){0};
}

bool rows_next(struct rows *rows)
{
    while (rows->next != NULL) {
        rows->line = strsep(&rows->next, "\n");
        rows->line += strspn(rows->line, " \t");
        rows->number++;
        if (*rows->line != '\0' && *rows->line != '#') {
            return true;
        }
    }
    return false;
}

bool rows_has_number(const struct rows *rows)
{
    const char *separators = strchr(rows->line, ',') != NULL ? "," : " \t";
    const char *at = rows->line;
    char *end = NULL;
    strtod(at, &end);
    bool has = end != at;
    for (size_t length; !has && *at != '\0'; at += length + (at[length] != '\0')) {
        length = strcspn(at, separators);
        strtod(at, &end);
        has = end > at && end + strspn(end, " \t") >= at + length;
    }
    return has;
}

bool rows_numbers(const struct rows *rows, int count, double *numbers)
{
    const char *at = rows->line;
    for (int n = 0; n < count; n++) {
        char *end = NULL;
        const char *from = at + strspn(at, " \t");
        from += n > 0 && *from == ','; /* one at most: a field is not left out */
        numbers[n] = strtod(from, &end);
        if (end == from || (from > at) != (n > 0)) {
            return false;
        }
        at = end;
    }
    return at[strspn(at, " \t")] == '\0';
}

enum status rows_fail(const struct rows *rows, const char *what)
{
    return fail(STATUS_INPUT, "%.400s:%d: '%.60s' is not a row of %s", rows->name, rows->number,
                rows->line, what);
}

static enum status add_row(const struct rows *rows, const struct rows_format *format,
                           double *numbers, int count)
{
    double *row = numbers + (size_t)count * (size_t)format->columns;
    bool valid = rows_numbers(rows, format->columns, row);
    for (int n = 0; valid && n < format->columns; n++) {
        valid = fabs(row[n]) <= 1e30;
    }
    FAIL_IF(!valid || (format->valid != NULL && !format->valid(row)),
            rows_fail(rows, format->what));
    return count == 0 || format->any_order || row[0] > row[-format->columns]
               ? STATUS_OK
               : fail(STATUS_INPUT, "%.400s:%d: %.9g does not exceed that of the row before (%.9g)",
                      rows->name, rows->number, row[0], row[-format->columns]);
}

/* A line of names before the first row. */
static enum status check_names(const struct rows *rows, const char *advice)
{
    static const char *const others[] = {"degC", "deg C", "\u00b0C", "elsius", "degF"};
    for (size_t i = 0; advice != NULL && i < sizeof others / sizeof others[0]; i++) {
        FAIL_IF(strstr(rows->line, others[i]) != NULL,
                fail(STATUS_INPUT, "%.400s:%d: '%.60s' names %s; %s", rows->name, rows->number,
                     rows->line,
                     i < 3    ? "degC"
                     : i == 3 ? "Celsius"
                              : "degF",
                     advice));
    }
    return STATUS_OK;
}

static enum status read_all(struct rows *rows, const struct rows_format *format, double **numbers,
                            int *count)
{
    while (rows_next(rows)) {
        if (*count == 0 && !rows_has_number(rows)) {
            TRY(check_names(rows, format->kelvin));
            continue;
        }
        if ((*count & (*count + 1)) == 0) { /* 0, 1, 3, 7, ... */
            const size_t room = (2 * (size_t)*count + 1) * (size_t)format->columns;
            double *more = realloc(*numbers, room * sizeof *more);
            TRY(CHECK_MEMORY(more != NULL, "no memory for the rows of a file"));
            *numbers = more;
        }
        TRY(add_row(rows, format, *numbers, *count));
        ++*count;
    }
    return *count >= format->least ? STATUS_OK
           : *count == 0           ? fail(STATUS_INPUT, "%.400s: no rows", rows->name)
                         : fail(STATUS_INPUT, "%.400s: %d rows; give at least %d", rows->name,
                                *count, format->least);
}

enum status rows_read(const char *name, const struct rows_format *format, double **numbers,
                      int *count)
{
    enum { LIMIT_BYTES = 1 << 28 };
    SCOPED_BY(rows_close) struct rows rows;
    SCOPED_FREE double *found = NULL;
    *numbers = NULL;
    *count = 0;
    TRY(rows_open(name, LIMIT_BYTES, &rows));
    TRY(read_all(&rows, format, &found, count));
    *numbers = found;
    found = NULL;
    return STATUS_OK;
}
