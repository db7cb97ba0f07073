#include "model/path.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { PATH_LIMIT_BYTES = 1 << 28 };

/* `count` numbers, separated by commas or blanks, and nothing else. */
static bool parse_line(const char *line, double *numbers, int count)
{
    for (int n = 0; n < count; n++) {
        char *end = NULL;
        line += strspn(line, n > 0 ? ", \t" : " \t");
        numbers[n] = strtod(line, &end);
        if (end == line || !(fabs(numbers[n]) <= 1e30)) {
            return false;
        }
        line = end;
    }
    return line[strspn(line, " \t\r")] == '\0';
}

static enum status add_row(const char *name, int line, const double numbers[5], struct path *path)
{
    const struct path_row *last = path->count > 0 ? &path->rows[path->count - 1] : NULL;
    if (last != NULL && !(numbers[0] > last->t)) {
        return fail(STATUS_INPUT, "%.400s:%d: t = %g s does not exceed that of the row before (%g)",
                    name, line, numbers[0], last->t);
    }
    if ((path->count & (path->count + 1)) == 0) { /* 0, 1, 3, 7, ... */
        const size_t room = 2 * (size_t)path->count + 1;
        struct path_row *rows = realloc(path->rows, room * sizeof *rows);
        TRY(CHECK_MEMORY(rows != NULL, "no memory for a path"));
        path->rows = rows;
    }
    path->rows[path->count++] = (struct path_row){
        .t = numbers[0], .at = {numbers[1], numbers[2], numbers[3]}, .power = numbers[4]};
    return STATUS_OK;
}

static enum status parse(const char *name, bool power, char *text, struct path *path)
{
    int line = 1;
    bool first = true;
    for (char *next = NULL; text != NULL; text = next, line++) {
        double numbers[5] = {0};
        next = strchr(text, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        const char *begin = text + strspn(text, " \t\r");
        if (*begin == '\0' || *begin == '#') {
            continue;
        }
        const bool names = first && isalpha((unsigned char)*begin) != 0;
        first = false;
        if (names) {
            continue;
        }
        if (!parse_line(begin, numbers, power ? 5 : 4)) {
            return fail(STATUS_INPUT,
                        "%.400s:%d: not a row of %s numbers (%.60s); give t, x, y, z%s", name, line,
                        power ? "5" : "4", begin,
                        power ? ", power" : ": the configuration has the power");
        }
        TRY(add_row(name, line, numbers, path));
    }
    return path->count >= 2
               ? STATUS_OK
               : fail(STATUS_INPUT, "%.400s: %d rows; give at least 2", name, path->count);
}

enum status path_read(const char *name, bool power, struct path *path)
{
    char *text = NULL;
    size_t nbytes = 0;
    *path = (struct path){0};
    TRY(file_read_all(name, PATH_LIMIT_BYTES, &text, &nbytes));
    const enum status status = parse(name, power, text, path);
    free(text);
    if (status != STATUS_OK) {
        path_free(path);
    }
    return status;
}

void path_free(struct path *path)
{
    free(path->rows);
    *path = (struct path){0};
}

bool path_at(const struct path *path, double t, struct path_row *row, int *segment)
{
    int low = 0;
    int high = path->count - 1;
    if (t < path->rows[low].t || t > path->rows[high].t) {
        return false;
    }
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (path->rows[middle].t <= t) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const struct path_row *a = &path->rows[low];
    const struct path_row *b = &path->rows[high];
    const double share = (t - a->t) / (b->t - a->t);
    *segment = low;
    row->t = t;
    row->power = a->power + share * (b->power - a->power);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        row->at[axis] = a->at[axis] + share * (b->at[axis] - a->at[axis]);
    }
    return true;
}
