#include <math.h>
#include <stdlib.h>

#include "base/comm.h"
#include "solve/observe/diagnostics.h"

/* FLOW: W; TEMPERATURE: K times the share of a face in the largest one. */
enum { FLOW, TEMPERATURE, SURFACE_SUMS };

static double face_area(const struct grid *grid, int axis)
{
    return grid_cell_volume(grid) / grid->spacing[axis];
}

static double largest_area(const struct grid *grid)
{
    return fmax(face_area(grid, AXIS_X), fmax(face_area(grid, AXIS_Y), face_area(grid, AXIS_Z)));
}

/* The temperatures of the cells at the faces of this rank. */
static enum status read_cells(const struct level *level, void *h_values)
{
    const struct surfaces *surfaces = &level->classes->surfaces;
    struct engine *engine = level->engine;
    const enum precision precision = level->field->layout.precision;
    TRY(engine_settle(engine));
    TRY(ENQUEUE(engine->operations, gather, engine->bulk_queue, .precision = precision,
                .d_field = level->field->d_now, .d_elements = surfaces->d_elements,
                .count = surfaces->count, .d_values = surfaces->d_values));
    TRY(engine->runtime->copy_to_host(engine->bulk_queue, h_values, surfaces->d_values,
                                      (size_t)surfaces->count * precision_bytes(precision)));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

static void add(struct exact_sum *sum, double x)
{
    struct exact_parts parts = {{0, 0, 0}};
    exact_parts_add(&parts, x);
    exact_sum_add_parts(sum, &parts);
}

/* The face lies behind half of the cell: G of the face is less than that of the half cell, by which
 * the film is colder. */
static void add_face(const struct problem *problem, int pair, double inside,
                     struct exact_sum (*sums)[SURFACE_SUMS])
{
    const struct medium *medium = &problem->medium;
    const struct grid *grid = &problem->grid;
    const int n = medium->nclasses;
    const int axis = (pair - 2 * n) / (n * n);
    const int own = (pair - 2 * n) / n % n;
    const int other = medium_neighbour_of(n, pair);
    const double h = grid->spacing[axis];
    const double g = medium_conductance(medium, grid, (enum axis)axis, own, other);
    const double warmer = medium->classes[other].ambient - inside;
    const double face =
        inside + warmer * g * h * h / (2 * medium_conductivity(medium, (enum axis)axis, own));
    const int surface = medium_surface(medium, problem->settings, medium->classes[own].key.material,
                                       medium->classes[other].key.material);
    add(&sums[surface][FLOW], g * grid_cell_volume(grid) * warmer);
    add(&sums[surface][TEMPERATURE], face * (face_area(grid, axis) / largest_area(grid)));
}

static enum status sum_mine(const struct stepper *stepper, struct exact_sum (*sums)[SURFACE_SUMS])
{
    const struct surfaces *surfaces = &stepper->level->classes->surfaces;
    const enum precision precision = stepper->problem->precision;
    if (surfaces->count == 0) {
        return STATUS_OK;
    }
    SCOPED_FREE void *values = malloc((size_t)surfaces->count * precision_bytes(precision));
    TRY(CHECK_MEMORY(values != NULL, "no memory for the cells of surfaces"));
    TRY(read_cells(stepper->level, values));
    for (int64_t f = 0; f < surfaces->count; f++) {
        add_face(stepper->problem, surfaces->h_pairs[f], precision_get(precision, values, f), sums);
    }
    return STATUS_OK;
}

enum status surfaces_take(struct stepper *stepper, struct surface_diagnostics *found)
{
    MPI_Comm comm = stepper->team->comm;
    const struct problem *problem = stepper->problem;
    const struct grid *grid = &problem->grid;
    const int n = problem->settings->nsurfaces;
    struct exact_sum sums[MOST_SURFACES][SURFACE_SUMS] = {{{{0}}}};
    if (n == 0) {
        return STATUS_OK;
    }
    const int before = phases_enter(stepper->level->phases, PHASE_DIAGNOSTICS);
    TRY(status_agree(comm, sum_mine(stepper, sums)));
    TRY(exact_sums_reduce(comm, sums[0], n * SURFACE_SUMS));
    for (int s = 0; s < n; s++) {
        double area = 0;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            area += face_area(grid, axis) * (double)problem->medium.surface_faces[s][axis];
        }
        found[s] = (struct surface_diagnostics){
            .flow = exact_sum_value(&sums[s][FLOW]),
            .area = area,
            .mean = exact_sum_value(&sums[s][TEMPERATURE]) * largest_area(grid) / area,
        };
    }
    phases_enter(stepper->level->phases, before);
    return STATUS_OK;
}
