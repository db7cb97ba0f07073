/* The exit code, for scripts, in addition to the launcher's. */
#pragma once

/* Write `code` to the file named by ISOTHERM_EXIT_FILE, if it is set and the file does not exist:
 * the first process decides. (srun reports the largest code of all tasks, also 137 of a task that
 * it killed.) Safe in any thread; failures are ignored. */
void exit_note(int code);
