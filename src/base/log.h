/* Messages for people. Rank 0 prints for all; other ranks report only what they alone know. */
#pragma once

#include <stdbool.h>

#include "base/status.h"

/* The bytes of the UTF-8 character that `text` starts with; 0 when it is not valid UTF-8. */
int utf8_length(const char *text);

/* Make a string safe for a terminal, in place: '?' replaces invalid UTF-8 and control characters
 * except newline and tab (an escape sequence begins with one). Returns the string. All lines below
 * are cleaned so. */
char *log_clean(char *text);

/* "65.5 kB": three significant digits. Returns `text`. */
enum { BYTES_TEXT = 32 };
const char *bytes_text(double bytes, char text[BYTES_TEXT]);
/* bytes_text in memory of the enclosing block, for messages. */
#define SIZE_TEXT(bytes) bytes_text((double)(bytes), (char[BYTES_TEXT]){0})
/* "12 min", "3.4 s": two or three digits. Returns `text`. */
enum { DURATION_TEXT = 32 };
const char *duration_text(double seconds, char text[DURATION_TEXT]);

/* Call first. The program continues when a reader leaves early (`| head`) or a stream is closed. */
void log_open_streams(void);

/* Until this is called the process counts as rank 0 of 1. */
void log_init(int rank, int nranks);
int log_rank(void);

/* A line on stdout / stderr, from rank 0 only. log_warn starts it with "warning: ". A progress line
 * on the terminal is removed first (see log_transient). */
void log_info(const char *format, ...) PRINTF_LIKE(1, 2);
void log_warn(const char *format, ...) PRINTF_LIKE(1, 2);

/* Call at the end. STATUS_FILE when this process could not write all of its standard output, and
 * its reader has not left. Not collective. */
enum status log_finish(void);

/* A line on stderr from the calling rank, with "error: " and, with several ranks, its number. */
void log_error(const char *format, ...) PRINTF_LIKE(1, 2);

/* Replace the last line of the terminal (rank 0, stderr); "" removes it. No effect without a
 * terminal. */
void log_transient(const char *format, ...) PRINTF_LIKE(1, 2);
bool log_is_terminal(void);
