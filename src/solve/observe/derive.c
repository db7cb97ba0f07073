#include "solve/observe/derive.h"

#include <stdlib.h>

#include "base/comm.h"
#include "base/log.h"
#include "io/checkpoint/checkpoint.h"

/* Restore one derived field from the checkpoint. Collective. */
static enum status restore(struct stepper *stepper, enum derived_kind kind, bool *found)
{
    struct field *field = stepper->level->field;
    const struct box owned = layout_owned(&field->derived->layout);
    const struct box global = box_shift(&owned, field->placement.offset);
    const size_t bytes = (size_t)box_cells(&owned) * sizeof(double);
    MPI_Comm comm = stepper->team->comm;
    SCOPED_FREE double *h_values = malloc(bytes);
    TRY(status_agree(comm, CHECK_MEMORY(h_values != NULL, "no memory for %s of a derived field",
                                        SIZE_TEXT(bytes))));
    TRY(checkpoint_read_derived(comm, stepper->state->restarted_from, kind, &global, h_values,
                                found));
    return status_agree(comm,
                        *found ? field_write_derived(field, kind, &owned, h_values) : STATUS_OK);
}

static enum status take_sample(struct stepper *stepper, unsigned mask, bool first)
{
    const struct problem *problem = stepper->problem;
    struct engine *engine = stepper->level->engine;
    struct field *field = stepper->level->field;
    struct derived *derived = field->derived;
    const double time = stepper->state->time;
    const double isotherm = problem->output.derived.isotherm;
    const double *cooling = problem->output.derived.cooling;
    const bool at_isotherm = cooling[0] == cooling[1];
    struct track_sample sample = {
        .first = first,
        .time = time,
        .weight = first ? 0 : time - derived->sampled_time,
        .isotherm = isotherm,
        .cooling = {at_isotherm ? isotherm : cooling[0], at_isotherm ? isotherm : cooling[1]},
        .threshold = problem->output.derived.threshold,
        /* as the field has it: at a melting point */
        .melting = precision_round(problem->precision, problem->melting),
    };
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        const int tracked = derived_tracked((enum derived_kind)kind);
        if (tracked >= 0 && derived_wants(mask, kind)) {
            sample.d_kept[tracked] = derived->d_values[kind];
        }
    }
    TRY(engine_settle(engine));
    TRY(ENQUEUE(engine->operations, track, engine->bulk_queue, .layout = field->layout,
                .kept = derived->layout, .sample = sample, .d_field = field_temperature(field),
                .medium = stepper_hides(stepper) ? &stepper->level->classes->args : NULL));
    return engine_settle(engine);
}

/* A field that is above all limits where a cell has become another material. */
static enum status write_marks(struct stepper *stepper)
{
    const struct medium *medium = &stepper->problem->medium;
    struct field *field = stepper->level->field;
    const enum precision precision = field->layout.precision;
    const struct box owned = layout_owned(&field->layout);
    bool is_next[MOST_MATERIALS] = {false};
    SCOPED_FREE void *values = malloc((size_t)box_cells(&owned) * precision_bytes(precision));
    TRY(CHECK_MEMORY(values != NULL, "no memory for the materials of the cells"));
    for (int m = 0; m < medium->nmaterials; m++) {
        is_next[medium->materials[m].becomes] |= medium->materials[m].becomes != m;
    }
    TRY(field_read_derived(field, DERIVED_MATERIAL, &owned, precision, values));
    for (int64_t c = 0; c < box_cells(&owned); c++) {
        const double number = precision_get(precision, values, c);
        const bool known = number >= 0 && number < medium->nmaterials;
        precision_set(precision, values, c, known && is_next[(int)number] ? 1e30 : 0);
    }
    return field_write(field, &owned, values);
}

/* As the steps do, from marks in the buffer of the next field. */
static enum status follow_marks(struct stepper *stepper)
{
    struct engine *engine = stepper->level->engine;
    const struct field *field = stepper->level->field;
    TRY(level_exchange(stepper->level));
    TRY(classes_follow_owned(stepper->level->classes, engine, field, engine->bulk_queue));
    TRY(classes_follow_halo(stepper->level->classes, engine, field, engine->halo_queue));
    return engine_wait(engine);
}

/* The classes follow the derived field of their materials. */
static enum status restore_classes(struct stepper *stepper)
{
    struct field *field = stepper->level->field;
    MPI_Comm comm = stepper->team->comm;
    if (!stepper->problem->medium.changes) {
        return STATUS_OK;
    }
    field_swap(field);
    TRY(status_agree(comm, write_marks(stepper)));
    TRY(status_agree(comm, follow_marks(stepper)));
    field_swap(field);
    return status_agree(comm, stepper_show(stepper, false));
}

/* Samples are taken at multiples of `every`: the latest is not after the state. */
static enum status restore_all(struct stepper *stepper)
{
    struct derived *derived = stepper->level->field->derived;
    const int64_t every = stepper->problem->output.derived.every;
    const bool changes = stepper->problem->medium.changes;
    const unsigned kept = changes ? derived_kept(derived->mask) : derived_sampled(derived->mask);
    unsigned missing = 0;
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        bool found = false;
        if (!derived_wants(kept, kind)) {
            continue;
        }
        TRY(restore(stepper, (enum derived_kind)kind, &found));
        if (!found) {
            missing |= 1U << (unsigned)kind;
            log_warn("the checkpoint has no %s: it starts at step %lld",
                     derived_label((enum derived_kind)kind)->name, (long long)stepper->state->step);
        }
    }
    if (!derived_wants(missing, DERIVED_MATERIAL)) {
        TRY(restore_classes(stepper));
    }
    derived->started = true;
    derived->sampled_step = stepper->state->step - stepper->state->step % every;
    derived->sampled_time = timeline_time(&stepper->problem->timeline, derived->sampled_step);
    return missing == 0 ? STATUS_OK
                        : status_agree(stepper->team->comm, take_sample(stepper, missing, true));
}

enum status derive_open(struct stepper *stepper)
{
    const struct engine *engine = stepper->level->engine;
    struct field *field = stepper->level->field;
    const unsigned mask = stepper->problem->derived;
    if (mask == 0) {
        return STATUS_OK;
    }
    TRY(status_agree(stepper->team->comm,
                     derived_create(engine->backend, engine->device, field->layout.cells, mask,
                                    &field->derived)));
    if (stepper->state->restarted_from[0] != '\0') {
        TRY(restore_all(stepper));
    }
    return status_agree(stepper->team->comm, classes_show(stepper->level->classes, stepper->problem,
                                                          stepper->level->engine, field));
}

static bool keeps_samples(const struct stepper *stepper)
{
    const struct derived *derived = stepper->level->field->derived;
    return derived != NULL && derived_sampled(derived->mask) != 0;
}

int64_t derive_next(const struct stepper *stepper)
{
    const int64_t every = stepper->problem->output.derived.every;
    return keeps_samples(stepper) ? (stepper->state->step / every + 1) * every : INT64_MAX;
}

enum status derive_sample(struct stepper *stepper)
{
    const struct state *state = stepper->state;
    struct derived *derived = stepper->level->field->derived;
    if (!keeps_samples(stepper) || derived->sampled_step == state->step ||
        !timeline_is_multiple(&stepper->problem->timeline, stepper->problem->output.derived.every,
                              state->step)) {
        return STATUS_OK;
    }
    TRY(status_agree(stepper->team->comm, take_sample(stepper, derived->mask, !derived->started)));
    derived->started = true;
    derived->sampled_step = state->step;
    derived->sampled_time = state->time;
    return STATUS_OK;
}

static enum status derive_liquid(struct stepper *stepper)
{
    struct engine *engine = stepper->level->engine;
    struct field *field = stepper->level->field;
    TRY(engine_settle(engine));
    TRY(ENQUEUE(engine->operations, liquid_fraction, engine->bulk_queue, .layout = field->layout,
                .kept = field->derived->layout, .medium = &stepper->level->classes->args,
                .d_field = field->d_now, .d_fraction = field->derived->d_values[DERIVED_LIQUID]));
    return engine_settle(engine);
}

enum status derive_present(struct stepper *stepper, unsigned mask)
{
    const struct derived *derived = stepper->level->field->derived;
    const unsigned wanted = derived != NULL ? derived->mask & mask : 0;
    if (derived_wants(wanted, DERIVED_FLUX)) {
        TRY(derive_flux(stepper));
    }
    return derived_wants(wanted, DERIVED_LIQUID) ? derive_liquid(stepper) : STATUS_OK;
}
