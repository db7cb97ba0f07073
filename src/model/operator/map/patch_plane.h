/* The patches and factors of the cells at one face of a block. */
#pragma once

#include "model/operator/map/class_map.h"

struct patch_plane {
    enum face face;
    struct box wide;  /* the cells, with those around the block (global indices) */
    uint8_t *h_patch; /* as device_medium has them (kernels/coefficients.h); 0 outside patches.
                         NULL: no patches, or the face is not at the edge of the domain */
    int64_t bytes, origin, pitch; /* all; before cell (0, 0); from a row to the next */
    int64_t cells, columns;       /* of the block: all, and of a row */
    /* In the same order; NULL unless a condition of the face has a factor; those at time 0.
       Those that vary. And the classes of the cells, from patch_map_classify on. */
    double *h_factor[BOUNDARY_FACTORS];
    struct face_factors *moving; /* NULL: none do */
    uint8_t *h_class;
};

/* The place in a plane of a cell, counted in the order of the block's cells at the face. */
static inline int64_t patch_plane_place(const struct patch_plane *p, int64_t cell)
{
    return p->origin + cell / p->columns * p->pitch + cell % p->columns;
}

/* The place of cell c of a piece of `wide`. */
static inline int64_t patch_plane_place_in(const struct patch_plane *p,
                                           const struct box_piece *piece, int64_t c)
{
    const enum axis across = face_across(p->face);
    const enum axis up = face_up(p->face);
    const int64_t n = box_extent(&piece->cells, across);
    const int64_t row = piece->cells.lo[up] + piece->shift[up] - p->wide.lo[up];
    const int64_t column = piece->cells.lo[across] + piece->shift[across] - p->wide.lo[across];
    return (row + c / n) * p->pitch + column + c % n;
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
