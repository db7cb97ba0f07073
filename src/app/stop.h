/* Ending well: who asks a run for a checkpoint or for its end, and how all ranks obey at one step.
 *
 *   USR1                    a checkpoint, and go on
 *   the clock               the same, where output.checkpoints.walltime is given
 *   USR2, TERM              a checkpoint, and stop (exit code 75)
 *   `stop` in the output    the same, for as long as that file is there
 *   the job's end is near   the same; from Slurm's SLURM_JOB_END_TIME or run.walltime
 *
 * Signals only set a flag on the rank that gets them. About four times a second all ranks agree
 * on what is asked of any of them. */
#ifndef ISOTHERM_APP_STOP_H
#define ISOTHERM_APP_STOP_H

#include "output/outputs.h"
#include "solve/stepper.h"

struct stop;

/* Take the signals from here to the end of the process; without it they end it. Called before the
 * objects that take long to build. Not collective. To the very end: a launcher that sees the first
 * rank go with an exit code that is not 0 sends TERM to those that are just about to go with the
 * same code, and that would change theirs. */
void stop_listen(void);

/* Collective. From the settings and Slurm's variables. STATUS_INPUT when SLURM_JOB_END_TIME is not
 * a time. */
enum status stop_create(const struct team *team, const struct problem *problem,
                        struct stop **stop) MUST_CHECK;
void stop_destroy(struct stop *stop); /* takes NULL */

/* The next step at which stop_obey has something to do. The same on all ranks. */
int64_t stop_next(const struct stop *stop);

/* Collective; call before the first step and after every event, when its output is written. Obeys
 * what was asked of any rank since. STATUS_STOPPED, agreed, when a valid checkpoint of the present
 * step is there and the run is to end. */
enum status stop_obey(struct stop *stop, struct stepper *stepper,
                      struct outputs *outputs) MUST_CHECK;

/* The arithmetic, apart for the tests. */

/* How many steps until all ranks agree again, when the last `steps` took `seconds`: such that
 * agreeing costs less than a thousandth of the time, and at most twice as many as before. */
int64_t stop_next_interval(int64_t steps, double seconds);

/* What must be left of the walltime for going on until the next agreement, s:
 * `interval` is the longest from one agreement to the next so far (steps and what was written
 * among them), `checkpoint` the longest of a checkpoint, or its guess. */
double stop_reserve(double interval, double checkpoint, double margin);

/* Before the first checkpoint nobody knows how long one takes: half a GB/s a node, and 5 s for
 * the file system to wake up. Units: bytes of the file; s. */
double stop_guess_checkpoint(double bytes, int nodes);

/* Unix time in s, as Slurm gives it. False when the text is no such number. */
bool stop_parse_end(const char *text, double *end);

#endif
