#include "kernels/study/laplacian.h"

#include "kernels/study/laplacian_point.h"

/* The unit cube, with points on its faces. */
static struct study_problem setup(const int64_t points[AXIS_COUNT], enum precision precision)
{
    struct study_problem problem = {.precision = precision};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double intervals = (double)(points[axis] - 1);
        problem.points[axis] = points[axis];
        problem.weight[axis] = intervals * intervals;
    }
    return problem;
}

static double expected(const struct study_problem *problem, study_input *input, const void *context)
{
    const double *w = problem->weight;
    const double wc = laplacian_centre(w[AXIS_X], w[AXIS_Y], w[AXIS_Z]);
    const double c = input(context, 0, 0, 0);
    const double n[FACE_COUNT] = {input(context, -1, 0, 0), input(context, 1, 0, 0),
                                  input(context, 0, -1, 0), input(context, 0, 1, 0),
                                  input(context, 0, 0, -1), input(context, 0, 0, 1)};
    if (problem->precision == PRECISION_FLOAT64) {
        return laplacian_float64(c, n[0], n[1], n[2], n[3], n[4], n[5], w[0], w[1], w[2], wc);
    }
    return (double)laplacian_float32((float)c, (float)n[0], (float)n[1], (float)n[2], (float)n[3],
                                     (float)n[4], (float)n[5], (float)w[0], (float)w[1],
                                     (float)w[2], (float)wc);
}

/* Read: all points but the 8 corners and the 12 edges, as in the study. */
static struct study_traffic traffic(const struct study_problem *problem)
{
    const uint64_t width = precision_bytes(problem->precision);
    uint64_t all = 1;
    uint64_t inner = 1;
    uint64_t edges = 8;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const uint64_t points = (uint64_t)problem->points[axis];
        all *= points;
        inner *= points - 2;
        edges += 4 * (points - 2);
    }
    return (struct study_traffic){
        .fetch_bytes = (all - edges) * width, .write_bytes = inner * width, .points = inner};
}

const struct study study_laplacian = {
    .name = "laplacian", .radius = 1, .setup = setup, .expected = expected, .traffic = traffic};
