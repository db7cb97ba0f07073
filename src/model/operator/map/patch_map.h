/* The patch of each cell at the faces of a block. */
#pragma once

#include "model/operator/map/patch_plane.h"

/* The patch as a shape of cells, for brush_create. `number`: what it paints. */
void patch_shape(const struct patch_setting *patch, enum axis normal, int number,
                 struct shape_setting *shape);

struct patch_map {
    struct patch_plane face[FACE_COUNT];
};

/* Paint the patches and the factors on the cells `owned` (global indices) and `depth` layers around
 * them. STATUS_INPUT, with the line of the configuration, when a formula gives no number or a
 * factor is invalid; STATUS_FILE; STATUS_MEMORY. Not collective. Destroy the map after a failure,
 * too. */
enum status patch_map_create(const struct problem *problem, const struct box *owned, int depth,
                             class_reader *read, struct patch_map *map);
/* After class_map_renumber, before the classes have flags. STATUS_MEMORY. */
enum status patch_map_classify(struct patch_map *map, const struct class_map *classes);
/* The cells of the plane of a face, with those around the block; 0: none, its conditions are those
 * of the whole face. The host memory of all planes, at most. */
uint64_t patch_map_cells(const struct problem *problem, const struct box *owned, enum face face,
                         int depth);
uint64_t patch_map_bytes(const struct problem *problem, const struct box *owned, int depth);
void patch_map_destroy(struct patch_map *map); /* takes a zeroed one */
void patch_map_survey(const struct patch_map *map, struct class_survey *survey);

/* Complete the boundary with the survey of all cells. STATUS_INPUT when a patch has none. */
enum status patch_survey_apply(const struct class_survey *survey, struct problem *problem);
