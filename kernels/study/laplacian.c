#include "kernels/study/laplacian.h"

#include "kernels/study/laplacian_point.h"

/* The unit cube, with points on its faces, in plain arrays: the faces are the halo. */
static enum status setup(const struct study_case *wanted, struct study_problem *problem)
{
    const int64_t *n = wanted->size;
    *problem = (struct study_problem){.nfields = 1, .radius = 1};
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

static void expected(const struct study_problem *problem, study_input *input, const void *context,
                     double results[STUDY_MOST_FIELDS])
{
    const double *w = problem->parameter;
    const double wc = laplacian_centre(w[AXIS_X], w[AXIS_Y], w[AXIS_Z]);
    const double c = input(context, 0, 0, 0, 0);
    const double n[FACE_COUNT] = {input(context, 0, -1, 0, 0), input(context, 0, 1, 0, 0),
                                  input(context, 0, 0, -1, 0), input(context, 0, 0, 1, 0),
                                  input(context, 0, 0, 0, -1), input(context, 0, 0, 0, 1)};
    results[0] =
        problem->layout.precision == PRECISION_FLOAT64
            ? laplacian_float64(c, n[0], n[1], n[2], n[3], n[4], n[5], w[0], w[1], w[2], wc)
            : (double)laplacian_float32((float)c, (float)n[0], (float)n[1], (float)n[2],
                                        (float)n[3], (float)n[4], (float)n[5], (float)w[0],
                                        (float)w[1], (float)w[2], (float)wc);
}

/* Read: all points but the 8 corners and the 12 edges, as in the study. */
static struct study_traffic traffic(const struct study_problem *problem)
{
    const uint64_t width = precision_bytes(problem->layout.precision);
    uint64_t all = 1;
    uint64_t inner = 1;
    uint64_t edges = 8;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const uint64_t cells = (uint64_t)problem->layout.cells[axis];
        all *= cells + 2;
        inner *= cells;
        edges += 4 * cells;
    }
    return (struct study_traffic){
        .fetch_bytes = (all - edges) * width, .write_bytes = inner * width, .points = inner};
}

const struct study study_laplacian = {
    .name = "laplacian", .setup = setup, .expected = expected, .traffic = traffic};
