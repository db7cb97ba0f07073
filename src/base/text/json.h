/* A writer for small JSON documents. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

struct json {
    FILE *stream; /* in memory */
    char *text;
    size_t length;
    int depth;
    bool needs_comma;
};

/* `key` is NULL inside arrays and for the outermost value. */
enum status json_open(struct json *json);
void json_begin(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_end(struct json *json, char bracket);                    /* '}' or ']' */
void json_string(struct json *json, const char *key, const char *value);
void json_int(struct json *json, const char *key, int64_t value);
/* Writes 17 digits, which read back to the same bits. NaN and infinities become null. */
void json_real(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_int3(struct json *json, const char *key, const int64_t value[3]);
/* Before work whose result is to be saved, on one rank: STATUS_FILE when it could not be written to
 * `path`. NULL: nothing will be saved. */
enum status json_check_place(const char *path);
/* Finish, replace the file at `path`, and free, also on failure. */
enum status json_save(struct json *json, const char *path);
void json_discard(struct json *json);
/* If `status` is STATUS_OK and `path`, which the user has named, is not NULL: json_save, but with
 * file_save. Else json_discard. */
enum status json_finish(struct json *json, enum status status, const char *path);
