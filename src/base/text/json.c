#include "base/text/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/file.h"

enum status json_open(struct json *json)
{
    *json = (struct json){0};
    json->stream = open_memstream(&json->text, &json->length);
    return CHECK_MEMORY(json->stream != NULL, "no memory for a JSON document");
}

static void write_quoted(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            fprintf(stream, "\\%c", *c);
        } else if (*c == '\n') {
            fputs("\\n", stream);
        } else if (*c < 0x20) {
            fprintf(stream, "\\u%04x", *c);
        } else {
            fputc(*c, stream);
        }
    }
    fputc('"', stream);
}

static void start_value(struct json *json, const char *key)
{
    if (json->needs_comma) {
        fputc(',', json->stream);
    }
    if (json->depth > 0) {
        fprintf(json->stream, "\n%*s", 2 * json->depth, "");
    }
    if (key != NULL) {
        write_quoted(json->stream, key);
        fputs(": ", json->stream);
    }
    json->needs_comma = true;
}

void json_begin(struct json *json, const char *key, char bracket)
{
    start_value(json, key);
    fputc(bracket, json->stream);
    json->depth++;
    json->needs_comma = false;
}

void json_end(struct json *json, char bracket)
{
    json->depth--;
    fprintf(json->stream, "\n%*s%c", 2 * json->depth, "", bracket);
    json->needs_comma = true;
}

void json_string(struct json *json, const char *key, const char *value)
{
    start_value(json, key);
    write_quoted(json->stream, value);
}

void json_int(struct json *json, const char *key, int64_t value)
{
    start_value(json, key);
    fprintf(json->stream, "%" PRId64, value);
}

void json_real(struct json *json, const char *key, double value)
{
    start_value(json, key);
    if (isfinite(value)) {
        fprintf(json->stream, "%.17g", value);
    } else {
        fputs("null", json->stream);
    }
}

void json_bool(struct json *json, const char *key, bool value)
{
    start_value(json, key);
    fputs(value ? "true" : "false", json->stream);
}

void json_int3(struct json *json, const char *key, const int64_t value[3])
{
    start_value(json, key);
    fprintf(json->stream, "[%" PRId64 ", %" PRId64 ", %" PRId64 "]", value[0], value[1], value[2]);
}

enum status json_check_place(const char *path)
{
    return path != NULL ? file_check_place(path) : STATUS_OK;
}

static enum status save(struct json *json, const char *path,
                        enum status (*write)(const char *path, const char *bytes, size_t nbytes))
{
    fputc('\n', json->stream);
    const bool complete = ferror(json->stream) == 0;
    const bool closed = fclose(json->stream) == 0;
    const enum status status = complete && closed ? write(path, json->text, json->length)
                                                  : fail(STATUS_MEMORY, "no memory for %s", path);
    free(json->text);
    *json = (struct json){0};
    return status;
}

enum status json_save(struct json *json, const char *path)
{
    return save(json, path, file_replace);
}

void json_discard(struct json *json)
{
    fclose(json->stream);
    free(json->text);
    *json = (struct json){0};
}

enum status json_finish(struct json *json, enum status status, const char *path)
{
    if (status == STATUS_OK && path != NULL) {
        return save(json, path, file_save);
    }
    json_discard(json);
    return status;
}
