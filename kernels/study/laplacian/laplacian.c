/* The study `laplacian`: f = lap(u), the kernels that docs/developers/laplacian_study.md describes,
 * in a problem whose halo are the faces of a cube. The weight of an axis is 1/h^2, 1/m^2. */
#include "kernels/study/study.h"

static double weight(const struct study_problem *problem, int axis, int distance)
{
    const double *w = problem->parameter;
    return distance > 0 ? w[axis] : -2.0 * (w[AXIS_X] + w[AXIS_Y] + w[AXIS_Z]);
}

/* The unit cube, with points on its faces, in plain arrays: the faces are the halo. */
static enum status setup(const struct study_case *wanted, struct study_problem *problem)
{
    const int64_t *n = wanted->size;
    /* the kernels for GPUs have 32-bit offsets of up to 16 rows */
    *problem = (struct study_problem){
        .nfields = 1, .radius = 1, .most_x = INT32_MAX / 64, .weight = weight};
    struct layout *layout = &problem->layout;
    layout->precision = wanted->precision;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double intervals = (double)(n[axis] - 1);
        if (n[axis] < 3) {
            return fail(STATUS_INPUT, "needs at least 3 points on every axis");
        }
        layout->cells[axis] = n[axis] - 2;
        layout->halo[axis] = 1;
        problem->parameter[axis] = intervals * intervals;
    }
    layout->pitch_y = n[AXIS_X];
    layout->pitch_z = n[AXIS_X] * n[AXIS_Y];
    layout->origin = 1 + layout->pitch_y + layout->pitch_z;
    layout->elements = layout->pitch_z * n[AXIS_Z];
    problem->field_pitch = layout->elements;
    return STATUS_OK;
}

const struct study study_laplacian = {
    .name = "laplacian",
    .setup = setup,
    .traffic = study_star_traffic,
    .host = {{.name = "laplacian",
              .about = "f = lap(u), 64 points of a row at a time",
              .rows = {study_star_tiles_float64, study_star_tiles_float32}}}};
