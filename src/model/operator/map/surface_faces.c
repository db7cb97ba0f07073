#include "model/operator/map/surface_faces.h"

#include "model/medium/curve.h"
#include "model/operator/map/factor_map.h"

int surface_face_at(const struct problem *problem, const struct class_map *map, enum face face,
                    int64_t at, struct surface_face *found)
{
    const struct medium *medium = &problem->medium;
    const struct grid *grid = &problem->grid;
    const enum axis axis = face_axis(face);
    const int64_t pitch[AXIS_COUNT] = {1, map->layout.pitch_y, map->layout.pitch_z};
    const int64_t beside = face_side(face) == SIDE_MIN ? at - pitch[axis] : at + pitch[axis];
    found->surface = -1;
    if (!grid->used[axis]) {
        return -1;
    }
    const struct class_key own = class_map_key(map, at);
    const struct class_key other = class_map_key(map, beside);
    const struct medium_class *material = &medium->materials[own.material];
    const int surface =
        material->is_ambient ? -1 : medium_surface(medium, own.material, other.material);
    if (!boundary_exchanges(&problem->boundary, surface)) {
        return surface;
    }
    const float *factors = map->h_factor[FACTOR_CONDUCTIVITY];
    const double k = material->conductivity[axis] * (factors != NULL ? (double)factors[at] : 1);
    const double half = grid_size_width(grid, axis, own.size) / (2 * k);
    const double area =
        grid_cell_face(grid, axis) * grid_size_face(grid, axis, own.size, other.size);
    const double heat_capacity = medium->heat_capacity_volume * grid_cell_volume(grid);
    const double sigma = medium->heat_capacity_volume /
                         (material->heat_capacity_volume * grid_size_volume(grid, own.size));
    *found = (struct surface_face){
        .half = half * medium_area(medium, &own, &other),
        .conductance = area / (2 * half * heat_capacity),
        .sigma =
            precision_round(problem->precision,
                            factors != NULL ? 1 / factor_map_capacity(map, problem, at) : sigma),
        .surface = surface};
    return surface;
}

/* *film: the part of the resistance that is not of the half cell, per conductance. */
static struct surface_numbers find_numbers(const struct problem *problem, int pair, double *film)
{
    const struct medium *medium = &problem->medium;
    const struct grid *grid = &problem->grid;
    const int n = medium->nclasses;
    const enum axis axis = (enum axis)medium_axis_of(n, pair);
    const int own = (pair - 2 * n) / n % n;
    const int other = medium_neighbour_of(n, pair);
    const struct class_key *key = &medium->classes[own].key;
    const struct class_key *beside = &medium->classes[other].key;
    const double h = grid_size_width(grid, axis, key->size);
    const double area =
        grid_cell_face(grid, axis) * grid_size_face(grid, axis, key->size, beside->size);
    const double conductance =
        medium_conductance(medium, grid, axis, own, other) * grid_cell_volume(grid);
    *film = medium_contact(medium, own, other) / area;
    return (struct surface_numbers){
        .conductance = conductance,
        .share = conductance * h / (2 * medium_conductivity(medium, axis, own) * area),
        .ambient = medium->classes[other].ambient,
        .weight = area / grid_largest_face(grid) * medium_area(medium, key, beside),
        .surface = medium_surface(medium, key->material, beside->material),
    };
}

struct surface_numbers surface_numbers_of(const struct problem *problem, int pair)
{
    double film;
    return find_numbers(problem, pair, &film);
}

struct surface_numbers surface_numbers_at(const struct problem *problem,
                                          const struct class_map *map, int pair, int64_t at)
{
    const struct medium *medium = &problem->medium;
    const struct grid *grid = &problem->grid;
    const enum axis axis = (enum axis)medium_axis_of(medium->nclasses, pair);
    const bool of_cells = medium->slopes_per_cell && !medium->lines; /* else the classes have it */
    const double area = of_cells ? factor_map_area(map, problem, (int)axis, at) : 1;
    double film;
    struct surface_numbers of = find_numbers(problem, pair, &film);
    of.conductance = factor_map_conductance(map, problem, (int)axis, at) *
                     medium->heat_capacity_volume * grid_cell_volume(grid);
    if (medium->lines) {
        const int64_t pitch[AXIS_COUNT] = {1, map->layout.pitch_y, map->layout.pitch_z};
        const struct class_key low = class_map_key(map, at - pitch[axis]);
        const struct class_key high = class_map_key(map, at);
        const double of_face =
            grid_cell_face(grid, axis) * grid_size_face(grid, axis, low.size, high.size);
        film = medium_contact_of(medium, &low, &high) / of_face;
        of.weight = of_face / grid_largest_face(grid) * medium_area(medium, &low, &high);
    }
    of.share = of.conductance > 0 ? 1 - film / area * of.conductance : 0;
    of.weight *= area;
    return of;
}

void surface_exchanges(const struct heat_operator *op, const struct problem *problem,
                       struct face_exchange *exchanges)
{
    for (int s = 0; s < problem->boundary.nsurfaces; s++) {
        const struct boundary_state now =
            boundary_condition_at(&problem->boundary.surface[s], &op->when);
        exchanges[s] = boundary_exchange(&now);
    }
}

struct class_closure operator_close_enthalpy(const struct problem *problem, enum axis axis,
                                             const struct class_closure *closure, int of_class,
                                             double u)
{
    const struct medium *medium = &problem->medium;
    const struct curve *curve = &medium->curves[medium->classes[of_class].key.material];
    return class_closure_of_heat(closure, curve, (int)axis, u * medium->heat_capacity_volume,
                                 grid_width(&problem->grid, axis, 0),
                                 grid_cell_volume(&problem->grid));
}

double operator_width_at(const struct problem *problem, enum face face, int of_class)
{
    const struct grid *grid = &problem->grid;
    const enum axis axis = face_axis(face);
    return problem->medium.lines
               ? grid_width(grid, axis, face_side(face) == SIDE_MIN ? 0 : grid->cells[axis] - 1)
               : grid_size_width(grid, axis, problem->medium.classes[of_class].key.size);
}

struct class_closure operator_close_factor(const struct problem *problem, enum face face,
                                           const struct class_closure *closure, int of_class,
                                           double factor)
{
    const double width = operator_width_at(problem, face, of_class);
    const double k = medium_conductivity(&problem->medium, face_axis(face), of_class) * factor;
    return class_closure_of_half(closure, width / (2 * k), closure->conductance * factor);
}
