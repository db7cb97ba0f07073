/* The exit code, for scripts, beside the launcher's own. */
#ifndef ISOTHERM_APP_EXIT_NOTE_H
#define ISOTHERM_APP_EXIT_NOTE_H

/* Write `code` into the file that the variable ISOTHERM_EXIT_FILE names; nothing without it, and
 * nothing when the file is there: the first one to know counts. srun reports the greatest code of
 * all tasks, and one that it killed while another ended with 3 counts 137. Safe in any thread and
 * whatever else hangs; a failure is ignored, for then there is the launcher's code. */
void exit_note(int code);

#endif
