/* Super steps of the stabilised schemes: a chain of levels, each a step of its own length. The
 * temperatures between the first and the last level are those of no time. */
#include "base/comm.h"
#include "solve/observe/diagnostics.h"
#include "solve/stepper.h"

/* Where `a` of a face depends on time, the sums of a level are those of one super step: each has
 * slots of its own, which are booked together when none are left. */
enum status stepper_book_levels(struct stepper *stepper, int nlevels, double length)
{
    /* by a tolerance each super step has sums of its own anyway */
    const bool apart = operator_a_varies(stepper->problem) && !stepper->problem->time.by_tolerance;
    if (apart && stepper->nslots + nlevels <= SUPERSTEP_LEVELS_MOST) {
        stepper->first_slot = stepper->nslots;
        stepper->nslots += nlevels;
        return STATUS_OK;
    }
    if (stepper->nslots == nlevels && stepper->slot_length == length && !apart) {
        return STATUS_OK;
    }
    if (stepper->nslots > 0) {
        TRY(diagnostics_gather_ledger(stepper));
    }
    stepper->first_slot = 0;
    stepper->nslots = nlevels;
    stepper->slot_length = length;
    return STATUS_OK;
}

/* The levels of the next pass, from level l on; pairs are not divided where passes have several.
 * Passes of multiples of `whole` have no step that corrects. */
static int pass_length(const struct superstep *superstep, int l, int most, int whole)
{
    int n = pass_share(superstep->nlevels - l, most, whole);
    for (int i = 0; i < n && whole > 1; i++) {
        if (superstep->level[l + i].predicts || superstep->level[l + i].corrects) {
            n = i > 0 ? i : 1;
        }
    }
    const bool divides = l + n < superstep->nlevels && superstep->level[l + n].corrects;
    return divides && n > 1 ? n - 1 : n;
}

enum status stepper_advance_levels(struct stepper *stepper, double start, double length,
                                   const struct superstep_level *levels, int first, int nlevels)
{
    const struct problem *problem = stepper->problem;
    const int slot = stepper->first_slot + first;
    struct stepper_pass pass = {.pass.nsteps = nlevels, .slot = slot, .levels = &levels[first]};
    for (int l = 0; l < nlevels; l++) {
        TRY(stepper_agree(stepper,
                          operator_of_level(problem, start, length, &pass.levels[l], &pass.op[l])));
    }
    TRY(stepper_queue_pass(stepper, &pass));
    for (int l = 0; l < nlevels; l++) {
        struct ledger_slot *booked = &stepper->slots[slot + l];
        booked->op = pass.op[l];
        if (!pass.levels[l].predicts) {
            ledger_add_step(&booked->ledger, &pass.op[l]);
            ledger_add_sources(&stepper->state->ledger, problem, &pass.op[l]);
        }
    }
    return STATUS_OK;
}

/* The levels of the first pass. Before save_start it is one kernel; where sources move, it may be
 * several if it has more than one level (hot_find), and so where it is shorter than `whole`. */
static int first_pass_length(const struct stepper *stepper, const struct superstep *superstep)
{
    const bool saves = stepper->d_saved != NULL;
    const int whole = stepper->level->whole;
    const int fused = stepper->nsources > 0 ? 1 : stepper->level->fused;
    const int steps = stepper->passes.steps;
    const int n = pass_length(superstep, 0, saves && fused < steps ? fused : steps, whole);
    return saves ? pass_share(n, fused, whole) : n;
}

/* After the first pass the state before it is the next output: keep it and its halo, or a copy
 * where the next pass reads it there. */
static enum status save_start(struct stepper *stepper, bool is_needed)
{
    struct field *field = stepper->level->field;
    void *d_start = field->d_next;
    if (is_needed) {
        return stepper_copy(stepper, stepper->d_saved, d_start);
    }
    field->d_next = stepper->d_saved;
    stepper->d_saved = d_start;
    return STATUS_OK;
}

static enum status advance_once(struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    const struct timeline *timeline = &problem->timeline;
    const int64_t step = stepper->state->step;
    struct superstep superstep;
    const double start = timeline_time(timeline, step);
    const double length = timeline_dt(timeline, step);
    const int equal = stepper->equal_levels;
    superstep_levels(equal > 0 ? SCHEME_EULER : problem->time.scheme,
                     equal > 0 ? equal : timeline_stages(timeline, step),
                     problem_is_linear(problem), &superstep);
    TRY(stepper_book_levels(stepper, superstep.nlevels, length));
    for (int l = 0, n = 0; l < superstep.nlevels; l += n) {
        n = l == 0 ? first_pass_length(stepper, &superstep)
                   : pass_length(&superstep, l, stepper->passes.steps, stepper->level->whole);
        TRY(stepper_advance_levels(stepper, start, length, superstep.level, l, n));
        if (l == 0 && stepper->d_saved != NULL) {
            TRY(save_start(stepper, n < superstep.nlevels && superstep.level[n].corrects));
        }
    }
    return STATUS_OK;
}

static enum status advance(struct stepper *stepper, int64_t steps)
{
    return stepper_advance_each(stepper, steps, advance_once);
}

const struct scheme scheme_sts1 = {.name = "sts1", .advance = advance};
const struct scheme scheme_sts2 = {.name = "sts2", .advance = advance};
const struct scheme scheme_monotone = {.name = "sts2, monotone", .advance = advance};
