/* Everything a run leaves behind: when each kind is due, and in which order it is written. */
#ifndef ISOTHERM_OUTPUT_OUTPUT_H
#define ISOTHERM_OUTPUT_OUTPUT_H

#include "output/run_folder.h"
#include "solve/solver.h"

struct output;

/* Collective. Check the folder (output_check), make it and its sub-folders, open the files.
 * On failure *output is NULL. */
enum status output_open(struct run *run, enum output_mode mode, struct output **output) MUST_CHECK;
void output_close(struct output *output); /* takes NULL */

/* Collective. Refuse as output_open would, before any work is done; writes nothing. `from`: the
 * checkpoint of a restart, "" for none. */
enum status output_check(const struct run *run, enum output_mode mode, const char *from) MUST_CHECK;

/* Collective. Write what is due at the present step; nothing when `output` is NULL. */
enum status output_see_to(struct output *output, struct run *run) MUST_CHECK;

/* Collective. Write a checkpoint of the present step now, whether one is due or not, unless there
 * is one already. When it returns STATUS_OK the checkpoint is good and on the disk. */
enum status output_checkpoint(struct output *output, struct run *run) MUST_CHECK;

/* Collective. The same, but it is only handed to the writer. */
enum status output_submit_checkpoint(struct output *output, struct run *run) MUST_CHECK;

/* The step of the newest checkpoint handed in; -1: none. */
int64_t output_checkpoint_step(const struct output *output);

/* The longest that a checkpoint has taken in this run, until it was on the disk, s; 0: none yet. */
double output_checkpoint_seconds(const struct output *output);

/* Collective. Wait until everything that was handed to the writer is on the disk, or could not be
 * put there. Does nothing when `output` is NULL. */
enum status output_wait(struct output *output, struct run *run) MUST_CHECK;

/* Collective. After output_wait. Close the files and write report.json. `wall` is the time loop's,
 * s. */
enum status output_finish(struct output *output, struct run *run, double wall) MUST_CHECK;

/* Collective. After STATUS_NUMERICS, agreed, from run_advance or output_finish, whoever found it:
 * keep the state and complete the message, as postmortem does. Returns STATUS_NUMERICS. */
enum status output_postmortem(struct output *output, struct run *run) MUST_CHECK;

#endif
