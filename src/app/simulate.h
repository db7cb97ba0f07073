/* One run, from its settings to its report. */
#ifndef ISOTHERM_APP_SIMULATE_H
#define ISOTHERM_APP_SIMULATE_H

#include <mpi.h>

#include "config/settings.h"
#include "output/run_folder.h"

struct simulate_options {
    const char *restart;     /* a checkpoint file, "auto", or NULL: from the initial state */
    bool restart_changed;    /* allow another material, precision or grid corners */
    enum output_mode folder; /* what may happen to a run in the output folder */
};

/* Collective. Solve the problem and write its outputs. STATUS_STOPPED when the run ended early on
 * request (stop.h) with a valid checkpoint. */
enum status simulate(MPI_Comm comm, const struct settings *settings,
                     const struct simulate_options *options);

#endif
