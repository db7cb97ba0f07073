#include "solve/observe/diagnostics.h"

#include <stdlib.h>
#include <string.h>

#include "base/comm.h"

/* As `plane_maxima` has them: of this rank's cells, and of the grid. */
struct melt_pool {
    const struct engine *engine; /* borrowed */
    size_t mine;                 /* elements */
    uint64_t *h_mine;
    void *d_mine;
    uint64_t *h_all;
};

static size_t count_planes(const int64_t cells[AXIS_COUNT])
{
    return 1 + (size_t)(cells[AXIS_X] + cells[AXIS_Y] + cells[AXIS_Z]);
}

uint64_t melt_pool_bytes(const struct box *owned)
{
    const int64_t cells[AXIS_COUNT] = {box_extent(owned, AXIS_X), box_extent(owned, AXIS_Y),
                                       box_extent(owned, AXIS_Z)};
    return count_planes(cells) * sizeof(uint64_t);
}

enum status melt_pool_open(const struct stepper *stepper, struct melt_pool **pool)
{
    const struct engine *engine = stepper->level->engine;
    struct melt_pool *opened = calloc(1, sizeof *opened);
    enum status status = STATUS_OK;
    *pool = NULL;
    TRY(CHECK_MEMORY(opened != NULL, "no memory for the melt pool"));
    opened->engine = engine;
    opened->mine = count_planes(stepper->level->field->layout.cells);
    opened->h_mine = calloc(opened->mine, sizeof(uint64_t));
    opened->h_all = calloc(count_planes(stepper->problem->grid.cells), sizeof(uint64_t));
    const bool enough = opened->h_mine != NULL && opened->h_all != NULL;
    TRY_GOTO(CHECK_MEMORY(enough, "no memory for the melt pool"));
    TRY_GOTO(engine->runtime->memory_alloc(engine->device, opened->mine * sizeof(uint64_t),
                                           &opened->d_mine));
    *pool = opened;
    return STATUS_OK;
done:
    melt_pool_close(opened);
    return status;
}

void melt_pool_close(struct melt_pool *pool)
{
    if (pool != NULL) {
        pool->engine->runtime->memory_free(pool->engine->device, pool->d_mine);
        free(pool->h_mine);
        free(pool->h_all);
        free(pool);
    }
}

static enum status find_mine(struct melt_pool *pool, struct stepper *stepper, double limit)
{
    struct engine *engine = stepper->level->engine;
    const struct field *field = stepper->level->field;
    const size_t bytes = pool->mine * sizeof(uint64_t);
    memset(pool->h_mine, 0, bytes);
    TRY(engine_wait(engine));
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, pool->d_mine, pool->h_mine, bytes));
    TRY(ENQUEUE(engine->operations, plane_maxima, engine->bulk_queue, .layout = field->layout,
                .d_field = field_temperature(field), .limit = limit, .d_planes = pool->d_mine));
    TRY(engine->runtime->copy_to_host(engine->bulk_queue, pool->h_mine, pool->d_mine, bytes));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

/* Over all ranks, into h_all. */
static enum status find_all(struct melt_pool *pool, const struct stepper *stepper)
{
    MPI_Comm comm = stepper->team->comm;
    const struct field *field = stepper->level->field;
    const int64_t *n = stepper->problem->grid.cells;
    const size_t count = count_planes(n);
    const uint64_t *mine = pool->h_mine + 1;
    uint64_t *all = pool->h_all + 1;
    memset(pool->h_all, 0, count * sizeof(uint64_t));
    for (int a = 0; a < AXIS_COUNT; a++) {
        memcpy(all + field->placement.offset[a], mine,
               (size_t)field->layout.cells[a] * sizeof(uint64_t));
        mine += field->layout.cells[a];
        all += n[a];
    }
    TRY_MPI(MPI_Allreduce(pool->h_mine, pool->h_all, 1, MPI_UINT64_T, MPI_SUM, comm));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, pool->h_all + 1, (int)(count - 1), MPI_UINT64_T, MPI_MAX,
                          comm));
    return STATUS_OK;
}

/* How far from plane `from`, above the limit, towards the next one the isotherm is, in cells. */
static double beyond(uint64_t from, uint64_t next, double limit)
{
    const double value = class_value_of(from);
    return (value - limit) / (value - class_value_of(next));
}

/* In cells. */
static double find_extent(const uint64_t *planes, int64_t n, double limit)
{
    int64_t first = 0;
    int64_t last = n - 1;
    while (first < n && !(class_value_of(planes[first]) > limit)) {
        first++;
    }
    while (last >= 0 && !(class_value_of(planes[last]) > limit)) {
        last--;
    }
    if (first > last) {
        return 0;
    }
    const double below = first > 0 ? beyond(planes[first], planes[first - 1], limit) : 0.5;
    const double above = last < n - 1 ? beyond(planes[last], planes[last + 1], limit) : 0.5;
    return (double)(last - first) + below + above;
}

enum status melt_pool_take(struct melt_pool *pool, struct stepper *stepper,
                           struct melt_pool_diagnostics *found)
{
    SCOPED_PHASE(stepper->level->phases, PHASE_DIAGNOSTICS);
    const struct problem *problem = stepper->problem;
    const struct grid *grid = &problem->grid;
    /* as the field has it: at a melting point */
    const double limit = precision_round(problem->precision, problem->melting);
    TRY(status_agree(stepper->team->comm, find_mine(pool, stepper, limit)));
    TRY(find_all(pool, stepper));
    const uint64_t *planes = pool->h_all + 1;
    for (int a = 0; a < AXIS_COUNT; a++) {
        found->extent[a] =
            grid_width(grid, (enum axis)a, 0) * find_extent(planes, grid->cells[a], limit);
        planes += grid->cells[a];
    }
    found->volume = grid_cell_volume(grid) * (double)pool->h_all[0];
    return STATUS_OK;
}
