/* The faces of a body whose exchange is that of a surface: in a list of their own, beside the
 * conductances of the medium, which insulate them. */
#pragma once

#include "model/operator/map/class_map.h"
#include "model/operator/operator.h"

/* The entry of `surfaces` of a face of the cell of an element of the map; -1: none. Of one that
 * does not exchange, and of no face, found->surface is -1 too, and nothing else in it is valid. */
int surface_face_at(const struct problem *problem, const struct class_map *map, enum face face,
                    int64_t at, struct surface_face *found);

/* The numbers of all faces between two classes: pair as medium_g_at. */
struct surface_numbers surface_numbers_of(const struct problem *problem, int pair);
/* With properties or slopes per cell, those of one face; at: the element of the map whose lower
 * face it is. */
struct surface_numbers surface_numbers_at(const struct problem *problem,
                                          const struct class_map *map, int pair, int64_t at);

/* What passes a face of each entry of `surfaces` at the time of an operator: boundary.nsurfaces. */
void surface_exchanges(const struct heat_operator *op, const struct problem *problem,
                       struct face_exchange *exchanges);
