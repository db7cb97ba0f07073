/* One run, from its settings to its report. */
#pragma once

#include <mpi.h>

#include "config/settings.h"
#include "output/output.h"
#include "output/run_folder.h"

/* The costs of a run, measured in its first second. */
struct rehearsal {
    double budget_s; /* the time loop ends after this long */
    int64_t cells;
    double step_s;                 /* per step, without outputs */
    double output_s[OUTPUT_KINDS]; /* per output of this kind */
    double once_s;                 /* of outputs, once in a run: the first ones, the last wait */
    double steps_share;            /* expected number of steps, of those planned at the start */
    int threads;                   /* 0: on a GPU */
    char device[128];
};

struct simulate_options {
    const char *restart;         /* a checkpoint file, "auto", or NULL: from the initial state */
    bool restart_changed;        /* allow another material, precision or grid corners */
    enum output_mode folder;     /* what may happen to a run in the output folder */
    bool start_only;             /* write the outputs of the initial state, then end */
    struct rehearsal *rehearsal; /* run only the beginning, and measure it; NULL: all */
};

/* Collective. Solve the problem and write its outputs. STATUS_STOPPED when the run ended early on
 * request (stop.h) with a valid checkpoint. */
enum status simulate(MPI_Comm comm, const struct settings *settings,
                     const struct simulate_options *options);
