#include "solve/stepper.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"

void stepper_divide(struct stepper *stepper, bool thick)
{
    const struct team *team = stepper->team;
    const struct box owned = layout_owned(&stepper->state->field->layout);
    stepper->interior = owned;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const int64_t quarter = box_extent(&owned, face_axis(face)) / 4;
        const int64_t width =
            thick && quarter > stepper->plan.width ? quarter : stepper->plan.width;
        if (decomp_neighbour(&team->decomp, team->rank, face) >= 0) {
            stepper->interior = box_shrink_face(&stepper->interior, face, width);
        }
    }
    if (box_is_empty(&stepper->interior)) {
        stepper->interior = (struct box){{0, 0, 0}, {0, 0, 0}};
    }
}

/* Overlap needs an interior larger than the shell. For kernels along rows, the shell of an axis
 * divided in x is strided in memory and costs more than overlap can hide (docs/kernels_cpu.md). */
bool stepper_may_overlap(const struct stepper *stepper)
{
    const enum overlap setting = stepper->problem->settings->run.overlap;
    if (stepper->halo == NULL || setting != OVERLAP_AUTO) {
        return stepper->halo != NULL && setting == OVERLAP_ON;
    }
    const struct box *interior = &stepper->interior;
    const struct box owned = layout_owned(&stepper->state->field->layout);
    const bool whole_rows = interior->lo[AXIS_X] == 0 && interior->hi[AXIS_X] == owned.hi[AXIS_X];
    return 2 * box_cells(interior) > box_cells(&owned) &&
           (!backend_has(stepper->engine->backend, BACKEND_ALONG_ROWS) || whole_rows);
}

static enum status create_halo(struct stepper *stepper)
{
    const struct team *team = stepper->team;
    const struct engine *engine = stepper->engine;
    const struct settings *settings = stepper->problem->settings;
    const struct layout *layout = &stepper->state->field->layout;
    TRY(status_agree(team->comm,
                     steps_per_pass_halo(&team->decomp, team->rank, layout, stepper->passes.steps,
                                         stepper->passes.radius, &stepper->plan)));
    if (stepper->plan.nmessages == 0) {
        return STATUS_OK; /* one rank without periodic axes */
    }
    const enum status status =
        halo_create(team->comm, engine->backend, engine->device, &stepper->plan, layout,
                    &(struct halo_options){.transport = settings->run.transport}, &stepper->halo);
    if (status == STATUS_INPUT) {
        return status_agree(team->comm,
                            settings_fail(settings, "run.halo.transport", "%s", fail_message()));
    }
    return status;
}

enum status stepper_use_passes(struct stepper *stepper, int steps)
{
    const struct team *team = stepper->team;
    const struct layout *layout = &stepper->state->field->layout;
    struct halo_plan plan;
    TRY(status_agree(team->comm, steps_per_pass_halo(&team->decomp, team->rank, layout, steps,
                                                     stepper->passes.radius, &plan)));
    if (stepper->halo != NULL && plan.width != stepper->plan.width) {
        struct halo *halo = NULL;
        TRY(halo_create_like(stepper->halo, &plan, &halo));
        halo_destroy(stepper->halo);
        stepper->halo = halo;
    }
    stepper->plan = plan;
    stepper->passes.steps = steps;
    stepper_divide(stepper, false);
    stepper->overlap = stepper_may_overlap(stepper);
    return STATUS_OK;
}

/* Room for those that are not painted, if there are any. */
static enum status sources_allocate(struct stepper *stepper)
{
    const struct sources *sources = &stepper->problem->sources;
    bool any = false;
    for (int s = 0; s < sources->count; s++) {
        any = any || !source_is_painted(sources->source[s].setting);
    }
    if (any) {
        stepper->moving = calloc((size_t)sources->count * STEPS_MOST, sizeof *stepper->moving);
        return CHECK_MEMORY(stepper->moving != NULL, "no memory for moving sources");
    }
    return STATUS_OK;
}

enum status stepper_create(const struct problem *problem, const struct team *team,
                           struct engine *engine, struct classes *classes, struct state *state,
                           struct phases *phases, struct stepper *stepper)
{
    *stepper = (struct stepper){.problem = problem,
                                .team = team,
                                .engine = engine,
                                .classes = classes,
                                .state = state,
                                .phases = phases,
                                .scheme = &scheme_euler};
    TRY(status_agree(team->comm, sources_allocate(stepper)));
    TRY(source_files_open(problem, team, engine, &stepper->source_files));
    TRY(status_agree(team->comm, steps_per_pass_plan(problem, engine->backend, &team->decomp,
                                                     &stepper->passes)));
    const int wanted = problem->settings->run.steps_per_pass;
    if (!problem->settings->run.steps_per_pass_auto && wanted != stepper->passes.steps) {
        log_warn("run.steps_per_pass: 1 is used, not %d: %s", wanted, stepper->passes.reason);
    }
    TRY(create_halo(stepper));
    stepper_divide(stepper, false);
    stepper->overlap = stepper_may_overlap(stepper);
    return STATUS_OK;
}

void stepper_destroy(struct stepper *stepper)
{
    if (stepper->engine != NULL) {
        source_files_close(&stepper->source_files, stepper->engine);
    }
    free(stepper->moving);
    halo_destroy(stepper->halo);
}

enum status stepper_advance(struct stepper *stepper, int64_t steps)
{
    TRY(stepper->scheme->advance(stepper, steps));
    return stepper_show(stepper, false);
}

/* In d_next, which the next step overwrites only after the outputs' work on the bulk queue. */
enum status stepper_show(struct stepper *stepper, bool from_temperature)
{
    struct engine *engine = stepper->engine;
    struct field *field = stepper->state->field;
    const struct device_medium *medium = &stepper->classes->args;
    struct heat_operator op;
    if (stepper->problem->medium.curves == NULL) {
        return STATUS_OK;
    }
    if (medium->d_table == NULL) { /* no step yet; the curves do not depend on it */
        TRY(stepper_operator(stepper, &op));
        TRY(stepper_medium(stepper, &op, &medium));
    }
    TRY(engine_wait(engine));
    if (from_temperature) {
        TRY(engine->operations->convert(engine->bulk_queue, &field->layout, medium,
                                        CONVERT_TO_ENTHALPY, field->d_now, field->d_now));
    }
    TRY(engine->operations->convert(engine->bulk_queue, &field->layout, medium,
                                    CONVERT_TO_TEMPERATURE, field->d_now, field->d_next));
    field->d_shown = field->d_next;
    if (stepper->problem->medium.changes) {
        TRY(classes_show(stepper->classes, stepper->problem, engine, field));
    }
    return engine_wait(engine);
}

enum status stepper_exchange(struct stepper *stepper)
{
    struct engine *engine = stepper->engine;
    struct halo_flight flight;
    if (stepper->halo == NULL) {
        return STATUS_OK;
    }
    TRY(engine->runtime->event_record(engine->bulk_queue, engine->bulk_done));
    TRY(engine->runtime->event_wait(engine->halo_queue, engine->bulk_done));
    phases_enter(stepper->phases, PHASE_HALO_BEGIN);
    TRY(halo_begin(stepper->halo, engine->halo_queue, stepper->state->field->d_now, &flight));
    phases_enter(stepper->phases, PHASE_HALO_END);
    return halo_end(&flight);
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

enum status stepper_medium(const struct stepper *stepper, const struct heat_operator *op,
                           const struct device_medium **args)
{
    return stepper_agree(
        stepper, classes_update(stepper->classes, stepper->problem, stepper->engine, op, args));
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
                               struct moving *moving)
{
    const struct problem *problem = stepper->problem;
    double least = 0;
    double most = 0;
    TRY(moving_at(problem, op, s, moving));
    if (!box_is_empty(&moving->box)) {
        TRY(reach_of(stepper, &moving->shape, s, &least, &most));
        limits_add_moving(&stepper->check.limits, &problem->medium, least, most,
                          (double)box_cells(&moving->box));
    }
    return STATUS_OK;
}

enum status stepper_find_sources(struct stepper *stepper, const struct heat_operator *op, int level)
{
    const struct sources *sources = &stepper->problem->sources;
    enum status status = STATUS_OK;
    for (int s = 0; stepper->moving != NULL && s < sources->count && status == STATUS_OK; s++) {
        if (!source_is_painted(sources->source[s].setting)) {
            status = find_source(stepper, op, s, &stepper->moving[level * sources->count + s]);
        }
    }
    return status == STATUS_OK
               ? status
               : stepper_agree(stepper, fail_prefix(status, "after step %" PRId64 ": ",
                                                    stepper->state->step + level));
}

/* Of the step that has been computed from d_now. */
static enum status sum_perfusion(const struct stepper *stepper, struct queue *queue,
                                 const struct heated *heated)
{
    const struct field *field = stepper->state->field;
    for (int b = 0; b < heated->nboxes && stepper->problem->medium.perfused && heated->counts;
         b++) {
        TRY(stepper->engine->operations->sum_perfusion(
            queue, heated->layout, &heated->coefficients->medium, field->d_now, &heated->boxes[b],
            &stepper->state->d_face_sum[SOURCE_SUM]));
    }
    return STATUS_OK;
}

/* A source in boxes of cells whose global indices are those of the layout and `offset`. */
static enum status heat_boxes(const struct stepper *stepper, struct queue *queue,
                              const struct heated *heated, int s, const int64_t offset[AXIS_COUNT])
{
    const struct moving *moving =
        &stepper->moving[heated->level * stepper->problem->sources.count + s];
    const struct source_file *file = stepper->source_files.file;
    const int64_t to_local[AXIS_COUNT] = {-offset[AXIS_X], -offset[AXIS_Y], -offset[AXIS_Z]};
    const struct source_args args = {
        .medium = coefficients_medium(heated->coefficients),
        .shape = moving->shape,
        .offset = {offset[AXIS_X], offset[AXIS_Y], offset[AXIS_Z]},
        .d_values = file != NULL ? file[s].d_values : NULL,
        .d_sum = &stepper->state->d_face_sum[heated->counts ? SOURCE_SUM : UNCOUNTED_SUM],
    };
    const struct box local = box_shift(&moving->box, to_local);
    for (int b = 0; b < heated->nboxes; b++) {
        const struct box part = box_intersect(&local, &heated->boxes[b]);
        if (!box_is_empty(&part)) {
            TRY(stepper->engine->operations->add_source(queue, heated->layout, &args,
                                                        stepper->state->field->d_next, &part));
        }
    }
    return STATUS_OK;
}

/* Each box was computed on this queue, and the next step waits for it there. Cells of the halo
 * beyond the end of a periodic axis are those of the other end. */
enum status stepper_add_sources(const struct stepper *stepper, struct queue *queue,
                                const struct heated *heated)
{
    const struct problem *problem = stepper->problem;
    const int nsources = stepper->moving != NULL ? problem->sources.count : 0;
    TRY(sum_perfusion(stepper, queue, heated));
    for (int n = 0; n < 27 * nsources; n++) {
        const int image[AXIS_COUNT] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 % 3 - 1};
        int64_t offset[AXIS_COUNT];
        bool is_there = true;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            is_there = is_there &&
                       (image[axis] == 0 || (problem->boundary.periodic[axis] && !heated->counts));
            offset[axis] = stepper->state->field->placement.offset[axis] - heated->shift[axis] +
                           image[axis] * problem->grid.cells[axis];
        }
        if (is_there) {
            TRY(heat_boxes(stepper, queue, heated, n / 27, offset));
        }
    }
    return STATUS_OK;
}
