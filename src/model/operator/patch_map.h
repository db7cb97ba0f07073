/* The patch of each cell at the faces of a block. */
#pragma once

#include "model/operator/class_map.h"

/* The patch as a shape of cells, for brush_create. `number`: what it paints. */
void patch_shape(const struct patch_setting *patch, enum axis normal, int number,
                 struct shape_setting *shape);

struct patch_map {
    struct patch_plane {
        uint8_t *h_patch; /* as device_medium has them (kernels/coefficients.h); 0 outside patches.
                             NULL: no patches, or the face is not at the edge of the domain */
        int64_t bytes, origin, pitch; /* all; before cell (0, 0); from a row to the next */
        int64_t cells, columns;       /* of the block: all, and of a row */
        /* In the same order; NULL unless a condition of the face has a factor; those at time 0.
           Those that vary. And the classes of the cells, from patch_map_classify on. */
        double *h_factor[BOUNDARY_FACTORS];
        struct face_factors *moving; /* NULL: none do */
        uint8_t *h_class;
    } face[FACE_COUNT];
};

/* The place in a plane of a cell, counted in the order of the block's cells at the face. */
static inline int64_t patch_plane_place(const struct patch_plane *p, int64_t cell)
{
    return p->origin + cell / p->columns * p->pitch + cell % p->columns;
}

/* The condition of a cell, counted in the order of the block's cells at the face. */
static inline int patch_plane_condition(const struct patch_plane *p, int64_t cell)
{
    return p->h_patch != NULL ? p->h_patch[patch_plane_place(p, cell)] : 0;
}

/* Does each cell have its own factors, and so its own closure? */
static inline bool patch_plane_has_factors(const struct patch_plane *p)
{
    return p->h_factor[0] != NULL;
}

/* Paint the patches and the factors on the cells `owned` (global indices) and `depth` layers around
 * them. STATUS_INPUT, with the line of the configuration, when a formula gives no number or a
 * factor is invalid; STATUS_FILE; STATUS_MEMORY. Not collective. Destroy the map after a failure,
 * too. */
enum status patch_map_create(const struct problem *problem, const struct box *owned, int depth,
                             class_reader *read, struct patch_map *map);
/* After class_map_renumber, before the classes have flags. STATUS_MEMORY. */
enum status patch_map_classify(struct patch_map *map, const struct class_map *classes);
void patch_map_destroy(struct patch_map *map); /* takes a zeroed one */
void patch_map_survey(const struct patch_map *map, struct class_survey *survey);

/* Complete the boundary with the survey of all cells. STATUS_INPUT when a patch has none. */
enum status patch_survey_apply(const struct class_survey *survey, struct problem *problem);
