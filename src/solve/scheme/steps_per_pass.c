#include "solve/scheme/steps_per_pass.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/operator/operator.h"

static bool has_sources_from_files(const struct problem *problem)
{
    bool any = false;
    for (int s = 0; s < problem->sources.count; s++) {
        any = any || source_has_values(problem->sources.source[s].setting);
    }
    return any;
}

int steps_fused(const struct problem *problem, const struct backend *backend)
{
    const enum kind kind = operator_kind(problem);
    const int most = backend->operations->steps_most[kind];
    const bool faces_act = kind == KIND_FACES &&
                           (sources_moving(&problem->sources) > 0 || problem->medium.nsurfaces > 0);
    const bool acts_after_each = has_sources_from_files(problem) || problem->medium.changes ||
                                 problem->boundary.nsurfaces > 0 || faces_act;
    bool (*share_a)(enum kind kind) = backend->operations->steps_share_a;
    const bool differ =
        share_a != NULL && share_a(kind) && boundary_coefficient_varies(&problem->boundary);
    return most > 1 && !acts_after_each && !differ ? most : 1;
}

/* NULL: several steps can be one pass. The cells of other ranks are then advanced from the same
 * values, but what a cell of the halo was between two exchanges is not known. */
static const char *why_single(const struct problem *problem, bool exchanges)
{
    if (problem->medium.lines) { /* which the layers of a deep halo would shift */
        return "cells of more sizes than classes take single steps";
    }
    if (exchanges && problem->medium.changes) {
        return "where a material becomes another one the ranks exchange after each step";
    }
    if (exchanges && problem->boundary.nsurfaces > 0) {
        return "what surfaces exchange is added to owned cells after each step";
    }
    return exchanges && has_sources_from_files(problem)
               ? "sources with a value per cell are added to owned cells after each step"
               : NULL;
}

/* auto: the layers within which the fastest is looked for. */
static int most_to_try(const struct problem *problem, const struct backend *backend,
                       const struct decomp *decomp, int64_t thinnest)
{
    enum {
        IN_CACHE = 1 << 18, /* cells per rank: caches hold them; memory is not read */
        DEEPEST = 4,        /* more layers cost memory before anything is measured */
        SHARE = 8           /* of the thinnest block: beyond that too many cells are redundant */
    };
    const int64_t cells = decomp->global_cells[0] * decomp->global_cells[1] *
                          decomp->global_cells[2] / decomp->nranks;
    /* hot boxes take memory, and on CPUs gain nothing */
    if (!backend_has(backend, BACKEND_GPU) &&
        (cells < IN_CACHE || sources_moving(&problem->sources) > 0)) {
        return 1;
    }
    int64_t most = steps_fused(problem, backend);
    most = DEEPEST < most ? DEEPEST : most;
    most = thinnest / SHARE < most ? thinnest / SHARE : most;
    return most > 1 ? (int)most : 1;
}

enum status steps_per_pass_plan(const struct problem *problem, const struct backend *backend,
                                const struct decomp *decomp, struct pass_plan *plan)
{
    const struct run_setting *run = &problem->run;
    enum axis axis = AXIS_X;
    const int64_t thinnest = decomp_thinnest(decomp, &axis);
    const char *single = why_single(problem, thinnest < INT64_MAX);
    *plan = (struct pass_plan){.most = 1, .radius = problem->radius};
    if (single != NULL) {
        snprintf(plan->reason, sizeof plan->reason, "%s", single);
        return STATUS_OK;
    }
    if (run->steps_per_pass_auto) {
        plan->most = most_to_try(problem, backend, decomp, thinnest);
        return STATUS_OK;
    }
    plan->most = run->steps_per_pass;
    const bool one_by_one = plan->most > 1 && steps_fused(problem, backend) == 1;
    snprintf(plan->reason, sizeof plan->reason, "as configured%s",
             one_by_one ? "; kernels advance one step each" : "");
    if (thinnest >= pass_layers(plan)) {
        return STATUS_OK;
    }
    const int64_t possible = thinnest / problem->radius;
    return settings_fail_at(
        problem->origin, "run.steps_per_pass",
        "%d steps per pass need blocks of %d cells at least, and the thinnest on "
        "%s has %" PRId64 "; give %" PRId64 " or less, or auto",
        plan->most, pass_layers(plan), axis_name(axis), thinnest, possible > 0 ? possible : 1);
}

void steps_per_pass_settle(const struct problem *problem, struct pass_plan *plan)
{
    enum { FEW_STEPS = 32 };     /* a search takes longer than it gains */
    if (problem->medium.lines) { /* since the survey of the cells, too */
        plan->most = 1;
        snprintf(plan->reason, sizeof plan->reason, "%s", why_single(problem, false));
    }
    if (plan->reason[0] == '\0') {
        const int64_t levels = problem->timeline.steps * timeline_stages(&problem->timeline, 0);
        plan->most = levels < FEW_STEPS ? 1 : plan->most;
        snprintf(plan->reason, sizeof plan->reason, "%s",
                 plan->most > 1 ? "auto: the fastest is measured at the start"
                                : "auto: few steps, few cells or thin blocks");
    }
    plan->steps = plan->most;
}
