#include "kernels/study/diffusion.h"

#include <math.h>

/* Of the second derivative, at distances 1 to r. */
static const double differences[DIFFUSION_MOST_RADIUS + 1][DIFFUSION_MOST_RADIUS] = {
    {0},
    {1.0},
    {4.0 / 3.0, -1.0 / 12.0},
    {3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0},
    {8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0}};

/* A box of 2 pi on each axis, and a stable step. */
static enum status setup(const struct study_case *wanted, struct study_problem *problem)
{
    static const double courant[AXIS_COUNT] = {0.1, 0.08, 0.06}; /* alpha dt / h^2 */
    const int64_t *cells = wanted->size;
    const int r = wanted->radius;
    if (r < 0 || r > DIFFUSION_MOST_RADIUS || (cells[AXIS_Z] > 1 && cells[AXIS_Y] == 1)) {
        return fail(STATUS_INPUT, "radius 0 to %d, and axes in the order x, y, z",
                    DIFFUSION_MOST_RADIUS);
    }
    *problem = (struct study_problem){.nfields = 1, .radius = r};
    problem->parameter[0] = 1.0;
    int halo[AXIS_COUNT] = {r, 0, 0};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        halo[axis] = axis == 0 || cells[axis] > 1 ? r : 0;
        for (int distance = 1; distance <= halo[axis]; distance++) {
            const double weight = courant[axis] * differences[r][distance - 1];
            problem->parameter[diffusion_weight_at(axis, distance)] = weight;
            problem->parameter[0] -= 2.0 * weight;
        }
    }
    TRY(layout_create(cells, halo, wanted->precision, &problem->layout));
    problem->field_pitch = problem->layout.elements;
    return STATUS_OK;
}

int diffusion_points(const struct study_problem *problem,
                     struct diffusion_point points[DIFFUSION_MOST_POINTS])
{
    int count = 0;
    /* the neighbours before, from the slowest axis on; the cell; those after it in reverse */
    for (int side = -1; side <= 1; side += 2) {
        for (int n = 0; n < AXIS_COUNT; n++) {
            const int axis = side < 0 ? AXIS_Z - n : n;
            const int r = problem->layout.halo[axis];
            for (int m = 0; m < r; m++) {
                const int distance = side < 0 ? r - m : m + 1;
                points[count] = (struct diffusion_point){
                    .weight = problem->parameter[diffusion_weight_at(axis, distance)]};
                points[count++].offset[axis] = side * distance;
            }
        }
        if (side < 0) {
            points[count++] = (struct diffusion_point){.weight = problem->parameter[0]};
        }
    }
    return count;
}

static void expected(const struct study_problem *problem, study_input *input, const void *context,
                     double results[STUDY_MOST_FIELDS])
{
    struct diffusion_point points[DIFFUSION_MOST_POINTS];
    const int count = diffusion_points(problem, points);
    double sum = -0.0;
    for (int p = 0; p < count; p++) {
        const int *at = points[p].offset;
        const double value = input(context, 0, at[AXIS_X], at[AXIS_Y], at[AXIS_Z]);
        sum = problem->layout.precision == PRECISION_FLOAT64
                  ? fma(points[p].weight, value, sum)
                  : (double)fmaf((float)points[p].weight, (float)value, (float)sum);
    }
    results[0] = sum;
}

/* Read: the cells, and the halo without its edges and corners. */
static struct study_traffic traffic(const struct study_problem *problem)
{
    const struct layout *layout = &problem->layout;
    const uint64_t width = precision_bytes(layout->precision);
    const uint64_t cells =
        (uint64_t)(layout->cells[AXIS_X] * layout->cells[AXIS_Y] * layout->cells[AXIS_Z]);
    uint64_t read = cells;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        read += 2 * (uint64_t)layout->halo[axis] * (cells / (uint64_t)layout->cells[axis]);
    }
    return (struct study_traffic){
        .fetch_bytes = read * width, .write_bytes = cells * width, .points = cells};
}

/* 2^24 cells: 64 MiB in float32, 128 MiB in float64. */
static bool published(int index, enum precision precision, struct study_case *found)
{
    static const struct study_case sizes[] = {
        {.size = {1 << 24, 1, 1}}, {.size = {4096, 4096, 1}}, {.size = {256, 256, 256}}};
    enum { RADII = DIFFUSION_MOST_RADIUS + 1, SIZES = sizeof sizes / sizeof sizes[0] };
    if (index >= RADII * SIZES) {
        return false;
    }
    *found = sizes[index / RADII];
    found->precision = precision;
    found->radius = index % RADII;
    return true;
}

const struct study study_diffusion = {.name = "diffusion",
                                      .setup = setup,
                                      .expected = expected,
                                      .traffic = traffic,
                                      .published = published};
