/* A thread on every rank that detects when the run hangs, reports the phase of each rank, and ends
 * the run when it does not continue.
 *
 * It observes the phases of the step loop and of the writer's thread. It makes no MPI call and
 * takes no lock of theirs, so it also works while the main thread hangs inside MPI or MPI-IO. A
 * stopped process cannot report: the ranks of a node therefore record their state in shared memory,
 * and the others see that its thread no longer ticks. Ranks on other nodes name the neighbours for
 * which they wait. */
#pragma once

#include "config/settings.h"
#include "halo/plan.h"
#include "machine/team.h"
#include "solve/phases.h"

struct hang_monitor;

/* Collective. *monitor is also NULL when run.watchdog.patience is 0, and, with a warning, when no
 * thread can be started. Without shared memory on a
 * node each rank monitors itself only. `plan` and `phases` must outlive the monitor. */
enum status hang_monitor_create(const struct team *team, const struct run_setting *run,
                                const struct halo_plan *plan, const struct phases *phases,
                                struct hang_monitor **monitor);
void hang_monitor_destroy(struct hang_monitor *monitor); /* takes NULL; not collective */

/* The time limit of a phase, s: the larger of `patience` and `factor` times the longest so far. */
double hang_monitor_limit(double patience, double factor, double longest);
