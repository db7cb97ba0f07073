#include "solve/steady/steady.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"
#include "model/operator/map/factor_map.h"

/* A step whose result is the change alone, which the ledger does not count. */
static const struct superstep_level once = {.weight = 1, .predicts = true, .corrects = true};

/* To the next coarser grid, as where all axes conduct equally well; false: there is none. */
static bool coarsen(int64_t n[AXIS_COUNT], double spacing[AXIS_COUNT])
{
    double least = INFINITY;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        least = n[axis] > 1 ? fmin(least, spacing[axis]) : least;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (n[axis] > 1 && spacing[axis] * spacing[axis] <= 2 * least * least) {
            n[axis] = (n[axis] + 1) / 2;
            spacing[axis] *= 2;
        }
    }
    return isfinite(least);
}

/* Bytes of an array on a grid of these cells, and of one on each grid coarser than it. */
static uint64_t array_bytes(const struct grid *grid, const int64_t cells[AXIS_COUNT], int halo,
                            uint64_t *coarser)
{
    int64_t n[AXIS_COUNT];
    double spacing[AXIS_COUNT];
    int layers[AXIS_COUNT];
    uint64_t first = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        n[axis] = cells[axis];
        spacing[axis] = grid_width(grid, (enum axis)axis, 0);
        layers[axis] = grid->used[axis] ? halo : 0;
    }
    *coarser = 0;
    do {
        struct layout layout;
        if (layout_create(n, layers, PRECISION_FLOAT32, &layout) != STATUS_OK) {
            break; /* nor can the field have one */
        }
        *(first == 0 ? &first : coarser) += layout_bytes(&layout);
    } while (coarsen(n, spacing));
    return first;
}

bool steady_can_start(const struct problem *problem)
{
    return problem_finds_steady(problem) && problem->time.steady.solver == SOLVER_MULTIGRID &&
           problem_is_linear(problem) && problem->medium.nambients == 0 &&
           problem->medium.curves == NULL;
}

bool steady_is_steep(const struct medium *medium)
{
    enum { GENTLE = 2000 };
    bool steep = medium->nambients > 0; /* no conductance to their cells */
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        double least = INFINITY;
        double most = 0;
        for (int c = 0; c < medium->nclasses; c++) {
            const struct medium_class *of = &medium->classes[c];
            least = of->is_ambient ? least : fmin(least, of->least_conductivity[axis]);
            most = of->is_ambient ? most : fmax(most, of->most_conductivity[axis]);
        }
        steep = steep || most > GENTLE * least;
    }
    return steep;
}

static bool has_sinks(const struct problem *problem)
{
    return problem->medium.perfused || problem->medium.nambients > 0 ||
           sources_depend(&problem->sources) || problem_may_be_implicit(problem);
}

uint64_t steady_grids_bytes(const struct problem *problem, const struct box *owned, int nranks)
{
    enum { ARRAYS = 8, COARSE_ARRAYS = 12, UNIFORM = 3, COARSE_UNIFORM = 5, STEEP = 2, START = 2 };
    enum { OF_CURVES = 3, OF_IMPLICIT = 2 }; /* scales and float64 temperatures; the base */
    const bool is_implicit = problem_may_be_implicit(problem);
    const bool alone = problem->time.steady.solver != SOLVER_MULTIGRID;
    const uint64_t sinks = has_sinks(problem);
    const bool uniform = problem->medium.nclasses == 0 && sinks == 0 && !alone;
    const uint64_t steep = !alone && steady_is_steep(&problem->medium) ? STEEP : 0;
    const uint64_t arrays = sinks + steep + (uniform ? UNIFORM : ARRAYS) +
                            (is_implicit ? OF_IMPLICIT : 0) +
                            (problem->medium.curves != NULL ? OF_CURVES : 0) +
                            (problem->medium.nambients > 0 ? 1 : 0) + /* a scale */
                            (problem->medium.per_cell ? 1 : 0);       /* weights */
    const uint64_t coarse = sinks + steep + (uniform ? COARSE_UNIFORM : COARSE_ARRAYS) +
                            (!uniform && steady_can_start(problem) ? START : 0);
    const struct grid *grid = &problem->grid;
    const int64_t own[AXIS_COUNT] = {box_extent(owned, AXIS_X), box_extent(owned, AXIS_Y),
                                     box_extent(owned, AXIS_Z)};
    int64_t all[AXIS_COUNT] = {grid->cells[AXIS_X], grid->cells[AXIS_Y], grid->cells[AXIS_Z]};
    uint64_t coarser = 0;
    if (!problem_needs_multigrid(problem)) {
        return 0;
    }
    const uint64_t finest = array_bytes(grid, own,
                                        nranks == 1 ? 1
                                        : uniform   ? DEEP_STEPS + 3
                                                    : 2,
                                        &coarser);
    const bool shares = nranks == 1 || grid_total_cells(grid) > STEADY_SHARED_LEAST;
    uint64_t bytes = finest * arrays + (shares && !alone ? coarser * coarse : 0);
    double spacing[AXIS_COUNT] = {grid_width(grid, AXIS_X, 0), grid_width(grid, AXIS_Y, 0),
                                  grid_width(grid, AXIS_Z, 0)};
    while (all[AXIS_X] * all[AXIS_Y] * all[AXIS_Z] > 4 * STEADY_SHARED_LEAST) {
        coarsen(all, spacing);
    }
    if (nranks > 1 && !alone) { /* the copy, a block of it, and the buffers that gather it */
        enum { BUFFERS = 3 };   /* to send, and two to receive */
        const uint64_t copied = array_bytes(grid, all, 1, &coarser);
        bytes += (copied + coarser) * coarse + 2 * (finest < copied ? finest : copied) +
                 BUFFERS * copied;
    }
    return bytes + (uniform && problem->sources.count > 0 ? 2 * finest : 0);
}

/* The weights of cells in sums of heat, to d_weight. */
static enum status send_weights(struct steady *s, const struct problem *problem)
{
    const struct engine *engine = s->grids.engine;
    const struct class_map *map = &s->classes->map;
    const struct layout *layout = &s->grids.grid[0].m.layout;
    const struct box owned = layout_owned(layout);
    SCOPED_FREE float *h_weight = calloc(1, layout_bytes(layout));
    TRY(CHECK_MEMORY(h_weight != NULL, "no memory for the heat capacities of the steady state"));
#pragma omp parallel for
    for (int64_t n = 0; n < box_cells(&owned); n++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, n, cell);
        const int64_t at = layout_index(&map->layout, cell[0], cell[1], cell[2]);
        const double capacity = factor_map_capacity(map, problem, at);
        h_weight[layout_index(layout, cell[0], cell[1], cell[2])] =
            isfinite(capacity) ? (float)ldexp(capacity, -medium_heat_bits(&problem->medium)) : 0;
    }
    TRY(steady_grids_array(&s->grids, 0, &s->d_weight));
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, s->d_weight, h_weight,
                                        layout_bytes(layout)));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

static enum status allocate(struct steady *s, const struct problem *problem,
                            const struct layout *field)
{
    struct engine *engine = s->grids.engine;
    if (s->grids.uniform) {
        TRY(steady_grids_allocate(&s->grids, 2 * sizeof *s->d_largest, (void **)&s->d_largest));
        return problem->sources.count == 0
                   ? STATUS_OK
                   : steady_grids_allocate(&s->grids, layout_bytes(field), (void **)&s->d_heat);
    }
    TRY(problem->medium.per_cell ? send_weights(s, problem) : STATUS_OK);
    TRY(steady_grids_array(&s->grids, 0, &s->d_p));
    TRY(steady_grids_array(&s->grids, 0, &s->d_q));
    if (problem_may_be_implicit(problem)) {
        TRY(engine->runtime->memory_alloc(engine->device, layout_bytes(field), &s->d_base));
    }
    if (problem->medium.nambients > 0 || (problem->medium.curves != NULL && s->newton.changes)) {
        TRY(steady_grids_array(&s->grids, 0, &s->d_scale));
    }
    if (problem->medium.curves == NULL) {
        return STATUS_OK;
    }
    return engine->runtime->memory_alloc(engine->device, layout_bytes(field), &s->d_temperature);
}

enum status steady_create(const struct problem *problem, const struct team *team,
                          struct engine *engine, const struct classes *classes,
                          const struct layout *field, struct steady **steady)
{
    *steady = NULL;
    if (!problem_needs_multigrid(problem)) {
        return STATUS_OK;
    }
    struct steady *s = calloc(1, sizeof *s);
    *steady = s;
    if (s != NULL) {
        s->imbalance = NAN;
        s->classes = classes;
        s->solver = problem->time.steady.solver;
        s->quiet = steady_is_plain(s);
        s->hypre_share = 1e-10;
        s->newton.changes = !problem_is_linear(problem);
        s->newton.mass = problem->medium.nambients > 0 ? NAN : 0; /* no d_scale yet */
        s->newton.varies = boundary_coefficient_varies(&problem->boundary);
        s->record = calloc((size_t)problem->time.steady.cycles, sizeof *s->record);
    }
    TRY(status_agree(team->comm, CHECK_MEMORY(s != NULL && s->record != NULL,
                                              "no memory for the cycles of the steady state")));
    if (!steady_has_hypre && (s->solver == SOLVER_HYPRE || s->solver == SOLVER_BOOMERAMG)) {
        return status_agree(team->comm, settings_fail_at(problem->origin, "time.steady.solver",
                                                         "this build has no HYPRE; build with "
                                                         "-DISOTHERM_HYPRE=ON, or give multigrid"));
    }
    TRY(status_agree(team->comm,
                     operator_of_level(problem, 0, problem->timeline.dt_stable, &once, &s->op)));
    TRY(steady_grids_create(problem, team, engine, classes, &s->op, has_sinks(problem),
                            steady_mixes_sinks(problem) ? 0 : 1, &s->grids));
    TRY(status_agree(team->comm, engine->operations->load_multigrid != NULL
                                     ? engine->operations->load_multigrid()
                                     : STATUS_OK));
    return status_agree(team->comm, allocate(s, problem, field));
}

bool steady_mixes_sinks(const struct problem *problem)
{
    return problem->medium.curves != NULL || problem->medium.nambients > 0 ||
           sources_depend(&problem->sources);
}

enum status steady_residual(struct stepper *stepper, const struct steady_goal *goal)
{
    struct engine *engine = stepper->level->engine;
    struct field *field = stepper->level->field;
    const struct layout *layout = &field->layout;
    struct stepper_pass pass = {.pass.nsteps = 1, .levels = goal->op.when.level};
    pass.op[0] = goal->op;
    TRY(status_agree(stepper->team->comm,
                     ENQUEUE(engine->operations, combine, engine->bulk_queue, .layout = *layout,
                             .d_out = field->d_next, .factor = -goal->mass,
                             .x = {*layout, goal->mass > 0 ? field->d_now : NULL},
                             .z = {*layout, goal->d_base})));
    TRY(engine_wait(engine));
    TRY(stepper_queue_pass(stepper, &pass));
    field_swap(field);
    stepper->level->d_held[0] = NULL; /* the other field has a residual */
    return engine_wait(engine);
}

void steady_destroy(struct steady *steady)
{
    if (steady != NULL) {
        if (steady->grids.engine != NULL) {
            const struct engine *engine = steady->grids.engine;
            engine->runtime->memory_free(engine->device, steady->d_temperature);
            engine->runtime->memory_free(engine->device, steady->d_base);
        }
        steady_grids_destroy(&steady->grids);
        free(steady->record);
    }
    free(steady);
}

static bool condition_holds(const struct boundary_state *now)
{
    const struct face_exchange exchange = boundary_exchange(now);
    return exchange.fixed || exchange.s1 > 0 || exchange.s4 > 0;
}

static bool surface_holds(const struct problem *problem, int s, const struct instant *when)
{
    if (boundary_exchanges(&problem->boundary, s)) {
        const struct boundary_state now =
            boundary_condition_at(&problem->boundary.surface[s], when);
        return condition_holds(&now);
    }
    return problem->medium.surfaces[s].condition.number[BOUNDARY_COEFFICIENT].value > 0;
}

/* Whether a condition at a face holds the temperature of a cell of the body on this rank at the
 * time of `op`. Factors of files vary, and their range is that of all times. */
static enum status face_holds(const struct stepper *stepper, const struct heat_operator *op,
                              enum face face, bool *held)
{
    const struct problem *problem = stepper->problem;
    const struct medium *medium = &problem->medium;
    const struct classes *classes = stepper->level->classes;
    const struct box owned = layout_owned(&stepper->level->field->layout);
    const struct box layer = box_inside(&owned, face, 1);
    const bool uniform = medium->nclasses == 0;
    const struct patch_plane *plane = uniform ? NULL : &classes->patches.face[face];
    const uint8_t *of_class = uniform ? NULL : classes->h_face_class[face];
    SCOPED_FREE struct class_closure *own = NULL;
    if (!uniform && patch_plane_has_factors(plane)) {
        TRY(operator_closures(op, problem, face, plane, &own));
    }
    for (int p = 0; p < problem->boundary.nconditions[face]; p++) {
        const struct boundary_state now =
            boundary_at(&problem->boundary, &problem->grid, face, p, &op->when);
        const bool holds = condition_holds(&now);
        const int64_t cells = of_class != NULL && (holds || own != NULL) ? box_cells(&layer) : 0;
        *held = *held || (uniform && holds);
        for (int64_t c = 0; c < cells && !*held; c++) {
            const struct class_closure *closure =
                own != NULL ? &own[operator_closure_count(problem) + c] : NULL;
            *held = patch_plane_condition(plane, c) == p &&
                    !medium->classes[of_class[c]].is_ambient &&
                    (closure != NULL ? closure->a != 1 || closure->e != 0 : holds);
        }
    }
    return STATUS_OK;
}

enum status steady_is_held(const struct stepper *stepper, const struct heat_operator *op,
                           bool *held)
{
    const struct problem *problem = stepper->problem;
    const struct medium *medium = &problem->medium;
    enum status status = STATUS_OK;
    *held = sources_depend(&problem->sources); /* where they decrease as it gets warmer */
    for (int s = 0; s < medium->nsurfaces; s++) {
        *held = *held || (medium->surface_faces[s] > 0 && surface_holds(problem, s, &op->when));
    }
    for (int c = 0; c < medium->nclasses; c++) {
        *held = *held || medium->classes[c].perfusion > 0;
    }
    for (int f = 0; f < FACE_COUNT && status == STATUS_OK; f++) {
        status = face_holds(stepper, op, (enum face)f, held);
    }
    TRY(status_agree(stepper->team->comm, status));
    return comm_check(
        MPI_Allreduce(MPI_IN_PLACE, held, 1, MPI_C_BOOL, MPI_LOR, stepper->team->comm),
        "MPI_Allreduce");
}

void steady_judge(struct steady *steady, double change, double residual, bool is_told)
{
    struct steady_record *record = &steady->record[steady->count];
    const int longest = steady->newton.changes ? 3 : 2;
    const int back = steady->count < longest ? (int)steady->count : longest;
    const double rate = pow(change / record[-back].change, 1.0 / back);
    double most = change;
    if (back > 0 && steady->newton.changes) { /* changes may alternate */
        most = fmax(most, record[-1].change);
    }
    *record = (struct steady_record){.residual = residual,
                                     .change = change,
                                     .rate = NAN,
                                     .squares = record->squares,
                                     .hypre = record->hypre};
    record->error = change == 0 ? 0 : INFINITY;
    if (back > 0 && change > 0) {
        record->rate = rate;
        record->error = rate < 1 ? most * fmax(1, rate / (1 - rate)) : INFINITY;
        if (steady->solver == SOLVER_CHEBYSHEV) {
            record->error = fmax(record->error, residual * steady->op.dt / steady->chebyshev.least);
        }
    }
    record->seconds = clock_seconds() - steady->began;
    steady->count++;
    steady->total++;
    steady->newton.cycles++;
    steady->newton.moved += change;
    if (is_told) {
        char error[48] = "no estimate of the error yet"; /* it needs changes that shrink */
        if (isfinite(record->error)) {
            (void)snprintf(error, sizeof error, "estimated error %.3g K", record->error);
        }
        log_info("cycle %" PRId64 ": temperatures change by at most %.3g K, %s", steady->count,
                 change, error);
    }
}

enum status steady_fail_slow(const struct stepper *stepper, const struct steady_goal *goal)
{
    const struct steady *steady = stepper->steady;
    const struct steady_record *last = &steady->record[steady->count > 0 ? steady->count - 1 : 0];
    const char *const instead =
        stepper->problem->time.by_tolerance ? "time.scheme: sts2" : "a smaller time.dt";
    char more[128] = "";
    if (!isnan(last->rate)) {
        text_add(more, sizeof more, "", ", %.2f times the change before", last->rate);
    }
    if (!isnan(steady->imbalance)) {
        text_add(more, sizeof more, "", "; %.3g of the heat that flows in does not flow out",
                 steady->imbalance);
    }
    return status_agree(
        stepper->team->comm,
        goal->is_steady
            ? fail(STATUS_NUMERICS,
                   "the steady state is not reached after %" PRId64 " cycles%s: the last one "
                   "changed temperatures by %.3g K%s. %s",
                   steady->count, steady->rounding ? ", and rounding errors prevent more" : "",
                   last->change, more,
                   last->change > steady->record[0].change
                       ? "Parts of the body may have no path to a given or an ambient temperature"
                   : steady->rounding && sources_depend(&stepper->problem->sources)
                       ? "Sources that grow with temperature may have no steady state: a thermal "
                         "run-away; if there is one, start from a colder state"
                       : "Raise time.steady.cycles, or time.steady.temperature and tolerance")
        : steady->pq < 0 || sources_run_away(&stepper->problem->sources, INFINITY) >= 0
            ? fail(STATUS_NUMERICS,
                   "after step %" PRId64 ": the implicit step is not solved after %" PRId64
                   " cycles: in it sources that grow with temperature heat more than can leave. "
                   "This is a thermal run-away, or the step is too long; give %s",
                   stepper->state->step, steady->count, instead)
            : fail(STATUS_NUMERICS,
                   "after step %" PRId64 ": the implicit step is not solved after %" PRId64
                   " cycles; the last one changed temperatures by %.3g K. Give %s",
                   stepper->state->step, steady->count, last->change, instead));
}

void steady_report(const struct steady *steady, struct json *json)
{
    json_begin(json, "steady", '{');
    json_int(json, "grids", steady->grids.count);
    json_int(json, "cycles", steady->count);
    json_real(json, "wall_s", steady->count > 0 ? steady->record[steady->count - 1].seconds : 0);
    json_int(json, "all_cycles", steady->total);
    json_real(json, "error_K", steady->count > 0 ? steady->record[steady->count - 1].error : NAN);
    json_real(json, "imbalance", steady->imbalance);
    json_bool(json, "rounding_reached", steady->rounding);
    json_begin(json, "history", '[');
    for (int64_t n = 0; n < steady->count; n++) {
        const struct steady_record *record = &steady->record[n];
        json_begin(json, NULL, '{');
        json_real(json, "residual_K_per_s", record->residual);
        json_real(json, "change_K", record->change);
        json_real(json, "rate", record->rate);
        json_real(json, "error_K", record->error);
        json_real(json, "wall_s", record->seconds);
        if (record->hypre.cycles > 0) {
            json_int(json, "hypre_cycles", record->hypre.cycles);
        }
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
}
