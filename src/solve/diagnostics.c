/* What is known of the whole field: collected from all ranks, the same bits on all of them. */
#include <inttypes.h>

#include "app/hang_monitor.h"
#include "base/comm.h"
#include "solve/solver.h"

/* One integer reduction for the sums: integers add in any order. */
static enum status add_sums(MPI_Comm comm, struct exact_sum *sums, int count)
{
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, sums, 4 * count, MPI_INT64_T, MPI_SUM, comm));
    for (int i = 0; i < count; i++) {
        exact_sum_normalise(&sums[i]);
    }
    return STATUS_OK;
}

static enum status wait_for_queues(struct run *run)
{
    TRY(run->backend->runtime->queue_wait(run->halo_queue));
    return run->backend->runtime->queue_wait(run->bulk_queue);
}

enum status ledger_gather(struct run *run)
{
    struct exact_sum sums[FACE_COUNT];
    static const struct exact_sum zeros[FACE_COUNT];
    enum status status = wait_for_queues(run);
    if (status == STATUS_OK) {
        status = run->backend->runtime->copy_to_host(run->bulk_queue, sums, run->d_face_sum,
                                                     sizeof sums);
    }
    if (status == STATUS_OK) {
        status = run->backend->runtime->copy_to_device(run->bulk_queue, run->d_face_sum, zeros,
                                                       sizeof zeros);
    }
    if (status == STATUS_OK) {
        status = run->backend->runtime->queue_wait(run->bulk_queue);
    }
    TRY(status_agree(run->comm, status));
    TRY(add_sums(run->comm, sums, FACE_COUNT));
    for (int f = 0; f < FACE_COUNT; f++) {
        exact_sum_add(&run->ledger.face_sum[f], &sums[f]);
    }
    return STATUS_OK;
}

/* The summary of all ranks' cells; waits for the queues. */
static enum status summarise(struct run *run, struct field_summary *all)
{
    struct field_summary mine;
    struct field *field = run->field;
    enum status status = wait_for_queues(run);
    if (status == STATUS_OK) {
        status = run->backend->operations->summarise(run->bulk_queue, &field->layout,
                                                     &field->placement, field->d_now, &mine);
    }
    if (status == STATUS_OK) {
        status = run->backend->runtime->queue_wait(run->bulk_queue);
    }
    TRY(status_agree(run->comm, status));

    double extremes[2] = {-mine.min, mine.max};
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_DOUBLE, MPI_MAX, run->comm));
    int64_t first_bad = mine.first_bad < 0 ? INT64_MAX : mine.first_bad;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &first_bad, 1, MPI_INT64_T, MPI_MIN, run->comm));
    struct exact_sum sums[2] = {mine.sum, {.digit = {mine.bad_cells, 0, 0, 0}}};
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, sums, 8, MPI_INT64_T, MPI_SUM, run->comm));
    exact_sum_normalise(&sums[0]);
    *all = (struct field_summary){
        .min = -extremes[0],
        .max = extremes[1],
        .sum = sums[0],
        .bad_cells = sums[1].digit[0],
        .first_bad = first_bad,
    };
    return STATUS_OK;
}

static int owner_of(const struct decomp *decomp, const int64_t cell[AXIS_COUNT])
{
    for (int rank = 0; rank < decomp->nranks; rank++) {
        const struct box owned = decomp_owned(decomp, rank);
        const struct box one = {.lo = {cell[0], cell[1], cell[2]},
                                .hi = {cell[0] + 1, cell[1] + 1, cell[2] + 1}};
        if (box_contains(&owned, &one)) {
            return rank;
        }
    }
    return -1;
}

/* All ranks have the same summary, so all return the same failure: it counts as agreed. */
static enum status complain(const struct run *run, const struct field_summary *all)
{
    const int64_t *n = run->grid.cells;
    const int64_t cell[AXIS_COUNT] = {all->first_bad % n[0], all->first_bad / n[0] % n[1],
                                      all->first_bad / n[0] / n[1]};
    const enum status status =
        fail(STATUS_NUMERICS,
             "the numbers went bad: at step %" PRId64 " (t = %g s) %" PRId64
             " cells are NaN, infinite or beyond 1.1e12 K; the first is cell (%" PRId64 ", %" PRId64
             ", %" PRId64 ") on rank %d. Look at the boundary values and at time.dt",
             run->step, run_time(run), all->bad_cells, cell[0], cell[1], cell[2],
             owner_of(&run->decomp, cell));
    return status_agree(run->comm, status);
}

enum status diagnostics_take(struct run *run, struct diagnostics *diagnostics)
{
    const double since = MPI_Wtime();
    watchdog_at(run, PHASE_DIAGNOSTICS);
    struct field_summary all;
    TRY(summarise(run, &all));
    if (all.bad_cells > 0) {
        return complain(run, &all);
    }
    if (run->step == 0) {
        run->ledger.start = all.sum;
    }
    TRY(ledger_gather(run));
    struct closure closure;
    double r[AXIS_COUNT];
    TRY(step_coefficients(run, run->step > 0 ? run->step - 1 : 0, &closure, r));
    const double heat = ledger_heat(&run->grid, &run->material, &all.sum);
    const double start = ledger_heat(&run->grid, &run->material, &run->ledger.start);
    const double through =
        ledger_boundary_heat(&run->ledger, &run->grid, &run->material, &closure, r);
    *diagnostics = (struct diagnostics){
        .step = run->step,
        .time = run_time(run),
        .min = all.min,
        .max = all.max,
        .mean = exact_sum_value(&all.sum) / (double)grid_total_cells(&run->grid),
        .heat = heat,
        .boundary_heat = through,
        .heat_drift = heat - start - through,
    };
    run->phase_seconds[PHASE_DIAGNOSTICS] += MPI_Wtime() - since;
    return STATUS_OK;
}

enum status run_field_hash(struct run *run, uint64_t *hash)
{
    struct field *field = run->field;
    uint64_t mine = 0;
    enum status status = wait_for_queues(run);
    if (status == STATUS_OK) {
        status = run->backend->operations->hash(run->bulk_queue, &field->layout, &field->placement,
                                                field->d_now, &mine);
    }
    if (status == STATUS_OK) {
        status = run->backend->runtime->queue_wait(run->bulk_queue);
    }
    TRY(status_agree(run->comm, status));
    TRY_MPI(MPI_Allreduce(&mine, hash, 1, MPI_UINT64_T, MPI_SUM, run->comm));
    return STATUS_OK;
}
