
#include <math.h>
#include <stdlib.h>

#include "base/comm.h"
#include "model/medium/moving.h"
#include "solve/observe/diagnostics.h"

/* The sums of this rank's cells in the layer `depth` cells inside each closed face, K. */
static enum status sum_layers(struct stepper *stepper, const struct heat_operator *op, int depth,
                              struct exact_sum sums[FACE_COUNT])
{
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
    return field_sums(stepper->level->field, layers, FACE_COUNT, sums);
}

/* The inward flow of each closed face, W, with the flux of a wider stencil
 * (kernels/cell/wide_cell.h), which is linear in the cells' sums. */
static enum status flows_of_radius(struct stepper *stepper, const struct heat_operator *op,
                                   double flow[FACE_COUNT])
{
    const struct problem *problem = stepper->problem;
    const struct grid *grid = &problem->grid;
    MPI_Comm comm = stepper->team->comm;
    double own[FACE_COUNT];
    for (int depth = 0; depth < 2 * problem->radius - 1; depth++) {
        struct exact_sum sums[FACE_COUNT];
        TRY(status_agree(comm, sum_layers(stepper, op, depth, sums)));
        TRY(exact_sums_reduce(comm, sums, FACE_COUNT));
        for (int f = 0; f < FACE_COUNT; f++) {
            const struct wide_closure *c = &op->all.high_order.closure[f];
            const enum axis axis = face_axis((enum face)f);
            const int64_t cells = grid_total_cells(grid) / grid->cells[axis];
            const double unit = problem_joule_per_kelvin(problem) * op->all.r[axis];
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

/* --- sources on faces ------------------------------------------------------------------------- */

/* The heat of a Gaussian source on a face enters the cells inside it, as if the face were
 * insulated. The face is warmer than they are, by q h / (2 k) if nothing else passes it. */

/* A formula without a value now has none: the next step reports it. */
static void find_beams(struct face_closures *closures)
{
    const struct problem *problem = closures->stepper->problem;
    const struct sources *sources = &problem->sources;
    struct heat_operator now = closures->op;
    now.middle = closures->stepper->state->time;
    closures->nbeams = 0;
    if (sources_at(sources, now.middle, now.source) != STATUS_OK) {
        fail_clear();
        return;
    }
    for (int s = 0; s < sources->count; s++) {
        const struct source_setting *setting = sources->source[s].setting;
        struct heat_source *beam = &closures->beam[closures->nbeams];
        if (setting->shape.kind != SOURCE_GAUSSIAN || setting->surface == NO_SURFACE) {
            continue;
        }
        if (moving_at(problem, &now, s, beam) != STATUS_OK) {
            fail_clear();
        } else if (!box_is_empty(&beam->box)) {
            closures->beam_face[closures->nbeams++] = (enum face)setting->surface;
        }
    }
}

/* The closure of `face` at the cell of these local indices, with the heat of the beams there. */
static struct class_closure add_beams(const struct face_closures *closures, enum face face,
                                      const int64_t cell[AXIS_COUNT], struct class_closure closure)
{
    const int64_t *offset = closures->stepper->level->field->placement.offset;
    double kelvins = 0; /* per second */
    for (int b = 0; b < closures->nbeams; b++) {
        if (closures->beam_face[b] == face) {
            kelvins += source_cell(
                &closures->beam[b].shape, (double)(cell[AXIS_X] + offset[AXIS_X]),
                (double)(cell[AXIS_Y] + offset[AXIS_Y]), (double)(cell[AXIS_Z] + offset[AXIS_Z]));
        }
    }
    const double watts = kelvins * problem_joule_per_kelvin(closures->stepper->problem);
    const double rise = watts / (2 * closure.conductance);
    closure.b += closure.e == 0 ? (1 + closure.a) * rise : rise; /* medium_cell.h */
    return closure;
}

/* Collective, agreed. Of a uniform medium: add the mean of the rises to each face's temperature. */
static enum status add_rises(const struct face_closures *closures, struct face_diagnostics *faces)
{
    const struct stepper *stepper = closures->stepper;
    const struct grid *grid = &stepper->problem->grid;
    const struct field *field = stepper->level->field;
    const struct box owned = layout_owned(&field->layout);
    const struct box here = box_shift(&owned, field->placement.offset);
    struct exact_sum sums[FACE_COUNT] = {{{0}}}; /* K per second */
    if (closures->nbeams == 0) {
        return STATUS_OK;
    }
    for (int b = 0; b < closures->nbeams; b++) {
        const struct box box = box_intersect(&closures->beam[b].box, &here);
        const int64_t count = box_cells(&box);
        for (int64_t n = 0; n < count; n++) {
            int64_t at[AXIS_COUNT];
            struct exact_parts parts = {{0, 0, 0}};
            box_cell(&box, n, at);
            exact_parts_add(&parts, source_cell(&closures->beam[b].shape, (double)at[AXIS_X],
                                                (double)at[AXIS_Y], (double)at[AXIS_Z]));
            exact_sum_add_parts(&sums[closures->beam_face[b]], &parts);
        }
    }
    TRY(exact_sums_reduce(stepper->team->comm, sums, FACE_COUNT));
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        const int64_t cells = grid_total_cells(grid) / grid->cells[axis];
        const double part = (1 + closures->op.all.a[f]) / (4 * closures->op.all.r[axis]);
        faces->mean[f] += grid->used[axis] ? part * exact_sum_value(&sums[f]) / (double)cells : 0;
    }
    return STATUS_OK;
}

static enum status take_uniform(struct stepper *stepper, struct face_diagnostics *faces)
{
    const struct problem *problem = stepper->problem;
    const struct grid *grid = &problem->grid;
    struct heat_operator op;
    struct ledger second = {0}; /* of a step of 1 s */
    double wide_flow[FACE_COUNT] = {0};
    TRY(stepper_operator_per_second(stepper, &op));
    TRY(status_agree(stepper->team->comm, sum_layers(stepper, &op, 0, second.face_sum)));
    TRY(exact_sums_reduce(stepper->team->comm, second.face_sum, FACE_COUNT));
    ledger_add_step(&second, &op);
    if (problem->radius > 1) {
        TRY(flows_of_radius(stepper, &op, wide_flow));
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const enum axis axis = face_axis(face);
        const bool has = grid->used[axis] && op.all.closed[f];
        const int64_t cells = grid_total_cells(grid) / grid->cells[axis];
        const struct class_closure closure = {.a = op.all.a[f], .b = op.all.b[f]};
        const double inside = exact_sum_value(&second.face_sum[f]) / (double)cells;
        const double flow =
            problem->radius > 1 ? wide_flow[f] : ledger_face_heat(&second, problem, &op, face);
        faces->flow[f] = has ? flow : NAN;
        faces->mean[f] = has ? class_closure_face(&closure, inside) : NAN;
    }
    struct face_closures closures = {.stepper = stepper, .op = op};
    find_beams(&closures);
    return add_rises(&closures, faces);
}

/* --- of a medium of classes ------------------------------------------------------------------ */

enum { FLOW, TEMPERATURE, FACE_SUMS };

/* The enthalpies of this rank's cells inside `face`, if the field is one. */
static enum status read_enthalpy(const struct stepper *stepper, enum face face, void **values)
{
    struct field *field = stepper->level->field;
    const struct box owned = layout_owned(&field->layout);
    const struct box box = box_inside(&owned, face, 1);
    if (stepper->problem->medium.curves == NULL ||
        stepper->level->classes->h_face_class[face] == NULL) {
        return STATUS_OK;
    }
    *values = malloc((size_t)box_cells(&box) * precision_bytes(field->layout.precision));
    TRY(CHECK_MEMORY(*values != NULL, "no memory for the cells of a face"));
    return field_read_now(field, &box, *values);
}

enum status faces_closures(const struct stepper *stepper, unsigned faces,
                           struct face_closures *closures)
{
    enum status status = STATUS_OK;
    *closures = (struct face_closures){.stepper = stepper};
    TRY(stepper_operator_per_second(stepper, &closures->op));
    find_beams(closures);
    for (int f = 0; f < FACE_COUNT && stepper->problem->medium.nclasses > 0; f++) {
        if ((faces >> (unsigned)f & 1U) == 0) {
            continue;
        }
        TRY_GOTO(operator_closures(&closures->op, stepper->problem, (enum face)f,
                                   &closures->classes[f]));
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

/* The cells of this rank in the layer inside a face. */
struct face_cells {
    const struct face_closures *closures;
    const struct class_closure *table; /* [condition][class] */
    const uint8_t *classes;
    const void *enthalpy; /* NULL: conductivities are those of the classes */
    int nclasses;
    enum face face;
};

static struct face_cells cells_of(const struct face_closures *closures, enum face face)
{
    return (struct face_cells){
        .closures = closures,
        .table = closures->classes[face],
        .classes = closures->stepper->level->classes->h_face_class[face],
        .enthalpy = closures->enthalpy[face],
        .nclasses = closures->stepper->problem->medium.nclasses,
        .face = face,
    };
}

/* The closure of a cell with this condition; *own is room for one that only this cell has. */
static inline const struct class_closure *closure_of(const struct face_cells *cells, int condition,
                                                     int64_t cell, struct class_closure *own)
{
    const int of_class = cells->classes[cell];
    const struct class_closure *closure = &cells->table[condition * cells->nclasses + of_class];
    if (cells->enthalpy == NULL) {
        return closure;
    }
    const struct problem *problem = cells->closures->stepper->problem;
    *own = operator_close_enthalpy(problem, face_axis(cells->face), closure, of_class,
                                   precision_get(problem->precision, cells->enthalpy, cell));
    return own;
}

struct class_closure faces_closure_at(const void *context, enum face face,
                                      const int64_t cell[AXIS_COUNT])
{
    const struct face_closures *closures = context;
    const struct box owned = layout_owned(&closures->stepper->level->field->layout);
    const struct box layer = box_inside(&owned, face, 1);
    const struct coefficients *all = &closures->op.all;
    struct class_closure own = {
        .a = all->a[face],
        .b = all->b[face],
        .conductance =
            problem_joule_per_kelvin(closures->stepper->problem) * all->r[face_axis(face)],
    };
    if (closures->classes[face] != NULL) {
        const struct face_cells cells = cells_of(closures, face);
        const int64_t at = box_place(&layer, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]);
        const int condition = patch_map_at(&closures->stepper->level->classes->patches, face, at);
        own = *closure_of(&cells, condition, at, &own);
    }
    return add_beams(closures, face, cell, own);
}

/* Piecewise linear: half of a cell, the contact, half of a cell. */
double faces_share_between(const void *context, enum axis axis, const uint8_t of[2],
                           const double kelvins[2], double part, bool above)
{
    const struct face_closures *closures = context;
    const struct problem *problem = closures->stepper->problem;
    const double h = problem->grid.spacing[axis];
    const double low = h / medium_conductivity_at(&problem->medium, axis, of[0], kelvins[0]);
    const double high = h / medium_conductivity_at(&problem->medium, axis, of[1], kelvins[1]);
    const double contact = medium_contact(&problem->medium, of[0], of[1]);
    const double all = low / 2 + contact + high / 2;
    if (contact == 0 && low == high) {
        return part;
    }
    const bool upper = part > 0.5 || (part == 0.5 && above);
    return upper ? 1 - (1 - part) * high / all : part * low / all;
}

/* W and K, of each condition of a face with `cells` cells here. */
static void sum_layer(const struct face_closures *closures, enum face face, const void *values,
                      int64_t cells, struct exact_sum (*sums)[FACE_SUMS])
{
    const struct problem *problem = closures->stepper->problem;
    const struct patch_map *patches = &closures->stepper->level->classes->patches;
    enum { PIECE = 1 << 14 }; /* cells; less than EXACT_PARTS_MAX_TERMS */
#pragma omp parallel for schedule(static) if (cells > PIECE)
    for (int64_t begin = 0; begin < cells; begin += PIECE) {
        struct exact_parts parts[MOST_PATCHES + 1][FACE_SUMS] = {{{{0}}}};
        const struct face_cells here = cells_of(closures, face);
        const struct box owned = layout_owned(&closures->stepper->level->field->layout);
        const struct box layer = box_inside(&owned, face, 1);
        const enum precision precision = problem->precision;
        const int64_t end = cells - begin < PIECE ? cells : begin + PIECE;
        for (int64_t c = begin; c < end; c++) {
            struct class_closure own;
            const int condition = patch_map_at(patches, face, c);
            const struct class_closure *closure = closure_of(&here, condition, c, &own);
            const double inside = precision_get(precision, values, c);
            const double outside =
                medium_outside_float64(inside, closure->a, closure->b, closure->e);
            exact_parts_add(&parts[condition][FLOW], closure->conductance * (outside - inside));
            struct class_closure warm = *closure;
            if (closures->nbeams > 0) {
                int64_t cell[AXIS_COUNT];
                box_cell(&layer, c, cell);
                warm = add_beams(closures, face, cell, warm);
            }
            exact_parts_add(&parts[condition][TEMPERATURE], class_closure_face(&warm, inside));
        }
#pragma omp critical
        for (int i = 0; i < problem->boundary.nconditions[face] * FACE_SUMS; i++) {
            exact_sum_add_parts(&sums[i / FACE_SUMS][i % FACE_SUMS],
                                &parts[i / FACE_SUMS][i % FACE_SUMS]);
        }
    }
}

static enum status sum_face(const struct face_closures *closures, enum face face,
                            struct exact_sum (*sums)[FACE_SUMS])
{
    struct field *field = closures->stepper->level->field;
    const struct box owned = layout_owned(&field->layout);
    const struct box box = box_inside(&owned, face, 1);
    SCOPED_FREE void *values =
        malloc((size_t)box_cells(&box) * precision_bytes(field->layout.precision));
    TRY(CHECK_MEMORY(values != NULL, "no memory for the cells of a face"));
    TRY(field_read(field, &box, values));
    sum_layer(closures, face, values, box_cells(&box), sums);
    return STATUS_OK;
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

static enum status sum_mine(const struct face_closures *closures,
                            struct exact_sum (*sums)[FACE_SUMS])
{
    const struct stepper *stepper = closures->stepper;
    for (int f = 0; f < FACE_COUNT; f++) {
        if (stepper->level->classes->h_face_class[f] != NULL) {
            TRY(sum_face(closures, (enum face)f, sums + first_of(&stepper->problem->boundary, f)));
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
        const bool has = grid->used[axis] && op->all.closed[f];
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
    SCOPED_FREE struct exact_sum(*sums)[FACE_SUMS] = calloc((size_t)n, sizeof *sums);
    SCOPED_BY(faces_closures_free) struct face_closures closures = {.stepper = stepper};
    TRY(status_agree(comm, CHECK_MEMORY(sums != NULL, "no memory for the sums of the faces")));
    TRY(status_agree(comm, engine_wait(stepper->level->engine)));
    TRY(faces_closures(stepper, ALL_FACES, &closures));
    TRY(status_agree(comm, sum_mine(&closures, sums)));
    TRY(exact_sums_reduce(comm, sums[0], n * FACE_SUMS));
    report_faces(problem, &closures.op, sums, faces);
    report_patches(&problem->boundary, sums, faces);
    return STATUS_OK;
}

enum status faces_take(struct stepper *stepper, struct face_diagnostics *faces)
{
    const int before = phases_enter(stepper->level->phases, PHASE_DIAGNOSTICS);
    const enum status status = stepper->problem->medium.nclasses > 0 ? take_classes(stepper, faces)
                                                                     : take_uniform(stepper, faces);
    phases_enter(stepper->level->phases, before);
    return status;
}
