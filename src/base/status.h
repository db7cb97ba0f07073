/* Error codes, and the message that goes with them.
 *
 * Every function that can fail returns `enum status`. The function that detects the failure calls
 * `fail`, which records a message for the user; its callers pass the code on with TRY. Only `main`
 * prints the message and ends the program. */
#pragma once

#include <stddef.h>

/* name, exit code of the program, meaning for the user */
#define STATUS_LIST(X)                                                                             \
    X(OK, 0, "done")                                                                               \
    X(DIFFERENT, 1, "the files differ (isotherm compare)")                                         \
    X(UNFIT, 1, "something is wrong here (isotherm doctor)")                                       \
    X(INPUT, 2, "the input is wrong")                                                              \
    X(FILE, 3, "a file could not be read or written")                                              \
    X(MEMORY, 4, "not enough memory")                                                              \
    X(DEVICE, 4, "the device failed")                                                              \
    X(MPI, 4, "MPI failed")                                                                        \
    X(NUMERICS, 5, "invalid values in the solution")                                               \
    X(STOPPED, 75, "stopped early: submit again to resume")

/* The compiler warns where the status of any function is ignored. */
#ifdef __clang__
#define MUST_CHECK __attribute__((warn_unused_result))
#else
#define MUST_CHECK [[nodiscard]]
#endif
#define STATUS_ENUM(name, exit_code, meaning) STATUS_##name,
enum MUST_CHECK status { STATUS_LIST(STATUS_ENUM) STATUS_COUNT };
#undef STATUS_ENUM

#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

enum { STATUS_MESSAGE_BYTES = 2048 };

/* Return a failure to the caller unchanged. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const enum status try_status_ = (call);                                                    \
        if (try_status_ != STATUS_OK) {                                                            \
            return try_status_;                                                                    \
        }                                                                                          \
    } while (0)

/* Return a failure if something is wrong: FAIL_IF(n < 1, fail(STATUS_INPUT, "give 1 or more")). */
#define FAIL_IF(wrong, failure)                                                                    \
    do {                                                                                           \
        if (wrong) {                                                                               \
            return (failure);                                                                      \
        }                                                                                          \
    } while (0)

/* Before the declaration of a pointer to memory, NULL: none, or of a descriptor, -1: none. It is
 * freed or closed at the end of its block, however that is left. */
#define SCOPED_FREE __attribute__((cleanup(scope_free)))
#define SCOPED_FD __attribute__((cleanup(scope_close)))
/* Released by a function that takes the address of the variable. */
#define SCOPED_BY(release) __attribute__((cleanup(release)))
void scope_free(const void *variable);
void scope_close(const int *fd);

/* TRY for functions that clean up at a label `done` and return `status` there. */
#define TRY_GOTO(call)                                                                             \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != STATUS_OK) {                                                                 \
            goto done;                                                                             \
        }                                                                                          \
    } while (0)

/* STATUS_MEMORY, with the message, unless `allocated`. */
#define CHECK_MEMORY(allocated, ...) ((allocated) ? STATUS_OK : fail(STATUS_MEMORY, __VA_ARGS__))

/* Record the message of a failure and return `code` (never STATUS_OK). The message gives the error,
 * the value, and a valid one; no newline at the end. A later call replaces it, and may have
 * fail_message() among its arguments. Not collective. */
enum status fail(enum status code, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prepend context to the recorded message; no effect for STATUS_OK. Returns `code`. */
enum status fail_prefix(enum status code, const char *format, ...) PRINTF_LIKE(2, 3);

/* The message recorded last on this thread, "" when there is none. Never NULL. */
const char *fail_message(void);

/* Discard the message, for callers that handle a failure themselves. */
void fail_clear(void);

/* True when all ranks know of the failure recorded last (see status_agree): one rank prints it.
 * False: only this rank knows, and must report it before it aborts the others. */
int fail_is_agreed(void);
void fail_set_agreed(const char *agreed_message);

/* Save the recorded failure while something else may fail, and restore it. No effect for STATUS_OK.
 * fail_restore returns the code. */
struct failure {
    enum status code;
    char message[STATUS_MESSAGE_BYTES];
    int agreed;
};
void fail_keep(enum status code, struct failure *failure);
enum status fail_restore(const struct failure *failure);

int status_exit_code(enum status code);

/* Print behind the text in an array of `bytes`, after `separator` unless the text is empty. Text
 * that is too long is cut. */
void text_add(char *text, size_t bytes, const char *separator, const char *format, ...)
    PRINTF_LIKE(4, 5);
