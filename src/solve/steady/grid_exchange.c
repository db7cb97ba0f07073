/* The exchanges of grids between ranks. */
#include "base/comm.h"
#include "solve/steady/grids.h"

static enum status plan_halo(const struct steady_grids *grids, struct steady_grid *grid)
{
    enum axis axis;
    const int64_t thinnest = decomp_thinnest(&grid->decomp, &axis);
    const int wanted = grid->deep > 0 ? grid->deep : SHARED_LAYERS;
    const int width = thinnest < wanted ? (int)thinnest : wanted;
    return halo_plan_create(&grid->decomp, grids->team->rank, &grid->m.layout, width, HALO_CORNERS,
                            &grid->plan);
}

enum status steady_grid_connect(struct steady_grids *grids, struct steady_grid *grid)
{
    const struct halo_options options = {.transport = grids->problem->run.transport};
    if (grid->copies && grids->team->nranks - 1 > HALO_MESSAGES_MAX) {
        return STATUS_OK;
    }
    TRY(status_agree(grids->team->comm,
                     grid->copies ? halo_plan_gather(&grid->decomp, grids->team->rank, &grid->plan)
                                  : plan_halo(grids, grid)));
    return halo_create(grids->team->comm, grids->engine->backend, grids->engine->device,
                       &grid->plan, &grid->m.layout, &options,
                       grid->copies ? &grid->gather : &grid->halo);
}

static enum status exchange(struct steady_grids *grids, struct halo *halo, float *d_values)
{
    struct halo_flight flight;
    TRY(halo_begin(halo, grids->engine->bulk_queue, d_values, &flight));
    return halo_end(&flight);
}

enum status steady_grid_exchange(struct steady_grids *grids, struct steady_grid *grid,
                                 float *d_values)
{
    return grid->halo == NULL ? STATUS_OK : exchange(grids, grid->halo, d_values);
}

/* Each rank adds its block to zeros. */
enum status steady_grid_assemble(struct steady_grids *grids, const struct steady_grid *shared,
                                 const float *d_from, const struct steady_grid *copy, float *d_to,
                                 int axis, int layers)
{
    const struct engine *engine = grids->engine;
    const size_t bytes = layout_bytes(&copy->m.layout);
    struct box whole = decomp_owned(&shared->decomp, grids->team->rank);
    struct box own = layout_owned(&shared->m.layout);
    void *d_block = grids->d_block;
    whole.hi[axis] += layers;
    own.hi[axis] += layers;
    TRY(steady_grid_clear(grids, engine->bulk_queue, &copy->m.layout, d_to));
    TRY(ENQUEUE(engine->operations, pack, engine->bulk_queue, .layout = shared->m.layout,
                .d_field = d_from, .boxes = &own, .d_buffers = &d_block, .nboxes = 1));
    TRY(ENQUEUE(engine->operations, unpack, engine->bulk_queue, .layout = copy->m.layout,
                .d_field = d_to, .boxes = &whole, .d_buffers = &d_block, .nboxes = 1));
    TRY(engine->runtime->copy_to_host(engine->bulk_queue, grids->h_copy, d_to, bytes));
    TRY(engine->runtime->queue_wait(engine->bulk_queue));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, grids->h_copy, (int)copy->m.layout.elements, MPI_INT32_T,
                          MPI_BOR, grids->team->comm));
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, d_to, grids->h_copy, bytes));
    return engine->runtime->queue_wait(engine->bulk_queue); /* h_copy is free again */
}

/* Queued. Cells of one array to another through d_block. */
static enum status move_cells(struct steady_grids *grids, const struct layout *from,
                              const struct box *cells, const float *d_from, const struct layout *to,
                              const struct box *cells_to, float *d_to)
{
    const struct engine *engine = grids->engine;
    void *d_block = grids->d_block;
    TRY(ENQUEUE(engine->operations, pack, engine->bulk_queue, .layout = *from, .d_field = d_from,
                .boxes = cells, .d_buffers = &d_block, .nboxes = 1));
    return ENQUEUE(engine->operations, unpack, engine->bulk_queue, .layout = *to, .d_field = d_to,
                   .boxes = cells_to, .d_buffers = &d_block, .nboxes = 1);
}

enum status steady_grid_collect(struct steady_grids *grids, const struct steady_grid *shared,
                                const float *d_from, const struct steady_grid *copy, float *d_to)
{
    const struct box own = decomp_owned(&shared->decomp, grids->team->rank);
    const struct box local = layout_owned(&shared->m.layout);
    if (copy->gather == NULL) {
        return steady_grid_assemble(grids, shared, d_from, copy, d_to, AXIS_X, 0);
    }
    TRY(move_cells(grids, &shared->m.layout, &local, d_from, &copy->m.layout, &own, d_to));
    return exchange(grids, copy->gather, d_to);
}

enum status steady_grid_select(struct steady_grids *grids, const struct steady_grid *copy,
                               const float *d_from, const struct steady_grid *shared, int layers,
                               float *d_to)
{
    struct box own = decomp_owned(&shared->decomp, grids->team->rank);
    struct box local = layout_owned(&shared->m.layout);
    for (int f = 0; f < FACE_COUNT; f++) {
        if (decomp_neighbour(&shared->decomp, grids->team->rank, (enum face)f) >= 0) {
            own = box_shrink_face(&own, (enum face)f, -layers);
            local = box_shrink_face(&local, (enum face)f, -layers);
        }
    }
    return move_cells(grids, &copy->m.layout, &own, d_from, &shared->m.layout, &local, d_to);
}
