/* Search of an output folder for files of one kind. On rank 0 only. */
#pragma once

#include "io/series/csv.h"
#include "output/output.h"

/* Visit directory/name, if it exists. */
enum status folder_visit_file(const char *directory, const char *name, output_visitor *visit,
                              void *context);

/* Visit the files of a run in directory/name: step_N.h5, step_N.png, latest, and temporary ones. */
enum status folder_visit_steps(const char *directory, const char *name, output_visitor *visit,
                               void *context);

/* Call `visit` with the name of each entry, in a fixed order; stops at a failure. */
enum status folder_scan(const char *directory,
                        enum status (*visit)(void *context, const char *entry), void *context);

/* Reports that an output which this run does not continue could not be truncated: not a reason to
 * end the run. Returns STATUS_OK. */
enum status folder_report_uncut(const char *name, enum status status);

/* Warns if a CSV file that this run continues lacks rows before the restart. */
void folder_report_gap(const struct output_context *in, const struct cadence *cadence,
                       const struct csv *csv);

/* Remove the rows after `step` from a CSV file that this run does not write. */
enum status folder_cut_csv(const char *directory, const char *file, int64_t step);
