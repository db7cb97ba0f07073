/* The outputs of a run: when each is due, and their order. */
#pragma once

#include "output/report.h"
#include "output/run_folder.h"

struct outputs;

/* Collective. Check the folder (outputs_check), create and lock it, open the files. `stepper` must
 * outlive the outputs. On failure *outputs is NULL. */
enum status outputs_open(struct stepper *stepper, enum output_mode mode, struct outputs **outputs);
/* Takes NULL. The failure of `status`, for which a run ends, stays recorded. */
void outputs_close(struct outputs *outputs, enum status status);

/* Collective. Fails as outputs_open would, before any work; writes nothing. `from`: the checkpoint
 * of a restart, "" for none. */
enum status outputs_check(const struct team *team, const struct output_setting *requests,
                          enum output_mode mode, const char *from);

/* The next step at which outputs_write has work; INT64_MAX: none. The same on all ranks. */
int64_t outputs_next(const struct outputs *outputs);

/* Whether outputs_write takes diagnostics at this later step, the next one at which it has work. */
bool outputs_summarise(const struct outputs *outputs, int64_t step);

/* Whether diagnostics and a line of the history are all that outputs_write does at this step. */
bool outputs_read_line(const struct outputs *outputs, int64_t step);

/* Collective. Write what is due at the current step, and check the solution if that is due. Within
 * a step (dense_output.h) only what is due there. */
enum status outputs_write(struct outputs *outputs);

/* Collective. Submit a checkpoint of the current step to the writer, due or not, unless done for
 * this step. `wait`: return when it is valid and on disk. */
enum status outputs_checkpoint(struct outputs *outputs, bool wait);

/* The step of the newest checkpoint submitted; -1: none. */
int64_t outputs_checkpoint_step(const struct outputs *outputs);

/* The longest time of a checkpoint in this run until it was on disk, s; 0: none. */
double outputs_checkpoint_seconds(const struct outputs *outputs);

/* Not collective; call it about every second, or as often as steps allow: keep the folder locked
 * for this run (run_lock_touch). */
enum status outputs_keep_folder(struct outputs *outputs);

/* Collective. Wait until all submitted jobs are complete or have failed. */
enum status outputs_wait(struct outputs *outputs);

/* Collective. After outputs_wait. Close the files and write report.json. `cost`: of the time loop.
 */
enum status outputs_finish(struct outputs *outputs, const struct run_cost *cost);

/* Collective. After STATUS_NUMERICS, agreed, from any function: write the state to postmortem.h5 in
 * the output folder and complete the message: where the state is, the last valid checkpoint, and
 * what to do next. Returns STATUS_NUMERICS, agreed, even when the file cannot be written. */
enum status outputs_postmortem(struct outputs *outputs);
