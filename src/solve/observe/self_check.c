#include "solve/observe/self_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "solve/observe/diagnostics.h"
#include "solve/observe/self_check_faults.h"
#include "solve/observe/self_check_kept.h"

enum {
    CHECKED_PASSES = 8, /* of the steps that are computed twice, at most */
    COPY_PASSES = 10,   /* as long as the copies and sums of a check take, about */
    KEPT_PASSES = 2048, /* at least from one look at what is kept to the next */
    HOST_EVERY = 4,     /* checks per tile that the host computes, too */
    RESULTS_MOST = 5
};

/* What must agree, on this rank. */
struct result {
    uint64_t hash;
    struct ledger ledger;
};

/* ---- memory --------------------------------------------------------------------------------- */

uint64_t self_check_bytes(const struct problem *problem, const struct layout *layout,
                          const struct box *owned, uint64_t class_bytes)
{
    return problem->run.self_check > 0
               ? 2 * (uint64_t)layout_bytes(layout) + class_bytes + kept_bytes(problem, owned)
               : 0;
}

static enum status allocate(struct self_check *check)
{
    const struct stepper *stepper = check->stepper;
    struct engine *engine = stepper->level->engine;
    const struct runtime *runtime = engine->runtime;
    const size_t bytes = layout_bytes(&stepper->level->field->layout);
    TRY(flips_read(&check->flips));
    check->faults = calloc((size_t)stepper->team->nranks, sizeof *check->faults);
    TRY(CHECK_MEMORY(check->faults != NULL, "no memory for the self-check"));
    TRY(runtime->memory_alloc(engine->device, bytes, &check->d_start));
    TRY(runtime->memory_alloc(engine->device, bytes, &check->d_other));
    check->flips.d_copy = check->d_start;
    return kept_create(check);
}

enum status self_check_create(struct stepper *stepper, struct self_check **check)
{
    MPI_Comm comm = stepper->team->comm;
    *check = NULL;
    if (stepper->problem->run.self_check == 0) {
        return STATUS_OK;
    }
    struct self_check *built = calloc(1, sizeof *built);
    TRY(status_agree(comm, CHECK_MEMORY(built != NULL, "no memory for the self-check")));
    built->stepper = stepper;
    const enum status status = status_agree(comm, allocate(built));
    if (status != STATUS_OK) {
        self_check_destroy(built);
        return status;
    }
    *check = built;
    return STATUS_OK;
}

void self_check_destroy(struct self_check *check)
{
    if (check == NULL) {
        return;
    }
    const struct engine *engine = check->stepper->level->engine;
    engine->runtime->memory_free(engine->device, check->d_start);
    engine->runtime->memory_free(engine->device, check->d_other);
    kept_destroy(check);
    free(check->faults);
    free(check);
}

enum status self_check_verdict(const struct self_check *check)
{
    char device[DEVICE_TEXT];
    self_check_name_device(check->stepper, check->last_rank, device);
    return status_agree(
        check->stepper->team->comm,
        fail(STATUS_DEVICE,
             "self check: %d faults on %s; the last one is repaired, and a checkpoint of step "
             "%" PRId64 " is written. Restart without this device",
             FAULTS_MOST, device, check->stepper->state->step));
}

/* ---- states ---------------------------------------------------------------------------------- */

static enum status save(struct self_check *check)
{
    struct stepper *stepper = check->stepper;
    const struct field *field = stepper->level->field;
    TRY(diagnostics_gather_ledger(stepper));
    check->start = *stepper->state;
    check->begun = true;
    TRY(stepper_copy(stepper, check->d_start, field->d_now));
    TRY(status_agree(stepper->team->comm, kept_copy_classes(check, false)));
    return status_agree(stepper->team->comm, kept_rebase(check, true));
}

/* All sums of the ledger since were gathered. The tables of the classes are then sent again. */
static enum status restore(struct self_check *check)
{
    struct stepper *stepper = check->stepper;
    struct level *level = stepper->level;
    *stepper->state = check->start;
    TRY(stepper_copy(stepper, level->field->d_now, check->d_start));
    TRY(status_agree(stepper->team->comm, kept_copy_classes(check, true)));
    level->field->d_shown = NULL;
    level->classes->dt = 0;
    sleep_forget(&level->sleep);
    atomic_store_explicit(&level->phases->step, check->start.step, memory_order_relaxed);
    return status_agree(stepper->team->comm, kept_rebase(check, false));
}

static void say_repaired(struct self_check *check, const char *what)
{
    check->stepper->checked.repairs++;
    log_warn("self check: %s; computed again from step %" PRId64 ", continuing at step %" PRId64,
             what, check->start.step, check->stepper->state->step);
}

/* ---- twice ----------------------------------------------------------------------------------- */

/* The same number on all ranks, below `end`. */
static int64_t random_below(int64_t step, int64_t end)
{
    uint64_t z = (uint64_t)step * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x632be59bd9b4e019);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return end > 1 ? (int64_t)((z >> 33) % (uint64_t)end) : 0;
}

static enum status find_result(struct self_check *check, struct result *result)
{
    struct stepper *stepper = check->stepper;
    TRY(diagnostics_gather_ledger(stepper));
    TRY(status_agree(stepper->team->comm,
                     diagnostics_hash_rank(stepper, stepper->level->field->d_now, &result->hash)));
    result->ledger = stepper->state->ledger;
    return STATUS_OK;
}

/* In other memory, the cells divided between two kernels, and without overlap: other processors get
 * other cells. */
static enum status compute_elsewhere(struct self_check *check, int64_t steps, int number)
{
    struct level *level = check->stepper->level;
    const bool overlap = level->overlap;
    struct box apart = layout_owned(&level->field->layout);
    int axis = AXIS_Z;
    while (axis > AXIS_X && apart.hi[axis] < 4) {
        axis--;
    }
    apart.lo[axis] = apart.hi[axis] * (1 + random_below(check->start.step + number, 3)) / 4;
    level->apart = apart;
    level->overlap = false;
    const enum status status = flips_advance(&check->flips, check->stepper, steps);
    level->apart = (struct box){{0, 0, 0}, {0, 0, 0}};
    level->overlap = overlap;
    return status;
}

/* Collective. *match: the first of earlier results that the last one agrees with, on all ranks;
 * -1: none. */
static enum status find_match(const struct self_check *check, const struct result *results,
                              int last, int *match)
{
    unsigned same = 0;
    for (int r = 0; r < last; r++) {
        const void *one = &results[r].ledger; /* by bits: they have no padding */
        const void *other = &results[last].ledger;
        const bool is_same = results[r].hash == results[last].hash &&
                             memcmp(one, other, sizeof results[r].ledger) == 0;
        same |= (unsigned)is_same << r;
    }
    TRY_MPI(
        MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_UNSIGNED, MPI_BAND, check->stepper->team->comm));
    *match = -1;
    for (int r = last - 1; r >= 0; r--) {
        *match = (same >> r & 1) != 0 ? r : *match;
    }
    return STATUS_OK;
}

static void keep_first(struct self_check *check)
{
    struct field *field = check->stepper->level->field;
    void *d_first = field->d_now;
    field->d_now = check->d_other;
    check->d_other = d_first;
}

/* Collective. Whether the copy of the field at the start still is what was copied. */
static enum status check_start(struct self_check *check, bool *wrong)
{
    char device[DEVICE_TEXT];
    TRY(status_agree(check->stepper->team->comm, kept_check_start(check, wrong)));
    TRY(self_check_agree(check, wrong, device));
    if (*wrong) {
        log_warn("self check: the copy of the field at step %" PRId64
                 " has changed on %s; it is not used",
                 check->start.step, device);
    }
    return STATUS_OK;
}

/* Collective. The state is the result of the steps since `start`. Compute them again until two
 * results agree; the last one remains. *first_is_right: it was that of the state. */
static enum status compute_again(struct self_check *check, bool *first_is_right)
{
    const struct stepper *stepper = check->stepper;
    const struct state after = *stepper->state;
    const int64_t steps = after.step - check->start.step;
    struct result results[RESULTS_MOST];
    bool wrong = false;
    int match = -1;
    TRY(find_result(check, &results[0]));
    keep_first(check);
    for (int n = 1; n < RESULTS_MOST && match < 0; n++) {
        TRY(restore(check));
        TRY(compute_elsewhere(check, steps, n));
        TRY(find_result(check, &results[n]));
        TRY(find_match(check, results, n, &match));
        TRY(match < 0 ? kept_check(check, &wrong) : STATUS_OK);
        if (match < 0 && n == 1 && !wrong) {
            TRY(self_check_locate(check, &after, false));
        }
        if (match >= 0 && n > 1) {
            say_repaired(check,
                         match == 0 ? "the second result was wrong" : "the first result was wrong");
        }
    }
    *first_is_right = match == 0;
    return match >= 0 ? STATUS_OK
                      : status_agree(stepper->team->comm,
                                     fail(STATUS_DEVICE,
                                          "self check: no two of %d computations of the steps from "
                                          "%" PRId64 " to %" PRId64 " agree; restart from the last "
                                          "checkpoint on other devices",
                                          RESULTS_MOST, check->start.step, after.step));
}

/* Collective. Whether the steps since `start` can be computed again. */
static enum status may_go_back(struct self_check *check, bool *may)
{
    const struct stepper *stepper = check->stepper;
    bool wrong = false;
    *may = check->begun && check->start.step < stepper->state->step &&
           check->start.step >= stepper->problem->timeline.start_step;
    TRY(*may ? check_start(check, &wrong) : STATUS_OK);
    *may = *may && !wrong;
    return STATUS_OK;
}

/* Collective. Check what is kept, and where it was wrong, compute all steps since `start` again. */
static enum status look_at_kept(struct self_check *check)
{
    struct stepper *stepper = check->stepper;
    struct state *state = stepper->state;
    const struct state after = *state;
    const int64_t before = check->verified;
    bool wrong = false;
    bool may = true;
    TRY(kept_check(check, &wrong));
    if (!wrong || check->start.step == after.step) {
        stepper->checked.repairs += wrong;
        return STATUS_OK;
    }
    TRY(may_go_back(check, &may));
    FAIL_IF(!may, status_agree(stepper->team->comm,
                               fail(STATUS_DEVICE,
                                    "self check: no earlier state is left; restart from a "
                                    "checkpoint of step %" PRId64 " or before",
                                    before)));
    TRY(diagnostics_gather_ledger(stepper));
    keep_first(check);
    TRY(restore(check));
    TRY(flips_advance(&check->flips, stepper, after.step - state->step));
    state->check = after.check;
    TRY(self_check_locate(check, &after, true));
    say_repaired(check, "the steps since were wrong");
    return STATUS_OK;
}

enum status self_check_doubt(struct self_check *check, bool *repaired)
{
    *repaired = false;
    if (check == NULL) {
        return STATUS_OK;
    }
    struct stepper *stepper = check->stepper;
    const struct numerics_check numerics = stepper->state->check;
    const int64_t faults = stepper->checked.faults;
    bool is_right = true;
    bool may = false;
    TRY(look_at_kept(check)); /* the heat of cells needs their classes, too */
    *repaired = stepper->checked.faults > faults;
    TRY(*repaired ? STATUS_OK : may_go_back(check, &may));
    if (may) {
        TRY(compute_again(check, &is_right));
        stepper->state->check = numerics;
    }
    *repaired = *repaired || !is_right;
    return STATUS_OK;
}

static int64_t checked_steps(const struct stepper *stepper)
{
    const bool single = stepper->problem->time.scheme == SCHEME_EULER;
    return single ? (int64_t)CHECKED_PASSES * stepper->passes.steps : 2;
}

/* Collective. The sums of the first result's bits, before those of the second begin: rounding may
 * absorb a flipped bit. *other_on_host: false, if a fault explains it. */
static enum status look_at_first(struct self_check *check, bool *other_on_host)
{
    const struct self_check_counts *counts = &check->stepper->checked;
    const int64_t faults = counts->faults;
    TRY(counts->each_pass ? look_at_kept(check) : STATUS_OK);
    *other_on_host = *other_on_host && counts->faults == faults;
    return STATUS_OK;
}

static enum status check_steps(struct self_check *check, int64_t steps)
{
    struct stepper *stepper = check->stepper;
    const double share = stepper->problem->run.self_check;
    const int64_t pass = steps < stepper->passes.steps ? steps : stepper->passes.steps;
    bool flag = false;
    bool other_on_host = false;
    TRY(look_at_kept(check));
    TRY(save(check));
    TRY(flips_advance(&check->flips, stepper, pass));
    if (stepper->checked.checks % HOST_EVERY == 0 && self_check_host_takes(stepper)) {
        TRY(self_check_on_host(check, pass, &other_on_host));
    }
    TRY(flips_advance(&check->flips, stepper, steps - pass));
    TRY(look_at_first(check, &other_on_host));
    TRY(check_start(check, &flag));
    stepper->checked.repairs += flag; /* the copy has not been used */
    if (!flag) {
        TRY(compute_again(check, &flag));
        const int64_t faults = stepper->checked.faults;
        TRY(other_on_host && flag ? look_at_kept(check) : STATUS_OK); /* it may be the classes */
        FAIL_IF(other_on_host && flag && stepper->checked.faults == faults,
                status_agree(stepper->team->comm,
                             fail(STATUS_DEVICE, "self check: the device computes the same bits "
                                                 "twice, and the host others; restart from the "
                                                 "last checkpoint on another device")));
    }
    TRY(kept_check_halo(check, &flag));
    stepper->checked.repairs += flag; /* the next pass exchanges it again */
    stepper->checked.checks++;
    stepper->checked.steps += steps;
    const double charge = (double)(steps + (int64_t)COPY_PASSES * stepper->passes.steps);
    const int64_t gap = share < 1 ? (int64_t)fmin(charge / share - (double)steps, 1e15) : 0;
    check->next = stepper->state->step + gap / 2 + random_below(stepper->state->step, gap + 1);
    return STATUS_OK;
}

enum status self_check_advance(struct self_check *check, struct stepper *stepper, int64_t steps)
{
    if (check == NULL) {
        return stepper_advance(stepper, steps);
    }
    const struct state *state = stepper->state;
    const int64_t first = state->step;
    const int64_t end = first + steps;
    const int64_t most = checked_steps(stepper);
    const bool all = stepper->problem->run.self_check == 1;
    TRY(check->begun ? STATUS_OK : save(check));
    while (state->step < end && !stepper->checked.is_over) {
        const int64_t left = end - state->step;
        if (state->step >= check->next && (left >= most || state->step == first || all)) {
            TRY(check_steps(check, left < most ? left : most));
        } else {
            const bool ahead = check->next > state->step && check->next < end;
            const int64_t until = ahead ? check->next : end;
            TRY(flips_advance(&check->flips, stepper, until - state->step));
        }
    }
    const bool due = state->step - check->verified >= (int64_t)KEPT_PASSES * stepper->passes.steps;
    return due || state->step == stepper->problem->timeline.steps ? look_at_kept(check) : STATUS_OK;
}
