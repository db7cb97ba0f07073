#include "solve/observe/faces.h"

#include <math.h>
#include <stdlib.h>

#include "base/comm.h"
#include "model/medium/curve.h"
#include "model/operator/enthalpy.h"
#include "solve/observe/diagnostics.h"

/* The sums of this rank's cells inside each closed face, K. */
static enum status sum_faces(struct stepper *stepper, const struct heat_operator *op,
                             struct exact_sum sums[FACE_COUNT])
{
    const struct team *team = stepper->team;
    const struct box owned = layout_owned(&stepper->level->field->layout);
    struct box layers[FACE_COUNT]; /* empty: none */
    TRY(engine_settle(stepper->level->engine));
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const bool has = stepper->problem->grid.used[face_axis(face)] && op->closure.closed[f] &&
                         decomp_neighbour(&team->decomp, team->rank, face) < 0;
        layers[f] = box_inside(&owned, face, has ? 1 : 0);
    }
    return field_sums(stepper->level->field, layers, FACE_COUNT, sums);
}

/* The sums of this rank's cells in the layer `depth` cells inside each closed face, K. */
static enum status sum_layers(struct stepper *stepper, const struct coefficients *wide, int depth,
                              struct exact_sum sums[FACE_COUNT])
{
    const struct problem *problem = stepper->problem;
    const struct field *field = stepper->level->field;
    const int64_t *offset = field->placement.offset;
    const struct box owned = layout_owned(&field->layout);
    const struct box domain =
        box_shift(&(struct box){.hi = {problem->grid.cells[AXIS_X], problem->grid.cells[AXIS_Y],
                                       problem->grid.cells[AXIS_Z]}},
                  (const int64_t[]){-offset[AXIS_X], -offset[AXIS_Y], -offset[AXIS_Z]});
    struct box layers[FACE_COUNT];
    TRY(engine_settle(stepper->level->engine));
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const bool has = problem->grid.used[face_axis(face)] && wide->closed[f];
        const struct box rest = box_shrink_face(&domain, face, depth);
        const struct box layer = box_inside(&rest, face, has ? 1 : 0);
        layers[f] = box_intersect(&layer, &owned);
    }
    return field_sums(stepper->level->field, layers, FACE_COUNT, sums);
}

/* The inward flow of each closed face, W, with the flux of a wider stencil
 * (kernels/cell/wide_cell.h), which is linear in the cells' sums. */
static enum status flows_of_radius(struct stepper *stepper, const struct heat_operator *op,
                                   double flow[FACE_COUNT])
{
    const struct problem *problem = stepper->problem;
    const struct grid *grid = &problem->grid;
    const struct decomp whole = {
        .nranks = 1,
        .ranks = {1, 1, 1},
        .periodic = {problem->boundary.periodic[AXIS_X], problem->boundary.periodic[AXIS_Y],
                     problem->boundary.periodic[AXIS_Z]},
        .used = {grid->used[AXIS_X], grid->used[AXIS_Y], grid->used[AXIS_Z]}};
    MPI_Comm comm = stepper->team->comm;
    struct coefficients wide;
    double own[FACE_COUNT];
    TRY(status_agree(comm, operator_coefficients(op, problem, &whole, 0, NULL, &wide)));
    for (int depth = 0; depth < 2 * op->radius - 1; depth++) {
        struct exact_sum sums[FACE_COUNT];
        TRY(status_agree(comm, sum_layers(stepper, &wide, depth, sums)));
        TRY(exact_sums_reduce(comm, sums, FACE_COUNT));
        for (int f = 0; f < FACE_COUNT; f++) {
            const struct wide_closure *c = &wide.high_order.closure[f];
            const enum axis axis = face_axis((enum face)f);
            const int64_t cells = grid_total_cells(grid) / grid->cells[axis];
            const double unit =
                problem->medium.heat_capacity_volume * grid_cell_volume(grid) * op->r[axis];
            const double sum = exact_sum_value(&sums[f]);
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

static enum status take_uniform(struct stepper *stepper, struct face_diagnostics *faces)
{
    const struct grid *grid = &stepper->problem->grid;
    struct heat_operator op;
    struct ledger second = {0}; /* of a step of 1 s */
    TRY(stepper_operator_per_second(stepper, &op));
    TRY(status_agree(stepper->team->comm, sum_faces(stepper, &op, second.face_sum)));
    TRY(exact_sums_reduce(stepper->team->comm, second.face_sum, FACE_COUNT));
    ledger_add_step(&second, &op);
    double wide_flow[FACE_COUNT] = {0};
    if (op.radius > 1) {
        TRY(flows_of_radius(stepper, &op, wide_flow));
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const enum axis axis = face_axis(face);
        const bool has = grid->used[axis] && op.closure.closed[f];
        const int64_t cells = grid_total_cells(grid) / grid->cells[axis];
        const double inside = exact_sum_value(&second.face_sum[f]) / (double)cells;
        const double flow =
            op.radius > 1 ? wide_flow[f]
                          : ledger_face_heat(&second, grid, &stepper->problem->medium, &op, face);
        faces->flow[f] = has ? flow : NAN;
        faces->mean[f] = has ? closure_face_temperature(&op.closure, face, inside) : NAN;
    }
    return STATUS_OK;
}

/* --- of a medium of classes ------------------------------------------------------------------ */

enum { FLOW, TEMPERATURE, FACE_SUMS };

/* The cells of this rank inside one face. */
struct face_layer {
    int64_t cells;
    const uint8_t *classes, *patches; /* NULL: no patches */
    int nclasses, nconditions;
    const void *values;   /* temperatures */
    const void *enthalpy; /* NULL: the conductivity is that of the class */
    enum precision precision;
    const struct problem *problem;
    enum axis axis;
};

/* The closure of a cell whose conductivity depends on its enthalpy. */
static struct class_closure close_enthalpy(const struct problem *problem, enum axis axis,
                                           const struct class_closure *closure, int of_class,
                                           double enthalpy)
{
    const struct medium *medium = &problem->medium;
    const struct curve *curve = &medium->curves[medium->classes[of_class].key.material];
    const double k = enthalpy_conductivity(medium, of_class, enthalpy);
    return class_closure_with(closure, &problem->grid, axis, k * curve->factor[axis]);
}

/* The cells inside `face`, if the field is an enthalpy; the caller frees. */
static enum status read_enthalpy(const struct stepper *stepper, enum face face, void **values)
{
    struct field *field = stepper->level->field;
    const struct box owned = layout_owned(&field->layout);
    const struct box box = box_inside(&owned, face, 1);
    *values = NULL;
    if (field->d_shown == NULL || stepper->level->classes->h_face_class[face] == NULL) {
        return STATUS_OK;
    }
    *values = malloc((size_t)box_cells(&box) * precision_bytes(field->layout.precision));
    TRY(CHECK_MEMORY(*values != NULL, "no memory for the cells of a face"));
    return field_read_now(field, &box, *values);
}

/* W and K, from the closures of each condition and class; for each condition. */
static void sum_layer(const struct face_layer *layer, const struct class_closure *closures,
                      struct exact_sum (*sums)[FACE_SUMS])
{
    for (int64_t begin = 0; begin < layer->cells; begin += EXACT_PARTS_MAX_TERMS) {
        struct exact_parts parts[MOST_PATCHES + 1][FACE_SUMS] = {{{{0}}}};
        const int64_t left = layer->cells - begin;
        const int64_t end = begin + (left < EXACT_PARTS_MAX_TERMS ? left : EXACT_PARTS_MAX_TERMS);
        for (int64_t c = begin; c < end; c++) {
            const int patch = layer->patches != NULL ? layer->patches[c] : 0;
            const struct class_closure *closure =
                &closures[patch * layer->nclasses + layer->classes[c]];
            const double inside = precision_get(layer->precision, layer->values, c);
            struct class_closure own;
            if (layer->enthalpy != NULL) {
                own = close_enthalpy(layer->problem, layer->axis, closure, layer->classes[c],
                                     precision_get(layer->precision, layer->enthalpy, c));
                closure = &own;
            }
            const double outside =
                medium_outside_float64(inside, closure->a, closure->b, closure->e);
            exact_parts_add(&parts[patch][FLOW], closure->conductance * (outside - inside));
            exact_parts_add(&parts[patch][TEMPERATURE], class_closure_face(closure, inside));
        }
        for (int i = 0; i < layer->nconditions * FACE_SUMS; i++) {
            exact_sum_add_parts(&sums[i / FACE_SUMS][i % FACE_SUMS],
                                &parts[i / FACE_SUMS][i % FACE_SUMS]);
        }
    }
}

static enum status sum_face(struct stepper *stepper, const struct heat_operator *op, enum face face,
                            struct exact_sum (*sums)[FACE_SUMS])
{
    struct field *field = stepper->level->field;
    const struct box owned = layout_owned(&field->layout);
    const struct box box = box_inside(&owned, face, 1);
    const enum precision precision = field->layout.precision;
    struct class_closure *closures =
        calloc((size_t)operator_closure_count(stepper->problem), sizeof *closures);
    void *values = malloc((size_t)box_cells(&box) * precision_bytes(precision));
    void *enthalpy = NULL;
    enum status status = STATUS_OK;
    TRY_GOTO(CHECK_MEMORY(closures != NULL && values != NULL, "no memory for the cells of a face"));
    TRY_GOTO(operator_closures(op, stepper->problem, face, closures));
    TRY_GOTO(field_read(field, &box, values));
    TRY_GOTO(read_enthalpy(stepper, face, &enthalpy));
    const struct face_layer layer = {
        .cells = box_cells(&box),
        .classes = stepper->level->classes->h_face_class[face],
        .patches = stepper->level->classes->patches.h_patch[face],
        .nclasses = stepper->problem->medium.nclasses,
        .nconditions = stepper->problem->boundary.nconditions[face],
        .values = values,
        .enthalpy = enthalpy,
        .precision = precision,
        .problem = stepper->problem,
        .axis = face_axis(face),
    };
    sum_layer(&layer, closures, sums);
done:
    free(enthalpy);
    free(values);
    free(closures);
    return status;
}

/* Conditions of the faces before this one: where its sums begin. */
static int first_of(const struct boundary *boundary, int face)
{
    int first = 0;
    for (int f = 0; f < face; f++) {
        first += boundary->nconditions[f];
    }
    return first;
}

static enum status sum_mine(struct stepper *stepper, const struct heat_operator *op,
                            struct exact_sum (*sums)[FACE_SUMS])
{
    TRY(engine_wait(stepper->level->engine));
    for (int f = 0; f < FACE_COUNT; f++) {
        if (stepper->level->classes->h_face_class[f] != NULL) {
            TRY(sum_face(stepper, op, (enum face)f,
                         sums + first_of(&stepper->problem->boundary, f)));
        }
    }
    return STATUS_OK;
}

static void report_patches(const struct boundary *boundary,
                           const struct exact_sum (*sums)[FACE_SUMS],
                           struct face_diagnostics *faces)
{
    int face = 0;
    int patch = 0;
    for (int n = 0; faces->patches != NULL && boundary_next_named(boundary, &face, &patch); n++) {
        const struct exact_sum *found = sums[first_of(boundary, face) + patch];
        const int64_t cells = boundary->face[face][patch].cells;
        faces->patches[n][0] = exact_sum_value(&found[FLOW]);
        faces->patches[n][1] =
            cells > 0 ? exact_sum_value(&found[TEMPERATURE]) / (double)cells : NAN;
    }
}

static void report_faces(const struct problem *problem, const struct heat_operator *op,
                         const struct exact_sum (*sums)[FACE_SUMS], struct face_diagnostics *faces)
{
    const struct grid *grid = &problem->grid;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        const bool has = grid->used[axis] && op->closure.closed[f];
        const int64_t cells = grid_total_cells(grid) / grid->cells[axis];
        const int first = first_of(&problem->boundary, f);
        struct exact_sum whole[FACE_SUMS] = {{{0}}};
        for (int i = 0; i < problem->boundary.nconditions[f] * FACE_SUMS; i++) {
            exact_sum_add(&whole[i % FACE_SUMS], &sums[first + i / FACE_SUMS][i % FACE_SUMS]);
        }
        faces->flow[f] = has ? exact_sum_value(&whole[FLOW]) : NAN;
        faces->mean[f] = has ? exact_sum_value(&whole[TEMPERATURE]) / (double)cells : NAN;
    }
}

static enum status take_classes(struct stepper *stepper, struct face_diagnostics *faces)
{
    MPI_Comm comm = stepper->team->comm;
    const struct problem *problem = stepper->problem;
    const int n = first_of(&problem->boundary, FACE_COUNT);
    struct exact_sum(*sums)[FACE_SUMS] = calloc((size_t)n, sizeof *sums);
    struct heat_operator op;
    enum status status = CHECK_MEMORY(sums != NULL, "no memory for the sums of the faces");
    TRY_GOTO(status_agree(comm, status));
    TRY_GOTO(stepper_operator_per_second(stepper, &op));
    TRY_GOTO(status_agree(comm, sum_mine(stepper, &op, sums)));
    TRY_GOTO(exact_sums_reduce(comm, sums[0], n * FACE_SUMS));
    report_faces(problem, &op, sums, faces);
    report_patches(&problem->boundary, sums, faces);
done:
    free(sums);
    return status;
}

enum status faces_closures(const struct stepper *stepper, struct face_closures *closures)
{
    struct heat_operator op;
    enum status status = STATUS_OK;
    *closures = (struct face_closures){.stepper = stepper};
    TRY(stepper_operator_per_second(stepper, &op));
    closures->uniform = op.closure;
    for (int f = 0; f < FACE_COUNT && stepper->problem->medium.nclasses > 0; f++) {
        closures->classes[f] =
            calloc((size_t)operator_closure_count(stepper->problem), sizeof *closures->classes[f]);
        TRY_GOTO(
            CHECK_MEMORY(closures->classes[f] != NULL, "no memory for the closures of a face"));
        TRY_GOTO(operator_closures(&op, stepper->problem, (enum face)f, closures->classes[f]));
        TRY_GOTO(read_enthalpy(stepper, (enum face)f, &closures->enthalpy[f]));
    }
done:
    status = status_agree(stepper->team->comm, status);
    if (status != STATUS_OK) {
        faces_closures_free(closures);
    }
    return status;
}

void faces_closures_free(struct face_closures *closures)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        free(closures->classes[f]);
        free(closures->enthalpy[f]);
        closures->classes[f] = NULL;
        closures->enthalpy[f] = NULL;
    }
}

struct class_closure faces_closure_at(const void *context, enum face face,
                                      const int64_t cell[AXIS_COUNT])
{
    const struct face_closures *closures = context;
    const struct stepper *stepper = closures->stepper;
    if (stepper->problem->medium.nclasses == 0) {
        return (struct class_closure){.a = closures->uniform.a[face],
                                      .b = closures->uniform.b[face]};
    }
    const enum axis axis = face_axis(face);
    const enum axis u = axis == AXIS_X ? AXIS_Y : AXIS_X;
    const enum axis v = axis == AXIS_Z ? AXIS_Y : AXIS_Z;
    const int64_t *cells = stepper->level->field->layout.cells;
    const struct classes *classes = stepper->level->classes;
    const int64_t at = cell[v] * cells[u] + cell[u];
    const uint8_t *patches = classes->patches.h_patch[face];
    const int patch = patches != NULL ? patches[at] : 0;
    const int of_class = classes->h_face_class[face][at];
    const struct class_closure *closure =
        &closures->classes[face][patch * stepper->problem->medium.nclasses + of_class];
    return closures->enthalpy[face] == NULL
               ? *closure
               : close_enthalpy(stepper->problem, axis, closure, of_class,
                                precision_get(stepper->level->field->layout.precision,
                                              closures->enthalpy[face], at));
}

enum status faces_take(struct stepper *stepper, struct face_diagnostics *faces)
{
    const int before = phases_enter(stepper->level->phases, PHASE_DIAGNOSTICS);
    const enum status status = stepper->problem->medium.nclasses > 0 ? take_classes(stepper, faces)
                                                                     : take_uniform(stepper, faces);
    phases_enter(stepper->level->phases, before);
    return status;
}
