#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* each thread has its own: the writer runs in the background */
static _Thread_local char message[STATUS_MESSAGE_BYTES];
static _Thread_local int agreed;

enum status fail(enum status code, const char *format, ...)
{
    char text[STATUS_MESSAGE_BYTES]; /* the arguments may contain the old message */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(message, text, sizeof text);
    agreed = 0;
    return code;
}

enum status fail_prefix(enum status code, const char *format, ...)
{
    char old[STATUS_MESSAGE_BYTES];
    if (code == STATUS_OK) {
        return code;
    }
    memcpy(old, message, sizeof old);
    va_list args;
    va_start(args, format);
    const int written = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (written >= 0 && (size_t)written < sizeof message) {
        snprintf(message + written, sizeof message - (size_t)written, "%s", old);
    }
    return code;
}

const char *fail_message(void)
{
    return message;
}

void fail_clear(void)
{
    message[0] = '\0';
    agreed = 0;
}

int fail_is_agreed(void)
{
    return agreed;
}

void fail_set_agreed(const char *agreed_message)
{
    snprintf(message, sizeof message, "%s", agreed_message);
    agreed = 1;
}

void fail_keep(enum status code, struct failure *failure)
{
    if (code != STATUS_OK) {
        *failure = (struct failure){.code = code, .agreed = agreed};
        memcpy(failure->message, message, sizeof message);
    }
}

enum status fail_restore(const struct failure *failure)
{
    if (failure->code != STATUS_OK) {
        memcpy(message, failure->message, sizeof message);
        agreed = failure->agreed;
    }
    return failure->code;
}

static const struct {
    int exit_code;
    const char *meaning;
} table[STATUS_COUNT] = {
#define STATUS_ROW(name, exit_code, meaning) {exit_code, meaning},
    STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

int status_exit_code(enum status code)
{
    return table[code].exit_code;
}

void text_add(char *text, size_t bytes, const char *separator, const char *format, ...)
{
    size_t used = strlen(text);
    if (used > 0) {
        snprintf(text + used, bytes - used, "%s", separator);
        used = strlen(text);
    }
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, bytes - used, format, args);
    va_end(args);
}

void scope_free(const void *variable)
{
    void *memory;
    memcpy(&memory, variable, sizeof memory);
    free(memory);
}

void scope_close(const int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
}
