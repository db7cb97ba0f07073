/* Looking through an output folder for files of one kind. Rank 0 alone works here. */
#ifndef ISOTHERM_OUTPUT_FOLDER_H
#define ISOTHERM_OUTPUT_FOLDER_H

#include "output/output.h"

/* Visit directory/name, if it is there. */
enum status folder_visit_file(const char *directory, const char *name, output_visitor *visit,
                              void *context) MUST_CHECK;

/* Visit the files of a run in directory/name: step_*, latest, and what was left of making it. */
enum status folder_visit_steps(const char *directory, const char *name, output_visitor *visit,
                               void *context) MUST_CHECK;

/* Call `visit` with the name of each entry, in a fixed order; stops when it fails. */
enum status folder_scan(const char *directory,
                        enum status (*visit)(void *context, const char *entry),
                        void *context) MUST_CHECK;

bool name_ends_in(const char *name, const char *ending);

/* An output that this run does not continue could not be cut back: its damage is no reason to end
 * the run, so it is only reported. Returns STATUS_OK. */
enum status folder_report_uncut(const char *name, enum status status);

/* Drop the rows past `step` of a CSV file that this run does not write. */
enum status folder_cut_csv(const char *directory, const char *file, int64_t step);

#endif
