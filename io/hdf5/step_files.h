/* Folders with one file per state, step_<step, 10 digits>.h5: checkpoints and snapshots. Not
 * collective. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

/* The MPI-IO of Open MPI 4 overruns a buffer, and ends the program, with longer paths. */
enum { MPI_PATH_MOST = 244 };

/* Beside them, for snapshots of a grid with ambients: which cells are theirs. */
#define STEP_FILES_GAPS "outside.h5"

/* `folder`/step_<step>.h5 */
enum status step_file_path(const char *folder, int64_t step, char path[PATH_BYTES]);

/* The step in "step_0000000123<suffix>", -1 for any other name. */
int64_t step_file_step(const char *name, const char *suffix);

/* The steps of the files in `folder`, newest first; none when it does not exist. Caller frees. */
enum status step_files_list(const char *folder, int64_t **steps, int *count);

/* The newest of them; -1: none. */
enum status step_files_newest(const char *folder, int64_t *step);

/* Remove the incomplete files of killed runs, and files that are given up. */
enum status step_files_remove_temporaries(const char *folder);

/* Mark an obsolete file for reuse by renaming it to a temporary name. False when that fails. */
bool step_files_give_up(const char *folder, int64_t step);

/* As remove_temporaries, but one of them may become `path`, with its contents, to be written over;
 * *reused tells. One that has at least `bytes` on the disk, is open in no other process and has no
 * other name. */
enum status step_files_reuse_temporary(const char *folder, uint64_t bytes, const char *path,
                                       bool *reused);
