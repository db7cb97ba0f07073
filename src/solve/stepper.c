#include "solve/stepper.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"

static enum status find_plan(const struct stepper *stepper, struct halo_plan *plan)
{
    const struct team *team = stepper->team;
    return status_agree(
        team->comm, steps_per_pass_halo(&team->decomp, team->rank, &stepper->level->field->layout,
                                        stepper->passes.steps, stepper->passes.radius, plan));
}

static enum status create_halo(struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    MPI_Comm comm = stepper->team->comm;
    struct level *level = stepper->level;
    TRY(find_plan(stepper, &level->plan));
    if (level->plan.nmessages == 0) {
        return STATUS_OK; /* one rank without periodic axes */
    }
    const struct halo_options options = {.transport = problem->run.transport};
    const enum status status =
        halo_create(comm, level->engine->backend, level->engine->device, &level->plan,
                    &level->field->layout, &options, &level->halo);
    return status == STATUS_INPUT
               ? status_agree(comm, settings_place(problem->origin, status, "run.halo.transport"))
               : status;
}

enum status stepper_use_passes(struct stepper *stepper, int steps)
{
    struct halo_plan plan;
    stepper->passes.steps = steps;
    TRY(find_plan(stepper, &plan));
    TRY(level_use_plan(stepper->level, &plan));
    level_choose_overlap(stepper->level, stepper->problem->run.overlap, false);
    return STATUS_OK;
}

/* Room for those that are not painted, if there are any. */
static enum status sources_allocate(struct stepper *stepper)
{
    stepper->nsources = sources_moving(&stepper->problem->sources);
    if (stepper->nsources == 0) {
        return STATUS_OK;
    }
    stepper->sources = calloc((size_t)stepper->nsources * STEPS_MOST, sizeof *stepper->sources);
    return CHECK_MEMORY(stepper->sources != NULL, "no memory for moving sources");
}

static enum status allocate_estimate(struct stepper *stepper)
{
    struct engine *engine = stepper->level->engine;
    const size_t bytes = layout_bytes(&stepper->level->field->layout);
    const uint64_t none[DIFFERENCE_KEYS] = {0};
    if (!stepper->problem->time.by_tolerance) {
        return STATUS_OK;
    }
    TRY(engine->runtime->memory_alloc(engine->device, bytes, &stepper->d_saved));
    if (estimate_has_field(stepper->problem)) {
        TRY(engine->runtime->memory_alloc(engine->device, bytes, &stepper->d_estimate));
    }
    return engine_send(engine, none, sizeof none, &stepper->d_keys);
}

enum status stepper_create(const struct problem *problem, const struct team *team,
                           struct level *level, struct state *state, const struct pass_plan *passes,
                           struct stepper *stepper)
{
    static const struct scheme *const schemes[] = {
        [SCHEME_EULER] = &scheme_euler,   [SCHEME_STS1] = &scheme_sts1,
        [SCHEME_STS2] = &scheme_sts2,     [SCHEME_MONOTONE] = &scheme_monotone,
        [SCHEME_STEADY] = &scheme_steady, [SCHEME_IMPLICIT] = &scheme_implicit,
    };
    *stepper = (struct stepper){.problem = problem,
                                .team = team,
                                .level = level,
                                .state = state,
                                .scheme = schemes[problem->time.scheme],
                                .passes = *passes};
    if (level->nslots > 1) {
        stepper->slots = calloc(SUPERSTEP_LEVELS_MOST, sizeof *stepper->slots);
        TRY(status_agree(team->comm, CHECK_MEMORY(stepper->slots != NULL,
                                                  "no memory for the ledger of super steps")));
    }
    TRY(status_agree(team->comm, sources_allocate(stepper)));
    TRY(status_agree(team->comm, allocate_estimate(stepper)));
    TRY(source_files_open(problem, team, level->engine, level->classes, &stepper->source_files));
    const int wanted = problem->run.steps_per_pass;
    if (!problem->run.steps_per_pass_auto && wanted != stepper->passes.steps) {
        log_warn("run.steps_per_pass: 1 is used, not %d: %s", wanted, stepper->passes.reason);
    }
    TRY(create_halo(stepper));
    level_choose_overlap(level, problem->run.overlap, false);
    return STATUS_OK;
}

void stepper_destroy(struct stepper *stepper)
{
    if (stepper->level != NULL) {
        source_files_close(&stepper->source_files, stepper->level->engine);
        const struct engine *engine = stepper->level->engine;
        engine->runtime->memory_free(engine->device, stepper->d_saved);
        engine->runtime->memory_free(engine->device, stepper->d_estimate);
        engine->runtime->memory_free(engine->device, stepper->d_keys);
    }
    free(stepper->sources);
    free(stepper->slots);
}

enum status stepper_advance(struct stepper *stepper, int64_t steps)
{
    return stepper->scheme->advance(stepper, steps);
}

bool stepper_may_be_ahead(const struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    const struct medium *medium = &problem->medium;
    return stepper->scheme->queue_ahead != NULL &&
           backend_has(stepper->level->engine->backend, BACKEND_FREE_COPIES) &&
           problem->time.adapt_every == 0 && problem->radius == 1 && medium->curves == NULL &&
           !medium->changes && medium->nsurfaces == 0 && !grid_is_graded(&problem->grid) &&
           problem->output.history_materials != TRUTH_YES &&
           problem->output.history_melt_pool != TRUTH_YES;
}

enum status stepper_drop_ahead(struct stepper *stepper)
{
    if (stepper->ahead.pass.nsteps == 0) {
        return STATUS_OK;
    }
    const struct level *level = stepper->level;
    stepper->ahead.pass.nsteps = 0;
    TRY(engine_wait(level->engine));
    field_swap(level->field); /* a pass of one stage only reads it */
    return level->engine->runtime->copy_to_device(level->engine->bulk_queue, level->d_sums,
                                                  level->h_no_sums,
                                                  DEVICE_SUMS * sizeof *level->h_no_sums);
}

enum status stepper_wait_for_line(const struct stepper *stepper)
{
    const struct engine *engine = stepper->level->engine;
    return engine->runtime->queue_wait_for(engine->bulk_queue, engine->line_done);
}

enum status stepper_show_due(struct stepper *stepper)
{
    const bool is_due = stepper_hides(stepper);
    return status_agree(stepper->team->comm, is_due ? stepper_show(stepper, false) : STATUS_OK);
}

/* In d_next, which the next step overwrites only after the outputs' work on the bulk queue. */
enum status stepper_show(struct stepper *stepper, bool from_temperature)
{
    struct engine *engine = stepper->level->engine;
    struct field *field = stepper->level->field;
    const struct device_medium *medium = &stepper->level->classes->args;
    struct heat_operator op;
    if (stepper->problem->medium.curves == NULL) {
        return STATUS_OK;
    }
    sleep_forget(&stepper->level->sleep);
    if (medium->d_table == NULL) { /* no step yet; the curves do not depend on it */
        TRY(stepper_operator(stepper, &op));
        TRY(classes_update(stepper->level->classes, stepper->problem, engine, &op));
    }
    TRY(engine_wait(engine));
    if (from_temperature) {
        TRY(ENQUEUE(engine->operations, convert, engine->bulk_queue, .layout = field->layout,
                    .medium = medium, .conversion = CONVERT_TO_ENTHALPY, .d_in = field->d_now,
                    .d_out = field->d_now));
    }
    TRY(ENQUEUE(engine->operations, convert, engine->bulk_queue, .layout = field->layout,
                .medium = medium, .conversion = CONVERT_TO_TEMPERATURE, .d_in = field->d_now,
                .d_out = field->d_next));
    field->d_shown = field->d_next;
    if (stepper->problem->medium.changes) {
        TRY(classes_show(stepper->level->classes, stepper->problem, engine, field));
    }
    return engine_wait(engine);
}

/* Formulas depend on t only: all ranks fail alike, so all of them agree. */
enum status stepper_agree(const struct stepper *stepper, enum status status)
{
    return status == STATUS_OK ? status : status_agree(stepper->team->comm, status);
}

enum status stepper_operator(const struct stepper *stepper, struct heat_operator *op)
{
    return stepper_agree(stepper, operator_of_step(stepper->problem, stepper->state->step, op));
}

enum status stepper_operator_before(const struct stepper *stepper, struct heat_operator *op)
{
    return stepper_agree(stepper, operator_before(stepper->problem, stepper->state->step, op));
}

enum status stepper_coefficients(const struct stepper *stepper, const struct heat_operator *op,
                                 struct exact_sum *d_sums, struct coefficients *coefficients)
{
    struct level *level = stepper->level;
    operator_coefficients(op, stepper->problem, level->decomp, level->rank, d_sums, coefficients);
    TRY(classes_update(level->classes, stepper->problem, level->engine, op));
    if (stepper->problem->medium.nclasses > 0) {
        coefficients->medium = level->classes->args;
    }
    return STATUS_OK;
}

enum status stepper_operator_per_second(const struct stepper *stepper, struct heat_operator *op)
{
    const struct problem *problem = stepper->problem;
    const int64_t step = stepper->state->step;
    if (operator_create(problem, stepper->state->time, 1, op) == STATUS_OK) {
        return STATUS_OK;
    }
    fail_clear(); /* a step from here will fail alike */
    TRY(stepper_operator_before(stepper, op));
    return operator_create(problem, timeline_time(&problem->timeline, step > 0 ? step - 1 : 0), 1,
                           op);
}

/* The heat of source `s` in one cell is between these, K; below the limit of exact sums. */
static enum status reach_of(const struct stepper *stepper, const struct source_shape *shape, int s,
                            double *least, double *most)
{
    const struct source_file *file =
        stepper->source_files.file != NULL ? &stepper->source_files.file[s] : NULL;
    const bool from_file = file != NULL && file->d_values != NULL;
    const double a = shape->peak_front * (from_file ? file->least : 1);
    const double b = from_file ? shape->peak_front * file->most : shape->peak_rear;
    *least = fmin(a, b);
    *most = fmax(a, b);
    return fmax(fabs(a), fabs(b)) < EXACT_SUM_LIMIT
               ? STATUS_OK
               : fail(STATUS_NUMERICS,
                      "sources[%d]: it changes the temperature by %g K in one step; give one that "
                      "changes it by less than %.3g K",
                      s, fmax(fabs(a), fabs(b)), EXACT_SUM_LIMIT);
}

static enum status find_source(struct stepper *stepper, const struct heat_operator *op, int s,
                               struct heat_source *source)
{
    const struct problem *problem = stepper->problem;
    const struct source_file *file = stepper->source_files.file;
    double least = 0;
    double most = 0;
    TRY(moving_at(problem, op, s, source));
    source->d_values = file != NULL ? file[s].d_values : NULL;
    source->d_curve = file != NULL ? file[s].d_curve : NULL;
    if (!box_is_empty(&source->box)) {
        TRY(reach_of(stepper, &source->shape, s, &least, &most));
        limits_add_moving(&stepper->state->check.limits, &problem->medium, least, most,
                          (double)box_cells(&source->box));
    }
    return STATUS_OK;
}

/* The sources, except painted ones, of a step of the pass. */
static enum status find_sources(struct stepper *stepper, const struct heat_operator *op, int step,
                                struct coefficients *coefficients)
{
    const struct sources *sources = &stepper->problem->sources;
    struct heat_source *source = stepper->sources + (ptrdiff_t)step * stepper->nsources;
    enum status status = STATUS_OK;
    coefficients->sources = source;
    coefficients->nsources = stepper->nsources;
    for (int s = 0; s < sources->count && status == STATUS_OK; s++) {
        if (!source_is_painted(sources->source[s].setting)) {
            status = find_source(stepper, op, s, source++);
        }
    }
    return status == STATUS_OK
               ? status
               : stepper_agree(stepper, fail_prefix(status, "after step %" PRId64 ": ",
                                                    stepper->state->step + step));
}

/* --- for time schemes ------------------------------------------------------------------------ */

enum status stepper_find_operators(const struct stepper *stepper, int nsteps,
                                   struct stepper_pass *pass)
{
    TRY(stepper_operator(stepper, &pass->op[0]));
    int n = 1;
    while (n < nsteps && operator_of_step(stepper->problem, stepper->state->step + n,
                                          &pass->op[n]) == STATUS_OK) {
        n++;
    }
    if (n < nsteps) {
        fail_clear();
    }
    pass->pass.nsteps = n;
    pass->slot = 0;
    pass->levels = NULL;
    return STATUS_OK;
}

static enum status set_step(struct stepper *stepper, struct stepper_pass *pass, int step)
{
    const struct heat_operator *op = &pass->op[step];
    struct coefficients *coefficients = &pass->pass.levels[step];
    const struct superstep_level *level = pass->levels != NULL ? &pass->levels[step] : NULL;
    const int slot = pass->slot + (level != NULL ? step : 0);
    limits_step(&stepper->state->check.limits, stepper->problem, op);
    struct exact_sum *d_sums = &stepper->level->d_sums[slot * DEVICE_SUMS];
    TRY(stepper_coefficients(stepper, op, d_sums, coefficients));
    TRY(find_sources(stepper, op, step, coefficients));
    coefficients->d_source_sum = &d_sums[SOURCE_SUM];
    coefficients->d_surface_sum = &d_sums[SURFACE_SUM];
    coefficients->corrects = level != NULL && level->corrects;
    if (level != NULL && level->predicts) { /* its heat does not stay */
        memset(coefficients->d_face_sum, 0, sizeof coefficients->d_face_sum);
        coefficients->d_source_sum = &d_sums[UNCOUNTED_SUM];
        coefficients->d_surface_sum = NULL;
    }
    return STATUS_OK;
}

/* Record the end of each second pass, since kernels after a mark begin late, and wait for the pass
 * PASSES_AHEAD before or the next one. */
static enum status limit_queue_depth(struct stepper *stepper)
{
    struct engine *engine = stepper->level->engine;
    const int64_t pass = stepper->passes_queued++;
    const int64_t marked = pass - PASSES_AHEAD + pass % 2;
    phases_enter(stepper->level->phases, PHASE_INTERIOR);
    if (marked >= 0) {
        TRY(engine->runtime->event_sync(engine->pass_done[marked % PASSES_AHEAD]));
    }
    return pass % 2 == 0 ? engine->runtime->event_record(engine->bulk_queue,
                                                         engine->pass_done[pass % PASSES_AHEAD])
                         : STATUS_OK;
}

enum status stepper_find_coefficients(struct stepper *stepper, struct stepper_pass *pass)
{
    for (int step = 0; step < pass->pass.nsteps; step++) {
        TRY(set_step(stepper, pass, step));
    }
    return STATUS_OK;
}

enum status stepper_queue_pass(struct stepper *stepper, struct stepper_pass *pass)
{
    TRY(stepper_find_coefficients(stepper, pass));
    TRY(pass_queue(stepper->level, &pass->pass));
    return limit_queue_depth(stepper);
}

enum status stepper_combine(struct stepper *stepper, void *d_out, double factor, const void *d_x,
                            const void *d_z)
{
    struct engine *engine = stepper->level->engine;
    const struct layout *layout = &stepper->level->field->layout;
    return ENQUEUE(engine->operations, combine, engine->bulk_queue, .layout = *layout,
                   .d_out = d_out, .factor = factor, .x = {*layout, d_x}, .z = {*layout, d_z});
}

enum status stepper_copy(struct stepper *stepper, void *d_to, const void *d_from)
{
    MPI_Comm comm = stepper->team->comm;
    struct engine *engine = stepper->level->engine;
    TRY(status_agree(comm, engine_settle(engine)));
    return status_agree(
        comm, engine->runtime->copy_on_device(engine->bulk_queue, d_to, d_from,
                                              layout_bytes(&stepper->level->field->layout)));
}

void stepper_undo(struct stepper *stepper, const struct state *before)
{
    struct field *field = stepper->level->field;
    void *d_undone = field->d_now;
    *stepper->state = *before;
    field->d_shown = NULL;
    field->d_now = stepper->d_saved;
    stepper->d_saved = d_undone;
}

enum status stepper_advance_each(struct stepper *stepper, int64_t steps,
                                 enum status (*advance_once)(struct stepper *stepper))
{
    struct state *state = stepper->state;
    struct phases *phases = stepper->level->phases;
    for (int64_t step = 0; step < steps; step++) {
        TRY(advance_once(stepper));
        state->step++;
        state->summary_step = 0;
        state->time = timeline_time(&stepper->problem->timeline, state->step);
        atomic_store_explicit(&phases->step, state->step, memory_order_relaxed);
    }
    phases_enter(phases, PHASE_OTHER);
    return STATUS_OK;
}
