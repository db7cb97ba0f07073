/* A body whose closed surface consists of triangles. */
#pragma once

#include "model/space/grid.h"

typedef double triangle[3][AXIS_COUNT]; /* the corners, m */

/* The triangles in bins of the plane across x: a point is inside where a ray along x crosses an odd
 * number of them. */
struct solid {
    triangle *triangles; /* owned */
    int64_t count;
    double lower[AXIS_COUNT], upper[AXIS_COUNT]; /* m, of the corners */
    double shift[AXIS_COUNT]; /* of points: a millionth of a cell, so that none lies on an edge */
    int bins;                 /* on y and z each */
    int64_t *first;           /* [bins * bins + 1]: of each bin in `of`, with y fastest */
    int32_t *of;
};

/* Sort `count` triangles, at least one, which it then owns, also after a failure. Zeroed before;
 * destroy takes a zeroed one. STATUS_MEMORY. */
enum status solid_create(const struct grid *grid, triangle *triangles, int64_t count,
                         struct solid *solid);
void solid_destroy(struct solid *solid);

bool solid_holds(const struct solid *solid, const double at[AXIS_COUNT]);

/* The normal, of any length, of the triangle at a point of the surface. */
void solid_normal(const struct solid *solid, const double at[AXIS_COUNT],
                  double normal[AXIS_COUNT]);

/* Read the file of a `parts` entry of kind stl, scaled, turned and moved: io, which the model does
 * not know. STATUS_FILE, or STATUS_INPUT (without the line of the configuration) for another
 * kind of file or a surface with holes. */
typedef enum status solid_reader(const struct shape_setting *part, const struct grid *grid,
                                 struct solid *solid);
