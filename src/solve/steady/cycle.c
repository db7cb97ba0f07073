/* One multigrid cycle: residuals go down to one cell, and corrections come up, smoothed on each
 * grid. It contains no reduction. And the start by full multigrid. */
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

/* The same for n = 12: on coarser grids, where steps cost little. */
static const struct smoothing of_coarse = {
    .nsteps = 12,
    .weight = {31.8300643F, 8.08451095F, 3.68960977F, 2.15436822F, 1.4472136F, 1.06699732F,
               0.842189436F, 0.701370826F, 0.610715371F, 0.552786405F, 0.518194727F, 0.501979128F},
    .factor = 1};

/* 1 / (1 - cos(2 pi j / 9)), j = 1 to 4: before and after the coarser grid, where conductances jump
 * by much; in rough media those of n = 8 are used there. */
static const struct smoothing of_steep = {
    .nsteps = 4, .weight = {4.27431609F, 1.21013831F, 0.666666667F, 0.515545602F}, .factor = 1};

/* The roots of Chebyshev polynomials: 1 / (1.125 + 0.875 cos(pi (j - 1/2) / 4)), j = 1 to 4, of
 * 0.25 to 2, for the start; and for two cycles in turn 1 / (1.11 + 0.89 cos(pi (j - 1/2) / 8)), odd
 * and even j of 1 to 8, of 0.22 to 2. Means over cells and linear interpolation give corrections
 * that are too small. */
static const struct smoothing of_uniform[] = {
    {.nsteps = 4, .weight = {0.517225F, 0.685003F, 1.265579F, 3.158506F}, .factor = 1.05F},
    {.nsteps = 4,
     .weight = {0.504312146F, 0.623263624F, 1.06795435F, 2.70276081F},
     .factor = 1.05F},
    {.nsteps = 4,
     .weight = {0.540538216F, 0.779040455F, 1.62458321F, 4.21761012F},
     .factor = 1.05F}};

static const struct smoothing *smoothing_of(const struct steady_grids *grids,
                                            const struct steady_grid *grid)
{
    const bool is_coarse = grid - grids->grid > (grids->grid[1].copies ? 1 : 0);
    const int turn = grids->turn == 0 ? 0 : 2 - grids->turn % 2;
    return grids->uniform ? &of_uniform[turn]
           : grids->steep ? (steady_is_rough(grids) ? &of_classes : &of_steep)
           : is_coarse    ? &of_coarse
                          : &of_classes;
}

static enum status relax(struct steady_grids *grids, const struct steady_grid *grid, float weight,
                         const float *d_r, const float *d_e, float *d_out)
{
    return ENQUEUE(grids->engine->operations, relax, grids->engine->bulk_queue, .grid = grid->m,
                   .weight = weight, .d_r = d_r, .d_e = d_e, .d_out = d_out);
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
static enum status send(struct steady_grids *grids, struct steady_grid *grid, float *d_r)
{
    struct engine *engine = grids->engine;
    TRY(engine->runtime->event_record(engine->bulk_queue, engine->bulk_done));
    TRY(engine->runtime->event_wait(engine->halo_queue, engine->bulk_done));
    return halo_begin(grid->halo, engine->halo_queue, d_r, &grid->flight);
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

/* d_e of the fine grid for its d_r from d_from of the coarse one, times `factor`; 0: from 0. */
static enum status ascend(struct steady_grids *grids, struct steady_grid *fine, const float *d_r,
                          struct steady_grid *coarse, float *d_from, float factor)
{
    const struct smoothing *smoothing = smoothing_of(grids, fine);
    const bool deep = is_deep(fine, coarse);
    fine->complete = 0;
    if (coarse->copies) {
        fine->complete = known_layers(fine);
        return steady_grid_select(grids, coarse, d_from, fine, fine->complete, fine->d_e);
    }
    TRY(factor == 0 || (d_from == coarse->d_e && coarse->complete >= coarse->needed)
            ? STATUS_OK
            : steady_grid_exchange(grids, coarse, d_from));
    if (!fine->shared || deep) {
        TRY(deep ? receive(grids, fine) : STATUS_OK);
        fine->complete = deep ? fine->deep - DEEP_STEPS : 0;
        struct ascend_args args = {.fine = deep ? fine->grown : fine->m,
                                   .coarse = deep ? coarse->grown_coarse : coarse->m,
                                   .factor = factor,
                                   .nsteps = smoothing->nsteps,
                                   .d_r = d_r,
                                   .d_e = d_from,
                                   .d_out = fine->d_e,
                                   .d_other = fine->d_other};
        memcpy(args.weight, smoothing->weight, sizeof args.weight);
        return grids->engine->operations->ascend(grids->engine->bulk_queue, &args);
    }
    TRY(factor == 0
            ? steady_grid_clear(grids, grids->engine->bulk_queue, &fine->m.layout, fine->d_e)
            : ENQUEUE(grids->engine->operations, interpolate, grids->engine->bulk_queue,
                      .fine = fine->m, .coarse = coarse->m, .factor = factor, .d_e = d_from,
                      .d_out = fine->d_e));
    for (int step = 0; step < smoothing->nsteps; step++) {
        float *before = fine->d_e;
        TRY(factor == 0 && step == 0 ? STATUS_OK : steady_grid_exchange(grids, fine, before));
        TRY(relax(grids, fine, smoothing->weight[step], d_r, before, fine->d_other));
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
    memcpy(args.weight, smoothing_of(grids, &grids->grid[first])->weight, sizeof args.weight);
    return grids->engine->operations->cycle(grids->engine->bulk_queue, &args);
}

/* Where conductances jump by much or at random, corrections are symmetric: without smoothing before
 * the coarser grid they may point away from the solution. d_early of the fine grid, what it leaves
 * of d_r, and that of the coarse one. */
static enum status smooth_early(struct steady_grids *grids, struct steady_grid *fine,
                                struct steady_grid *coarse)
{
    TRY(ascend(grids, fine, fine->d_r, coarse, coarse->d_e, 0));
    float *const d_early = fine->d_e;
    fine->d_e = fine->d_early;
    fine->d_early = d_early;
    TRY(steady_grid_exchange(grids, fine, d_early));
    TRY(ENQUEUE(grids->engine->operations, flow_out, grids->engine->bulk_queue, .grid = fine->m,
                .d_e = d_early, .d_b = fine->d_r, .d_out = fine->d_left));
    return descend(grids, fine, fine->d_left, coarse, coarse->d_r);
}

/* The smoothing that follows is linear: of the sum it is the sum. */
static enum status smooth_late(struct steady_grids *grids, struct steady_grid *fine,
                               struct steady_grid *coarse)
{
    TRY(ascend(grids, fine, fine->d_left, coarse, coarse->d_e, 1));
    fine->complete = 0;
    return ENQUEUE(grids->engine->operations, combine, grids->engine->bulk_queue,
                   .layout = fine->m.layout, .d_out = fine->d_e, .factor = 1,
                   .x = operand(&fine->m.layout, fine->d_early),
                   .z = operand(&fine->m.layout, fine->d_e));
}

/* From grid number `first` on. */
static enum status cycle(struct steady_grids *grids, int first)
{
    const int last = first_small(grids, first);
    struct steady_grid *coarsest = &grids->grid[last];
    for (int n = first; n < last; n++) {
        struct steady_grid *fine = &grids->grid[n];
        struct steady_grid *coarse = fine + 1;
        TRY(is_deep(fine, coarse) ? send(grids, fine, fine->d_r) : STATUS_OK);
        TRY(n == 0 && steady_grids_take_means(grids) ? STATUS_OK
            : grids->steep && !coarse->copies
                ? smooth_early(grids, fine, coarse)
                : descend(grids, fine, fine->d_r, coarse, coarse->d_r));
    }
    TRY(last < grids->count - 1 ? cycle_small(grids, last)
                                : relax(grids, coarsest, 1, coarsest->d_r, NULL, coarsest->d_e));
    for (int n = last - 1; n >= first; n--) {
        struct steady_grid *fine = &grids->grid[n];
        struct steady_grid *coarse = fine + 1;
        TRY(grids->steep && !coarse->copies
                ? smooth_late(grids, fine, coarse)
                : ascend(grids, fine, fine->d_r, coarse, coarse->d_e,
                         n == finest_of(grids) ? smoothing_of(grids, fine)->factor : 1));
    }
    return STATUS_OK;
}

bool steady_grids_take_means(const struct steady_grids *grids)
{
    return grids->uniform && grids->count > 1 && !grids->grid[1].copies;
}

enum status steady_cycle(struct steady_grids *grids)
{
    grids->turn++;
    return cycle(grids, 0);
}

/* --- the start by full multigrid -------------------------------------------------------------- */

/* Add `share` of the heat that comes through faces where all temperatures are 0; in a uniform
 * medium with `fluxes` of these alone, else without them. */
static enum status add_boundary(struct steady_grids *grids, struct queue *queue,
                                const struct steady_grid *grid, float *d_to, double share,
                                bool fluxes)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        const int axis = f / 2;
        const int64_t step = multigrid_step(&grid->m, axis);
        struct layout part = grid->m.layout;
        part.origin += f % 2 * (part.cells[axis] - 1) * step;
        part.cells[axis] = 1;
        const float *d_g =
            grids->uniform || !grid->m.active[axis] ? NULL : grid->m.d_g[axis] + f % 2 * step;
        const double factor = !grid->m.closed[f] ? 0
                              : !grids->uniform  ? grids->outside[f]
                              : fluxes           ? grids->flux[f]
                                                 : grid->outer[f];
        TRY(factor == 0 || !grid->m.active[axis]
                ? STATUS_OK
                : ENQUEUE(grids->engine->operations, combine, queue, .layout = part, .d_out = d_to,
                          .factor = share * factor, .x = {.layout = part, .d_values = d_g},
                          .z = {.layout = part, .d_values = d_to}));
    }
    return STATUS_OK;
}

/* In a uniform medium, whether the start only smooths this grid: two after the finest one. */
static bool is_smoothed(const struct steady_grids *grids, int number)
{
    int coarser = 0;
    for (int n = 1; n <= number; n++) {
        coarser += grids->grid[n].copies ? 0 : 1;
    }
    return grids->uniform && number < grids->count - 1 && !grids->grid[number + 1].copies &&
           coarser <= 2;
}

/* The heat of sources and fluxes, which d_r of the finest grid has, to d_b of the others; where a
 * grid is only smoothed, with that through all faces. */
static enum status spread_heat(struct steady_grids *grids)
{
    for (int n = 0; n < grids->count - 1; n++) {
        struct steady_grid *fine = &grids->grid[n];
        TRY(descend(grids, fine, n == 0 ? fine->d_r : fine->d_b, fine + 1, fine[1].d_b));
    }
    for (int n = 1; n < grids->count; n++) {
        struct steady_grid *grid = &grids->grid[n];
        TRY(is_smoothed(grids, n)
                ? add_boundary(grids, grids->engine->bulk_queue, grid, grid->d_b, 1, false)
                : STATUS_OK);
    }
    return STATUS_OK;
}

/* Temperatures of a grid: those of the coarser one, smoothed. */
static enum status smooth_grid(struct steady_grids *grids, int number)
{
    struct steady_grid *grid = &grids->grid[number];
    struct steady_grid *coarse = &grids->grid[number + 1];
    TRY(is_deep(grid, coarse) ? send(grids, grid, grid->d_b) : STATUS_OK);
    TRY(ascend(grids, grid, grid->d_b, coarse, coarse->d_t, 1));
    return ENQUEUE(grids->engine->operations, combine, grids->engine->bulk_queue,
                   .layout = grid->m.layout, .d_out = grid->d_t, .factor = 1,
                   .x = operand(&grid->m.layout, grid->d_e));
}

/* Temperatures of a grid: those of the coarser one, and a cycle. */
static enum status solve_grid(struct steady_grids *grids, int number)
{
    const struct operations *operations = grids->engine->operations;
    struct queue *queue = grids->engine->bulk_queue;
    struct steady_grid *grid = &grids->grid[number];
    struct steady_grid *coarse = &grids->grid[number + 1];
    if (number < grids->count - 1) {
        if (coarse->copies) {
            return steady_grid_select(grids, coarse, coarse->d_t, grid, 0, grid->d_t);
        }
        if (is_smoothed(grids, number)) {
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
                   .factor = 1, .x = operand(&grid->m.layout, grid->d_e),
                   .z = operand(&grid->m.layout, grid->d_t));
}

/* d_e of the finest grid from the temperatures of the next one. */
static enum status start_finest(struct steady_grids *grids)
{
    struct steady_grid *finest = &grids->grid[finest_of(grids)];
    struct steady_grid *coarse = finest + 1;
    if (finest->copies) {
        TRY(descend(grids, &grids->grid[0], grids->grid[0].d_r, &grids->grid[1],
                    grids->grid[1].d_r));
    }
    TRY(is_deep(finest, coarse) ? send(grids, finest, finest->d_r) : STATUS_OK);
    TRY(ascend(grids, finest, finest->d_r, coarse, coarse->d_t, 1));
    return finest->copies ? ascend(grids, finest - 1, NULL, finest, finest->d_e, 1) : STATUS_OK;
}

/* d_r of the finest grid without sources: the heat that comes through faces. It takes as long as
 * the coarser grids, which do not need it: on halo_queue, after what bulk_queue has. */
static enum status begin_known(struct steady_grids *grids)
{
    const struct engine *engine = grids->engine;
    const struct steady_grid *finest = &grids->grid[0];
    TRY(engine->runtime->event_record(engine->bulk_queue, engine->bulk_done));
    TRY(engine->runtime->event_wait(engine->halo_queue, engine->bulk_done));
    TRY(steady_grid_clear(grids, engine->halo_queue, &finest->m.layout, finest->d_r));
    TRY(add_boundary(grids, engine->halo_queue, finest, finest->d_r, 1, true));
    return add_boundary(grids, engine->halo_queue, finest, finest->d_r, 1, false);
}

enum status steady_start(struct steady_grids *grids)
{
    struct engine *engine = grids->engine;
    struct steady_grid *finest = &grids->grid[0];
    grids->turn = 0;
    if (grids->uniform && grids->problem->sources.count == 0) {
        TRY(begin_known(grids));
    } else {
        TRY(add_boundary(grids, engine->bulk_queue, finest, finest->d_r, grids->uniform ? 1 : -1,
                         true));
        TRY(spread_heat(grids));
        TRY(add_boundary(grids, engine->bulk_queue, finest, finest->d_r, 1, false));
    }
    for (int n = grids->count - 1; n > finest_of(grids); n--) {
        TRY(solve_grid(grids, n));
    }
    TRY(engine_settle(engine));
    return start_finest(grids);
}

/* The mean of the temperatures that are given beyond a face; false: it lets no heat through. */
static bool outside_of(const struct problem *problem, const struct heat_operator *op, int face,
                       double *value)
{
    const struct boundary *boundary = &problem->boundary;
    double sum = 0;
    int count = 0;
    for (int p = 0; p < boundary->nconditions[face]; p++) {
        const struct boundary_condition *condition = &boundary->face[face][p];
        struct boundary_state now =
            boundary_at(boundary, &problem->grid, (enum face)face, p, &op->when);
        if (boundary_setting_has_maps(&condition->setting)) { /* in place of numbers */
            now = boundary_corner(condition, &now, 0);
        }
        const struct face_exchange exchange = boundary_exchange(&now);
        sum += exchange.s1 > 0 ? exchange.s0 / exchange.s1 : 0;
        count += exchange.s1 > 0 ? 1 : 0;
    }
    *value = count > 0 ? sum / count : 0;
    return count > 0 && !boundary->periodic[face / 2] && problem->grid.used[face / 2];
}

/* A part of the halo beyond closed faces: the mean of what is beyond them. */
static enum status fill_part(struct steady_grids *grids, const struct steady_grid *grid,
                             const bool conducts[FACE_COUNT], const int side[AXIS_COUNT])
{
    struct layout part = grid->m.layout;
    double sum = 0;
    int count = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t step = multigrid_step(&grid->m, axis);
        const int face = 2 * axis + (side[axis] > 0 ? 1 : 0);
        const int layers = grid->deep > 0 && !grid->m.closed[face] ? grid->deep : 1;
        if (side[axis] != 0) {
            part.origin += (side[axis] < 0 ? -layers : part.cells[axis]) * step;
            part.cells[axis] = part.halo[axis] > 0 ? layers : 0;
            if (grid->m.closed[face] && conducts[face]) {
                sum += grids->outside[face];
                count++;
            }
        }
    }
    return count == 0 || part.cells[0] * part.cells[1] * part.cells[2] == 0
               ? STATUS_OK
               : ENQUEUE(grids->engine->operations, combine, grids->engine->bulk_queue,
                         .layout = part, .d_out = grid->d_t, .factor = sum / count);
}

/* Of fluxes; without sources, that of the grids is the same in every start. */
static enum status prepare_heat(struct steady_grids *grids, const struct heat_operator *op)
{
    const struct team *team = grids->team;
    const struct steady_grid *finest = &grids->grid[0];
    struct coefficients c;
    operator_coefficients(op, grids->problem, &team->decomp, team->rank, NULL, &c);
    for (int f = 0; f < FACE_COUNT; f++) {
        grids->flux[f] = c.a[f] == 1 ? c.r[f / 2] * c.b[f] : 0;
    }
    if (!grids->can_start || grids->problem->sources.count > 0) {
        return STATUS_OK;
    }
    TRY(add_boundary(grids, grids->engine->bulk_queue, finest, finest->d_r, 1, true)); /* was 0 */
    return spread_heat(grids);
}

enum status steady_start_prepare(struct steady_grids *grids, const struct heat_operator *op)
{
    bool conducts[FACE_COUNT];
    int count = 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        conducts[f] = outside_of(grids->problem, op, f, &grids->outside[f]);
        grids->reference += conducts[f] ? grids->outside[f] : 0;
        count += conducts[f] ? 1 : 0;
    }
    grids->has_reference = count > 0;
    grids->can_start = (count > 0 || !grids->uniform) && grids->count > finest_of(grids) + 1;
    grids->reference /= count > 0 ? count : 1;
    for (int f = 0; f < FACE_COUNT; f++) {
        grids->outside[f] = conducts[f] ? grids->outside[f] - grids->reference : 0;
    }
    for (int n = 0; n < grids->count; n++) {
        struct steady_grid *grid = &grids->grid[n];
        for (int f = 0; f < FACE_COUNT; f++) {
            grid->outer[f] *= (float)grids->outside[f];
        }
        for (int part = 0; part < 27 && n > 0; part++) {
            const int side[AXIS_COUNT] = {part % 3 - 1, part / 3 % 3 - 1, part / 9 - 1};
            TRY(fill_part(grids, &grids->grid[n], conducts, side));
        }
    }
    return grids->uniform ? prepare_heat(grids, op) : STATUS_OK;
}
