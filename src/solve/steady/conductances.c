/* The conductances of the grid of the problem, from classes and boundary conditions. */
#include <stdlib.h>

#include "solve/steady/grids.h"

struct face_reader {
    const struct problem *problem;
    const struct classes *classes;
    const struct heat_operator *op;
    enum axis axis;
    struct class_closure *closures[SIDE_COUNT]; /* of the two faces; NULL: uniform */
};

static int class_at(const struct face_reader *r, const int64_t cell[AXIS_COUNT])
{
    const struct layout *layout = &r->classes->map.layout;
    return r->classes->map.h_class[layout_index(layout, cell[0], cell[1], cell[2])];
}

/* Between two cells, in units of the reference heat capacity per step. */
static double between(const struct face_reader *r, const int64_t low[AXIS_COUNT],
                      const int64_t high[AXIS_COUNT])
{
    const struct medium *medium = &r->problem->medium;
    if (medium->nclasses == 0) {
        return r->op->all.r[r->axis];
    }
    return medium_conductance(medium, &r->problem->grid, r->axis, class_at(r, low),
                              class_at(r, high)) *
           r->op->dt / medium->heat_capacity_volume;
}

/* Between a cell and what is outside. */
static double beyond(const struct face_reader *r, const int64_t cell[AXIS_COUNT], enum side side)
{
    const enum face face = face_of(r->axis, side);
    double outside = r->op->all.a[face];
    if (r->problem->medium.nclasses > 0) {
        const struct patch_plane *plane = &r->classes->patches.face[face];
        const int64_t row = cell[face_axis(face) == AXIS_Z ? AXIS_Y : AXIS_Z];
        const int64_t column = cell[face_axis(face) == AXIS_X ? AXIS_Y : AXIS_X];
        const int patch = plane->h_patch != NULL
                              ? plane->h_patch[plane->origin + row * plane->pitch + column]
                              : 0;
        outside = r->closures[side][patch * r->problem->medium.nclasses + class_at(r, cell)].a;
    }
    return between(r, cell, cell) * (1 - outside);
}

static void read_faces(const struct face_reader *r, const struct multigrid *m, float *h_g)
{
    struct box faces = layout_owned(&m->layout);
    faces.hi[r->axis]++;
    for (int64_t n = 0; n < box_cells(&faces); n++) {
        int64_t high[AXIS_COUNT];
        int64_t low[AXIS_COUNT];
        box_cell(&faces, n, high);
        box_cell(&faces, n, low);
        low[r->axis]--;
        const bool first = low[r->axis] < 0 && m->closed[face_of(r->axis, SIDE_MIN)];
        const bool last =
            high[r->axis] == m->layout.cells[r->axis] && m->closed[face_of(r->axis, SIDE_MAX)];
        h_g[layout_index(&m->layout, high[0], high[1], high[2])] =
            (float)(first  ? beyond(r, high, SIDE_MIN)
                    : last ? beyond(r, low, SIDE_MAX)
                           : between(r, low, high));
    }
}

enum status steady_conductances(const struct problem *problem, const struct classes *classes,
                                const struct heat_operator *op, const struct multigrid *m,
                                enum axis axis, float *h_g)
{
    struct face_reader r = {.problem = problem, .classes = classes, .op = op, .axis = axis};
    enum status status = STATUS_OK;
    for (int side = 0; side < SIDE_COUNT && problem->medium.nclasses > 0; side++) {
        TRY_GOTO(operator_closures(op, problem, face_of(axis, (enum side)side), &r.closures[side]));
    }
    read_faces(&r, m, h_g);
done:
    free(r.closures[SIDE_MIN]);
    free(r.closures[SIDE_MAX]);
    return status;
}
