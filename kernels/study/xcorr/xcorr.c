/* The study `xcorr`: cross-correlation in one dimension with weights of 1, so that an output is the
 * sum of 2 radius + 1 inputs, added in the order of their addresses. */
#include <inttypes.h>

#include "kernels/study/study.h"

enum { MOST_RADIUS = 1024 };

static double weight(const struct study_problem *problem, int axis, int distance)
{
    return 1.0;
}

static enum status setup(const struct study_case *wanted, struct study_problem *problem)
{
    const int64_t cells[AXIS_COUNT] = {wanted->size[AXIS_X], 1, 1};
    const int halo[AXIS_COUNT] = {wanted->radius, 0, 0};
    if (wanted->radius < 0 || wanted->radius > MOST_RADIUS || cells[AXIS_X] > INT32_MAX / 2) {
        return fail(STATUS_INPUT, "at most %d cells and radius %d, not %" PRId64 " and %d",
                    INT32_MAX / 2, MOST_RADIUS, cells[AXIS_X], wanted->radius);
    }
    *problem = (struct study_problem){.nfields = 1, .radius = wanted->radius, .weight = weight};
    TRY(layout_create(cells, halo, wanted->precision, &problem->layout));
    problem->field_pitch = problem->layout.elements;
    return STATUS_OK;
}

/* 64 MiB in float32, 128 MiB in float64. */
static bool published(int index, enum precision precision, struct study_case *found)
{
    const int cells = 1 << 24;
    *found = (struct study_case){{cells, 1, 1}, precision, 1 << index};
    return found->radius <= MOST_RADIUS;
}

const struct study study_xcorr = {
    .name = "xcorr",
    .setup = setup,
    .traffic = study_star_traffic,
    .published = published,
    .host = {{.name = "plain",
              .about = "one output after another",
              .rows = {study_star_cells_float64, study_star_cells_float32}},
             {.name = "production",
              .about = "64 outputs at a time in vector registers",
              .rows = {study_star_tiles_float64, study_star_tiles_float32}}}};
