#include "model/medium/path.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/rows.h"

enum status path_read(const char *name, bool power, struct path *path)
{
    struct rows_format format = {.columns = 5, .least = 2, .what = "5 numbers: t, x, y, z, power"};
    SCOPED_FREE double *numbers = NULL;
    *path = (struct path){0};
    if (!power) {
        format.columns = 4;
        format.what = "4 numbers: t, x, y, z (the configuration has the power)";
    }
    TRY(rows_read(name, &format, &numbers, &path->count));
    path->rows = calloc((size_t)path->count, sizeof *path->rows);
    for (int n = 0; path->rows != NULL && n < path->count; n++) {
        memcpy(&path->rows[n], numbers + (size_t)n * (size_t)format.columns,
               sizeof *numbers * (size_t)format.columns);
    }
    return CHECK_MEMORY(path->rows != NULL, "no memory for a path");
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
