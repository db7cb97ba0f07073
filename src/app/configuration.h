/* Settings from the configuration file and the command line. */
#pragma once

#include <mpi.h>

#include "base/text/options.h"
#include "config/settings.h"

/* Collective over `comm`: rank 0 reads the file, all ranks check the same text. MPI_COMM_NULL: this
 * process only, without MPI. `output` and `backend` (may be NULL) are values of their own options
 * and override --set. On failure *settings is NULL. */
enum status configuration_read(MPI_Comm comm, const char *path, const struct option_list *sets,
                               const char *output, const char *backend, struct settings **settings);
