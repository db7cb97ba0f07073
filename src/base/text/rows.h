/* Rows of numbers in a text file, as programs and spreadsheets write them: separated by commas or
 * blanks, with a byte order mark or without, in quotes or without, lines that end in LF, CR LF or
 * CR. Lines that begin with '#' and empty ones are skipped. Not collective. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct rows {
    const char *name; /* the path of the file; borrowed */
    char *text;
    char *next; /* in `text`; NULL: none */
    char *line; /* the current one, without the blanks before it */
    int number; /* the place of that line in the file */
};

/* STATUS_INPUT, with the line, if the text of a file holds a zero byte, where its rows would end.
 */
enum status rows_check(const char *name, const char *text, size_t nbytes);
/* Read a file of at most `limit` bytes. Close it, after a failure too. */
enum status rows_open(const char *name, size_t limit, struct rows *rows);
void rows_close(struct rows *rows);

/* Go to the next line; false after the last one. */
bool rows_next(struct rows *rows);
/* True if the current line begins with a number or has one between its separators; a line of names
 * does not. */
bool rows_has_number(const struct rows *rows);
/* Read the current line; false unless it is `count` numbers and nothing else. */
bool rows_numbers(const struct rows *rows, int count, double *numbers);
/* STATUS_INPUT: the current line is not a row of `what`. */
enum status rows_fail(const struct rows *rows, const char *what);

/* A file of rows whose first numbers increase, unless they may have any order. */
struct rows_format {
    int columns;
    int least;                        /* rows */
    const char *what;                 /* "5 numbers: t, x, y, z, power" */
    const char *kelvin;               /* advice where a line of names has degC; NULL: it may */
    bool (*valid)(const double *row); /* NULL: any numbers */
    bool any_order;
};
/* Read all rows, [count][columns], after lines of names; caller frees. STATUS_FILE when the file
 * cannot be read; STATUS_INPUT, with the line, when a row is invalid, or there are too few. */
enum status rows_read(const char *name, const struct rows_format *format, double **numbers,
                      int *count);
