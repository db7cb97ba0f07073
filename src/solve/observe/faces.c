/* The closures of faces with sources on them, and the sums of the faces of a medium of classes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "model/medium/moving.h"
#include "solve/observe/faces.h"

/* --- sources on faces ------------------------------------------------------------------------- */

void faces_find_beams(struct face_closures *closures)
{
    const struct problem *problem = closures->stepper->problem;
    const struct sources *sources = &problem->sources;
    struct heat_operator now = closures->op;
    int n = 0;
    now.middle = closures->stepper->state->time;
    const bool known = sources_at(sources, now.middle, now.source) == STATUS_OK;
    for (int f = 0; f < FACE_COUNT; f++) {
        for (int s = 0; known && s < sources->count; s++) {
            const struct source_setting *setting = sources->source[s].setting;
            if (setting->shape.kind == SOURCE_GAUSSIAN && setting->surface == f &&
                moving_at(problem, &now, s, &closures->beam[n]) == STATUS_OK) {
                n += box_is_empty(&closures->beam[n].box) ? 0 : 1;
            }
        }
        closures->beams_end[f] = n;
    }
    fail_clear();
}

/* The sources on `face`. */
static const struct heat_source *beams_of(const struct face_closures *closures, enum face face,
                                          int *count)
{
    const int first = face > 0 ? closures->beams_end[face - 1] : 0;
    *count = closures->beams_end[face] - first;
    return closures->beam + first;
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

/* faces_closures; without `reads` no enthalpies. */
static enum status find_closures(const struct stepper *stepper, unsigned faces, bool reads,
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
                                   &stepper->level->classes->patches.face[f],
                                   &closures->classes[f]));
        TRY_GOTO(reads ? read_enthalpy(stepper, (enum face)f, &closures->enthalpy[f]) : STATUS_OK);
    }
done:
    status = status_agree(stepper->team->comm, status);
    if (status != STATUS_OK) {
        faces_closures_free(closures);
    }
    return status;
}

enum status faces_closures(const struct stepper *stepper, unsigned faces,
                           struct face_closures *closures)
{
    return find_closures(stepper, faces, true, closures);
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
    const struct problem *problem = closures->stepper->problem;
    const struct classes *classes = closures->stepper->level->classes;
    const struct field *field = closures->stepper->level->field;
    const struct box owned = layout_owned(&field->layout);
    const struct box layer = box_inside(&owned, face, 1);
    const struct coefficients *all = &closures->op.all;
    const double joule_per_kelvin = problem_joule_per_kelvin(problem);
    struct class_closure own = {
        .a = all->a[face],
        .b = all->b[face],
        .conductance = joule_per_kelvin * all->r[face_axis(face)],
    };
    if (closures->classes[face] != NULL) {
        const int64_t at = box_place(&layer, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]);
        const int of_class = classes->h_face_class[face][at];
        own = closures->classes[face][operator_closure_at(problem, &classes->patches.face[face], at,
                                                          of_class)];
        if (classes->h_face_factor[face] != NULL) {
            own = operator_close_factor(problem, face, &own, of_class,
                                        (double)classes->h_face_factor[face][at]);
        }
        if (closures->enthalpy[face] != NULL) {
            own = operator_close_enthalpy(
                problem, face_axis(face), &own, of_class,
                precision_get(problem->precision, closures->enthalpy[face], at));
        }
    }
    int nbeams = 0;
    const struct heat_source *beams = beams_of(closures, face, &nbeams);
    const int64_t *offset = field->placement.offset;
    if (nbeams == 0) {
        return own; /* at the axis of a cylinder without conductance */
    }
    return class_closure_heated(own, beams, nbeams, joule_per_kelvin, offset[AXIS_X] + cell[AXIS_X],
                                offset[AXIS_Y] + cell[AXIS_Y], offset[AXIS_Z] + cell[AXIS_Z]);
}

/* Piecewise linear: half of a cell, the contact, half of a cell. */
double faces_share_between(const void *context, enum axis axis, const int64_t cells[2],
                           const uint8_t of[2], const double kelvins[2], double part, bool above)
{
    const struct face_closures *closures = context;
    const struct problem *problem = closures->stepper->problem;
    double half[2]; /* twice the resistances of the half cells */
    for (int i = 0; i < 2; i++) {
        half[i] = grid_width(&problem->grid, axis, cells[i]) /
                  medium_conductivity_at(&problem->medium, axis, of[i], kelvins[i]);
    }
    const double low = half[0];
    const double high = half[1];
    const double contact = medium_contact(&problem->medium, of[0], of[1]);
    const double all = low / 2 + contact + high / 2;
    if (contact == 0 && low == high) {
        return part;
    }
    const bool upper = part > 0.5 || (part == 0.5 && above);
    return upper ? 1 - (1 - part) * high / all : part * low / all;
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

static int sums_of(const struct problem *problem)
{
    return first_of(&problem->boundary, FACE_COUNT) * FACE_SUMS +
           problem->medium.nsurfaces * SURFACE_SUMS;
}

/* Queued. */
static enum status sum_surfaces(struct face_closures *closures)
{
    const struct problem *problem = closures->stepper->problem;
    const struct level *level = closures->stepper->level;
    const struct surfaces *surfaces = &level->classes->surfaces;
    struct engine *engine = level->engine;
    if (surfaces->count == 0) {
        return STATUS_OK;
    }
    if (surfaces->d_condition != NULL) {
        surface_exchanges(&closures->op, problem, closures->condition);
        TRY(engine->runtime->copy_to_device(
            engine->bulk_queue, surfaces->d_condition, closures->condition,
            (size_t)problem->boundary.nsurfaces * sizeof *closures->condition));
    }
    return ENQUEUE(engine->operations, sum_by_surface, engine->bulk_queue,
                   .precision = problem->precision, .d_field = field_temperature(level->field),
                   .count = surfaces->count, .d_elements = surfaces->d_elements,
                   .d_pairs = surfaces->d_faces == NULL ? surfaces->d_pairs : NULL,
                   .d_numbers = surfaces->d_numbers, .d_faces = surfaces->d_exchange,
                   .d_exchanges = surfaces->d_condition,
                   .joule_per_kelvin = problem_joule_per_kelvin(problem),
                   .nsurfaces = problem->medium.nsurfaces,
                   .d_sums = (struct exact_sum *)level->classes->d_face_sums +
                             FACE_SUMS * (int64_t)first_of(&problem->boundary, FACE_COUNT));
}

/* Copy n closures to `kept`. Returns whether it had others. */
static bool keep_closures(struct class_closure *kept, const struct class_closure *closures,
                          int64_t n)
{
    const size_t bytes = (size_t)n * sizeof *kept;
    const bool differ = memcmp(kept, closures, bytes) != 0;
    memcpy(kept, closures, bytes);
    return differ;
}

/* Queued. The sums of this rank's cells. */
static enum status sum_mine(struct face_reading *reading)
{
    struct face_closures *closures = &reading->closures;
    const struct stepper *stepper = closures->stepper;
    const struct problem *problem = stepper->problem;
    const struct boundary *boundary = &problem->boundary;
    const struct field *field = stepper->level->field;
    const struct classes *classes = stepper->level->classes;
    struct engine *engine = stepper->level->engine;
    const struct runtime *runtime = engine->runtime;
    const int per_face = operator_closure_count(problem);
    const size_t bytes = (size_t)sums_of(problem) * sizeof(struct exact_sum);
    TRY(engine_settle(engine));
    memset(classes->h_face_sums, 0, bytes);
    const size_t nbeams = (size_t)closures->beams_end[FACE_COUNT - 1];
    TRY(nbeams > 0 ? runtime->copy_to_device(engine->bulk_queue, classes->d_beams, closures->beam,
                                             nbeams * sizeof *closures->beam)
                   : STATUS_OK);
    TRY(runtime->copy_to_device(engine->bulk_queue, classes->d_face_sums, classes->h_face_sums,
                                bytes));
    struct face_terms terms[FACE_COUNT];
    struct sum_faces_args args = {
        .layout = field->layout,
        .medium = &classes->args,
        .d_field = field_temperature(field),
        .faces = terms,
        .d_closures = classes->d_closures,
        .d_sources = classes->d_beams,
        .d_sums = classes->d_face_sums,
        .d_enthalpy = problem->medium.curves != NULL ? field->d_now : NULL,
        .d_material = classes->d_material,
        .d_curves = classes->d_curves,
        .heat_per_enthalpy = problem->medium.heat_capacity_volume,
        .volume = grid_cell_volume(&problem->grid),
        .joule_per_kelvin = problem_joule_per_kelvin(problem),
    };
    memcpy(args.offset, field->placement.offset, sizeof args.offset);
    struct class_closure *h_closures = classes->h_closures;
    bool changed = false;
    int64_t first_own = (int64_t)FACE_COUNT * per_face;
    for (int f = 0; f < FACE_COUNT; f++) {
        if (classes->h_face_class[f] != NULL) {
            const int64_t own = classes->first_closure[f] > 0 ? classes->patches.face[f].cells : 0;
            struct face_terms *of = &terms[args.nfaces++];
            *of = (struct face_terms){
                .face = (enum face)f,
                .nconditions = boundary->nconditions[f],
                .first_sum = FACE_SUMS * first_of(boundary, f),
                .first_closure = (int64_t)f * per_face,
                .first_own = own > 0 ? first_own : -1,
                .spacing = grid_smallest_width(&problem->grid, face_axis((enum face)f)),
            };
            of->first_source =
                (int)(beams_of(closures, (enum face)f, &of->nsources) - closures->beam);
            const struct class_closure *from = closures->classes[f];
            changed = keep_closures(h_closures + of->first_closure, from, per_face) || changed;
            changed = keep_closures(h_closures + first_own, from + per_face, own) || changed;
            first_own += own;
        }
    }
    TRY(changed ? runtime->copy_to_device(engine->bulk_queue, classes->d_closures, h_closures,
                                          (size_t)first_own * sizeof *h_closures)
                : STATUS_OK);
    TRY(engine->operations->sum_faces(engine->bulk_queue, &args));
    TRY(reading->of_surfaces ? sum_surfaces(closures) : STATUS_OK);
    return runtime->copy_to_host(engine->bulk_queue, classes->h_face_sums, classes->d_face_sums,
                                 bytes);
}

static void report_patches(const struct boundary *boundary,
                           const struct exact_sum (*sums)[FACE_SUMS],
                           struct face_diagnostics *faces)
{
    int face = 0;
    int patch = 0;
    for (int n = 0; faces->patches != NULL && boundary_next_named(boundary, &face, &patch); n++) {
        const struct exact_sum *found = sums[first_of(boundary, face) + patch];
        const double area = exact_sum_value(&found[FACE_AREA]);
        faces->patches[n][0] = exact_sum_value(&found[FACE_FLOW]);
        faces->patches[n][1] = area > 0 ? exact_sum_value(&found[FACE_TEMPERATURE]) / area : NAN;
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
        const double area = exact_sum_value(&whole[FACE_AREA]);
        faces->flow[f] = has ? exact_sum_value(&whole[FACE_FLOW]) : NAN;
        faces->mean[f] = has && area > 0 ? exact_sum_value(&whole[FACE_TEMPERATURE]) / area : NAN;
    }
}

static void report_surfaces(const struct problem *problem, const struct exact_sum *sums,
                            struct face_diagnostics *faces)
{
    const struct medium *medium = &problem->medium;
    for (int s = 0; faces->surfaces != NULL && s < medium->nsurfaces; s++) {
        const struct exact_sum *of = &sums[s * SURFACE_SUMS];
        const double area = medium->surface_area[s];
        faces->surfaces[s] = (struct surface_diagnostics){
            .flow = exact_sum_value(&of[SURFACE_FLOW]),
            .area = area,
            .cell_area = medium->cell_area[s],
            .mean = exact_sum_value(&of[SURFACE_TEMPERATURE]) * grid_largest_face(&problem->grid) /
                    area,
        };
    }
}

static enum status begin_classes(struct stepper *stepper, struct face_reading *reading)
{
    TRY(find_closures(stepper, ALL_FACES, false, &reading->closures));
    return status_agree(stepper->team->comm, sum_mine(reading));
}

static enum status end_classes(struct stepper *stepper, struct face_reading *reading,
                               struct face_diagnostics *faces)
{
    MPI_Comm comm = stepper->team->comm;
    const struct engine *engine = stepper->level->engine;
    const struct problem *problem = stepper->problem;
    struct exact_sum(*sums)[FACE_SUMS] = stepper->level->classes->h_face_sums;
    TRY(status_agree(comm, stepper->ahead.pass.nsteps > 0
                               ? stepper_wait_for_line(stepper)
                               : engine->runtime->queue_wait(engine->bulk_queue)));
    TRY(exact_sums_reduce(comm, sums[0], sums_of(problem)));
    report_faces(problem, &reading->closures.op, sums, faces);
    report_patches(&problem->boundary, sums, faces);
    report_surfaces(problem, sums[first_of(&problem->boundary, FACE_COUNT)], faces);
    return STATUS_OK;
}

void faces_leave(struct face_reading *reading)
{
    if (reading->sums.count > 0 &&
        field_sums_end(reading->closures.stepper->level->field, &reading->sums) != STATUS_OK) {
        fail_clear();
    }
    faces_closures_free(&reading->closures);
}

enum status faces_begin(struct stepper *stepper, struct face_reading *reading)
{
    SCOPED_PHASE(stepper->level->phases, PHASE_DIAGNOSTICS);
    faces_leave(reading);
    return stepper->problem->medium.nclasses > 0 ? begin_classes(stepper, reading)
                                                 : faces_begin_uniform(stepper, reading);
}

enum status faces_end(struct stepper *stepper, struct face_reading *reading,
                      struct face_diagnostics *faces)
{
    SCOPED_PHASE(stepper->level->phases, PHASE_DIAGNOSTICS);
    return stepper->problem->medium.nclasses > 0 ? end_classes(stepper, reading, faces)
                                                 : faces_end_uniform(stepper, reading, faces);
}

enum status faces_take(struct stepper *stepper, struct face_diagnostics *faces)
{
    struct face_reading reading = {.of_surfaces = faces->surfaces != NULL};
    enum status status = faces_begin(stepper, &reading);
    status = status == STATUS_OK ? faces_end(stepper, &reading, faces) : status;
    faces_leave(&reading);
    return status;
}
