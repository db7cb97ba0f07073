/* The command line as tables, from which parsing and --help follow. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

enum { OPTIONS_MAX_LIST = 64 };

enum option_kind {
    OPTION_FLAG,   /* bool */
    OPTION_STRING, /* const char * */
    OPTION_NAME,   /* struct option_name: one of several names, which --help lists */
    OPTION_LIST,   /* struct option_list: may be given several times */
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
    const char *(*known)(void); /* the valid names, in one line */
};

struct option {
    enum option_kind kind;
    const char *name;     /* "--set" */
    const char *argument; /* in the form of --help, "" for none */
    const char *help;     /* one line */
    void *target;
};

/* The arguments of a command; `operands` are the arguments that are not options. */
struct command_line {
    const char *usage;            /* "isotherm run CONFIG [options]" */
    const char *about;            /* a description of a few lines */
    const char *example;          /* a line or two to copy */
    const struct option *options; /* ends with OPTION_END */
    const char *only;             /* names of the options that it has; NULL: all */
    const char *operand;          /* name of the operands, for messages; NULL when there are none */
    int min_operands;
    int max_operands;
    const char **operands;
};

/* Parse the arguments after the command's name, both "--name value" and "--name=value".
 * STATUS_INPUT names the wrong argument and the valid ones. */
enum status options_parse(const struct command_line *line, int argc, char **argv);

/* Does the table have this option, by `only`? */
bool options_shown(const struct command_line *line, const struct option *option);

/* The text of --help: fits a screen of 80 x 24. */
void options_help(const struct command_line *line, FILE *stream);
