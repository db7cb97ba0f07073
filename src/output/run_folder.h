/* The output folder: which of its files belong to a run, and what happens to them when another run
 * starts or continues there. On rank 0 only. */
#pragma once

#include "config/settings.h"
#include "io/series/csv.h"
#include "output/output.h"

/* What may happen to the files of a run in the folder. */
enum output_mode {
    OUTPUT_FRESH,   /* nothing may be lost */
    OUTPUT_REPLACE, /* --overwrite: removed */
    OUTPUT_RETRY,   /* --restart auto: removed if that run has neither a checkpoint nor finished */
};

/* Whether a restart from the checkpoint `from` continues the run in this folder. A checkpoint of
 * another folder, or "" (none), starts a new run here. */
bool run_folder_is_continued(const char *directory, const char *from);

/* STATUS_INPUT when the mode does not allow what the run would do to the folder. `from` as
 * above. */
enum status run_folder_check(const struct output_setting *requests, enum output_mode mode,
                             const char *from);

/* Remove all files of a run and nothing else. */
enum status run_folder_clear(const struct output_setting *requests);

/* Remove what lies after `step`: the checkpoints (`with_checkpoints`; otherwise the next one
 * replaces them) and the states in outputs that this run does not write. The others are
 * truncated when they are opened. */
enum status run_folder_roll_back(const struct output_setting *requests, int64_t step,
                                 bool with_checkpoints);

/* ---- for the kinds of output ---- */

/* Add directory/name, if it exists. */
enum status folder_add_file(const char *directory, const char *name, struct path_list *files);

/* Add the files of a run in directory/name: step_N.h5, step_N.png, latest, and temporary ones. */
enum status folder_add_steps(const char *directory, const char *name, struct path_list *files);

/* Reports that an output which this run does not continue could not be truncated: not a reason to
 * end the run. Returns STATUS_OK. */
enum status folder_report_uncut(const char *name, enum status status);

/* Warns if a CSV file that this run continues lacks rows before the restart. */
void folder_report_gap(const struct output_context *in, const struct cadence *cadence,
                       const struct csv *csv);

/* Remove the rows after `step` from a CSV file that this run does not write. */
enum status folder_cut_csv(const char *directory, const char *file, int64_t step);
