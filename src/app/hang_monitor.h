/* A thread on every rank that notices when the run hangs, says where each rank stands, and ends
 * the run when it does not go on.
 *
 * The main thread notes where it is (watchdog_at), and the writer's what it writes. The thread
 * calls no MPI and needs no lock of anybody, so it also works while the main thread hangs inside
 * MPI or MPI-IO. A rank that is stopped as a whole cannot say anything: so the ranks of a node keep
 * their notes in memory that they share, and the others see that its thread no longer ticks. Ranks
 * on other nodes name the neighbours that they wait for. */
#ifndef ISOTHERM_APP_HANG_MONITOR_H
#define ISOTHERM_APP_HANG_MONITOR_H

#include "solve/solver.h"

/* Where a rank can be: a phase of the report, or one of these. */
enum place { PLACE_START = PHASE_COUNT, PLACE_AGREE, PLACE_HISTORY, PLACE_END, PLACE_COUNT };

/* Collective. run->watchdog, at PLACE_START; nothing when run.watchdog.patience is 0. Where the
 * node's ranks cannot share memory each one watches itself alone. */
enum status watchdog_create(struct run *run) MUST_CHECK;
void watchdog_destroy(struct watchdog *watchdog); /* takes NULL; not collective */

/* Note that this rank now enters `place` at run->step; what came before it has ended. Costs some
 * ten nanoseconds. Nothing when run->watchdog is NULL. */
void watchdog_at(struct run *run, int place);

/* The writer's thread begins to write an output of that kind (enum writer_kind), and has written
 * it. A hang in it is told of like one in a step. Nothing when `watchdog` is NULL. */
void watchdog_writes(struct watchdog *watchdog, int kind);
void watchdog_wrote(struct watchdog *watchdog);

/* How long a rank may stay at a place, s: `patience`, or `factor` times the longest stay so far
 * when that is more. */
double watchdog_limit(double patience, double factor, double longest);

#endif
