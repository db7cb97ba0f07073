/* Requests for a checkpoint or for the end of a run (docs/reference/jobs.md), and how all ranks act
 * on them at one step.
 *
 * Before the first step a signal ends the program at once: reading, painting and measuring may take
 * minutes, and there is nothing to save. From then on it only sets a flag on the rank that receives
 * it. About four times a second all ranks agree on the requests of any of them. */
#pragma once

#include "output/outputs.h"
#include "solve/stepper.h"

struct stop;

/* Handle the signals from here to the end of the process. Called before objects that take long to
 * create. Not collective. The handlers stay installed to the very end: when the first rank exits
 * with a code other than 0, a launcher sends TERM to the others, which must keep their own code. */
void stop_listen(void);

/* The first step is next or the steady state is found, or the program ends with a code of its own:
 * from here on signals only set flags. */
void stop_defer(void);

/* Collective. From the settings and Slurm's variables. STATUS_INPUT when SLURM_JOB_END_TIME is not
 * a time. */
enum status stop_create(const struct team *team, const struct problem *problem, struct stop **stop);
void stop_destroy(struct stop *stop); /* takes NULL */

/* The next step at which stop_handle_requests has work. The same on all ranks. */
int64_t stop_next(const struct stop *stop);

/* Collective; call before the first step and after every event, when its output is written. Acts on
 * the requests of any rank. STATUS_STOPPED, agreed, when the run is to end and a valid checkpoint
 * of the current step exists. */
enum status stop_handle_requests(struct stop *stop, struct stepper *stepper,
                                 struct outputs *outputs);

/* The arithmetic, public for the tests. */

/* The number of steps until the next agreement, when the last `steps` took `seconds`: agreement
 * costs less than a thousandth of the time, and the number at most doubles. */
int64_t stop_next_interval(int64_t steps, double seconds);

/* The walltime in s that must be left to continue to the next agreement. `interval`: the longest
 * time between agreements so far, outputs included; `checkpoint`: the longest of a checkpoint, or
 * its estimate. */
double stop_reserve(double interval, double checkpoint, double margin);

/* The estimated time in s of the first checkpoint: half a GB/s per node, and 5 s for the file
 * system to start. `bytes`: the size of the file. */
double stop_guess_checkpoint(double bytes, int nodes);

/* Parse a Unix time in s, as Slurm gives it. False when the string is not a positive number. */
bool stop_parse_end(const char *text, double *end);

/* Write `code` to the file named by ISOTHERM_EXIT_FILE, if it is set and the file does not exist:
 * the first process decides. (srun reports the largest code of all tasks, also 137 of a task that
 * it killed.) Safe in any thread; failures are ignored. */
void exit_note(int code);
