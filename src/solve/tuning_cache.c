#include "solve/tuning_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

static const char header[] = "isotherm launch shapes 1";

/* Beyond this the oldest entries go. */
enum { MAX_ENTRIES = 500, MAX_BYTES = MAX_ENTRIES * (TUNING_KEY_BYTES + TUNING_SHAPE_BYTES) };

enum status tuning_cache_path(char path[PATH_BYTES])
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length;
    if (cache != NULL && cache[0] == '/') {
        length = snprintf(path, PATH_BYTES, "%s/isotherm/launch_shapes.txt", cache);
    } else if (home != NULL && home[0] == '/') {
        length = snprintf(path, PATH_BYTES, "%s/.cache/isotherm/launch_shapes.txt", home);
    } else {
        return fail(STATUS_FILE, "neither XDG_CACHE_HOME nor HOME names a folder");
    }
    return length < PATH_BYTES ? STATUS_OK
                               : fail(STATUS_FILE, "the path of the cache folder is too long");
}

static bool is_printable(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20) {
            return false;
        }
    }
    return true;
}

/* One line, without its end, into an entry. */
static bool parse_line(char *line, struct tuning_entry *entry)
{
    char *tab = strchr(line, '\t');
    if (tab == NULL) {
        return false;
    }
    *tab = '\0';
    const char *shape = tab + 1;
    if (strlen(line) >= sizeof entry->key || strlen(shape) >= sizeof entry->shape ||
        line[0] == '\0' || shape[0] == '\0' || !is_printable(line) || !is_printable(shape)) {
        return false;
    }
    snprintf(entry->key, sizeof entry->key, "%s", line);
    snprintf(entry->shape, sizeof entry->shape, "%s", shape);
    return true;
}

/* All lines of `text`, which is changed. False when it is none of our files, or not whole. */
static bool parse(char *text, struct tuning_entry *entries, int *nentries)
{
    *nentries = 0;
    char *end = strchr(text, '\n');
    if (end == NULL) {
        return false;
    }
    *end = '\0';
    if (strcmp(text, header) != 0) {
        return false;
    }
    for (char *line = end + 1; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        if (end == NULL || *nentries == MAX_ENTRIES) {
            return false;
        }
        *end = '\0';
        if (!parse_line(line, &entries[*nentries])) {
            return false;
        }
        (*nentries)++;
    }
    return true;
}

/* The file's entries in fresh memory (free), with room for MAX_ENTRIES; none without a file. */
static enum status read_entries(const char *path, struct tuning_entry **entries, int *nentries)
{
    *nentries = 0;
    *entries = calloc(MAX_ENTRIES, sizeof **entries);
    if (*entries == NULL) {
        return fail(STATUS_MEMORY, "no memory for the cache of launch shapes");
    }
    if (!file_exists(path)) {
        return STATUS_OK;
    }
    char *text = NULL;
    size_t nbytes = 0;
    enum status status = file_read_all(path, MAX_BYTES, &text, &nbytes);
    if (status == STATUS_OK && (strlen(text) != nbytes || !parse(text, *entries, nentries))) {
        *nentries = 0;
        status = fail(STATUS_FILE, "%s is no list of launch shapes", path);
    }
    free(text);
    return status;
}

enum status tuning_cache_find(const char *path, struct tuning_entry *entry)
{
    struct tuning_entry *entries = NULL;
    int nentries = 0;
    entry->shape[0] = '\0';
    const enum status status = read_entries(path, &entries, &nentries);
    for (int e = 0; status == STATUS_OK && e < nentries; e++) {
        if (strcmp(entries[e].key, entry->key) == 0) {
            memcpy(entry->shape, entries[e].shape, sizeof entry->shape);
        }
    }
    free(entries);
    return status;
}

/* The newest at the end; when it is full the oldest goes. */
static void put(struct tuning_entry *entries, int *nentries, const struct tuning_entry *entry)
{
    int at = 0;
    while (at < *nentries && strcmp(entries[at].key, entry->key) != 0) {
        at++;
    }
    if (at == *nentries) {
        if (*nentries < MAX_ENTRIES) {
            (*nentries)++;
        } else {
            at = 0;
        }
    }
    for (; at < *nentries - 1; at++) {
        entries[at] = entries[at + 1];
    }
    entries[*nentries - 1] = *entry;
}

static enum status write_entries(const char *path, const struct tuning_entry *entries, int nentries)
{
    char *text = NULL;
    size_t nbytes = 0;
    char host[64] = "";
    char temporary[PATH_BYTES];
    gethostname(host, sizeof host - 1);
    if (snprintf(temporary, sizeof temporary, "%s.%s.%ld", path, host, (long)getpid()) >=
        PATH_BYTES) {
        return fail(STATUS_FILE, "the path %s is too long", path);
    }
    FILE *stream = open_memstream(&text, &nbytes);
    if (stream == NULL) {
        return fail(STATUS_MEMORY, "no memory for the cache of launch shapes");
    }
    fprintf(stream, "%s\n", header);
    for (int e = 0; e < nentries; e++) {
        fprintf(stream, "%s\t%s\n", entries[e].key, entries[e].shape);
    }
    enum status status = fclose(stream) == 0 ? file_replace(temporary, text, nbytes)
                                             : fail(STATUS_MEMORY, "no memory for %s", path);
    free(text);
    if (status == STATUS_OK) {
        status = file_publish(temporary, path);
        if (status != STATUS_OK) {
            unlink(temporary);
        }
    }
    return status;
}

enum status tuning_cache_store(const char *path, const struct tuning_entry *entries, int nentries)
{
    char directory[PATH_BYTES];
    snprintf(directory, sizeof directory, "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash != NULL && slash != directory) {
        *slash = '\0';
        TRY(directory_make(directory));
    }
    struct tuning_entry *all = NULL;
    int nall = 0;
    enum status status = read_entries(path, &all, &nall);
    if (status == STATUS_FILE) { /* what cannot be understood is replaced */
        fail_clear();
        status = STATUS_OK;
    }
    if (status == STATUS_OK) {
        for (int e = 0; e < nentries; e++) {
            put(all, &nall, &entries[e]);
        }
        status = write_entries(path, all, nall);
    }
    free(all);
    return status;
}
