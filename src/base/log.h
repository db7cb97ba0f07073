/* Messages for people. Rank 0 speaks for all; other ranks only report what they alone know. */
#ifndef ISOTHERM_BASE_LOG_H
#define ISOTHERM_BASE_LOG_H

#include <stdbool.h>

#include "base/status.h"

/* Bytes of the character of UTF-8 that `text` starts with; 0 when it starts with none. */
int utf8_length(const char *text);

/* Make a text safe for a terminal, in place: '?' for what is not UTF-8 and for control characters
 * but the newline and the tab, as those that begin an escape sequence. Returns the text. All lines
 * below go through it. */
char *log_clean(char *text);

/* Until this is called the process counts as rank 0 of 1. */
void log_init(int rank, int nranks);
int log_rank(void);

/* Silence log_info (verify runs many small simulations). Warnings and errors still show. */
void log_set_quiet(bool quiet);

/* A line on stdout / stderr, from rank 0 only. `log_warn` starts with "warning: ".
 * A progress line that stands on the terminal is cleared first (see log_transient). */
void log_info(const char *format, ...) PRINTF_LIKE(1, 2);
void log_warn(const char *format, ...) PRINTF_LIKE(1, 2);

/* At the end: STATUS_FILE when something that this process put on standard output, with log_info or
 * otherwise, could not be written. Not collective. */
enum status log_finish(void) MUST_CHECK;

/* A line on stderr from whichever rank calls, with "error: " and, on more than one rank, who. */
void log_error(const char *format, ...) PRINTF_LIKE(1, 2);

/* Replace the terminal's last line (rank 0, stderr); "" removes it. Nothing when stderr is not a
 * terminal. */
void log_transient(const char *format, ...) PRINTF_LIKE(1, 2);
bool log_is_terminal(void);

#endif
