#include "solve/steady/grids.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"

/* The thinnest block that has room for the layers that coarse conductances need. */
enum { THINNEST = 4 };

/* --- memory ---------------------------------------------------------------------------------- */

enum status steady_grids_allocate(struct steady_grids *grids, size_t bytes, void **d_block)
{
    void **blocks =
        realloc(grids->memory.d_block, ((size_t)grids->memory.count + 1) * sizeof *blocks);
    TRY(CHECK_MEMORY(blocks != NULL, "no memory for the grids of the steady state"));
    grids->memory.d_block = blocks;
    TRY(grids->engine->runtime->memory_alloc(grids->engine->device, bytes, d_block));
    blocks[grids->memory.count++] = *d_block;
    return STATUS_OK;
}

enum status steady_grid_clear(struct steady_grids *grids, struct queue *queue,
                              const struct layout *layout, float *d_values)
{
    const struct layout all = {.precision = PRECISION_FLOAT32,
                               .cells = {layout->pitch_y, layout->elements / layout->pitch_y, 1},
                               .pitch_y = layout->pitch_y,
                               .pitch_z = layout->elements,
                               .elements = layout->elements};
    return ENQUEUE(grids->engine->operations, combine, queue, .layout = all, .d_out = d_values,
                   .factor = 0);
}

enum status steady_grids_array(struct steady_grids *grids, int number, float **d_values)
{
    const struct layout *layout = &grids->grid[number].m.layout;
    void *d_block = NULL;
    TRY(steady_grids_allocate(grids, layout_bytes(layout), &d_block));
    *d_values = d_block;
    return steady_grid_clear(grids, grids->engine->bulk_queue, layout, *d_values);
}

static enum status allocate_grid(struct steady_grids *grids, int number)
{
    struct steady_grid *grid = &grids->grid[number];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (!grid->m.active[axis] || grids->uniform) {
            continue;
        }
        TRY(steady_grids_array(grids, number, &grid->m.d_g[axis]));
        for (int side = 0; side < SIDE_COUNT && number > 0; side++) {
            TRY(steady_grids_array(grids, number,
                                   &grid->m.d_w[face_of((enum axis)axis, (enum side)side)]));
        }
    }
    if (grids->sinks) {
        TRY(steady_grids_array(grids, number, &grid->m.d_sink));
        grid->m.sink = 1;
    }
    if (grids->starts && number > 0) {
        TRY(steady_grids_array(grids, number, &grid->d_t));
        TRY(steady_grids_array(grids, number, &grid->d_b));
    }
    TRY(steady_grids_array(grids, number, &grid->d_r));
    TRY(steady_grids_array(grids, number, &grid->d_e));
    return steady_grids_array(grids, number, &grid->d_other);
}

/* What corrections need that are symmetric. */
static enum status allocate_early(struct steady_grids *grids)
{
    for (int n = 0; n < grids->count && grids->steep; n++) {
        TRY(steady_grids_array(grids, n, &grids->grid[n].d_early));
        TRY(steady_grids_array(grids, n, &grids->grid[n].d_left));
    }
    return STATUS_OK;
}

void steady_grids_destroy(struct steady_grids *grids)
{
    for (int n = 0; n < grids->count; n++) {
        halo_destroy(grids->grid[n].halo);
        halo_destroy(grids->grid[n].gather);
    }
    for (int n = 0; n < grids->memory.count; n++) {
        grids->engine->runtime->memory_free(grids->engine->device, grids->memory.d_block[n]);
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        steady_axis_destroy(&grids->axis[axis]);
    }
    free(grids->memory.d_block);
    free(grids->h_copy);
}

/* --- grids ------------------------------------------------------------------------------------ */

/* With decomp, shared, copies and children; not its conductances. */
static enum status add_grid(struct steady_grids *grids, const struct steady_grid *wanted)
{
    const bool *used = grids->problem->grid.used;
    const bool *periodic = grids->problem->boundary.periodic;
    const int number = grids->count;
    const int64_t *n = wanted->decomp.global_cells;
    const struct box cells =
        wanted->shared ? decomp_owned(&wanted->decomp, grids->team->rank) : box_of_cells(n);
    struct steady_grid *grid = &grids->grid[number];
    int64_t extent[AXIS_COUNT];
    int halo[AXIS_COUNT];
    TRY(number < STEADY_GRIDS_MOST
            ? STATUS_OK
            : fail(STATUS_INPUT, "the steady state needs more than %d grids", STEADY_GRIDS_MOST));
    *grid = *wanted;
    steady_grid_deepen(grids, number > 0 && !grid->copies ? grid - 1 : NULL, grid);
    grids->count++;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        grid->m.active[axis] = used[axis] && (n[axis] > 1 || !periodic[axis]);
        grid->m.wraps[axis] = !wanted->shared && periodic[axis] && n[axis] > 1;
        extent[axis] = box_extent(&cells, (enum axis)axis);
        halo[axis] = !used[axis]      ? 0
                     : grid->deep > 0 ? grid->deep + 1 /* read, with no use for it */
                     : wanted->shared ? SHARED_LAYERS
                                      : 1;
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        const int axis = (int)face_axis((enum face)f);
        const bool ends =
            face_side((enum face)f) == SIDE_MIN ? cells.lo[axis] == 0 : cells.hi[axis] == n[axis];
        grid->m.closed[f] = !periodic[axis] && ends;
    }
    enum status status = layout_create(extent, halo, PRECISION_FLOAT32, &grid->m.layout);
    steady_grid_grow(grid);
    status = status == STATUS_OK ? allocate_grid(grids, number) : status;
    TRY(status_agree(grids->team->comm, status));
    return wanted->shared ? steady_grid_connect(grids, grid) : STATUS_OK;
}

/* --- tables along the axes --- */

/* Of the last grid, with the children that it has. */
static enum status coarsen_axes(struct steady_grids *grids)
{
    const struct steady_grid *grid = &grids->grid[grids->count - 1];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        struct steady_axis fine = grids->axis[axis];
        grids->axis[axis] = (struct steady_axis){.n = 0};
        enum status status = steady_axis_coarsen(&fine, grid->m.children[axis], &grids->axis[axis]);
        status = status == STATUS_OK ? steady_grid_tables(grids, axis, &fine) : status;
        steady_axis_destroy(&fine);
        TRY(status);
    }
    return STATUS_OK;
}

/* Of the finest grid, or of a copy. */
static enum status begin_axes(struct steady_grids *grids, const struct heat_operator *op)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (op != NULL) {
            TRY(steady_axis_create(grids->problem, op, (enum axis)axis, &grids->axis[axis]));
        }
        TRY(steady_grid_tables(grids, axis, NULL));
    }
    return STATUS_OK;
}

static enum status mean_logs(struct steady_grids *grids, const struct steady_grid *grid,
                             double mean[AXIS_COUNT])
{
    const struct engine *engine = grids->engine;
    const bool known = grids->uniform || grids->count == 1; /* of the finest grid: fill_finest */
    int64_t sums[AXIS_COUNT][3] = {{0}};
    if (known) {
        memcpy(sums, grids->logs, sizeof sums);
    }
    float *h_g = known ? NULL : malloc(layout_bytes(&grid->m.layout));
    enum status status =
        CHECK_MEMORY(known || h_g != NULL, "no memory for the conductances of a grid");
    for (int axis = 0; axis < AXIS_COUNT && grids->uniform; axis++) {
        const struct steady_axis *a = &grids->axis[axis];
        for (int64_t i = 0; i < a->n; i++) {
            const float g = (float)(1 / (a->resistance[i] * a->size[i]));
            sums[axis][0] += steady_log_of(g);
            sums[axis][1] += g > 0 ? 1 : 0;
        }
    }
    for (int axis = 0; axis < AXIS_COUNT && status == STATUS_OK; axis++) {
        if (grid->m.active[axis] && !known) {
            status = engine->runtime->copy_to_host(engine->bulk_queue, h_g, grid->m.d_g[axis],
                                                   layout_bytes(&grid->m.layout));
            status = status == STATUS_OK ? engine->runtime->queue_wait(engine->bulk_queue) : status;
            if (status == STATUS_OK) {
                steady_add_logs(&grid->m.layout, h_g, 0, sums[axis]);
            }
        }
    }
    free(h_g);
    TRY(status_agree(grids->team->comm, status));
    if (grid->shared && !grids->uniform) {
        TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, sums, 3 * AXIS_COUNT, MPI_INT64_T, MPI_SUM,
                              grids->team->comm));
    }
    if (grids->count == 1 && !grids->uniform) {
        grids->roughness = INFINITY;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (grids->count == 1 && sums[axis][1] > 0) {
            grids->roughness =
                fmin(grids->roughness, (double)sums[axis][2] / (double)sums[axis][1]);
        }
        mean[axis] = sums[axis][1] > 0 ? (double)sums[axis][0] / (double)sums[axis][1] : -INFINITY;
    }
    return STATUS_OK;
}

/* Axes are coarsened where neighbours exchange at least half as much heat as on the one with the
 * most: on the others smoothing leaves no smooth error. */
static enum status choose_children(struct steady_grids *grids, const struct steady_grid *grid,
                                   int children[AXIS_COUNT])
{
    double mean[AXIS_COUNT];
    double most = -INFINITY;
    TRY(mean_logs(grids, grid, mean));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        most = grid->decomp.global_cells[axis] > 1 ? fmax(most, mean[axis]) : most;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool conducts = most == -INFINITY || mean[axis] >= most - LOG_UNIT;
        children[axis] = grid->decomp.global_cells[axis] > 1 && conducts ? 2 : 1;
    }
    return STATUS_OK;
}

static bool has_one_cell(const struct steady_grid *grid)
{
    const int64_t *n = grid->decomp.global_cells;
    return n[AXIS_X] == 1 && n[AXIS_Y] == 1 && n[AXIS_Z] == 1;
}

/* Whether the coarse grid can be shared, so that all children of a cell are on one rank. */
static bool may_share(const struct steady_grids *grids, const struct decomp *decomp,
                      const int children[AXIS_COUNT])
{
    const int64_t *n = decomp->global_cells;
    bool possible = n[AXIS_X] * n[AXIS_Y] * n[AXIS_Z] > STEADY_SHARED_LEAST;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (!decomp_exchanges(decomp, (enum axis)axis)) {
            continue;
        }
        possible = possible && n[axis] / decomp->ranks[axis] >= THINNEST * children[axis] &&
                   (!decomp->periodic[axis] || n[axis] % children[axis] == 0);
        for (int rank = 0; rank < grids->team->nranks; rank++) {
            possible = possible && decomp_owned(decomp, rank).lo[axis] % children[axis] == 0;
        }
    }
    return possible;
}

/* Conductances, weights and sinks of a grid from those of the grid before it. */
static enum status fill_grid(struct steady_grids *grids, int number)
{
    struct steady_grid *fine = &grids->grid[number - 1];
    struct steady_grid *grid = &grids->grid[number];
    for (int axis = 0; axis < AXIS_COUNT && grid->copies; axis++) {
        if (grid->m.active[axis]) {
            TRY(steady_grid_assemble(grids, fine, fine->m.d_g[axis], grid, grid->m.d_g[axis], axis,
                                     1));
        }
    }
    if (grid->copies) {
        return grids->sinks ? steady_grid_assemble(grids, fine, fine->m.d_sink, grid,
                                                   grid->m.d_sink, AXIS_X, 0)
                            : STATUS_OK;
    }
    TRY(ENQUEUE(grids->engine->operations, coarsen, grids->engine->bulk_queue, .fine = fine->m,
                .coarse = grid->m));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (grid->m.active[axis]) {
            TRY(steady_grid_exchange(grids, grid, grid->m.d_g[axis]));
            TRY(steady_grid_exchange(grids, grid, grid->m.d_w[2 * axis]));
            TRY(steady_grid_exchange(grids, grid, grid->m.d_w[2 * axis + 1]));
        }
    }
    return STATUS_OK;
}

static enum status add_coarse(struct steady_grids *grids, const int children[AXIS_COUNT])
{
    const struct steady_grid *fine = &grids->grid[grids->count - 1];
    struct steady_grid wanted = {.decomp = fine->decomp, .shared = fine->shared};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t n = fine->decomp.global_cells[axis];
        wanted.m.children[axis] = children[axis];
        wanted.decomp.global_cells[axis] = (n + children[axis] - 1) / children[axis];
        wanted.decomp.used[axis] = wanted.decomp.global_cells[axis] > 1;
    }
    TRY(add_grid(grids, &wanted));
    return grids->uniform ? status_agree(grids->team->comm, coarsen_axes(grids))
                          : fill_grid(grids, grids->count - 1);
}

static enum status add_copy(struct steady_grids *grids)
{
    const int number = grids->count;
    struct steady_grid *shared = &grids->grid[number - 1];
    struct steady_grid wanted = {.decomp = shared->decomp, .copies = true};
    TRY(add_grid(grids, &wanted));
    const struct layout *layout = &grids->grid[number].m.layout;
    grids->h_copy = malloc(layout_bytes(layout));
    enum status status =
        CHECK_MEMORY(grids->h_copy != NULL && layout->elements <= INT_MAX,
                     "the blocks of the ranks cannot be coarsened, and there is no memory for a "
                     "copy of the grid on each rank; use another run.decomposition");
    status = status == STATUS_OK ? steady_grids_allocate(grids, 2 * layout_bytes(&shared->m.layout),
                                                         &grids->d_block)
                                 : status;
    TRY(status_agree(grids->team->comm, status));
    TRY(steady_grid_connect(grids, &grids->grid[number]));
    return grids->uniform ? status_agree(grids->team->comm, begin_axes(grids, NULL))
                          : fill_grid(grids, number);
}

/* Planes of the finest grid on their way to the device, in pinned memory: one part is filled while
 * the other is copied. */
enum { PART_BYTES = 1 << 23 }; /* of an array, or a plane */
struct parts {
    int64_t planes;
    void *h_part[2];
    struct event *copied[2];
};

static void parts_destroy(const struct engine *engine, struct parts *parts)
{
    for (int n = 0; n < 2; n++) {
        engine->runtime->event_destroy(parts->copied[n]);
        engine->runtime->pinned_free(engine->device, parts->h_part[n]);
    }
}

static enum status parts_create(const struct engine *engine, const struct layout *layout,
                                int narrays, struct parts *parts)
{
    const int64_t fit = PART_BYTES / (layout->pitch_z * (int64_t)sizeof(float));
    const int64_t nz = layout->cells[AXIS_Z];
    parts->planes = fit < 1 ? 1 : fit < nz ? fit : nz;
    const size_t bytes = (size_t)((parts->planes + 1) * layout->pitch_z * narrays) * sizeof(float);
    for (int n = 0; n < 2; n++) {
        TRY(engine->runtime->pinned_alloc(engine->device, bytes, &parts->h_part[n]));
        memset(parts->h_part[n], 0, bytes); /* the layers of the halo stay so */
        TRY(engine->runtime->event_create(engine->device, &parts->copied[n]));
        TRY(engine->runtime->event_record(engine->bulk_queue, parts->copied[n]));
    }
    return STATUS_OK;
}

/* Planes from `first` on of all arrays of the finest grid. */
static enum status fill_part(struct steady_grids *grids, const struct steady_reader *reader,
                             int64_t first, const struct parts *parts, float *d_scale)
{
    const struct engine *engine = grids->engine;
    const struct multigrid *m = &grids->grid[0].m;
    const int number = (int)(first / parts->planes % 2);
    const int64_t left = m->layout.cells[AXIS_Z] - first;
    struct steady_values values = {.layout = m->layout, .first = first};
    struct layout *part = &values.layout;
    part->cells[AXIS_Z] = left < parts->planes ? left : parts->planes;
    part->origin -= part->halo[AXIS_Z] * part->pitch_z;
    float *const d_to[] = {m->d_g[AXIS_X], m->d_g[AXIS_Y], m->d_g[AXIS_Z], m->d_sink, d_scale};
    float *h_from[sizeof d_to / sizeof *d_to] = {NULL};
    float *h_next = parts->h_part[number];
    for (size_t n = 0; n < sizeof d_to / sizeof *d_to; n++) {
        const bool wanted = n < AXIS_COUNT ? m->active[n] : m->d_sink != NULL || d_scale != NULL;
        h_from[n] = wanted ? h_next : NULL;
        h_next += wanted ? (parts->planes + 1) * part->pitch_z : 0;
    }
    memcpy(values.h_g, h_from, sizeof values.h_g);
    values.h_sink = h_from[AXIS_COUNT];
    values.h_scale = h_from[AXIS_COUNT + 1];
    TRY(engine->runtime->event_sync(parts->copied[number]));
    steady_reader_read(reader, &values);
    for (size_t n = 0; n < sizeof d_to / sizeof *d_to; n++) {
        const int64_t planes = part->cells[AXIS_Z] + (n == AXIS_Z ? 1 : 0);
        const int64_t begin = (first + part->halo[AXIS_Z]) * part->pitch_z;
        TRY(d_to[n] == NULL || h_from[n] == NULL
                ? STATUS_OK
                : engine->runtime->copy_to_device(engine->bulk_queue, d_to[n] + begin, h_from[n],
                                                  (size_t)(planes * part->pitch_z) *
                                                      sizeof(float)));
    }
    TRY(engine->runtime->event_record(engine->bulk_queue, parts->copied[number]));
    for (int axis = 0; axis < AXIS_COUNT && grids->count == 1; axis++) {
        if (h_from[axis] != NULL) {
            steady_add_logs(part, h_from[axis], multigrid_step(m, axis), grids->logs[axis]);
        }
    }
    return STATUS_OK;
}

/* Collective, agreed. All of the finest grid. */
static enum status fill_finest(struct steady_grids *grids, const struct classes *classes,
                               const struct heat_operator *op, const struct steady_point *point,
                               double mass, float *d_scale)
{
    struct steady_grid *finest = &grids->grid[0];
    const struct engine *engine = grids->engine;
    const int narrays = finest->m.d_sink != NULL || d_scale != NULL ? AXIS_COUNT + 2 : AXIS_COUNT;
    struct steady_reader *reader = NULL;
    struct parts parts = {.planes = 0};
    enum status status = STATUS_OK;
    TRY_GOTO(parts_create(engine, &finest->m.layout, narrays, &parts));
    TRY_GOTO(steady_reader_create(grids->problem, classes, op, point, &finest->m, mass, &reader));
    for (int64_t k = 0; k < finest->m.layout.cells[AXIS_Z]; k += parts.planes) {
        TRY_GOTO(fill_part(grids, reader, k, &parts, d_scale));
    }
    TRY_GOTO(engine->runtime->queue_wait(engine->bulk_queue));
done:
    steady_reader_destroy(reader);
    parts_destroy(engine, &parts);
    TRY(status_agree(grids->team->comm, status));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (finest->m.active[axis] && !grids->uniform) {
            TRY(steady_grid_exchange(grids, finest, finest->m.d_g[axis]));
        }
    }
    return STATUS_OK;
}

enum status steady_grids_linearise(struct steady_grids *grids, const struct classes *classes,
                                   const struct heat_operator *op, const struct steady_point *point,
                                   double mass, float *d_scale)
{
    TRY(fill_finest(grids, classes, op, point, mass, d_scale));
    for (int n = 1; n < grids->count; n++) {
        TRY(fill_grid(grids, n));
    }
    if (point->h_slopes == NULL) {
        return STATUS_OK;
    }
    struct steady_point rising = *point;
    rising.rises = true;
    TRY(fill_finest(grids, classes, op, &rising, mass, d_scale));
    return grids->count > 1 && grids->grid[1].copies ? fill_grid(grids, 1) : STATUS_OK;
}

enum status steady_grids_create(const struct problem *problem, const struct team *team,
                                struct engine *engine, const struct classes *classes,
                                const struct heat_operator *op, bool sinks, double mass,
                                struct steady_grids *grids)
{
    const struct steady_point none = {.nominal = 300};
    const bool alone = problem->time.steady.solver != SOLVER_MULTIGRID;
    int children[AXIS_COUNT];
    *grids = (struct steady_grids){.engine = engine,
                                   .team = team,
                                   .problem = problem,
                                   .uniform = problem->medium.nclasses == 0 && !sinks && !alone,
                                   .sinks = sinks,
                                   .steep = !alone && steady_is_steep(&problem->medium)};
    grids->starts = grids->uniform || steady_can_start(problem);
    TRY(add_grid(grids, &(struct steady_grid){.decomp = team->decomp, .shared = team->nranks > 1}));
    TRY(grids->uniform ? status_agree(team->comm, begin_axes(grids, op))
                       : fill_finest(grids, classes, op, &none, mass, NULL));
    while (!alone && !has_one_cell(&grids->grid[grids->count - 1])) {
        const struct steady_grid *last = &grids->grid[grids->count - 1];
        TRY(choose_children(grids, last, children));
        TRY(last->shared && !may_share(grids, &last->decomp, children)
                ? add_copy(grids)
                : add_coarse(grids, children));
    }
    grids->steep = grids->steep || steady_is_rough(grids);
    TRY(status_agree(team->comm, allocate_early(grids)));
    return grids->starts ? status_agree(team->comm, steady_start_prepare(grids, op)) : STATUS_OK;
}
