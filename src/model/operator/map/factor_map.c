#include "model/operator/map/factor_map.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cell/heat_cell.h"
#include "model/space/shape.h"

static const char *const name_of[FACTORS] = {
    [FACTOR_CONDUCTIVITY] = "conductivity_factor", [FACTOR_HEAT_CAPACITY] = "heat_capacity_factor"};

static enum status read_values(const struct problem *problem, const struct shape_setting *shape,
                               const struct box *box, class_reader *read, float *values)
{
    return shape->kind == INITIAL_FILE
               ? read(shape, &problem->grid, box, values)
               : shape_paint(&problem->grid, shape, box, PRECISION_FLOAT32, values);
}

/* Give the cells of the material the values of a piece. */
static enum status set_piece(const struct class_map *map, const struct box *piece,
                             const int64_t shift[AXIS_COUNT], int material, const float *values,
                             float *factors, struct factor_range *range)
{
    for (int64_t c = 0; c < box_cells(piece); c++) {
        int64_t cell[AXIS_COUNT];
        box_cell(piece, c, cell);
        const int64_t at = layout_index(&map->layout, cell[0] + shift[0] - map->owned.lo[0],
                                        cell[1] + shift[1] - map->owned.lo[1],
                                        cell[2] + shift[2] - map->owned.lo[2]);
        if (map->keys[map->h_class[at]].material != material) {
            continue;
        }
        FAIL_IF(!(values[c] >= 1e-20F && values[c] <= 1e20F),
                fail(STATUS_INPUT,
                     "%g at [z][y][x] = [%" PRId64 "][%" PRId64 "][%" PRId64
                     "]; give factors above 0, from 1e-20 to 1e20",
                     (double)values[c], cell[AXIS_Z], cell[AXIS_Y], cell[AXIS_X]));
        factors[at] = values[c];
        range->most = fmax(range->most, (double)values[c]);
        range->most_inverse = fmax(range->most_inverse, 1 / (double)values[c]);
    }
    return STATUS_OK;
}

static enum status fill(const struct problem *problem, class_reader *read, int material, int factor,
                        struct class_map *map, struct class_survey *survey)
{
    const struct shape_setting *shape = &problem->settings->materials[material].factor[factor];
    struct box_piece pieces[BOX_PIECES_MOST];
    const int npieces = class_map_pieces(map, problem, pieces);
    for (int p = 0; p < npieces; p++) {
        struct box piece = box_before(&pieces[p].cells);
        while (box_next(&pieces[p].cells, PIECE_CELLS, &piece)) {
            SCOPED_FREE float *values = malloc((size_t)box_cells(&piece) * sizeof *values);
            TRY(CHECK_MEMORY(values != NULL, "no memory for a property per cell"));
            TRY(read_values(problem, shape, &piece, read, values));
            TRY(set_piece(map, &piece, pieces[p].shift, material, values, map->h_factor[factor],
                          &survey->factors[material][factor]));
        }
    }
    return STATUS_OK;
}

enum status factor_map_create(const struct problem *problem, class_reader *read,
                              struct class_map *map, struct class_survey *survey)
{
    for (int f = 0; f < FACTORS && problem->medium.has_factors; f++) {
        map->h_factor[f] = malloc((size_t)map->layout.elements * sizeof(float));
        TRY(CHECK_MEMORY(map->h_factor[f] != NULL, "no memory for a property per cell"));
        for (int64_t at = 0; at < map->layout.elements; at++) {
            map->h_factor[f][at] = 1;
        }
        for (int m = 0; m < problem->settings->nmaterials; m++) {
            if (problem->settings->materials[m].factor[f].kind != INITIAL_UNIFORM) {
                TRY(settings_place(problem->origin, fill(problem, read, m, f, map, survey),
                                   "materials[%d].%s", m, name_of[f]));
            }
        }
    }
    return STATUS_OK;
}

/* medium_conductance_of, or its upper bound before there are classes, medium_conductance_between.
 */
typedef double conductance_rule(const struct medium *medium, const struct grid *grid,
                                enum axis axis, const struct class_key *own,
                                const struct class_key *neighbour, const double factors[2]);

static double conductance(const struct class_map *map, const struct problem *problem, int axis,
                          int64_t at, conductance_rule *rule)
{
    const int64_t pitch[AXIS_COUNT] = {1, map->layout.pitch_y, map->layout.pitch_z};
    const int64_t below = at - pitch[axis];
    const float *factor = map->h_factor[FACTOR_CONDUCTIVITY];
    const double factors[2] = {factor != NULL ? (double)factor[below] : 1,
                               factor != NULL ? (double)factor[at] : 1};
    const struct class_key own = class_map_key(map, below);
    const struct class_key next = class_map_key(map, at);
    return rule(&problem->medium, &problem->grid, (enum axis)axis, &own, &next, factors) /
           problem->medium.heat_capacity_volume;
}

double factor_map_conductance(const struct class_map *map, const struct problem *problem, int axis,
                              int64_t at)
{
    return conductance(map, problem, axis, at, medium_conductance_of);
}

double factor_map_area(const struct class_map *map, const struct problem *problem, int axis,
                       int64_t at)
{
    const int64_t pitch[AXIS_COUNT] = {1, map->layout.pitch_y, map->layout.pitch_z};
    const struct class_key own = class_map_key(map, at - pitch[axis]);
    const struct class_key next = class_map_key(map, at);
    return medium_area(&problem->medium, &own, &next);
}

double factor_map_capacity(const struct class_map *map, const struct problem *problem, int64_t at)
{
    const struct medium *medium = &problem->medium;
    const struct class_key key = class_map_key(map, at);
    const float *factor = map->h_factor[FACTOR_HEAT_CAPACITY];
    return medium->materials[key.material].heat_capacity_volume / medium->heat_capacity_volume *
           grid_size_volume(&problem->grid, key.size) * (factor != NULL ? (double)factor[at] : 1);
}

static double rate_at(const struct class_map *map, const struct problem *problem, int64_t at)
{
    const int64_t pitch[AXIS_COUNT] = {1, map->layout.pitch_y, map->layout.pitch_z};
    double sum = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (problem->grid.used[axis]) {
            sum += conductance(map, problem, axis, at, medium_conductance_between);
            sum += conductance(map, problem, axis, at + pitch[axis], medium_conductance_between);
        }
    }
    return sum / factor_map_capacity(map, problem, at);
}

void factor_map_survey(const struct class_map *map, const struct problem *problem,
                       struct class_survey *survey)
{
    const struct box owned = box_of_cells(map->layout.cells);
    const int64_t *n = problem->grid.cells;
    if (!problem->medium.per_cell || problem->medium.graded || map->too_many) {
        return;
    }
    double fastest = survey->fastest_rate;
    uint64_t hash = 0;
#pragma omp parallel for reduction(max : fastest) reduction(+ : hash)
    for (int64_t c = 0; c < box_cells(&owned); c++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, c, cell);
        const int64_t at = layout_index(&map->layout, cell[0], cell[1], cell[2]);
        const int64_t index =
            ((map->owned.lo[2] + cell[2]) * n[1] + map->owned.lo[1] + cell[1]) * n[0] +
            map->owned.lo[0] + cell[0];
        uint32_t bits[FACTORS];
        for (int f = 0; f < FACTORS; f++) {
            const float factor = map->h_factor[f] != NULL ? map->h_factor[f][at] : 1;
            memcpy(&bits[f], &factor, sizeof *bits);
        }
        hash += heat_cell_hash((uint64_t)index, (uint64_t)bits[1] << 32 | bits[0]);
        fastest = fmax(fastest, rate_at(map, problem, at));
    }
    survey->fastest_rate = fastest;
    survey->hash += hash;
}

void factor_survey_apply(const struct class_survey *survey, struct problem *problem)
{
    struct medium *medium = &problem->medium;
    for (int m = 0; m < medium->nmaterials && medium->per_cell; m++) {
        struct medium_class *material = &medium->materials[m];
        const struct factor_range *k = &survey->factors[m][FACTOR_CONDUCTIVITY];
        const struct factor_range *c = &survey->factors[m][FACTOR_HEAT_CAPACITY];
        for (int axis = 0; axis < AXIS_COUNT && k->most > 0; axis++) {
            material->least_conductivity[axis] /= k->most_inverse;
            material->most_conductivity[axis] *= k->most;
        }
        material->sigma *= c->most > 0 ? c->most_inverse : 1;
        material->weight *= c->most > 0 ? c->most : 1;
    }
}

void factor_map_fill(const struct class_map *map, const struct problem *problem, int axis,
                     const struct layout *layout, const int64_t first[AXIS_COUNT], void *values)
{
    struct box box = box_of_cells(layout->cells);
    memset(values, 0, (size_t)layout->elements * precision_bytes(problem->precision));
    for (int a = 0; a < AXIS_COUNT; a++) {
        box.lo[a] -= layout->halo[a] - (a == axis); /* there is no cell below the first layer */
        box.hi[a] += layout->halo[a];
    }
#pragma omp parallel for
    for (int64_t c = 0; c < box_cells(&box); c++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&box, c, cell);
        const int64_t at = layout_index(&map->layout, first[AXIS_X] + cell[AXIS_X],
                                        first[AXIS_Y] + cell[AXIS_Y], first[AXIS_Z] + cell[AXIS_Z]);
        precision_set(problem->precision, values,
                      layout_index(layout, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]),
                      axis < AXIS_COUNT ? factor_map_conductance(map, problem, axis, at)
                                        : 1 / factor_map_capacity(map, problem, at));
    }
}
