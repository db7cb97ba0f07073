/* Properties that vary from cell to cell: the factors of a material's conductivity and heat
 * capacity (materials[].conductivity_factor, .heat_capacity_factor), and the conductances that
 * follow. */
#pragma once

#include "model/operator/map/class_map.h"

/* Make map->h_factor, in the layout of the classes, after these; the cells of materials without a
 * factor have 1. Adds their extremes to the survey. This and the next two do nothing where no
 * material has one. STATUS_INPUT, with the line of the configuration, when a factor is not above 0;
 * STATUS_MEMORY. Not collective. */
enum status factor_map_create(const struct problem *problem, class_reader *read,
                              struct class_map *map, struct class_survey *survey);

/* Add the fastest rate of the cells and the hash of their factors. */
void factor_map_survey(const struct class_map *map, const struct problem *problem,
                       struct class_survey *survey);

/* Let the materials have the extremes that the survey has found; before the classes. */
void factor_survey_apply(const struct class_survey *survey, struct problem *problem);

/* Of the element `at` of the classes: the conductance of the lower face of its cell, per reference
 * heat capacity, 1/s; and the cell's heat capacity over the reference, infinite in an ambient.
 * After class_map_renumber. */
double factor_map_conductance(const struct class_map *map, const struct problem *problem, int axis,
                              int64_t at);
/* The area of the shape over that of this face, as medium_area. */
double factor_map_area(const struct class_map *map, const struct problem *problem, int axis,
                       int64_t at);
double factor_map_capacity(const struct class_map *map, const struct problem *problem, int64_t at);

/* After class_map_renumber: the d_g of an axis in use, or with AXIS_COUNT d_sigma, in the precision
 * of the run: layout->elements values, of its cells and those of its halo that the map has. Cell 0
 * of `layout` is cell `first` of the map. */
void factor_map_fill(const struct class_map *map, const struct problem *problem, int axis,
                     const struct layout *layout, const int64_t first[AXIS_COUNT], void *values);
