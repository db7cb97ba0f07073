#include "solve/steps_per_pass.h"

#include <inttypes.h>
#include <stdio.h>

/* NULL: several steps can be one pass. */
static const char *why_single(const struct problem *problem, const struct backend *backend)
{
    for (int s = 0; s < problem->sources.count; s++) {
        if (!source_is_painted(problem->sources.source[s].setting)) {
            return "moving sources are added after each step";
        }
    }
    if (problem->radius > 1) {
        return "a stencil of an order above 2 is advanced step by step";
    }
    if (problem->medium.nclasses > 0) {
        return problem->medium.curves != NULL
                   ? "properties that depend on temperature, melting and perfusion are advanced "
                     "step by step"
                   : "several materials, sources, radiation, patches and a heat transfer "
                     "coefficient that is a formula are advanced step by step";
    }
    return backend->operations->steps == NULL ? "the backend advances step by step" : NULL;
}

/* The extent of the thinnest block on an axis with neighbours; INT64_MAX: there is none. */
static int64_t thinnest_block(const struct decomp *decomp, enum axis *axis)
{
    int64_t thinnest = INT64_MAX;
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int64_t extent = decomp->global_cells[a] / decomp->ranks[a];
        if (decomp_exchanges(decomp, (enum axis)a) && extent < thinnest) {
            thinnest = extent;
            *axis = (enum axis)a;
        }
    }
    return thinnest;
}

/* auto: the layers within which the fastest is looked for. */
static int most_to_try(const struct backend *backend, const struct decomp *decomp, int64_t steps,
                       int64_t thinnest)
{
    enum {
        IN_CACHE = 1 << 18, /* cells per rank: caches hold them; memory is not read */
        FEW_STEPS = 32,     /* a search takes longer than it gains */
        DEEPEST = 4,        /* more layers cost memory before anything is measured */
        SHARE = 8           /* of the thinnest block: beyond that too many cells are redundant */
    };
    const int64_t cells = decomp->global_cells[0] * decomp->global_cells[1] *
                          decomp->global_cells[2] / decomp->nranks;
    if (steps < FEW_STEPS || (!backend_has(backend, BACKEND_GPU) && cells < IN_CACHE)) {
        return 1;
    }
    int64_t most = backend->operations->steps_most;
    most = DEEPEST < most ? DEEPEST : most;
    most = thinnest / SHARE < most ? thinnest / SHARE : most;
    return most > 1 ? (int)most : 1;
}

enum status steps_per_pass_plan(const struct problem *problem, const struct backend *backend,
                                const struct decomp *decomp, struct pass_plan *plan)
{
    const struct settings *settings = problem->settings;
    const char *single = why_single(problem, backend);
    enum axis axis = AXIS_X;
    const int64_t thinnest = thinnest_block(decomp, &axis);
    *plan = (struct pass_plan){.most = 1, .steps = 1, .radius = problem->radius};
    if (single != NULL) {
        snprintf(plan->reason, sizeof plan->reason, "%s", single);
        return STATUS_OK;
    }
    if (settings->run.steps_per_pass_auto) {
        plan->most = most_to_try(backend, decomp, problem->timeline.steps, thinnest);
        plan->steps = plan->most;
        snprintf(plan->reason, sizeof plan->reason, "%s",
                 plan->most > 1 ? "auto: the fastest is measured at the start"
                                : "auto: few steps, few cells or thin blocks");
        return STATUS_OK;
    }
    plan->most = settings->run.steps_per_pass;
    plan->steps = plan->most;
    snprintf(plan->reason, sizeof plan->reason, "as configured");
    if (thinnest >= plan->most) {
        return STATUS_OK;
    }
    return settings_fail(settings, "run.steps_per_pass",
                         "%d steps per pass need blocks of %d cells at least, and the thinnest on "
                         "%s has %" PRId64 "; give %" PRId64 " or less, or auto",
                         plan->most, plan->most, axis_name(axis), thinnest, thinnest);
}
