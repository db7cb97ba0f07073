#include "kernels/study/diffusion/diffusion.h"

/* Of the second derivative, at distances 1 to r. */
static const double differences[DIFFUSION_MOST_RADIUS + 1][DIFFUSION_MOST_RADIUS] = {
    {0},
    {1.0},
    {4.0 / 3.0, -1.0 / 12.0},
    {3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0},
    {8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0}};

static double weight(const struct study_problem *problem, int axis, int distance)
{
    return problem->parameter[diffusion_weight_at(axis, distance)];
}

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
    *problem = (struct study_problem){.nfields = 1, .radius = r, .weight = weight};
    problem->parameter[0] = 1.0;
    int halo[AXIS_COUNT] = {r, 0, 0};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        halo[axis] = axis == 0 || cells[axis] > 1 ? r : 0;
        for (int distance = 1; distance <= halo[axis]; distance++) {
            const double w = courant[axis] * differences[r][distance - 1];
            problem->parameter[diffusion_weight_at(axis, distance)] = w;
            problem->parameter[0] -= 2.0 * w;
        }
    }
    TRY(layout_create(cells, halo, wanted->precision, &problem->layout));
    problem->field_pitch = problem->layout.elements;
    return STATUS_OK;
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

const struct study study_diffusion = {
    .name = "diffusion",
    .setup = setup,
    .traffic = study_star_traffic,
    .published = published,
    .host = {{.name = "plain",
              .about = "cell by cell",
              .rows = {study_star_cells_float64, study_star_cells_float32}},
             {.name = "production",
              .about = "64 cells of a row at a time in vector registers",
              .rows = {study_star_tiles_float64, study_star_tiles_float32}}}};
