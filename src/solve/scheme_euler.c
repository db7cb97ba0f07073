/* One time step: exchange halos while the interior advances, then the shell. */
#include <inttypes.h>

#include "app/hang_monitor.h"
#include "base/comm.h"
#include "solve/solver.h"

static double round_to(enum precision precision, double value)
{
    return precision == PRECISION_FLOAT32 ? (double)(float)value : value;
}

enum status step_coefficients(const struct run *run, int64_t step, struct closure *closure,
                              double r[AXIS_COUNT])
{
    const enum precision precision = run->field->layout.precision;
    const double dt = timeline_dt(&run->timeline, step);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double h = run->grid.spacing[axis];
        const double number = run->material.diffusivity * dt / (h * h);
        r[axis] = run->grid.used[axis] ? round_to(precision, number) : 0.0;
    }
    const enum status status =
        boundary_closure(&run->boundary, &run->grid, &run->material, precision,
                         timeline_time(&run->timeline, step), closure);
    if (status != STATUS_OK) {
        /* formulas of t alone: all ranks fail alike, so all of them agree */
        return status_agree(run->comm, fail_prefix(status, "after step %" PRId64 ": ", step));
    }
    return STATUS_OK;
}

/* What this rank's kernel needs: closed faces are those at the edge of the whole domain. */
static void make_args(const struct run *run, const struct closure *closure,
                      const double r[AXIS_COUNT], struct step_args *args)
{
    *args = (struct step_args){.r = {r[0], r[1], r[2]}};
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        args->closed[f] = decomp_neighbour(&run->decomp, run->rank, face) < 0;
        if (!args->closed[f]) {
            continue;
        }
        args->a[f] = closure->a[f];
        args->b[f] = closure->b[f];
        /* a = 1: what passes does not depend on the cell, so the ledger needs no sum */
        if (run->grid.used[face_axis(face)] && closure->a[f] != 1.0) {
            args->d_face_sum[f] = &run->d_face_sum[f];
        }
    }
}

enum status step_arguments(const struct run *run, int64_t step, struct step_args *args)
{
    struct closure closure;
    double r[AXIS_COUNT];
    TRY(step_coefficients(run, step, &closure, r));
    make_args(run, &closure, r, args);
    return STATUS_OK;
}

/* The last step may be shorter: what came before is booked with the old coefficients. */
static enum status book_before_shorter_step(struct run *run)
{
    const int64_t step = run->step;
    if (step == 0 || timeline_dt(&run->timeline, step) == timeline_dt(&run->timeline, step - 1)) {
        return STATUS_OK;
    }
    struct closure closure;
    double r[AXIS_COUNT];
    TRY(ledger_gather(run));
    TRY(step_coefficients(run, step - 1, &closure, r));
    ledger_close(&run->ledger, &run->grid, &run->material, &closure, r);
    return STATUS_OK;
}

static void count_phase(struct run *run, enum phase phase, double *since)
{
    const double now = MPI_Wtime();
    run->phase_seconds[phase] += now - *since;
    *since = now;
}

static enum status step_overlapped(struct run *run, const struct step_args *args)
{
    const struct backend *backend = run->backend;
    struct field *field = run->field;
    const struct layout *layout = &field->layout;
    struct halo_flight flight;
    double since = MPI_Wtime();

    watchdog_at(run, PHASE_HALO_BEGIN);
    TRY(backend->runtime->event_record(run->bulk_queue, run->bulk_done));
    TRY(backend->runtime->event_record(run->halo_queue, run->halo_done));
    TRY(halo_begin(run->halo, run->halo_queue, field->d_now, &flight));
    count_phase(run, PHASE_HALO_BEGIN, &since);

    watchdog_at(run, PHASE_INTERIOR);
    /* the interior reads cells that the last shell wrote */
    TRY(backend->runtime->event_wait(run->bulk_queue, run->halo_done));
    if (!box_is_empty(&run->plan.interior)) {
        TRY(backend->operations->step(run->bulk_queue, layout, args, field->d_next, field->d_now,
                                      &run->plan.interior, 1));
    }
    count_phase(run, PHASE_INTERIOR, &since);

    watchdog_at(run, PHASE_HALO_END);
    TRY(halo_end(&flight));
    count_phase(run, PHASE_HALO_END, &since);

    watchdog_at(run, PHASE_SHELL);
    /* and the shell cells that the last interior wrote */
    TRY(backend->runtime->event_wait(run->halo_queue, run->bulk_done));
    TRY(backend->operations->step(run->halo_queue, layout, args, field->d_next, field->d_now,
                                  run->plan.shell, run->plan.nshell));
    count_phase(run, PHASE_SHELL, &since);
    return STATUS_OK;
}

/* Exchange first, then all cells at once. */
static enum status step_plain(struct run *run, const struct step_args *args)
{
    const struct backend *backend = run->backend;
    struct field *field = run->field;
    const struct box owned = layout_owned(&field->layout);
    double since = MPI_Wtime();
    if (run->halo != NULL) {
        struct halo_flight flight;
        watchdog_at(run, PHASE_HALO_BEGIN);
        TRY(backend->runtime->event_record(run->bulk_queue, run->bulk_done));
        TRY(backend->runtime->event_wait(run->halo_queue, run->bulk_done));
        TRY(halo_begin(run->halo, run->halo_queue, field->d_now, &flight));
        count_phase(run, PHASE_HALO_BEGIN, &since);
        watchdog_at(run, PHASE_HALO_END);
        TRY(halo_end(&flight));
        TRY(backend->runtime->event_record(run->halo_queue, run->halo_done));
        TRY(backend->runtime->event_wait(run->bulk_queue, run->halo_done));
        count_phase(run, PHASE_HALO_END, &since);
    }
    watchdog_at(run, PHASE_INTERIOR);
    TRY(backend->operations->step(run->bulk_queue, &field->layout, args, field->d_next,
                                  field->d_now, &owned, 1));
    count_phase(run, PHASE_INTERIOR, &since);
    return STATUS_OK;
}

/* Mark the end of this step, and wait for the end of one a few steps ago. */
static enum status stay_close(struct run *run)
{
    struct event *done = run->step_done[run->step % STEPS_AHEAD];
    double since = MPI_Wtime();
    if (run->step - run->first_step >= STEPS_AHEAD) {
        TRY(run->backend->runtime->event_sync(done));
    }
    count_phase(run, PHASE_INTERIOR, &since);
    return run->backend->runtime->event_record(run->bulk_queue, done);
}

enum status step_alone(struct run *run)
{
    struct closure closure;
    double r[AXIS_COUNT];
    struct step_args args;
    const struct box owned = layout_owned(&run->field->layout);
    TRY(step_coefficients(run, run->step, &closure, r));
    make_args(run, &closure, r, &args);
    TRY(run->backend->operations->step(run->bulk_queue, &run->field->layout, &args,
                                       run->field->d_next, run->field->d_now, &owned, 1));
    TRY(stay_close(run));
    field_swap(run->field);
    run->step++;
    return STATUS_OK;
}

enum status step_advance(struct run *run)
{
    struct closure closure;
    double r[AXIS_COUNT];
    struct step_args args;
    TRY(book_before_shorter_step(run));
    TRY(step_coefficients(run, run->step, &closure, r));
    limits_step(&run->watch.limits, &run->grid, &closure, r);
    make_args(run, &closure, r, &args);
    TRY(run->overlap ? step_overlapped(run, &args) : step_plain(run, &args));
    TRY(stay_close(run));
    ledger_add_step(&run->ledger, &closure);
    field_swap(run->field);
    run->step++;
    return STATUS_OK;
}
