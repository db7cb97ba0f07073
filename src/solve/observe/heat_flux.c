/* The derived field heat_flux: on the device where pairs of classes say all about a face, else on
 * the host, from what the steps make their conductances of. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/field/derived.h"
#include "model/operator/map/factor_map.h"
#include "solve/observe/derive.h"
#include "solve/observe/diagnostics.h"

/* Exchange the halo of the current step; the next step repeats it with the same values. All ranks
 * wait for it here: later only ranks with a part of the output wait, and on backends whose queues
 * run only while waited for (guard) the others would never send. */
static enum status complete_halo(struct stepper *stepper)
{
    if (stepper->level->halo == NULL) {
        return STATUS_OK;
    }
    SCOPED_PHASE(stepper->level->phases, PHASE_HALO_BEGIN);
    TRY(level_exchange(stepper->level));
    return stepper->level->engine->runtime->queue_wait(stepper->level->engine->halo_queue);
}

/* Queued. */
static enum status by_pairs(struct stepper *stepper)
{
    struct engine *engine = stepper->level->engine;
    struct field *field = stepper->level->field;
    struct heat_operator op;
    struct coefficients around;
    struct flux_squared_args args = {.layout = field->layout,
                                     .kept = field->derived->layout,
                                     .around = &around,
                                     .d_field = field->d_now,
                                     .d_flux = field->derived->d_values[DERIVED_FLUX]};
    TRY(stepper_operator(stepper, &op));
    TRY(stepper_coefficients(stepper, &op, NULL, &around));
    operator_flux_scale(&op, stepper->problem, args.scale);
    TRY(complete_halo(stepper));
    TRY(engine_settle(engine));
    TRY(classes_follow_halo(stepper->level->classes, engine, field, engine->bulk_queue));
    TRY(engine->operations->flux_squared(engine->bulk_queue, &args));
    return engine_settle(engine);
}

/* Cells of this rank and those around them. */
struct cells {
    const struct problem *problem;
    const struct classes *classes;
    const struct face_closures *closures;
    struct box box;     /* local indices */
    void *temperatures; /* of the box */
};

static double temperature_at(const struct cells *cells, const int64_t at[AXIS_COUNT])
{
    return precision_get(cells->problem->precision, cells->temperatures,
                         box_place(&cells->box, at[AXIS_X], at[AXIS_Y], at[AXIS_Z]));
}

/* Into a cell through a closed face, W/m^2; 0 at the axis of a cylinder, which has no area. */
static double inflow_at(const struct cells *cells, enum face face, const int64_t at[AXIS_COUNT])
{
    const struct class_closure closure = faces_closure_at(cells->closures, face, at);
    const double area =
        class_closure_area(&closure) * grid_cell_face(&cells->problem->grid, face_axis(face));
    return area > 0 ? class_closure_flow(&closure, temperature_at(cells, at)) / area : 0;
}

/* Upwards through the lower face of a cell, W/m^2: with contacts and areas of shapes, for which the
 * conductance counts, per area of the face. */
static double flux_at(const struct cells *cells, enum axis axis, const int64_t at[AXIS_COUNT])
{
    const struct problem *problem = cells->problem;
    const struct grid *grid = &problem->grid;
    const struct class_map *map = &cells->classes->map;
    uint8_t *const *closed = cells->classes->h_face_class;
    const int64_t pitch[AXIS_COUNT] = {1, map->layout.pitch_y, map->layout.pitch_z};
    const int64_t upper = layout_index(&map->layout, at[AXIS_X], at[AXIS_Y], at[AXIS_Z]);
    const int64_t lower = upper - pitch[axis];
    int64_t below[AXIS_COUNT] = {at[AXIS_X], at[AXIS_Y], at[AXIS_Z]};
    below[axis]--;
    if (at[axis] == 0 && closed[face_of(axis, SIDE_MIN)] != NULL) {
        return inflow_at(cells, face_of(axis, SIDE_MIN), at);
    }
    if (at[axis] == map->layout.cells[axis] && closed[face_of(axis, SIDE_MAX)] != NULL) {
        return -inflow_at(cells, face_of(axis, SIDE_MAX), below);
    }
    const struct class_key own = class_map_key(map, lower);
    const struct class_key next = class_map_key(map, upper);
    const double share = grid_size_face(grid, axis, own.size, next.size);
    for (int side = 0; side < SIDE_COUNT && problem->boundary.nsurfaces > 0; side++) {
        const bool is_low = side == SIDE_MIN; /* of the cell of the body */
        struct surface_face face;
        surface_face_at(problem, map, face_of(axis, (enum side)side), is_low ? upper : lower,
                        &face);
        if (face.surface >= 0) {
            const struct class_closure closure = surface_face_closure(
                &face, cells->closures->condition, problem_joule_per_kelvin(problem));
            const double flow =
                class_closure_flow(&closure, temperature_at(cells, is_low ? at : below));
            return (is_low ? flow : -flow) / (grid_cell_face(grid, axis) * share);
        }
    }
    return factor_map_conductance(map, problem, axis, upper) *
           problem->medium.heat_capacity_volume * grid_smallest_width(grid, axis) / share *
           (temperature_at(cells, below) - temperature_at(cells, at));
}

/* Add the squares of the means of the lower and the upper faces of the cells of a box. */
static void add_axis(const struct cells *cells, enum axis axis, const struct box *box,
                     double *squares)
{
    struct box first = *box;
    first.hi[axis] = first.lo[axis] + 1;
#pragma omp parallel for
    for (int64_t c = 0; c < box_cells(&first); c++) {
        int64_t at[AXIS_COUNT];
        box_cell(&first, c, at);
        double low = flux_at(cells, axis, at);
        while (at[axis] < box->hi[axis]) {
            double *square = squares + box_place(box, at[AXIS_X], at[AXIS_Y], at[AXIS_Z]);
            at[axis]++;
            const double high = flux_at(cells, axis, at);
            *square = fma((low + high) / 2, (low + high) / 2, *square);
            low = high;
        }
    }
}

static enum status find_piece(struct field *field, const struct box *piece, struct cells *cells)
{
    const struct layout *layout = &field->layout;
    struct box whole = layout_owned(layout);
    struct box around = *piece;
    for (int a = 0; a < AXIS_COUNT; a++) {
        whole.lo[a] -= layout->halo[a];
        whole.hi[a] += layout->halo[a];
        around.lo[a]--;
        around.hi[a]++;
    }
    cells->box = box_intersect(&around, &whole);
    const size_t bytes = (size_t)box_cells(&cells->box) * precision_bytes(layout->precision);
    SCOPED_FREE double *squares = calloc((size_t)box_cells(piece), sizeof *squares);
    SCOPED_FREE void *temperatures = malloc(bytes);
    TRY(CHECK_MEMORY(squares != NULL && temperatures != NULL, "no memory for the heat flux"));
    TRY(field_read_now(field, &cells->box, temperatures));
    cells->temperatures = temperatures;
    for (int axis = AXIS_Z; axis >= AXIS_X; axis--) {
        if (cells->problem->grid.used[axis]) {
            add_axis(cells, (enum axis)axis, piece, squares);
        }
    }
    return field_write_derived(field, DERIVED_FLUX, piece, squares);
}

static enum status by_faces(struct stepper *stepper)
{
    struct field *field = stepper->level->field;
    const struct box owned = layout_owned(&field->layout);
    struct box piece = box_before(&owned);
    SCOPED_BY(faces_closures_free) struct face_closures closures = {0};
    struct cells cells = {
        .problem = stepper->problem, .classes = stepper->level->classes, .closures = &closures};
    TRY(faces_closures(stepper, ALL_FACES, &closures));
    /* as on the device: the heat of sources on a face enters the cells inside */
    memset(closures.beams_end, 0, sizeof closures.beams_end);
    surface_exchanges(&closures.op, stepper->problem, closures.condition);
    TRY(complete_halo(stepper));
    TRY(engine_settle(stepper->level->engine));
    while (box_next(&owned, PIECE_CELLS, &piece)) {
        TRY(find_piece(field, &piece, &cells));
    }
    return STATUS_OK;
}

enum status derive_flux(struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    return problem->medium.per_cell || grid_is_graded(&problem->grid) ||
                   problem->boundary.nsurfaces > 0
               ? by_faces(stepper)
               : by_pairs(stepper);
}
