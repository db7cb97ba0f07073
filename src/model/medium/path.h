/* The path of a moving source: rows of a CSV file, linear between them. */
#pragma once

#include <stdbool.h>

#include "base/box.h"
#include "base/status.h"

/* A row of the file. */
struct path_row {
    double t; /* s */
    double at[AXIS_COUNT];
    double power; /* W; 0 if the file has none */
};

struct path {
    int count;
    struct path_row *rows; /* t increases */
};

/* Read the rows t, x, y, z and, with `power`, power (base/text/rows.h); lines of names before the
 * first row are skipped. STATUS_FILE when it cannot be read; STATUS_INPUT, with the line, when a
 * row is invalid, t does not increase, or there are fewer than two rows. */
enum status path_read(const char *name, bool power, struct path *path);
void path_free(struct path *path); /* takes a zeroed one */

/* The row at time t; false before the first and after the last. *segment: the number of the row
 * before it. */
bool path_at(const struct path *path, double t, struct path_row *row, int *segment);
