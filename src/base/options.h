/* The command line as tables: parsing and --help follow from the same rows. */
#ifndef ISOTHERM_BASE_OPTIONS_H
#define ISOTHERM_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

enum { OPTIONS_MAX_LIST = 64 };

enum option_kind {
    OPTION_FLAG,   /* bool */
    OPTION_STRING, /* const char * */
    OPTION_NAME,   /* struct option_name: one of a table's names, which --help lists */
    OPTION_LIST,   /* struct option_list: may be given many times */
    OPTION_COUNT,  /* int64_t, one positive number */
    OPTION_REAL,   /* double, 0 or more */
    OPTION_SIZE,   /* int64_t[3], three positive numbers */
    OPTION_END,
};

struct option_list {
    const char *item[OPTIONS_MAX_LIST];
    int count;
};

struct option_name {
    const char *name;
    const char *(*known)(void); /* the table's names, in one line */
};

struct option {
    enum option_kind kind;
    const char *name;     /* "--set" */
    const char *argument; /* as --help shows it, "" for none */
    const char *help;     /* one line */
    void *target;
};

/* What a command takes: `operands` are the words that are no options, at most max_operands. */
struct command_line {
    const char *usage;            /* "isotherm run CONFIG [options]" */
    const char *about;            /* a few lines on what it does */
    const char *example;          /* a line or two to copy */
    const struct option *options; /* ends with OPTION_END */
    const char *only;             /* the names of those that --help shows; NULL: all */
    const char *operand;          /* what the words are, for messages; NULL when there are none */
    int min_operands;
    int max_operands;
    const char **operands;
};

/* Parse the words after the command's name. "--name value" and "--name=value" both work.
 * STATUS_INPUT names the word that is wrong and what is allowed. */
enum status options_parse(const struct command_line *line, int argc, char **argv) MUST_CHECK;

/* The page for --help: fits a screen of 80 x 24. */
void options_help(const struct command_line *line, FILE *stream);

#endif
