#include "solve/medium/classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/field/derived.h"
#include "model/operator/map/factor_map.h"

static size_t bytes_of_table(const struct problem *problem)
{
    return (size_t)operator_table_length(problem) * precision_bytes(problem->precision) +
           (size_t)(problem->boundary.nsurfaces + 1) * sizeof(struct face_exchange);
}

/* `own`: of cells with closures of their own. */
static size_t closures_bytes(const struct problem *problem, int64_t own)
{
    return ((size_t)FACE_COUNT * (size_t)operator_closure_count(problem) + (size_t)own) *
           sizeof(struct class_closure);
}

/* Of one at least. */
static size_t beams_bytes(const struct problem *problem)
{
    return (size_t)(problem->sources.count + 1) * sizeof(struct heat_source);
}

static size_t curves_bytes(const struct medium *medium)
{
    return medium->curves != NULL ? (size_t)medium->nmaterials * sizeof *medium->curves : 0;
}

static size_t face_sums_bytes(const struct problem *problem)
{
    size_t conditions = 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        conditions += (size_t)problem->boundary.nconditions[f];
    }
    return (conditions * FACE_SUMS + (size_t)problem->medium.nsurfaces * SURFACE_SUMS) *
           sizeof(struct exact_sum);
}

uint64_t classes_cell_bytes(const struct problem *problem, const struct box *owned, int depth)
{
    const bool *used = problem->grid.used;
    const bool stored = problem->medium.per_cell && !problem->medium.graded;
    const uint64_t arrays = stored ? 1U + used[0] + used[1] + used[2] : 0;
    return problem->medium.nclasses == 0
               ? 0
               : class_map_bytes(&problem->grid, owned, depth) *
                         (1 + arrays * precision_bytes(problem->precision)) +
                     line_values_bytes(problem, owned, depth);
}

uint64_t classes_bytes(const struct problem *problem, const struct box *owned, int depth)
{
    if (problem->medium.nclasses == 0) {
        return 0;
    }
    uint64_t patches = 0;
    int64_t own = 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        const struct box layer = box_inside(owned, (enum face)f, 1);
        own += boundary_has_factors(&problem->boundary, (enum face)f) ? box_cells(&layer) : 0;
        patches += patch_map_cells(problem, owned, (enum face)f, depth);
    }
    return classes_cell_bytes(problem, owned, depth) +
           (uint64_t)classes_tables(depth) *
               (bytes_of_table(problem) + 4 * (uint64_t)own * precision_bytes(problem->precision)) +
           MEDIUM_CLASSES * (sizeof(double) + 1 + sizeof(struct class_summary)) + patches +
           closures_bytes(problem, own) + face_sums_bytes(problem) + beams_bytes(problem) +
           curves_bytes(&problem->medium) +
           (problem->medium.changes ? MEDIUM_CLASSES * (sizeof(double) + 1) : 0) +
           surfaces_bytes(problem);
}

static enum status keep_face(struct classes *classes, enum face face)
{
    const struct class_map *map = &classes->map;
    const struct box owned = box_of_cells(map->layout.cells);
    const struct box layer = box_inside(&owned, face, 1);
    const float *factors = map->h_factor[FACTOR_CONDUCTIVITY];
    uint8_t *kept = malloc((size_t)box_cells(&layer));
    classes->h_face_class[face] = kept;
    classes->h_face_factor[face] =
        factors != NULL ? malloc((size_t)box_cells(&layer) * sizeof *factors) : NULL;
    TRY(CHECK_MEMORY(kept != NULL && (factors == NULL) == (classes->h_face_factor[face] == NULL),
                     "no memory for the materials of a face"));
    for (int64_t c = 0; c < box_cells(&layer); c++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&layer, c, cell);
        const int64_t at = layout_index(&map->layout, cell[0], cell[1], cell[2]);
        kept[c] = map->h_class[at];
        if (factors != NULL) {
            classes->h_face_factor[face][c] = factors[at];
        }
    }
    return STATUS_OK;
}

/* Of the closed faces of this rank. */
static enum status keep_faces(struct classes *classes, const struct problem *problem,
                              const struct team *team)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        if (problem->grid.used[axis] && !problem->boundary.periodic[axis] &&
            decomp_neighbour(&team->decomp, team->rank, (enum face)f) < 0) {
            TRY(keep_face(classes, (enum face)f));
        }
    }
    return STATUS_OK;
}

static enum status send_patches(struct classes *classes, struct engine *engine)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        const struct patch_plane *plane = &classes->patches.face[f];
        if (plane->h_patch != NULL) {
            TRY(engine_send(engine, plane->h_patch, (size_t)plane->bytes, &classes->d_patch[f]));
            classes->args.d_patch[f] = (const uint8_t *)classes->d_patch[f] + plane->origin;
            classes->args.patch_pitch[f] = plane->pitch;
            if (classes->first_closure[f] > 0) {
                classes->args.first_closure[f] = classes->first_closure[f] + plane->origin;
            }
        }
    }
    return STATUS_OK;
}

static enum status send_factors(struct classes *classes, const struct problem *problem,
                                struct engine *engine)
{
    const struct class_map *map = &classes->map;
    const struct line_values *lines = &classes->lines;
    const size_t bytes = (size_t)map->layout.elements * precision_bytes(problem->precision);
    const size_t before = problem->medium.graded ? 0 : bytes; /* the lines, in that of sigma */
    if (!problem->medium.per_cell) {
        return STATUS_OK;
    }
    TRY(problem->medium.lines
            ? line_values_create(problem, &map->layout, map->owned.lo, &classes->lines)
            : STATUS_OK);
    SCOPED_FREE char *values = malloc(bytes + lines->bytes);
    TRY(CHECK_MEMORY(values != NULL, "no memory for a property per cell"));
    for (int axis = 0; axis <= AXIS_COUNT; axis++) {
        const bool is_sigma = axis == AXIS_COUNT;
        if (!problem->medium.graded && (is_sigma || problem->grid.used[axis])) {
            factor_map_fill(map, problem, axis, &map->layout, (const int64_t[AXIS_COUNT]){0},
                            values);
        }
        if (is_sigma && problem->medium.lines) {
            memcpy(values + before, lines->values, lines->bytes);
        }
        if (is_sigma || (!problem->medium.graded && problem->grid.used[axis])) {
            TRY(engine_send(engine, values, is_sigma ? before + lines->bytes : bytes,
                            &classes->d_factor[axis]));
        }
    }
    return STATUS_OK;
}

/* Found once: with graded axes thousands of pairs, and each super step has a table per level. */
static double *conductances_of(const struct problem *problem)
{
    const int n = problem->medium.nclasses;
    double *conductances = malloc((size_t)AXIS_COUNT * n * n * sizeof *conductances);
    for (int i = 0; i < AXIS_COUNT * n * n && conductances != NULL; i++) {
        conductances[i] = medium_conductance(&problem->medium, &problem->grid,
                                             (enum axis)(i / (n * n)), i / n % n, i % n);
    }
    return conductances;
}

static enum status allocate_tables(struct classes *classes, const struct problem *problem,
                                   struct engine *engine)
{
    classes->ntables = classes_tables(classes->depth);
    for (int slot = 0; slot < classes->ntables; slot++) {
        TRY(engine->runtime->memory_alloc(engine->device, classes->table_bytes,
                                          &classes->d_table[slot]));
        TRY(engine->runtime->pinned_alloc(engine->device, classes->table_bytes,
                                          &classes->h_table[slot]));
    }
    classes->h_values = calloc(1, classes->table_bytes);
    classes->h_conductances = conductances_of(problem);
    TRY(CHECK_MEMORY(classes->h_values != NULL && classes->h_conductances != NULL,
                     "no memory for a table of materials"));
    return STATUS_OK;
}

enum status classes_allocate(struct classes *classes, const struct problem *problem,
                             const struct team *team, struct engine *engine,
                             const struct layout *layout)
{
    const struct medium *medium = &problem->medium;
    static const struct class_summary none[MEDIUM_CLASSES];
    double weights[MEDIUM_CLASSES] = {0};
    uint8_t materials[MEDIUM_CLASSES] = {0};
    uint8_t groups[MEDIUM_CLASSES] = {0};
    const int heat_bits = medium_heat_bits(medium);
    if (medium->nclasses == 0) {
        return STATUS_OK;
    }
    for (int c = 0; c < medium->nclasses; c++) {
        weights[c] = ldexp(medium->classes[c].weight, -heat_bits);
        materials[c] = (uint8_t)medium->classes[c].key.material;
        groups[c] = grid_is_graded(&problem->grid) ? (uint8_t)c : materials[c];
    }
    int64_t length = operator_table_length(problem);
    int64_t own = 0;
    TRY(patch_map_classify(&classes->patches, &classes->map));
    for (int f = 0; f < FACE_COUNT; f++) {
        const struct patch_plane *plane = &classes->patches.face[f];
        classes->first_closure[f] = operator_first_closure(problem, (enum face)f, plane, &length);
        own += classes->first_closure[f] > 0 ? plane->cells : 0;
    }
    classes->exchanges_at = ((size_t)length * precision_bytes(problem->precision) + 7) / 8 * 8;
    classes->table_bytes =
        classes->exchanges_at + (size_t)problem->boundary.nsurfaces * sizeof(struct face_exchange);
    TRY(keep_faces(classes, problem, team));
    TRY(send_factors(classes, problem, engine));
    TRY(classes_allocate_changes(classes, problem, team, engine));
    const uint8_t mask = classes_flag(&classes->map.layout, medium->nclasses, classes->map.h_class);
    classes->map.mask = mask;
    TRY(engine_send(engine, classes->map.h_class, (size_t)classes->map.layout.elements,
                    &classes->d_class));
    classes->changes.args.d_class = classes->d_class;
    classes->changes.args.mask = mask;
    TRY(engine_send(engine, weights, sizeof weights, &classes->d_weight));
    TRY(engine_send(engine, materials, sizeof materials, &classes->d_material));
    TRY(engine_send(engine, groups, sizeof groups, &classes->d_group));
    TRY(engine_send(engine, none, sizeof none, &classes->d_summaries));
    const size_t bytes = closures_bytes(problem, own);
    TRY(engine->runtime->memory_alloc(engine->device, bytes, &classes->d_closures));
    TRY(engine->runtime->pinned_alloc(engine->device, bytes, &classes->h_closures));
    memset(classes->h_closures, 0xFF, bytes); /* no valid ones: the first are sent */
    TRY(engine->runtime->memory_alloc(engine->device, face_sums_bytes(problem),
                                      &classes->d_face_sums));
    TRY(engine->runtime->pinned_alloc(engine->device, face_sums_bytes(problem),
                                      &classes->h_face_sums));
    TRY(engine->runtime->memory_alloc(engine->device, beams_bytes(problem), &classes->d_beams));
    if (medium->curves != NULL) {
        TRY(engine_send(engine, medium->curves, curves_bytes(medium), &classes->d_curves));
    }
    TRY(allocate_tables(classes, problem, engine));
    TRY(engine->runtime->event_create(engine->device, &classes->ready));
    classes->args = (struct device_medium){
        .layout = classes->map.layout,
        .d_class = classes->d_class,
        .mask = mask,
        .numbered = true,
        .nclasses = medium->nclasses,
        .nclosures = operator_closure_count(problem),
        .d_weight = classes->d_weight,
        .has_ambients = medium->nambients > 0,
        .nsegments = medium->nsegments,
        .one_curve =
            medium->curves != NULL && medium->nmaterials == 1 && medium->resistance[0] == 0,
        .perfused = medium->perfused,
        .d_g = {classes->d_factor[AXIS_X], classes->d_factor[AXIS_Y], classes->d_factor[AXIS_Z]},
        .d_sigma = classes->d_factor[AXIS_COUNT],
        .has_lines = medium->lines,
        .weight_factor = ldexp(1, -heat_bits),
    };
    TRY(surfaces_create(problem, engine, layout, &classes->map, &classes->surfaces));
    return send_patches(classes, engine);
}

void classes_destroy(struct classes *classes, struct engine *engine)
{
    class_map_destroy(&classes->map);
    line_values_destroy(&classes->lines);
    for (int f = 0; f < FACE_COUNT; f++) {
        free(classes->h_face_class[f]);
        free(classes->h_face_factor[f]);
    }
    patch_map_destroy(&classes->patches);
    if (engine->device == NULL) {
        return;
    }
    for (int slot = 0; slot < classes->ntables; slot++) {
        engine->runtime->memory_free(engine->device, classes->d_table[slot]);
        engine->runtime->pinned_free(engine->device, classes->h_table[slot]);
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        engine->runtime->memory_free(engine->device, classes->d_patch[f]);
    }
    for (int axis = 0; axis <= AXIS_COUNT; axis++) {
        engine->runtime->memory_free(engine->device, classes->d_factor[axis]);
    }
    surfaces_destroy(&classes->surfaces, engine);
    engine->runtime->memory_free(engine->device, classes->changes.d_at);
    engine->runtime->memory_free(engine->device, classes->changes.d_to);
    engine->runtime->event_destroy(classes->changes.done);
    engine->runtime->memory_free(engine->device, classes->d_curves);
    engine->runtime->memory_free(engine->device, classes->d_beams);
    engine->runtime->memory_free(engine->device, classes->d_face_sums);
    engine->runtime->pinned_free(engine->device, classes->h_face_sums);
    engine->runtime->pinned_free(engine->device, classes->h_closures);
    engine->runtime->memory_free(engine->device, classes->d_closures);
    engine->runtime->memory_free(engine->device, classes->d_summaries);
    engine->runtime->memory_free(engine->device, classes->d_material);
    engine->runtime->memory_free(engine->device, classes->d_group);
    engine->runtime->memory_free(engine->device, classes->d_weight);
    engine->runtime->memory_free(engine->device, classes->d_class);
    engine->runtime->event_destroy(classes->ready);
    free(classes->h_values);
    free(classes->h_conductances);
}

/* The table to the next slot; the one before may still be read by steps in flight. */
static enum status send_table(struct classes *classes, struct engine *engine)
{
    const int slot = (classes->slot + 1) % classes->ntables;
    memcpy(classes->h_table[slot], classes->h_values, classes->table_bytes);
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, classes->d_table[slot],
                                        classes->h_table[slot], classes->table_bytes));
    TRY(engine->runtime->event_record(engine->bulk_queue, classes->ready));
    TRY(engine->runtime->event_wait(engine->halo_queue, classes->ready));
    classes->slot = slot;
    classes->args.d_table = classes->d_table[slot];
    return STATUS_OK;
}

enum status classes_update(struct classes *classes, const struct problem *problem,
                           struct engine *engine, const struct heat_operator *op)
{
    if (problem->medium.nclasses == 0) {
        return STATUS_OK;
    }
    const bool same_dt = classes->dt == op->dt;
    const bool varies = boundary_varies(&problem->boundary) || sources_vary(&problem->sources);
    if (!same_dt || (varies && classes->time != op->when.time)) {
        operator_table(op, problem, same_dt ? NULL : classes->h_conductances, classes->h_values);
        for (int f = 0; f < FACE_COUNT; f++) {
            TRY(operator_own_table(op, problem, (enum face)f, &classes->patches.face[f],
                                   classes->first_closure[f], classes->h_values));
        }
        surface_exchanges(
            op, problem,
            (struct face_exchange *)((char *)classes->h_values + classes->exchanges_at));
        if (!same_dt) { /* else the g are those of before */
            classes->args.same_axes =
                problem->medium.curves == NULL &&
                classes_same_axes(classes->h_values, problem->precision, problem->medium.nclasses);
        }
        classes->args.radiating =
            problem->medium.curves != NULL
                ? ALL_FACES
                : classes_radiating(classes->h_values, problem->precision, problem->medium.nclasses,
                                    classes->args.nclosures);
        classes->args.dt_number += same_dt ? 0 : 1;
        classes->time = op->when.time;
        classes->dt = op->dt;
        classes->args.dt = op->dt;
        TRY(send_table(classes, engine));
    }
    return STATUS_OK;
}

enum status classes_set_ambients(const struct classes *classes, const struct problem *problem,
                                 struct field *field)
{
    const struct medium *medium = &problem->medium;
    const struct layout *of_class = &classes->map.layout;
    struct box plane = layout_owned(&field->layout);
    const int64_t nz = plane.hi[AXIS_Z];
    plane.hi[AXIS_Z] = 1;
    if (medium->nambients == 0) {
        return STATUS_OK;
    }
    field->gaps = (struct field_gaps){
        .layout = *of_class, .h_class = classes->map.h_class, .mask = classes->args.mask};
    for (int c = 0; c < medium->nclasses; c++) {
        field->gaps.is_gap[c] = medium->classes[c].is_ambient;
    }
    SCOPED_FREE void *values =
        malloc((size_t)box_cells(&plane) * precision_bytes(problem->precision));
    TRY(CHECK_MEMORY(values != NULL, "no memory for a plane of cells"));
    for (; plane.lo[AXIS_Z] < nz; plane.lo[AXIS_Z]++, plane.hi[AXIS_Z]++) {
        TRY(field_read_now(field, &plane, values));
        for (int64_t c = 0; c < box_cells(&plane); c++) {
            int64_t cell[AXIS_COUNT];
            box_cell(&plane, c, cell);
            const uint8_t *at =
                &classes->map.h_class[layout_index(of_class, cell[0], cell[1], cell[2])];
            const struct medium_class *own = &medium->classes[*at & classes->args.mask];
            if (own->is_ambient) {
                precision_set(problem->precision, values, c, own->ambient);
            }
        }
        TRY(field_write(field, &plane, values));
    }
    return STATUS_OK;
}

/* --- outputs --------------------------------------------------------------------------------- */

static enum status show_face(struct classes *classes, const struct problem *problem,
                             struct field *field, enum face face)
{
    const struct medium *medium = &problem->medium;
    uint8_t *of_face = classes->h_face_class[face];
    const struct box owned = layout_owned(&field->layout);
    const struct box layer = box_inside(&owned, face, 1);
    SCOPED_FREE double *numbers = malloc((size_t)box_cells(&layer) * sizeof *numbers);
    TRY(CHECK_MEMORY(numbers != NULL, "no memory for the materials of a face"));
    TRY(field_read_derived(field, DERIVED_MATERIAL, &layer, PRECISION_FLOAT64, numbers));
    for (int64_t c = 0; c < box_cells(&layer); c++) {
        const bool same = numbers[c] == medium->classes[of_face[c]].key.material;
        of_face[c] = same ? of_face[c] : (uint8_t)medium_next_class(medium, of_face[c]);
    }
    return STATUS_OK;
}

enum status classes_show(struct classes *classes, const struct problem *problem,
                         struct engine *engine, struct field *field)
{
    const struct derived *derived = field->derived;
    TRY(classes_follow_owned(classes, engine, field, engine->bulk_queue));
    if (derived == NULL || !derived_wants(derived->mask, DERIVED_MATERIAL)) {
        return STATUS_OK;
    }
    TRY(ENQUEUE(engine->operations, number_classes, engine->bulk_queue, .kept = derived->layout,
                .medium = &classes->args, .d_numbers = classes->d_material,
                .d_values = derived->d_values[DERIVED_MATERIAL]));
    TRY(engine_wait(engine));
    for (int f = 0; f < FACE_COUNT && problem->medium.changes; f++) {
        if (classes->h_face_class[f] != NULL) {
            TRY(show_face(classes, problem, field, (enum face)f));
        }
    }
    return STATUS_OK;
}
