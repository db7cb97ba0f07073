/* The closures of faces with sources on them, and the sums of the faces of a medium of classes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "model/medium/moving.h"
#include "solve/observe/faces.h"

/* --- sources on faces ------------------------------------------------------------------------- */

/* The heat of a Gaussian source on a face enters the cells inside it, as if the face were
 * insulated. The face is warmer than they are, by q h / (2 k) if nothing else passes it. */

void faces_find_beams(struct face_closures *closures)
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
    const struct box here =
        box_shift(&(struct box){.lo = {cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]},
                                .hi = {cell[AXIS_X] + 1, cell[AXIS_Y] + 1, cell[AXIS_Z] + 1}},
                  offset);
    double kelvins = 0; /* per second */
    for (int b = 0; b < closures->nbeams; b++) {
        if (closures->beam_face[b] == face && box_contains(&closures->beam[b].box, &here)) {
            kelvins += source_cell(&closures->beam[b].shape, (double)here.lo[AXIS_X],
                                   (double)here.lo[AXIS_Y], (double)here.lo[AXIS_Z]);
        }
    }
    const double watts = kelvins * problem_joule_per_kelvin(closures->stepper->problem);
    const double rise = watts / (2 * closure.conductance);
    closure.b += closure.e == 0 ? (1 + closure.a) * rise : rise; /* medium_cell.h */
    return closure;
}

/* --- of a medium of classes ------------------------------------------------------------------ */

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
    faces_find_beams(closures);
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

/* Add the sums of the cells of `box` inside a face to those of its conditions: with enthalpies of
 * all, else what the sources there add to those of sum_face. */
static void sum_box(const struct face_closures *closures, enum face face, const struct box *box,
                    const void *values, struct exact_sum (*sums)[FACE_SUMS])
{
    const struct problem *problem = closures->stepper->problem;
    const struct patch_map *patches = &closures->stepper->level->classes->patches;
    const int64_t count = box_cells(box);
    enum { PIECE = 1 << 14 }; /* cells; less than EXACT_PARTS_MAX_TERMS / 2 */
#pragma omp parallel for schedule(static) if (count > PIECE)
    for (int64_t begin = 0; begin < count; begin += PIECE) {
        struct exact_parts parts[MOST_PATCHES + 1][FACE_SUMS] = {{{{0}}}};
        const struct face_cells here = cells_of(closures, face);
        const struct box owned = layout_owned(&closures->stepper->level->field->layout);
        const struct box layer = box_inside(&owned, face, 1);
        const int64_t end = count - begin < PIECE ? count : begin + PIECE;
        for (int64_t n = begin; n < end; n++) {
            struct class_closure own;
            int64_t cell[AXIS_COUNT];
            box_cell(box, n, cell);
            const int64_t at = box_place(&layer, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]);
            if (problem->medium.classes[here.classes[at]].is_ambient) {
                continue;
            }
            const int condition = patch_map_at(patches, face, at);
            const struct class_closure *closure = closure_of(&here, condition, at, &own);
            const double inside = precision_get(problem->precision, values, n);
            if (here.enthalpy != NULL) {
                exact_parts_add(&parts[condition][FACE_CELLS], 1);
                const double outside =
                    medium_outside_float64(inside, closure->a, closure->b, closure->e);
                exact_parts_add(&parts[condition][FACE_FLOW],
                                closure->conductance * (outside - inside));
            } else {
                exact_parts_add(&parts[condition][FACE_TEMPERATURE],
                                -class_closure_face(closure, inside));
            }
            const struct class_closure warm = add_beams(closures, face, cell, *closure);
            exact_parts_add(&parts[condition][FACE_TEMPERATURE], class_closure_face(&warm, inside));
        }
#pragma omp critical
        for (int i = 0; i < problem->boundary.nconditions[face] * FACE_SUMS; i++) {
            exact_sum_add_parts(&sums[i / FACE_SUMS][i % FACE_SUMS],
                                &parts[i / FACE_SUMS][i % FACE_SUMS]);
        }
    }
}

/* The cells inside a face whose sums the host takes: see sum_box. */
static struct box box_for_host(const struct face_closures *closures, enum face face)
{
    const struct field *field = closures->stepper->level->field;
    const struct box owned = layout_owned(&field->layout);
    const struct box layer = box_inside(&owned, face, 1);
    struct box all = {.hi = {0}}; /* empty */
    if (closures->enthalpy[face] != NULL) {
        return layer;
    }
    for (int b = 0; b < closures->nbeams; b++) {
        if (closures->beam_face[b] == face) {
            const int64_t *offset = field->placement.offset;
            const struct box box =
                box_shift(&closures->beam[b].box,
                          (const int64_t[]){-offset[AXIS_X], -offset[AXIS_Y], -offset[AXIS_Z]});
            all = box_is_empty(&all) ? box : box_around(&all, &box);
        }
    }
    return box_intersect(&all, &layer);
}

static enum status sum_face_of_host(const struct face_closures *closures, enum face face,
                                    struct exact_sum (*sums)[FACE_SUMS])
{
    struct field *field = closures->stepper->level->field;
    const struct box box = box_for_host(closures, face);
    if (box_is_empty(&box)) {
        return STATUS_OK;
    }
    SCOPED_FREE void *values =
        malloc((size_t)box_cells(&box) * precision_bytes(field->layout.precision));
    TRY(CHECK_MEMORY(values != NULL, "no memory for the cells of a face"));
    TRY(field_read(field, &box, values));
    sum_box(closures, face, &box, values, sums);
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

/* The numbers of the closures of all faces, as sum_face has them. */
static void find_numbers(const struct face_closures *closures, int per_face, double (*numbers)[4])
{
    const struct problem *problem = closures->stepper->problem;
    const int nclasses = problem->medium.nclasses;
    for (int f = 0; f < FACE_COUNT; f++) {
        for (int n = 0; n < problem->boundary.nconditions[f] * nclasses; n++) {
            const struct class_closure *c = &closures->classes[f][n];
            const bool is_ambient = problem->medium.classes[n % nclasses].is_ambient;
            const double conductance = is_ambient ? 0 : c->conductance;
            memcpy(numbers[f * per_face + n], (double[]){c->a, c->b, c->e, conductance},
                   sizeof *numbers);
        }
    }
}

/* The sums of this rank's cells by the device, without those of sum_face_of_host. Not with
 * enthalpies: each cell has a closure of its own. */
static enum status sum_on_device(const struct face_closures *closures,
                                 struct exact_sum (*sums)[FACE_SUMS])
{
    const struct stepper *stepper = closures->stepper;
    const struct problem *problem = stepper->problem;
    const struct boundary *boundary = &problem->boundary;
    const struct field *field = stepper->level->field;
    struct classes *classes = stepper->level->classes;
    struct engine *engine = stepper->level->engine;
    const int per_face = operator_closure_count(problem);
    const size_t bytes = (size_t)first_of(boundary, FACE_COUNT) * sizeof *sums;
    SCOPED_FREE double(*numbers)[4] =
        calloc((size_t)FACE_COUNT * (size_t)per_face, sizeof *numbers);
    TRY(CHECK_MEMORY(numbers != NULL, "no memory for the closures of the faces"));
    find_numbers(closures, per_face, numbers);
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, classes->d_closures, numbers,
                                        (size_t)FACE_COUNT * (size_t)per_face * sizeof *numbers));
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, classes->d_face_sums, sums, bytes));
    for (int f = 0; f < FACE_COUNT; f++) {
        if (classes->h_face_class[f] != NULL) {
            const struct sum_face_args args = {
                .layout = field->layout,
                .medium = &classes->args,
                .d_field = field->d_now,
                .face = (enum face)f,
                .nconditions = boundary->nconditions[f],
                .d_closures = (double *)classes->d_closures + 4 * (int64_t)f * per_face,
                .d_sums = (struct exact_sum *)classes->d_face_sums +
                          FACE_SUMS * (int64_t)first_of(boundary, f),
            };
            TRY(engine->operations->sum_face(engine->bulk_queue, &args));
        }
    }
    TRY(engine->runtime->copy_to_host(engine->bulk_queue, sums, classes->d_face_sums, bytes));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

static enum status sum_mine(const struct face_closures *closures,
                            struct exact_sum (*sums)[FACE_SUMS])
{
    const struct stepper *stepper = closures->stepper;
    if (stepper->problem->medium.curves == NULL) {
        TRY(sum_on_device(closures, sums));
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        if (stepper->level->classes->h_face_class[f] != NULL) {
            TRY(sum_face_of_host(closures, (enum face)f,
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
        const double cells = exact_sum_value(&found[FACE_CELLS]);
        faces->patches[n][0] = exact_sum_value(&found[FACE_FLOW]);
        faces->patches[n][1] = cells > 0 ? exact_sum_value(&found[FACE_TEMPERATURE]) / cells : NAN;
    }
}

static void report_faces(const struct problem *problem, const struct heat_operator *op,
                         const struct exact_sum (*sums)[FACE_SUMS], struct face_diagnostics *faces)
{
    const struct grid *grid = &problem->grid;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        const bool has = grid->used[axis] && op->all.closed[f];
        const int first = first_of(&problem->boundary, f);
        struct exact_sum whole[FACE_SUMS] = {{{0}}};
        for (int i = 0; i < problem->boundary.nconditions[f] * FACE_SUMS; i++) {
            exact_sum_add(&whole[i % FACE_SUMS], &sums[first + i / FACE_SUMS][i % FACE_SUMS]);
        }
        const double cells = exact_sum_value(&whole[FACE_CELLS]);
        faces->flow[f] = has ? exact_sum_value(&whole[FACE_FLOW]) : NAN;
        faces->mean[f] = has && cells > 0 ? exact_sum_value(&whole[FACE_TEMPERATURE]) / cells : NAN;
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
    SCOPED_PHASE(stepper->level->phases, PHASE_DIAGNOSTICS);
    return stepper->problem->medium.nclasses > 0 ? take_classes(stepper, faces)
                                                 : faces_take_uniform(stepper, faces);
}
