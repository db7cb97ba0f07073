/* All that a run leaves behind: when each output is due, and in which order they are written. */
#ifndef ISOTHERM_OUTPUT_OUTPUTS_H
#define ISOTHERM_OUTPUT_OUTPUTS_H

#include "output/run_folder.h"
#include "solve/diagnostics.h"

struct outputs;

/* Collective. Check the folder (outputs_check), make and lock it, open the files. `stepper` must
 * outlive the outputs. On failure *outputs is NULL. */
enum status outputs_open(struct stepper *stepper, enum output_mode mode,
                         struct outputs **outputs) MUST_CHECK;
void outputs_close(struct outputs *outputs); /* takes NULL */

/* Collective. Refuse as outputs_open would, before any work is done; writes nothing. `from`: the
 * checkpoint of a restart, "" for none. */
enum status outputs_check(const struct team *team, const struct settings *settings,
                          enum output_mode mode, const char *from) MUST_CHECK;

/* The next step after the present one at which outputs_write has something to do; past the last
 * step when there is none. The same on all ranks. */
int64_t outputs_next(const struct outputs *outputs);

/* Collective. Write what is due at the present step, and look at the numbers when that is. */
enum status outputs_write(struct outputs *outputs) MUST_CHECK;

/* Collective. Hand a checkpoint of the present step to the writer, whether one is due or not,
 * unless that was done. `wait`: return when it is valid and on the disk. */
enum status outputs_checkpoint(struct outputs *outputs, bool wait) MUST_CHECK;

/* The step of the newest checkpoint handed to the writer; -1: none. */
int64_t outputs_checkpoint_step(const struct outputs *outputs);

/* The longest that a checkpoint has taken in this run, until it was on the disk, s; 0: none yet. */
double outputs_checkpoint_seconds(const struct outputs *outputs);

/* Not collective; about every second, or so seldom as steps are long: keep the folder locked for
 * this run (run_lock_touch). */
enum status outputs_keep_folder(struct outputs *outputs) MUST_CHECK;

/* Collective. Wait until everything that was handed to the writer is on the disk, or could not be
 * put there. */
enum status outputs_wait(struct outputs *outputs) MUST_CHECK;

/* Collective. After outputs_wait. Close the files and write report.json. `wall` is the time loop's,
 * s. */
enum status outputs_finish(struct outputs *outputs, double wall) MUST_CHECK;

/* Collective. After STATUS_NUMERICS, agreed, wherever it was found: keep the state and complete the
 * message, as postmortem does. Returns STATUS_NUMERICS. */
enum status outputs_postmortem(struct outputs *outputs) MUST_CHECK;

#endif
