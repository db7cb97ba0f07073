/* A thread on every rank that notices when the run hangs, reports where each rank stands, and ends
 * the run when it does not continue.
 *
 * It observes the phases that the step loop and the writer's thread note. It calls no MPI and takes
 * no lock of theirs, so it also works while the main thread hangs inside MPI or MPI-IO. A rank that
 * is stopped as a whole cannot report anything: so the ranks of a node keep notes in memory that
 * they share, and the others see that its thread no longer ticks. Ranks on other nodes name the
 * neighbours that they wait for. */
#ifndef ISOTHERM_APP_HANG_MONITOR_H
#define ISOTHERM_APP_HANG_MONITOR_H

#include "config/settings.h"
#include "halo/plan.h"
#include "machine/team.h"
#include "solve/phases.h"

struct hang_monitor;

/* Collective. *monitor is NULL, too, when run.watchdog.patience is 0. Where the node's ranks cannot
 * share memory each one watches itself alone. `phases` must outlive the monitor. */
enum status hang_monitor_create(const struct team *team, const struct settings *settings,
                                const struct halo_plan *plan, const struct phases *phases,
                                struct hang_monitor **monitor) MUST_CHECK;
void hang_monitor_destroy(struct hang_monitor *monitor); /* takes NULL; not collective */

/* How long a rank may stay in a phase, s: `patience`, or `factor` times the longest stay so far
 * when that is more. */
double hang_monitor_limit(double patience, double factor, double longest);

#endif
