#include "base/text/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum status rows_open(const char *name, size_t limit, struct rows *rows)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    const size_t length = strlen(byte_order_mark);
    size_t nbytes = 0;
    *rows = (struct rows){.name = name};
    TRY(file_read_all(name, limit, &rows->text, &nbytes));
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
        rows->line += strspn(rows->line, " \t\r");
        rows->line[strcspn(rows->line, "\r")] = '\0';
        rows->number++;
        if (*rows->line != '\0' && *rows->line != '#') {
            return true;
        }
    }
    return false;
}

bool rows_has_number(const struct rows *rows)
{
    char *end = NULL;
    strtod(rows->line, &end);
    return end != rows->line;
}

bool rows_numbers(const struct rows *rows, int count, double *numbers)
{
    const char *at = rows->line;
    for (int n = 0; n < count; n++) {
        char *end = NULL;
        const size_t separators = strspn(at, ", \t");
        numbers[n] = strtod(at + separators, &end);
        if (end == at + separators || (separators > 0) != (n > 0)) {
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
