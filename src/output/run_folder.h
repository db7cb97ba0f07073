/* The output folder: which of its files are a run's, and what becomes of them when another run
 * begins there or continues. Nothing here is collective: rank 0 alone works. */
#ifndef ISOTHERM_OUTPUT_RUN_FOLDER_H
#define ISOTHERM_OUTPUT_RUN_FOLDER_H

#include "config/settings.h"

/* What may happen to a run's files in the folder. */
enum output_mode {
    OUTPUT_FRESH,   /* nothing is lost: refused where something would be */
    OUTPUT_REPLACE, /* --overwrite: removed */
    OUTPUT_RETRY,   /* --restart auto: removed if that run has neither a checkpoint nor finished */
};

/* Does a restart from the checkpoint `from` continue the folder's own run? From another folder's
 * ("": from none), the run is a new one here. */
bool run_folder_is_continued(const char *directory, const char *from);

/* STATUS_INPUT when the mode rules out what the run would do to the folder. `from` as above. */
enum status run_folder_check(const struct settings *settings, enum output_mode mode,
                             const char *from) MUST_CHECK;

/* Remove all files of a run, and nothing else. */
enum status run_folder_clear(const struct settings *settings) MUST_CHECK;

/* The run continues from `step`: what lies past it is removed, first the checkpoints, if they are
 * to (`with_checkpoints`; else the next one replaces them), and then states of outputs that these
 * settings do not write. Those that they do write are cut when they are opened. */
enum status run_folder_roll_back(const struct settings *settings, int64_t step,
                                 bool with_checkpoints) MUST_CHECK;

#endif
