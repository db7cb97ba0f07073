#include "solve/sleep/sleep_control.h"

#include "base/comm.h"

enum {
    LEAST_STEPS = 1000,    /* that remain: a look costs as much as some ten of the others */
    LEAST_CELLS = 1 << 18, /* per rank: fewer take microseconds */
    LOOK_EVERY = 64        /* steps with tiles */
};
/* The share of tiles: where passes have one step, and where they have several, which are faster. */
static const double share_that_pays[2] = {0.5, 0.2};

/* Classes of cells change while their values do not, and what surfaces exchange is not seen by the
 * pass that marks tiles. Moving sources heat a part of the grid. */
static bool is_possible(const struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    const int64_t *n = problem->grid.cells;
    const enum sleeping_tiles setting = problem->run.sleeping_tiles;
    const bool pays = stepper->nsources > 0 &&
                      n[AXIS_X] * n[AXIS_Y] * n[AXIS_Z] / stepper->team->nranks >= LEAST_CELLS;
    return problem->time.scheme == SCHEME_EULER && !problem->medium.changes &&
           problem->boundary.nsurfaces == 0 &&
           (setting == SLEEPING_ON || (setting == SLEEPING_AUTO && pays));
}

static enum status read_awake(struct stepper *stepper, struct tiles_awake *awake)
{
    struct engine *engine = stepper->level->engine;
    enum status status = engine->runtime->copy_to_host(
        engine->bulk_queue, awake, stepper->level->sleep.tiles.d_awake, sizeof *awake);
    status = status == STATUS_OK ? engine->runtime->queue_wait(engine->bulk_queue) : status;
    return status_agree(stepper->team->comm, status);
}

/* Of the passes since the last look, of the rank with the largest. */
static enum status find_share(struct stepper *stepper, double *share)
{
    struct sleep *sleep = &stepper->level->sleep;
    struct tiles_awake awake;
    TRY(read_awake(stepper, &awake));
    *share = ((double)awake.advanced - sleep->advanced) /
             ((double)(sleep->passes - sleep->passes_then) * (double)tiles_total(&sleep->tiles));
    sleep->advanced = (double)awake.advanced;
    sleep->passes_then = sleep->passes;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, share, 1, MPI_DOUBLE, MPI_MAX, stepper->team->comm));
    return STATUS_OK;
}

static enum status create(struct stepper *stepper)
{
    struct level *level = stepper->level;
    bool open[FACE_COUNT];
    for (int f = 0; f < FACE_COUNT; f++) {
        open[f] = decomp_neighbour(level->decomp, level->rank, (enum face)f) >= 0;
    }
    return level->sleep.d_memory != NULL ? STATUS_OK
                                         : sleep_create(&level->sleep, level->engine,
                                                        &level->field->layout, open, level->radius);
}

/* The first pass advances all tiles and finds those that change, so the second one tells. Without
 * memory there is none. */
static enum status start(struct stepper *stepper)
{
    struct sleep *sleep = &stepper->level->sleep;
    const enum status status = status_agree(stepper->team->comm, create(stepper));
    if (status == STATUS_MEMORY) {
        fail_clear();
        sleep_destroy(sleep, stepper->level->engine);
        sleep->possible = false;
        return STATUS_OK;
    }
    TRY(status);
    sleep->is_on = true;
    sleep_forget(sleep);
    sleep->passes_then = sleep->passes + 1;
    sleep->advanced += (double)tiles_total(&sleep->tiles);
    sleep->next_look = stepper->state->step + 2;
    return STATUS_OK;
}

enum status sleep_decide(struct stepper *stepper)
{
    struct sleep *sleep = &stepper->level->sleep;
    const int64_t step = stepper->state->step;
    const bool always = stepper->problem->run.sleeping_tiles == SLEEPING_ON;
    if (sleep->pause == 0) { /* once */
        sleep->possible = is_possible(stepper);
        sleep->pause = LEAST_STEPS;
    }
    if (!sleep->possible || step < sleep->next_look || (sleep->is_on && always)) {
        return STATUS_OK;
    }
    SCOPED_PHASE(stepper->level->phases, PHASE_AGREE);
    if (!sleep->is_on) {
        const int64_t left = stepper->problem->timeline.steps - step;
        return always || left >= LEAST_STEPS ? start(stepper) : STATUS_OK;
    }
    double share = 1;
    TRY(find_share(stepper, &share));
    sleep->is_on = share <= share_that_pays[stepper->passes.steps > 1];
    sleep->next_look = step + (sleep->is_on ? LOOK_EVERY : sleep->pause);
    sleep->pause *= sleep->is_on ? 1 : 2;
    return STATUS_OK;
}

enum status sleep_count(struct stepper *stepper)
{
    struct sleep *sleep = &stepper->level->sleep;
    struct tiles_awake awake = {0};
    if (sleep->passes == 0) {
        return STATUS_OK; /* on all ranks */
    }
    TRY(read_awake(stepper, &awake));
    double sums[2] = {(double)awake.advanced, (double)(sleep->passes * tiles_total(&sleep->tiles))};
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, stepper->team->comm));
    sleep->advanced = sums[0];
    sleep->all = sums[1];
    return STATUS_OK;
}
