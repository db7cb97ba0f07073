/* How many steps one pass over the field advances. Affects speed only. */
#pragma once

#include "halo/plan.h"
#include "kernels/backend.h"
#include "model/problem.h"
#include "model/space/decomp.h"

/* One way to advance, measured. */
struct pass_trial {
    int steps;
    bool overlap;
    bool thick;     /* shell: see level_choose_overlap */
    double seconds; /* per step, of the slowest rank */
};
enum { PASS_TRIALS_MAX = STEPS_MOST + 2 };

static inline const char *pass_overlap_name(const struct pass_trial *trial)
{
    return !trial->overlap ? "off" : trial->thick ? "thick" : "on";
}

struct pass_plan {
    int most;         /* steps of a pass are at most as many */
    int radius;       /* of the stencil: layers of the halo per step */
    int steps;        /* of a pass: what is used */
    char reason[160]; /* for it */
    int ntrials;
    struct pass_trial trials[PASS_TRIALS_MAX];
    double search_s;
};

/* Of the halo. */
static inline int pass_layers(const struct pass_plan *plan)
{
    return plan->most * plan->radius;
}

/* Steps of the problem that one kernel of the backend advances, 1 at least. A pass of more steps is
 * several kernels with one exchange. */
int steps_fused(const struct problem *problem, const struct backend *backend);

/* Not collective; the same on all ranks, and in `plan`. The most steps that a pass may have, before
 * the timeline is known. STATUS_INPUT, with the line of run.steps_per_pass, when a block is thinner
 * than the halo would be, or with that of run.stencil.order, when the backend has no such stencil.
 */
enum status steps_per_pass_plan(const struct problem *problem, const struct backend *backend,
                                const struct decomp *decomp, struct pass_plan *plan);

/* With the timeline: what the field needs layers of halo for, and the steps of a pass until others
 * are measured to be faster (tuning_of_passes). */
void steps_per_pass_settle(const struct problem *problem, struct pass_plan *plan);

/* Not collective. The exchange before a pass of `steps` steps with a stencil of this radius. Fails
 * as halo_plan_create. */
static inline enum status steps_per_pass_halo(const struct decomp *decomp, int rank,
                                              const struct layout *layout, int steps, int radius,
                                              struct halo_plan *plan)
{
    return halo_plan_create(decomp, rank, layout, steps * radius,
                            steps > 1 ? HALO_CORNERS : HALO_FACES, plan);
}
