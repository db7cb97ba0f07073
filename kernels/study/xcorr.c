#include "kernels/study/xcorr.h"

#include <inttypes.h>

enum { MOST_RADIUS = 1024 };

static enum status setup(const struct study_case *wanted, struct study_problem *problem)
{
    const int64_t cells[AXIS_COUNT] = {wanted->size[AXIS_X], 1, 1};
    const int halo[AXIS_COUNT] = {wanted->radius, 0, 0};
    if (wanted->radius < 0 || wanted->radius > MOST_RADIUS || cells[AXIS_X] > INT32_MAX / 2) {
        return fail(STATUS_INPUT, "at most %d cells and radius %d, not %" PRId64 " and %d",
                    INT32_MAX / 2, MOST_RADIUS, cells[AXIS_X], wanted->radius);
    }
    *problem = (struct study_problem){.nfields = 1, .radius = wanted->radius};
    TRY(layout_create(cells, halo, wanted->precision, &problem->layout));
    problem->field_pitch = problem->layout.elements;
    return STATUS_OK;
}

static void expected(const struct study_problem *problem, study_input *input, const void *context,
                     double results[STUDY_MOST_FIELDS])
{
    const int r = problem->radius;
    double sum = input(context, 0, -r, 0, 0);
    for (int x = 1 - r; x <= r; x++) {
        const double next = input(context, 0, x, 0, 0);
        sum = problem->layout.precision == PRECISION_FLOAT64 ? sum + next
                                                             : (double)((float)sum + (float)next);
    }
    results[0] = sum;
}

static struct study_traffic traffic(const struct study_problem *problem)
{
    const uint64_t width = precision_bytes(problem->layout.precision);
    const uint64_t cells = (uint64_t)problem->layout.cells[AXIS_X];
    return (struct study_traffic){.fetch_bytes = (cells + 2 * (uint64_t)problem->radius) * width,
                                  .write_bytes = cells * width,
                                  .points = cells};
}

/* 64 MiB in float32, 128 MiB in float64. */
static bool published(int index, enum precision precision, struct study_case *found)
{
    const int cells = 1 << 24;
    *found = (struct study_case){{cells, 1, 1}, precision, 1 << index};
    return found->radius <= MOST_RADIUS;
}

const struct study study_xcorr = {.name = "xcorr",
                                  .setup = setup,
                                  .expected = expected,
                                  .traffic = traffic,
                                  .published = published};
