#include "app/command/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "model/field/field.h"
#include "output/output.h"
#include "solve/engine.h"
#include "solve/medium/classes.h"
#include "solve/start/initial.h"

static enum status examine_rank(struct plan *plan, int rank)
{
    const struct box owned = decomp_owned(&plan->decomp, rank);
    const int64_t cells = box_cells(&owned);
    struct layout layout;
    struct halo_plan exchange;
    TRY(field_layout(plan->backend, &plan->decomp, rank, plan->problem.precision, &layout));
    TRY(steps_per_pass_halo(&plan->decomp, rank, &layout, plan->passes.most, plan->passes.radius,
                            &exchange));
    const int64_t halo = (int64_t)halo_plan_bytes(&exchange, plan->problem.precision);
    const int messages = exchange.nmessages;
    plan->min_cells = rank == 0 || cells < plan->min_cells ? cells : plan->min_cells;
    plan->max_cells = cells > plan->max_cells ? cells : plan->max_cells;
    plan->min_halo = rank == 0 || halo < plan->min_halo ? halo : plan->min_halo;
    plan->max_halo = halo > plan->max_halo ? halo : plan->max_halo;
    plan->max_messages = messages > plan->max_messages ? messages : plan->max_messages;
    uint64_t bytes = 0;
    const struct output_memory need = output_memory_need(&plan->problem, &owned);
    TRY(memory_of_rank(&plan->problem, plan->backend, &plan->decomp, rank, &need, &bytes));
    plan->max_bytes = bytes > plan->max_bytes ? bytes : plan->max_bytes;
    bytes = class_map_host_bytes(&plan->problem, &owned, plan->passes.most);
    plan->max_class_bytes = bytes > plan->max_class_bytes ? bytes : plan->max_class_bytes;
    bytes = patch_map_bytes(&plan->problem, &owned, plan->passes.most);
    plan->max_patch_bytes = bytes > plan->max_patch_bytes ? bytes : plan->max_patch_bytes;
    plan->max_copy_bytes =
        need.device_bytes > plan->max_copy_bytes ? need.device_bytes : plan->max_copy_bytes;
    plan->max_output_bytes =
        need.host_bytes > plan->max_output_bytes ? need.host_bytes : plan->max_output_bytes;
    return STATUS_OK;
}

/* Is it a file that does not exist? An earlier job may create it. */
static bool is_missing(const struct shape_setting *shape)
{
    return shape->kind == INITIAL_FILE && !file_exists(shape->path);
}

static enum status check_initial(const struct plan *plan)
{
    for (int entry = 0; entry < plan->problem.ninitial; entry++) {
        if (!is_missing(&plan->problem.initial[entry])) {
            TRY(initial_check(&plan->problem, entry));
        }
    }
    return STATUS_OK;
}

enum status plan_create(const struct settings *settings, int64_t nranks, struct plan *plan)
{
    char why[256];
    *plan = (struct plan){0};
    TRY(problem_create(settings, &plan->problem));
    TRY(classes_survey_alone(&plan->problem));
    TRY(check_initial(plan));
    FAIL_IF(nranks > INT32_MAX,
            fail(STATUS_INPUT, "--ranks %" PRId64 " is more than MPI supports", nranks));
    TRY(problem_decompose(&plan->problem, (int)nranks, &plan->decomp));
    TRY(engine_choose(&plan->problem, &plan->backend, why, sizeof why));
    TRY(steps_per_pass_plan(&plan->problem, plan->backend, &plan->decomp, &plan->passes));
    steps_per_pass_settle(&plan->problem, &plan->passes);
    plan->decomp.halo_width = pass_layers(&plan->passes);
    for (int rank = 0; rank < plan->decomp.nranks; rank++) {
        TRY(examine_rank(plan, rank));
    }
    return STATUS_OK;
}

/* Above these shares of the longest step a new value beside such a face is not a mean of old ones.
 */
static void print_overshoot(const struct problem *problem)
{
    const double share = problem->timeline.dt / problem->timeline.dt_stable;
    const double most = problem->medium.nclasses > 0 ? 0.5 : 2.0 / 3;
    bool held = false;
    for (int f = 0; f < FACE_COUNT; f++) {
        held = held || problem->boundary.face[f]->setting.kind == BOUNDARY_TEMPERATURE;
    }
    if (held && problem->radius == 1 && share > most) {
        printf("               above %.2f of it, cells at given temperatures may overshoot\n",
               most);
    }
    if (share > 1 - 1e-9) {
        printf("               changes that alternate from cell to cell are not damped\n");
    }
}

static void print_between(const struct timeline *timeline)
{
    const char *why = timeline->why_landing;
    printf("outputs        %s%s\n",
           why != NULL ? "shorten steps, which end at their times: " : "interpolated within steps",
           why != NULL ? why : "");
}

/* Whether super steps of auto may become implicit ones. */
static void print_implicit(const struct timeline *timeline)
{
    if (timeline->setting.may_be_implicit) {
        printf("               implicit ones where the tolerance and the outputs allow steps of "
               "about %.3g s or more\n",
               timeline_implicit_least(timeline));
    } else if (timeline->setting.may_skip) {
        printf("               never implicit: %s\n", timeline->why_explicit);
    }
}

void plan_print_time(const struct plan *plan)
{
    const struct time_setting *time = &plan->problem.time;
    const struct timeline *timeline = &plan->problem.timeline;
    const double euler = ceil((timeline->end - timeline->start_time) / timeline->dt_stable);
    if (time->by_tolerance) {
        if (time->scheme == SCHEME_IMPLICIT) {
            printf("implicit       steps by a tolerance");
        } else {
            printf("super steps    by a tolerance, of up to %d stages (%s)", timeline->stages_most,
                   timeline->scheme_reason);
        }
        printf("; forward Euler would take %.3g steps\n", euler);
        print_implicit(timeline);
        print_between(timeline);
        return;
    }
    if (time->scheme == SCHEME_STEADY) {
        printf("steady state   at most %" PRId64 " cycles, to an estimated error of %g K and %g of "
               "the heat that flows\n",
               time->steady.cycles, time->steady.temperature, time->steady.tolerance);
        return;
    }
    printf("time step      %s%.6g s", timeline->nstretches > 1 ? "at most " : "", timeline->dt);
    if (time->dt_auto) {
        printf(" = safety %g x the largest stable step %.6g s\n", time->safety,
               timeline->dt_stable);
    } else {
        printf(" as configured; the largest stable step is %.6g s\n", timeline->dt_stable);
    }
    const int levels = timeline_stages(timeline, 0);
    if (time->scheme == SCHEME_IMPLICIT) {
        printf("implicit       steps of %d stage%s (%s); forward Euler would take %.3g steps\n",
               levels, levels == 1 ? "" : "s", timeline->scheme_reason, euler);
    } else if (levels > 1) {
        printf("super steps    of %d levels, sts%d (%s); forward Euler would take %.3g steps\n",
               levels, time->scheme == SCHEME_STS1 ? 1 : 2, timeline->scheme_reason, euler);
    } else {
        if (strcmp(timeline->scheme_reason, "as configured") != 0) {
            printf("               forward Euler (%s)\n", timeline->scheme_reason);
        }
        print_overshoot(&plan->problem);
    }
    if (time->adapt_every > 0) {
        printf("               adapted every %" PRId64
               " step%s and lengthened where temperatures allow; the step count below is an "
               "upper bound\n",
               time->adapt_every, time->adapt_every == 1 ? "" : "s");
    }
    printf("steps          %" PRId64 " to t = %.6g s", timeline->steps, timeline->end);
    if (timeline->nstretches > 1) {
        printf(", landing on %" PRId64 " intermediate time%s: %.6g s per step on average",
               timeline->nstretches - 1, timeline->nstretches == 2 ? "" : "s",
               timeline->end / (double)timeline->steps);
    }
    if (timeline->dt_last != timeline->dt) {
        printf(", the last one shortened to %.6g s", timeline->dt_last);
    }
    printf("\n");
}

void plan_destroy(struct plan *plan)
{
    problem_destroy(&plan->problem);
}
