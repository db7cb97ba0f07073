/* Cell averages on another grid: the heat, the bounds, the order of accuracy and the bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/space/regrid.h"
#include "tests/test.h"

static const struct {
    int64_t from[AXIS_COUNT];
    int64_t to[AXIS_COUNT];
} pairs[] = {
    {{12, 1, 1}, {24, 1, 1}},   {{12, 1, 1}, {4, 1, 1}},  {{13, 1, 1}, {20, 1, 1}},
    {{9, 1, 7}, {18, 1, 14}},   {{10, 12, 1}, {7, 5, 1}}, {{8, 6, 5}, {16, 12, 10}},
    {{16, 9, 12}, {8, 3, 6}},   {{7, 11, 5}, {10, 6, 9}}, {{5, 4, 1}, {5, 4, 6}},
    {{6, 5, 7}, {6, 5, 1}},     {{3, 1, 1}, {100, 1, 1}}, {{1, 2, 1}, {5, 3, 2}},
    {{101, 1, 1}, {100, 1, 1}},
};
enum { NPAIRS = sizeof pairs / sizeof pairs[0] };

/* Caller frees. */
static double *fill(const struct regrid *regrid, const struct box *target, const double *field)
{
    const struct box source = regrid_source(regrid, target);
    const size_t cells = (size_t)regrid_buffer_cells(&source, target);
    double *old = malloc(cells * sizeof *old);
    double *values = malloc(cells * sizeof *values);
    assert_true(old != NULL && values != NULL);
    double *next = old;
    for (int64_t k = source.lo[2]; k < source.hi[2]; k++) {
        for (int64_t j = source.lo[1]; j < source.hi[1]; j++) {
            const int64_t row = (k * regrid->cells[1] + j) * regrid->cells[0];
            for (int64_t i = source.lo[0]; i < source.hi[0]; i++) {
                *next++ = field[row + i];
            }
        }
    }
    regrid_fill(regrid, &source, target, old, values);
    free(old);
    return values;
}

static double *fill_all(const int64_t from[AXIS_COUNT], const int64_t to[AXIS_COUNT],
                        const double *field)
{
    struct regrid regrid;
    const struct box target = box_of_cells(to);
    assert_int_equal(regrid_create(from, to, &regrid), STATUS_OK);
    return fill(&regrid, &target, field);
}

static int64_t count(const int64_t cells[AXIS_COUNT])
{
    return cells[0] * cells[1] * cells[2];
}

/* With jumps, plateaus and single extreme cells. */
static double *rough(int64_t cells, unsigned seed)
{
    double *field = malloc((size_t)cells * sizeof *field);
    assert_non_null(field);
    for (int64_t c = 0; c < cells; c++) {
        seed = seed * 1103515245U + 12345U;
        field[c] = seed >> 30 == 0 ? 300.1 : 250 + (double)(seed >> 8) / (1 << 18);
    }
    return field;
}

static void range(const double *field, int64_t cells, double *low, double *high, double *mean)
{
    long double sum = 0;
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t c = 0; c < cells; c++) {
        *low = fmin(*low, field[c]);
        *high = fmax(*high, field[c]);
        sum += field[c];
    }
    *mean = (double)(sum / (long double)cells);
}

TEST(test_heat_and_bounds)
{
    for (int p = 0; p < NPAIRS; p++) {
        for (unsigned seed = 1; seed < 20; seed++) {
            double low, high, mean, new_low, new_high, new_mean;
            double *field = rough(count(pairs[p].from), seed);
            double *values = fill_all(pairs[p].from, pairs[p].to, field);
            range(field, count(pairs[p].from), &low, &high, &mean);
            range(values, count(pairs[p].to), &new_low, &new_high, &new_mean);
            assert_true(fabs(new_mean - mean) < 4e-16 * mean);
            assert_true(new_low >= low && new_high <= high);
            free(values);
            free(field);
        }
    }
}

TEST(test_uniform_and_same)
{
    for (int p = 0; p < NPAIRS; p++) {
        const int64_t n = count(pairs[p].from);
        double *field = rough(n, 7);
        double *same = fill_all(pairs[p].from, pairs[p].from, field);
        assert_memory_equal(same, field, (size_t)n * sizeof *field);
        for (int64_t c = 0; c < n; c++) {
            field[c] = 293.15;
        }
        double *values = fill_all(pairs[p].from, pairs[p].to, field);
        for (int64_t c = 0; c < count(pairs[p].to); c++) {
            assert_true(values[c] == 293.15);
        }
        free(values);
        free(same);
        free(field);
    }
}

/* Any part of the new grid, as a rank has it. */
TEST(test_parts_have_the_same_bits)
{
    for (int p = 0; p < NPAIRS; p++) {
        const int64_t *to = pairs[p].to;
        struct regrid regrid;
        assert_int_equal(regrid_create(pairs[p].from, to, &regrid), STATUS_OK);
        double *field = rough(count(pairs[p].from), 3);
        double *whole = fill_all(pairs[p].from, to, field);
        for (int part = 0; part < 8; part++) {
            struct box box = box_of_cells(to);
            for (int a = 0; a < AXIS_COUNT; a++) {
                const int64_t cut = (to[a] + 1) / 3;
                *((part >> a & 1) != 0 ? &box.lo[a] : &box.hi[a]) = to[a] > 1 ? cut : to[a] - 1;
            }
            if (box_is_empty(&box)) {
                continue;
            }
            double *values = fill(&regrid, &box, field);
            const double *next = values;
            for (int64_t k = box.lo[2]; k < box.hi[2]; k++) {
                for (int64_t j = box.lo[1]; j < box.hi[1]; j++) {
                    for (int64_t i = box.lo[0]; i < box.hi[0]; i++) {
                        assert_true(*next++ == whole[(k * to[1] + j) * to[0] + i]);
                    }
                }
            }
            free(values);
        }
        free(whole);
        free(field);
    }
}

/* The average of 300 + product of (1 + sin(3 x + 0.4)) over a cell, on [0, 1] per axis. */
static double average(const int64_t cells[AXIS_COUNT], int64_t i, int64_t j, int64_t k)
{
    const int64_t index[AXIS_COUNT] = {i, j, k};
    double product = 1;
    for (int a = 0; a < AXIS_COUNT; a++) {
        const double h = 1.0 / (double)cells[a];
        const double x = (double)index[a] * h;
        product *= 1 + (cos(3 * x + 0.4) - cos(3 * (x + h) + 0.4)) / (3 * h);
    }
    return 300 + product;
}

static double *smooth(const int64_t cells[AXIS_COUNT])
{
    double *field = malloc((size_t)count(cells) * sizeof *field);
    assert_non_null(field);
    double *next = field;
    for (int64_t k = 0; k < cells[2]; k++) {
        for (int64_t j = 0; j < cells[1]; j++) {
            for (int64_t i = 0; i < cells[0]; i++) {
                *next++ = average(cells, i, j, k);
            }
        }
    }
    return field;
}

struct errors {
    double mean;     /* of all cells */
    double monotone; /* the largest where the field is monotone, away from the faces */
    double worst;    /* the largest away from the faces */
};

static bool is_within(const int64_t index[AXIS_COUNT], const int64_t cells[AXIS_COUNT],
                      int dimensions, double low, double high)
{
    bool within = true;
    for (int a = 0; a < dimensions; a++) {
        const double center = ((double)index[a] + 0.5) / (double)cells[a];
        within = within && center > low && center < high;
    }
    return within;
}

static struct errors errors(int64_t n, const int64_t ratio[2], int dimensions)
{
    int64_t from[AXIS_COUNT] = {n, 1, 1};
    int64_t to[AXIS_COUNT] = {n * ratio[0] / ratio[1], 1, 1};
    for (int a = 1; a < dimensions; a++) {
        from[a] = from[0];
        to[a] = to[0];
    }
    double *field = smooth(from);
    double *expected = smooth(to);
    double *values = fill_all(from, to, field);
    struct errors found = {0};
    for (int64_t c = 0; c < count(to); c++) {
        const double error = fabs(values[c] - expected[c]);
        const int64_t index[AXIS_COUNT] = {c % to[0], c / to[0] % to[1], c / to[0] / to[1]};
        const bool monotone = is_within(index, to, dimensions, 0.1, 0.3);
        const bool inside = is_within(index, to, dimensions, 0.1, 0.9);
        found.mean += error / (double)count(to);
        found.monotone = monotone ? fmax(found.monotone, error) : found.monotone;
        found.worst = inside ? fmax(found.worst, error) : found.worst;
    }
    free(values);
    free(expected);
    free(field);
    return found;
}

/* On three grids, each twice as fine: refined, by a broken ratio, and coarsened by one. In the cell
 * with the maximum the slope is 0: the error there depends on where in the cell it is, and has a
 * bound of second order. The orders are means of both steps, since at a broken ratio the errors
 * also depend on how the cells lie to each other. */
TEST(test_second_order)
{
    static const int64_t ratios[][2] = {{2, 1}, {7, 4}, {3, 4}};
    for (int r = 0; r < 3; r++) {
        for (int dimensions = 1; dimensions <= 3; dimensions++) {
            struct errors coarsest = {0};
            struct errors now = {0};
            for (int64_t n = 16; n <= 64; n *= 2) {
                now = errors(n, ratios[r], dimensions);
                assert_true(now.worst < 20.0 / (double)(n * n));
                coarsest = n == 16 ? now : coarsest;
            }
            assert_true(log2(coarsest.mean / now.mean) / 2 > 1.9);
            assert_true(log2(coarsest.monotone / now.monotone) / 2 > 1.7);
            assert_true(now.mean < 3e-3 && now.monotone < 1e-3);
        }
    }
}

TEST(test_too_many)
{
    const int64_t from[AXIS_COUNT] = {INT64_C(1) << 40, 1, 1};
    const int64_t to[AXIS_COUNT] = {(INT64_C(1) << 40) - 1, 1, 1};
    struct regrid regrid;
    assert_int_equal(regrid_create(from, to, &regrid), STATUS_INPUT);
    /* far beyond 32 bits, where the cell walls coincide at the ends only */
    const int64_t large[AXIS_COUNT] = {INT64_C(3000000001), 1, 1};
    const int64_t other[AXIS_COUNT] = {INT64_C(500000003), 1, 1};
    assert_int_equal(regrid_create(large, other, &regrid), STATUS_OK);
    const struct box last = {{other[0] - 1, 0, 0}, {other[0], 1, 1}};
    const struct box source = regrid_source(&regrid, &last);
    assert_true(source.hi[0] == large[0] && source.lo[0] == large[0] - 7);
}

TEST_MAIN(NULL, NULL)
