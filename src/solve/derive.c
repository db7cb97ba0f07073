#include "solve/derive.h"

#include <stdlib.h>

#include "base/comm.h"
#include "base/log.h"
#include "io/checkpoint/checkpoint.h"

/* What was kept of one kind, from the checkpoint into device memory. Collective. */
static enum status restore(struct run *run, enum derived_kind kind, bool *found)
{
    struct derived *derived = run->field->derived;
    struct field *field = run->field;
    const struct box owned = layout_owned(&derived->layout);
    const struct box global = box_shift(&owned, field->placement.offset);
    const size_t bytes = (size_t)box_cells(&owned) * sizeof(double);
    double *h_values = malloc(bytes);
    void *d_packed = NULL;
    enum status status = STATUS_OK;
    if (h_values == NULL) {
        status = fail(STATUS_MEMORY, "no memory for %zu bytes of a derived field", bytes);
    } else {
        status = run->backend->runtime->memory_alloc(run->device, bytes, &d_packed);
    }
    status = status_agree(run->comm, status);
    if (status == STATUS_OK) {
        status =
            checkpoint_read_derived(run->comm, run->restarted_from, kind, &global, h_values, found);
    }
    if (status == STATUS_OK && *found) {
        status = run->backend->runtime->copy_to_device(run->bulk_queue, d_packed, h_values, bytes);
        if (status == STATUS_OK) {
            status = run->backend->operations->unpack(run->bulk_queue, &derived->layout, d_packed,
                                                      &owned, derived->d_values[kind]);
        }
        if (status == STATUS_OK) {
            status = run->backend->runtime->queue_wait(run->bulk_queue);
        }
    }
    run->backend->runtime->memory_free(run->device, d_packed);
    free(h_values);
    return status_agree(run->comm, status);
}

/* A sample of the kinds of `mask`, the first one or a further one. Queued. */
static enum status take_sample(struct run *run, unsigned mask, bool first)
{
    struct derived *derived = run->field->derived;
    const double time = run_time(run);
    struct track_args args = {
        .first = first,
        .time = time,
        .weight = first ? 0 : time - derived->sampled_time,
        .isotherm = run->settings->output.derived.isotherm,
        .threshold = run->settings->output.derived.threshold,
    };
    args.d_highest = derived_wants(mask, DERIVED_T_MAX) ? derived->d_values[DERIVED_T_MAX] : NULL;
    args.d_arrival =
        derived_wants(mask, DERIVED_ARRIVAL) ? derived->d_values[DERIVED_ARRIVAL] : NULL;
    args.d_above = derived_wants(mask, DERIVED_ABOVE) ? derived->d_values[DERIVED_ABOVE] : NULL;
    TRY(run_settle(run));
    TRY(run->backend->operations->track(run->bulk_queue, &run->field->layout, &derived->layout,
                                        &args, run->field->d_now));
    return run_settle(run);
}

/* Samples are taken at multiples of `every`: the latest one is no later than the state. */
static enum status restore_all(struct run *run)
{
    struct derived *derived = run->field->derived;
    const int64_t every = run->settings->output.derived.every;
    unsigned missing = 0;
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        bool found = false;
        if (kind == DERIVED_FLUX || !derived_wants(derived->mask, kind)) {
            continue;
        }
        TRY(restore(run, (enum derived_kind)kind, &found));
        if (!found) {
            missing |= 1U << (unsigned)kind;
            log_warn("the checkpoint has no %s: it counts from step %lld on",
                     derived_label((enum derived_kind)kind)->name, (long long)run->step);
        }
    }
    derived->started = true;
    derived->sampled_step = run->step - run->step % every;
    derived->sampled_time = timeline_time(&run->timeline, derived->sampled_step);
    return missing == 0 ? STATUS_OK : status_agree(run->comm, take_sample(run, missing, true));
}

enum status derive_open(struct run *run)
{
    const unsigned mask = derived_of_settings(run->settings);
    if (mask == 0) {
        return STATUS_OK;
    }
    TRY(status_agree(run->comm, derived_create(run->field, mask, &run->field->derived)));
    return run->restarted_from[0] != '\0' ? restore_all(run) : STATUS_OK;
}

enum status derive_sample(struct run *run)
{
    if (run->field->derived == NULL || derived_kept(run->field->derived->mask) == 0 ||
        run->field->derived->sampled_step == run->step ||
        run->step % run->settings->output.derived.every != 0) {
        return STATUS_OK;
    }
    struct derived *derived = run->field->derived;
    TRY(status_agree(run->comm, take_sample(run, derived->mask, !derived->started)));
    derived->started = true;
    derived->sampled_step = run->step;
    derived->sampled_time = run_time(run);
    return STATUS_OK;
}

/* The halo of the present step, which the next step will exchange again: values are the same. All
 * ranks wait for it here: later only those wait that have a part of the output, and where queues
 * run when somebody waits (guard) the others would never send. */
static enum status complete_halo(struct run *run)
{
    const struct runtime *runtime = run->backend->runtime;
    struct halo_flight flight;
    if (run->halo == NULL) {
        return STATUS_OK;
    }
    TRY(runtime->event_record(run->bulk_queue, run->bulk_done));
    TRY(runtime->event_wait(run->halo_queue, run->bulk_done));
    TRY(halo_begin(run->halo, run->halo_queue, run->field->d_now, &flight));
    TRY(halo_end(&flight));
    return runtime->queue_wait(run->halo_queue);
}

enum status derive_flux(struct run *run)
{
    struct closure closure;
    double r[AXIS_COUNT];
    struct flux_args args;
    if (run->field->derived == NULL || !derived_wants(run->field->derived->mask, DERIVED_FLUX)) {
        return STATUS_OK;
    }
    TRY(step_coefficients(run, run->step, &closure, r));
    for (int f = 0; f < FACE_COUNT; f++) {
        args.closed[f] = decomp_neighbour(&run->decomp, run->rank, (enum face)f) < 0;
        args.a[f] = closure.a[f];
        args.b[f] = closure.b[f];
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        args.scale[a] =
            run->grid.used[a] ? run->material.conductivity / (2 * run->grid.spacing[a]) : 0;
    }
    TRY(complete_halo(run));
    TRY(run_settle(run));
    struct field *field = run->field;
    TRY(run->backend->operations->flux_squared(run->bulk_queue, &field->layout,
                                               &field->derived->layout, &args, field->d_now,
                                               field->derived->d_values[DERIVED_FLUX]));
    return run_settle(run);
}
