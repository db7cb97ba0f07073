/* The patch of each cell at the faces of a block. */
#ifndef ISOTHERM_MODEL_OPERATOR_PATCH_MAP_H
#define ISOTHERM_MODEL_OPERATOR_PATCH_MAP_H

#include "base/box.h"
#include "model/problem.h"

/* The patch as a shape of cells, for brush_create. `number`: what it paints. */
void patch_shape(const struct patch_setting *patch, enum axis normal, int number,
                 struct shape_setting *shape);

struct patch_map {
    /* Host memory in the order of device_medium (kernels/coefficients.h), without halo; 0 outside
     * patches. NULL for a face without patches and for one that is not at the edge of the domain.
     */
    uint8_t *h_patch[FACE_COUNT];
    int64_t cells[FACE_COUNT];
};

/* One face with `depth` layers of halo in both directions. */
struct patch_plane {
    uint8_t *bytes;
    int64_t count;
    int64_t origin, pitch; /* of cell (0, 0); from a row to the next */
};
/* NULL bytes where the map has none. STATUS_MEMORY. */
enum status patch_plane_create(const struct problem *problem, const struct box *owned,
                               const struct patch_map *map, enum face face, int depth,
                               struct patch_plane *plane) MUST_CHECK;

/* Paint the patches on the cells `owned` (global indices). STATUS_INPUT, with the line of the
 * configuration, when a formula gives no number; STATUS_MEMORY. Not collective. */
enum status patch_map_create(const struct problem *problem, const struct box *owned,
                             struct patch_map *map) MUST_CHECK;
void patch_map_destroy(struct patch_map *map); /* takes a zeroed one */

/* Cells per condition of each face. Add over blocks in any order. Starts as zeros. */
struct patch_survey {
    int64_t cells[FACE_COUNT][MOST_PATCHES + 1];
};
void patch_map_survey(const struct patch_map *map, struct patch_survey *survey);

/* Complete the boundary with the survey of all cells. STATUS_INPUT when a patch has none. */
enum status patch_survey_apply(const struct patch_survey *survey,
                               struct problem *problem) MUST_CHECK;

#endif
