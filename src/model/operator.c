#include "model/operator.h"

#include <inttypes.h>

enum status operator_create(const struct problem *problem, double time, double dt,
                            struct heat_operator *op)
{
    const struct grid *grid = &problem->grid;
    const enum precision precision = problem->settings->run.precision;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double h = grid->spacing[axis];
        const double r = grid->used[axis] ? problem->medium.diffusivity * dt / (h * h) : 0;
        op->r[axis] = precision == PRECISION_FLOAT32 ? (double)(float)r : r;
    }
    return boundary_closure(&problem->boundary, grid, &problem->medium, precision, time,
                            &op->closure);
}

enum status operator_of_step(const struct problem *problem, int64_t step, struct heat_operator *op)
{
    const struct timeline *timeline = &problem->timeline;
    const enum status status =
        operator_create(problem, timeline_time(timeline, step), timeline_dt(timeline, step), op);
    return status == STATUS_OK ? status : fail_prefix(status, "after step %" PRId64 ": ", step);
}

enum status operator_before(const struct problem *problem, int64_t step, struct heat_operator *op)
{
    return operator_of_step(problem, step > 0 ? step - 1 : 0, op);
}

void operator_step_args(const struct heat_operator *op, const struct problem *problem,
                        const struct decomp *decomp, int rank, struct exact_sum *d_face_sum,
                        struct step_args *args)
{
    *args = (struct step_args){.r = {op->r[0], op->r[1], op->r[2]}};
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        args->closed[f] = decomp_neighbour(decomp, rank, face) < 0;
        if (!args->closed[f]) {
            continue;
        }
        args->a[f] = op->closure.a[f];
        args->b[f] = op->closure.b[f];
        /* a = 1: the heat does not depend on the cell, so the ledger needs no sum */
        if (problem->grid.used[face_axis(face)] && op->closure.a[f] != 1.0) {
            args->d_face_sum[f] = &d_face_sum[f];
        }
    }
}

void operator_flux_args(const struct heat_operator *op, const struct problem *problem,
                        const struct decomp *decomp, int rank, struct flux_args *args)
{
    const struct grid *grid = &problem->grid;
    for (int f = 0; f < FACE_COUNT; f++) {
        args->closed[f] = decomp_neighbour(decomp, rank, (enum face)f) < 0;
        args->a[f] = op->closure.a[f];
        args->b[f] = op->closure.b[f];
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        args->scale[a] = grid->used[a] ? problem->medium.conductivity / (2 * grid->spacing[a]) : 0;
    }
}
