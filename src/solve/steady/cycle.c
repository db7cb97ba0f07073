/* One multigrid cycle: residuals go down to one cell, and corrections come up, smoothed on each
 * grid. It contains no reduction. And the start by full multigrid in a uniform medium. */
#include <string.h>

#include "solve/steady/grids.h"

struct smoothing {
    int nsteps;
    float weight[ASCEND_MOST];
    float factor; /* of corrections of the finest grid */
};

/* 1 / (1 - cos(2 pi j / (2 n + 1))), j = 1 to n: Chebyshev polynomials of the fourth kind (J.
 * Lottes, "Optimal polynomial smoothers for multigrid V-cycles", 2023). */
static const struct smoothing of_classes = {.nsteps = 8,
                                            .weight = {14.8087223F, 3.83154853F, 1.80420206F,
                                                       1.10164718F, 0.785137048F, 0.623972537F,
                                                       0.540477104F, 0.504293276F},
                                            .factor = 1};

/* 1 / (1.125 + 0.875 cos(pi (j - 1/2) / n)), j = 1 to n: the roots of the Chebyshev polynomial of
 * 0.25 to 2. Means over cells and linear interpolation give corrections that are too small. */
static const struct smoothing of_uniform = {
    .nsteps = 4, .weight = {0.517225F, 0.685003F, 1.265579F, 3.158506F}, .factor = 1.05F};

static enum status relax(struct steady_grids *grids, struct steady_grid *grid, float weight,
                         const float *d_e, float *d_out)
{
    return ENQUEUE(grids->engine->operations, relax, grids->engine->bulk_queue, .grid = grid->m,
                   .weight = weight, .d_r = grid->d_r, .d_e = d_e, .d_out = d_out);
}

/* d_to of the coarse grid from d_from of the fine one. */
static enum status descend(struct steady_grids *grids, struct steady_grid *fine, float *d_from,
                           struct steady_grid *coarse, float *d_to)
{
    const struct operations *operations = grids->engine->operations;
    struct queue *queue = grids->engine->bulk_queue;
    if (coarse->copies) {
        return steady_grid_collect(grids, fine, d_from, coarse, d_to);
    }
    if (grids->uniform) {
        return ENQUEUE(operations, average, queue, .fine = fine->m, .coarse = coarse->m,
                       .d_r = d_from, .d_out = d_to);
    }
    TRY(steady_grid_exchange(grids, fine, d_from));
    return ENQUEUE(operations, gather_up, queue, .fine = fine->m, .coarse = coarse->m,
                   .d_r = d_from, .d_out = d_to);
}

/* Let the neighbours' cells of d_r come while the queue has other work. */
static enum status send(struct steady_grids *grids, struct steady_grid *grid)
{
    struct engine *engine = grids->engine;
    TRY(engine->runtime->event_record(engine->bulk_queue, engine->bulk_done));
    TRY(engine->runtime->event_wait(engine->halo_queue, engine->bulk_done));
    return halo_begin(grid->halo, engine->halo_queue, grid->d_r, &grid->flight);
}

static enum status receive(struct steady_grids *grids, struct steady_grid *grid)
{
    struct engine *engine = grids->engine;
    TRY(halo_end(&grid->flight));
    TRY(engine->runtime->event_record(engine->halo_queue, engine->halo_done));
    return engine->runtime->event_wait(engine->bulk_queue, engine->halo_done);
}

/* Whether blocks of the fine grid are smoothed with cells of the neighbours. */
static bool is_deep(const struct steady_grid *fine, const struct steady_grid *coarse)
{
    return fine->deep > 0 && coarse->deep > 0;
}

/* The layers of the neighbours' cells that a copy gives with a block: not of a periodic axis. */
static int known_layers(const struct steady_grid *grid)
{
    bool possible = grid->deep > 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        possible = possible && !(grid->decomp.periodic[axis] &&
                                 decomp_exchanges(&grid->decomp, (enum axis)axis));
    }
    return possible ? grid->needed : 0;
}

/* d_e of the fine grid from d_from of the coarse one. */
static enum status ascend(struct steady_grids *grids, struct steady_grid *fine,
                          struct steady_grid *coarse, float *d_from, float factor)
{
    const struct smoothing *smoothing = grids->uniform ? &of_uniform : &of_classes;
    const bool deep = is_deep(fine, coarse);
    fine->complete = 0;
    if (coarse->copies) {
        fine->complete = known_layers(fine);
        return steady_grid_select(grids, coarse, d_from, fine, fine->complete, fine->d_e);
    }
    TRY(d_from == coarse->d_e && coarse->complete >= coarse->needed
            ? STATUS_OK
            : steady_grid_exchange(grids, coarse, d_from));
    if (!fine->shared || deep) {
        TRY(deep ? receive(grids, fine) : STATUS_OK);
        fine->complete = deep ? fine->deep - DEEP_STEPS : 0;
        struct ascend_args args = {.fine = deep ? fine->grown : fine->m,
                                   .coarse = deep ? coarse->grown_coarse : coarse->m,
                                   .factor = factor,
                                   .nsteps = smoothing->nsteps,
                                   .d_r = fine->d_r,
                                   .d_e = d_from,
                                   .d_out = fine->d_e,
                                   .d_other = fine->d_other};
        memcpy(args.weight, smoothing->weight, sizeof args.weight);
        return grids->engine->operations->ascend(grids->engine->bulk_queue, &args);
    }
    TRY(ENQUEUE(grids->engine->operations, interpolate, grids->engine->bulk_queue, .fine = fine->m,
                .coarse = coarse->m, .factor = factor, .d_e = d_from, .d_out = fine->d_e));
    for (int step = 0; step < smoothing->nsteps; step++) {
        float *before = fine->d_e;
        TRY(steady_grid_exchange(grids, fine, before));
        TRY(relax(grids, fine, smoothing->weight[step], before, fine->d_other));
        fine->d_e = fine->d_other;
        fine->d_other = before;
    }
    return STATUS_OK;
}

/* The number of the finest grid that is not copied. */
static int finest_of(const struct steady_grids *grids)
{
    return grids->grid[1].copies ? 1 : 0;
}

static bool is_small(const struct layout *layout)
{
    const int64_t *n = layout->cells;
    return n[AXIS_X] <= CYCLE_SIDE && n[AXIS_Y] <= CYCLE_SIDE && n[AXIS_Z] <= CYCLE_SIDE;
}

/* The first of the grids, from number `first` on and after the finest one, that operation `cycle`
 * takes; the last: none. */
static int first_small(const struct steady_grids *grids, int first)
{
    int n = grids->uniform ? first : grids->count - 1;
    n += n == finest_of(grids) && n < grids->count - 1 ? 1 : 0;
    while (n < grids->count - 1 && (grids->grid[n].shared || !is_small(&grids->grid[n].m.layout))) {
        n++;
    }
    return n;
}

static enum status cycle_small(struct steady_grids *grids, int first)
{
    struct cycle_args args = {.count = grids->count - first};
    for (int n = 0; n < args.count; n++) {
        const struct steady_grid *grid = &grids->grid[first + n];
        args.grid[n] = (struct cycle_grid){grid->m, grid->d_r, grid->d_e, grid->d_other};
    }
    memcpy(args.weight, of_uniform.weight, sizeof args.weight);
    return grids->engine->operations->cycle(grids->engine->bulk_queue, &args);
}

/* From grid number `first` on. */
static enum status cycle(struct steady_grids *grids, int first)
{
    const struct smoothing *smoothing = grids->uniform ? &of_uniform : &of_classes;
    const int last = first_small(grids, first);
    struct steady_grid *coarsest = &grids->grid[last];
    for (int n = first; n < last; n++) {
        struct steady_grid *coarse = &grids->grid[n + 1];
        TRY(is_deep(&grids->grid[n], coarse) ? send(grids, &grids->grid[n]) : STATUS_OK);
        TRY(n == 0 && steady_grids_take_means(grids)
                ? STATUS_OK
                : descend(grids, &grids->grid[n], grids->grid[n].d_r, coarse, coarse->d_r));
    }
    TRY(last < grids->count - 1 ? cycle_small(grids, last)
                                : relax(grids, coarsest, 1, NULL, coarsest->d_e));
    for (int n = last - 1; n >= first; n--) {
        struct steady_grid *coarse = &grids->grid[n + 1];
        TRY(ascend(grids, &grids->grid[n], coarse, coarse->d_e,
                   n == finest_of(grids) ? smoothing->factor : 1));
    }
    return STATUS_OK;
}

bool steady_grids_take_means(const struct steady_grids *grids)
{
    return grids->uniform && grids->count > 1 && !grids->grid[1].copies;
}

enum status steady_cycle(struct steady_grids *grids)
{
    return cycle(grids, 0);
}

/* --- the start by full multigrid -------------------------------------------------------------- */

static struct operand operand(const struct steady_grid *grid, const float *d_values)
{
    return (struct operand){.layout = grid->m.layout, .d_values = d_values};
}

/* d_b with the heat that comes through faces where all temperatures are 0. */
static enum status add_boundary(struct steady_grids *grids, struct steady_grid *grid)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        const int axis = f / 2;
        struct layout part = grid->m.layout;
        part.origin += f % 2 * (part.cells[axis] - 1) * multigrid_step(&grid->m, axis);
        part.cells[axis] = 1;
        const struct operand b = {.layout = part, .d_values = grid->d_b};
        TRY(grid->outer[f] == 0
                ? STATUS_OK
                : ENQUEUE(grids->engine->operations, combine, grids->engine->bulk_queue,
                          .layout = part, .d_out = grid->d_b, .factor = grid->outer[f], .z = b));
    }
    return STATUS_OK;
}

/* Temperatures of the finest grid but one: those of the coarser one, smoothed. */
static enum status smooth_grid(struct steady_grids *grids, int number)
{
    struct steady_grid *grid = &grids->grid[number];
    struct steady_grid *coarse = &grids->grid[number + 1];
    float *const d_r = grid->d_r;
    TRY(add_boundary(grids, grid));
    grid->d_r = grid->d_b;
    enum status status = is_deep(grid, coarse) ? send(grids, grid) : STATUS_OK;
    status = status == STATUS_OK ? ascend(grids, grid, coarse, coarse->d_t, 1) : status;
    grid->d_r = d_r;
    TRY(status);
    return ENQUEUE(grids->engine->operations, combine, grids->engine->bulk_queue,
                   .layout = grid->m.layout, .d_out = grid->d_t, .factor = 1,
                   .x = operand(grid, grid->d_e));
}

/* Temperatures of a grid: those of the coarser one, and a cycle. */
static enum status solve_grid(struct steady_grids *grids, int number)
{
    const struct operations *operations = grids->engine->operations;
    struct queue *queue = grids->engine->bulk_queue;
    struct steady_grid *grid = &grids->grid[number];
    struct steady_grid *coarse = &grids->grid[number + 1];
    const int first = finest_of(grids) + 1;
    if (number < grids->count - 1) {
        if (coarse->copies) {
            return steady_grid_select(grids, coarse, coarse->d_t, grid, 0, grid->d_t);
        }
        if (number == first || (number == first + 1 && grid->copies)) {
            return smooth_grid(grids, number);
        }
        TRY(steady_grid_exchange(grids, coarse, coarse->d_t));
        TRY(ENQUEUE(operations, interpolate, queue, .fine = grid->m, .coarse = coarse->m,
                    .factor = 1, .d_e = coarse->d_t, .d_out = grid->d_t));
    } else {
        TRY(ENQUEUE(operations, combine, queue, .layout = grid->m.layout, .d_out = grid->d_t,
                    .factor = 0));
    }
    TRY(steady_grid_exchange(grids, grid, grid->d_t));
    TRY(ENQUEUE(operations, flow_out, queue, .grid = grid->m, .d_e = grid->d_t, .d_b = grid->d_b,
                .d_out = grid->d_r));
    TRY(cycle(grids, number));
    return ENQUEUE(operations, combine, queue, .layout = grid->m.layout, .d_out = grid->d_t,
                   .factor = 1, .x = operand(grid, grid->d_e), .z = operand(grid, grid->d_t));
}

enum status steady_start(struct steady_grids *grids)
{
    for (int n = steady_grids_take_means(grids) ? 1 : 0; n < grids->count - 1; n++) {
        /* sources and fluxes */
        struct steady_grid *fine = &grids->grid[n];
        TRY(descend(grids, fine, n == 0 ? fine->d_r : fine->d_b, &grids->grid[n + 1],
                    grids->grid[n + 1].d_b));
    }
    for (int n = grids->count - 1; n > finest_of(grids); n--) {
        TRY(solve_grid(grids, n));
    }
    return STATUS_OK;
}

enum status steady_start_finest(struct steady_grids *grids)
{
    const int finest = finest_of(grids);
    struct steady_grid *coarse = &grids->grid[finest + 1];
    if (finest > 0) {
        TRY(descend(grids, &grids->grid[0], grids->grid[0].d_r, &grids->grid[1],
                    grids->grid[1].d_r));
    }
    TRY(is_deep(&grids->grid[finest], coarse) ? send(grids, &grids->grid[finest]) : STATUS_OK);
    TRY(ascend(grids, &grids->grid[finest], coarse, coarse->d_t, 1));
    return finest == 0 ? STATUS_OK
                       : ascend(grids, &grids->grid[0], &grids->grid[1], grids->grid[1].d_e, 1);
}

/* The temperature beyond a face, relative to the reference; false: it lets no heat through. */
static bool ghost_of(const struct heat_operator *op, double reference, int face, double *value)
{
    const double a = op->all.a[face];
    *value = op->all.b[face] / (1 - a) - reference;
    return a != 1;
}

/* A part of the halo beyond closed faces: the mean of what is beyond them. */
static enum status fill_part(struct steady_grids *grids, const struct heat_operator *op,
                             const struct steady_grid *grid, const int side[AXIS_COUNT])
{
    struct layout part = grid->m.layout;
    double sum = 0;
    int count = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t step = multigrid_step(&grid->m, axis);
        const int face = 2 * axis + (side[axis] > 0 ? 1 : 0);
        const int layers = grid->deep > 0 && !grid->m.closed[face] ? grid->deep : 1;
        double value = 0;
        if (side[axis] != 0) {
            part.origin += (side[axis] < 0 ? -layers : part.cells[axis]) * step;
            part.cells[axis] = part.halo[axis] > 0 ? layers : 0;
            if (grid->m.closed[face] && ghost_of(op, grids->reference, face, &value)) {
                sum += value;
                count++;
            }
        }
    }
    return count == 0 || part.cells[0] * part.cells[1] * part.cells[2] == 0
               ? STATUS_OK
               : ENQUEUE(grids->engine->operations, combine, grids->engine->bulk_queue,
                         .layout = part, .d_out = grid->d_t, .factor = sum / count);
}

enum status steady_start_prepare(struct steady_grids *grids, const struct heat_operator *op)
{
    double sum = 0;
    int count = 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        double value = 0;
        const bool conducts = !grids->problem->boundary.periodic[f / 2] &&
                              grids->problem->grid.used[f / 2] && ghost_of(op, 0, f, &value);
        sum += conducts ? value : 0;
        count += conducts ? 1 : 0;
    }
    grids->can_start = count > 0 && grids->count > finest_of(grids) + 1;
    grids->reference = count > 0 ? sum / count : 0;
    for (int n = 1; n < grids->count; n++) {
        struct steady_grid *grid = &grids->grid[n];
        for (int f = 0; f < FACE_COUNT; f++) {
            double value = 0;
            grid->outer[f] *=
                grid->m.closed[f] && ghost_of(op, grids->reference, f, &value) ? (float)value : 0;
        }
        for (int part = 0; part < 27; part++) {
            const int side[AXIS_COUNT] = {part % 3 - 1, part / 3 % 3 - 1, part / 9 - 1};
            TRY(fill_part(grids, op, &grids->grid[n], side));
        }
    }
    return STATUS_OK;
}
