#include "model/medium/path.h"

#include <math.h>
#include <stdlib.h>

#include "base/text/rows.h"

enum { PATH_LIMIT_BYTES = 1 << 28, PATH_COLUMNS = 5 };

static enum status add_row(const struct rows *rows, const double numbers[PATH_COLUMNS],
                           struct path *path)
{
    const struct path_row *last = path->count > 0 ? &path->rows[path->count - 1] : NULL;
    if (last != NULL && !(numbers[0] > last->t)) {
        return fail(STATUS_INPUT, "%.400s:%d: t = %g s does not exceed that of the row before (%g)",
                    rows->name, rows->number, numbers[0], last->t);
    }
    if ((path->count & (path->count + 1)) == 0) { /* 0, 1, 3, 7, ... */
        const size_t room = 2 * (size_t)path->count + 1;
        struct path_row *more = realloc(path->rows, room * sizeof *more);
        TRY(CHECK_MEMORY(more != NULL, "no memory for a path"));
        path->rows = more;
    }
    path->rows[path->count++] = (struct path_row){
        .t = numbers[0], .at = {numbers[1], numbers[2], numbers[3]}, .power = numbers[4]};
    return STATUS_OK;
}

static enum status read_rows(struct rows *rows, bool power, struct path *path)
{
    while (rows_next(rows)) {
        double numbers[PATH_COLUMNS] = {0};
        if (path->count == 0 && !rows_has_number(rows)) {
            continue; /* the names of the columns */
        }
        bool valid = rows_numbers(rows, power ? PATH_COLUMNS : PATH_COLUMNS - 1, numbers);
        for (int n = 0; n < PATH_COLUMNS; n++) {
            valid = valid && fabs(numbers[n]) <= 1e30;
        }
        TRY(valid ? add_row(rows, numbers, path)
                  : rows_fail(rows, power ? "5 numbers: t, x, y, z, power"
                                          : "4 numbers: t, x, y, z (the configuration has the "
                                            "power)"));
    }
    return path->count >= 2
               ? STATUS_OK
               : fail(STATUS_INPUT, "%.400s: %d rows; give at least 2", rows->name, path->count);
}

enum status path_read(const char *name, bool power, struct path *path)
{
    struct rows rows;
    *path = (struct path){0};
    enum status status = rows_open(name, PATH_LIMIT_BYTES, &rows);
    if (status == STATUS_OK) {
        status = read_rows(&rows, power, path);
    }
    rows_close(&rows);
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
