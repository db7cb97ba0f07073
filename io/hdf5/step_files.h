/* Files with a state each, in a folder: step_<step, 10 digits>.h5. Checkpoints and snapshots are
 * kept so. Nothing here is collective. */
#ifndef ISOTHERM_IO_HDF5_STEP_FILES_H
#define ISOTHERM_IO_HDF5_STEP_FILES_H

#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

/* `folder`/step_<step>.h5 */
enum status step_file_path(const char *folder, int64_t step, char path[PATH_BYTES]) MUST_CHECK;

/* The step in "step_0000000123<suffix>", -1 for any other name. */
int64_t step_file_step(const char *name, const char *suffix);

/* The steps of the files in `folder`, newest first; a folder that is not there holds none. Caller
 * frees. */
enum status step_files_list(const char *folder, int64_t **steps, int *count) MUST_CHECK;

/* Remove what killed runs left half written. */
enum status step_files_remove_temporaries(const char *folder) MUST_CHECK;

#endif
