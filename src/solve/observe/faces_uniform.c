/* The faces of a uniform medium: from exact sums of the layers inside them. */
#include <math.h>
#include <string.h>

#include "base/comm.h"
#include "solve/observe/faces.h"

/* Queued. The sums of this rank's cells in the layer `depth` cells inside each closed face, K. */
static enum status sum_layers(struct stepper *stepper, int depth, struct face_reading *reading)
{
    const struct heat_operator *op = &reading->closures.op;
    const struct grid *grid = &stepper->problem->grid;
    const struct field *field = stepper->level->field;
    const int64_t *offset = field->placement.offset;
    const struct box owned = layout_owned(&field->layout);
    const struct box all = box_of_cells(grid->cells);
    const struct box domain =
        box_shift(&all, (const int64_t[]){-offset[AXIS_X], -offset[AXIS_Y], -offset[AXIS_Z]});
    struct box layers[FACE_COUNT]; /* empty: none */
    TRY(engine_settle(stepper->level->engine));
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const bool has = grid->used[face_axis(face)] && op->all.closed[f];
        const struct box rest = box_shrink_face(&domain, face, depth);
        const struct box layer = box_inside(&rest, face, has ? 1 : 0);
        layers[f] = box_intersect(&layer, &owned);
    }
    return field_sums_begin(stepper->level->field, layers, FACE_COUNT, &reading->sums,
                            reading->layer);
}

/* Collective, agreed. The sums of all ranks. */
static enum status end_layers(struct stepper *stepper, struct face_reading *reading)
{
    MPI_Comm comm = stepper->team->comm;
    TRY(status_agree(comm, field_sums_end(stepper->level->field, &reading->sums)));
    return exact_sums_reduce(comm, reading->layer, FACE_COUNT);
}

/* The inward flow of each closed face, W, with the flux of a wider stencil
 * (kernels/cell/wide_cell.h), which is linear in the cells' sums. */
static enum status flows_of_radius(struct stepper *stepper, struct face_reading *reading,
                                   double flow[FACE_COUNT])
{
    const struct heat_operator *op = &reading->closures.op;
    const struct problem *problem = stepper->problem;
    const struct grid *grid = &problem->grid;
    MPI_Comm comm = stepper->team->comm;
    double own[FACE_COUNT];
    for (int depth = 0; depth < 2 * problem->radius - 1; depth++) {
        if (depth > 0) {
            TRY(status_agree(comm, sum_layers(stepper, depth, reading)));
            TRY(end_layers(stepper, reading));
        }
        for (int f = 0; f < FACE_COUNT; f++) {
            const struct wide_closure *c = &op->all.high_order.closure[f];
            const enum axis axis = face_axis((enum face)f);
            const int64_t cells = grid_total_cells(grid) / grid->cells[axis];
            const double unit = problem_joule_per_kelvin(problem) * op->all.r[axis];
            const double sum = exact_sum_value(&reading->layer[f]);
            if (depth == 0) {
                own[f] = sum;
                flow[f] = unit * c->in_given * ((double)cells * c->value - c->slope * sum);
            } else {
                flow[f] += unit * c->in[depth] * (sum - own[f]);
            }
        }
    }
    return STATUS_OK;
}

/* The heat per second that a source gives to the cells of a box, K; in pieces of rows, whose loop
 * vectorizes. */
static void sum_beam(const struct heat_source *beam, const struct box *box, struct exact_sum *sum)
{
    enum { PIECE = 256 };
    const struct source_shape shape = beam->shape;
    double heat[PIECE];
    for (int64_t k = box->lo[AXIS_Z]; k < box->hi[AXIS_Z]; k++) {
        for (int64_t j = box->lo[AXIS_Y]; j < box->hi[AXIS_Y]; j++) {
            for (int64_t first = box->lo[AXIS_X]; first < box->hi[AXIS_X]; first += PIECE) {
                const int64_t rest = box->hi[AXIS_X] - first;
                const int n = (int)(rest < PIECE ? rest : PIECE);
                struct exact_parts parts = {{0, 0, 0}};
                _Pragma("omp simd") for (int i = 0; i < n; i++)
                {
                    heat[i] = source_cell(&shape, (double)(first + i), (double)j, (double)k);
                }
                for (int i = 0; i < n; i++) {
                    exact_parts_add(&parts, heat[i]);
                }
                exact_sum_add_parts(sum, &parts);
            }
        }
    }
}

/* The rises of this rank's cells beside each face, K per second; the device works meanwhile. */
static void sum_rises(struct face_reading *reading)
{
    const struct face_closures *closures = &reading->closures;
    const struct field *field = closures->stepper->level->field;
    const struct box owned = layout_owned(&field->layout);
    const struct box here = box_shift(&owned, field->placement.offset);
    int face = 0;
    memset(reading->rise, 0, sizeof reading->rise);
    for (int b = 0; b < closures->beams_end[FACE_COUNT - 1]; b++) {
        while (b == closures->beams_end[face]) {
            face++;
        }
        const struct box box = box_intersect(&closures->beam[b].box, &here);
        if (!box_is_empty(&box)) {
            sum_beam(&closures->beam[b], &box, &reading->rise[face]);
        }
    }
}

/* Collective, agreed. Add the mean of the rises to each face's temperature. */
static enum status add_rises(struct face_reading *reading, struct face_diagnostics *faces)
{
    const struct face_closures *closures = &reading->closures;
    const struct grid *grid = &closures->stepper->problem->grid;
    if (closures->beams_end[FACE_COUNT - 1] == 0) {
        return STATUS_OK;
    }
    TRY(exact_sums_reduce(closures->stepper->team->comm, reading->rise, FACE_COUNT));
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        const int64_t cells = grid_total_cells(grid) / grid->cells[axis];
        const double part = (1 + closures->op.all.a[f]) / (4 * closures->op.all.r[axis]);
        faces->mean[f] +=
            grid->used[axis] ? part * exact_sum_value(&reading->rise[f]) / (double)cells : 0;
    }
    return STATUS_OK;
}

enum status faces_begin_uniform(struct stepper *stepper, struct face_reading *reading)
{
    reading->closures = (struct face_closures){.stepper = stepper};
    TRY(stepper_operator_per_second(stepper, &reading->closures.op));
    faces_find_beams(&reading->closures);
    TRY(status_agree(stepper->team->comm, sum_layers(stepper, 0, reading)));
    sum_rises(reading);
    return STATUS_OK;
}

enum status faces_end_uniform(struct stepper *stepper, struct face_reading *reading,
                              struct face_diagnostics *faces)
{
    const struct problem *problem = stepper->problem;
    const struct grid *grid = &problem->grid;
    const struct heat_operator *op = &reading->closures.op;
    struct ledger second = {0}; /* of a step of 1 s */
    double wide_flow[FACE_COUNT] = {0};
    TRY(end_layers(stepper, reading));
    memcpy(second.face_sum, reading->layer, sizeof second.face_sum);
    ledger_add_step(&second, op);
    if (problem->radius > 1) {
        TRY(flows_of_radius(stepper, reading, wide_flow));
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const enum axis axis = face_axis(face);
        const bool has = grid->used[axis] && op->all.closed[f];
        const int64_t cells = grid_total_cells(grid) / grid->cells[axis];
        const struct class_closure closure = {.a = op->all.a[f], .b = op->all.b[f]};
        const double inside = exact_sum_value(&second.face_sum[f]) / (double)cells;
        const double flow =
            problem->radius > 1 ? wide_flow[f] : ledger_face_heat(&second, problem, op, face);
        faces->flow[f] = has ? flow : NAN;
        faces->mean[f] = has ? class_closure_face(&closure, inside) : NAN;
    }
    return add_rises(reading, faces);
}
