/* The conductances of the grid of the problem, from classes and boundary conditions. */
#include <math.h>
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

/* --- a uniform medium --------------------------------------------------------------------------
 */

static enum status allocate_axis(int64_t n, bool periodic, struct steady_axis *axis)
{
    *axis = (struct steady_axis){.n = n, .periodic = periodic};
    axis->resistance = malloc(((size_t)n + 1) * sizeof *axis->resistance);
    axis->size = malloc((size_t)n * sizeof *axis->size);
    return CHECK_MEMORY(axis->resistance != NULL && axis->size != NULL,
                        "no memory for the axes of the steady state");
}

void steady_axis_destroy(struct steady_axis *axis)
{
    free(axis->resistance);
    free(axis->size);
    *axis = (struct steady_axis){.n = 0};
}

enum status steady_axis_create(const struct problem *problem, const struct heat_operator *op,
                               enum axis axis, struct steady_axis *finest)
{
    const int64_t n = problem->grid.cells[axis];
    const double g = op->all.r[axis];
    TRY(allocate_axis(n, problem->boundary.periodic[axis], finest));
    for (int64_t i = 0; i < n; i++) {
        finest->resistance[i] = 1 / g;
        finest->size[i] = 1;
    }
    finest->resistance[n] = 1 / g;
    if (!finest->periodic) {
        finest->resistance[0] = 1 / (g * (1 - op->all.a[face_of(axis, SIDE_MIN)]));
        finest->resistance[n] = 1 / (g * (1 - op->all.a[face_of(axis, SIDE_MAX)]));
    } else if (n == 1) {
        finest->resistance[0] = finest->resistance[n] = INFINITY;
    }
    return STATUS_OK;
}

/* Half the resistance between the two children of a cell; 0: it has one, or is none. */
static double half(const struct steady_axis *fine, const struct steady_axis *coarse, int64_t at)
{
    const int64_t cell = !coarse->periodic ? at : at < 0 ? coarse->n - 1 : at % coarse->n;
    const bool has_two =
        cell >= 0 && cell < coarse->n && fine->n > coarse->n && 2 * cell + 1 < fine->n;
    return has_two ? fine->resistance[2 * cell + 1] / 2 : 0;
}

enum status steady_axis_coarsen(const struct steady_axis *fine, int children,
                                struct steady_axis *coarse)
{
    const int64_t n = (fine->n + children - 1) / children;
    TRY(allocate_axis(n, fine->periodic, coarse));
    for (int64_t i = 0; i <= n; i++) {
        const int64_t face = i < n ? i * children : fine->n;
        coarse->resistance[i] =
            fine->periodic && n == 1
                ? INFINITY
                : fine->resistance[face] + half(fine, coarse, i - 1) + half(fine, coarse, i);
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t last = i * children + children - 1;
        coarse->size[i] = fine->size[i * children];
        coarse->size[i] += children == 2 && last < fine->n ? fine->size[last] : 0;
    }
    return STATUS_OK;
}

void steady_axis_tables(const struct steady_axis *axis, const struct steady_axis *fine, int64_t lo,
                        int64_t hi, float *lines)
{
    const int64_t n = hi - lo;
    for (int64_t i = lo; i < hi; i++) {
        const double low = axis->resistance[i];
        const double high = axis->resistance[i + 1];
        const double own = fine != NULL ? half(fine, axis, i) : 0;
        const int64_t child = fine != NULL && fine->n > axis->n ? 2 * i : i;
        float *line = lines + i - lo;
        line[LINE_LOW * n] = (float)(1 / (low * axis->size[i]));
        line[LINE_HIGH * n] = (float)(1 / (high * axis->size[i]));
        line[LINE_WEIGHT_LOW * n] = (float)(own / low);
        line[LINE_WEIGHT_HIGH * n] = (float)(own / high);
        line[LINE_SHARE * n] = fine != NULL ? (float)(fine->size[child] / axis->size[i]) : 1;
    }
}
