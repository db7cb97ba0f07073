/* Everything a run leaves behind: when each kind is due, and in which order it is written. */
#ifndef ISOTHERM_APP_OUTPUT_H
#define ISOTHERM_APP_OUTPUT_H

#include "app/run.h"

struct output;

/* Collective. Refuse a folder that already holds a run, unless `overwrite` (then that run's files
 * are removed) or the run continues one (run->restarted_from). Makes the folders and opens the
 * files. On failure *output is NULL. */
enum status output_open(struct run *run, bool overwrite, struct output **output) MUST_CHECK;
void output_close(struct output *output); /* takes NULL */

/* Collective. Refuse as output_open would, before any work is done; writes nothing. */
enum status output_check(const struct run *run, bool overwrite) MUST_CHECK;

/* Collective. Write what is due at the present step; nothing when `output` is NULL. */
enum status output_see_to(struct output *output, struct run *run) MUST_CHECK;

/* Collective. Close the files and write report.json. `wall` is the time loop's, s. */
enum status output_finish(struct output *output, struct run *run, double wall) MUST_CHECK;

#endif
