/* The file that remembers which launch shape was the fastest for a device and a size, so that only
 * the first run of a size searches. A loss costs a search and nothing else: no caller fails for it.
 *
 * One line an entry, `key TAB shape`, under a line that names the format. Not collective. */
#ifndef ISOTHERM_SOLVE_TUNING_CACHE_H
#define ISOTHERM_SOLVE_TUNING_CACHE_H

#include "base/file.h"
#include "base/status.h"

enum { TUNING_KEY_BYTES = 512, TUNING_SHAPE_BYTES = 64 };

struct tuning_entry {
    char key[TUNING_KEY_BYTES];     /* printable, without tabs */
    char shape[TUNING_SHAPE_BYTES]; /* likewise; "" where there is none */
};

/* $XDG_CACHE_HOME/isotherm/launch_shapes.txt, or below ~/.cache. STATUS_FILE when neither
 * XDG_CACHE_HOME nor HOME names an absolute path. */
enum status tuning_cache_path(char path[PATH_BYTES]) MUST_CHECK;

/* Set entry->shape to what the file has for entry->key, "" when it has nothing or there is no
 * file. STATUS_FILE when there is a file that cannot be read or is none of ours. */
enum status tuning_cache_find(const char *path, struct tuning_entry *entry) MUST_CHECK;

/* Add or replace entries; the folder is made, a file that is none of ours is replaced. Readers see
 * the old file or the new one; of several writers at once one wins. STATUS_FILE when it cannot be
 * written. */
enum status tuning_cache_store(const char *path, const struct tuning_entry *entries,
                               int nentries) MUST_CHECK;

#endif
