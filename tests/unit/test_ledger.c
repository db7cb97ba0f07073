/* The heat ledger: on a plain 1D loop, what the faces let through is what the cells gained. */
#include <math.h>
#include <string.h>

#include "kernels/cell/heat_cell.h"
#include "model/operator/ledger.h"
#include "tests/test.h"

enum { NX = 10 };

struct rod {
    struct settings settings;
    struct problem problem;
    struct ledger ledger;
    double t[NX];
    double time;
};

static struct exact_sum sum_of(const double *values, int n)
{
    struct exact_sum sum = {{0, 0, 0, 0}};
    struct exact_parts parts = {{0, 0, 0}};
    for (int i = 0; i < n; i++) {
        exact_parts_add(&parts, values[i]);
    }
    exact_sum_add_parts(&sum, &parts);
    return sum;
}

static void make_rod(struct rod *rod, struct boundary_setting left, struct boundary_setting right)
{
    *rod = (struct rod){0};
    struct settings *settings = &rod->settings;
    const int64_t cells[AXIS_COUNT] = {NX, 1, 1};
    const double upper[AXIS_COUNT] = {0.5, 0.03, 0.02};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        settings->grid.cells[axis] = cells[axis];
        settings->grid.upper[axis] = upper[axis];
    }
    settings->material.conductivity = 45;
    settings->material.density = 7800;
    settings->material.heat_capacity = 450;
    settings->boundary[FACE_X_MIN] = left;
    settings->boundary[FACE_X_MAX] = right;
    rod->problem.settings = settings;
    grid_create(settings, &rod->problem.grid);
    assert_int_equal(medium_create(settings, &rod->problem.medium), STATUS_OK);
    assert_int_equal(boundary_create(settings, &rod->problem.boundary), STATUS_OK);
    for (int i = 0; i < NX; i++) {
        rod->t[i] = 300 + 40 * sin(1.7 * i);
    }
    rod->ledger.start = sum_of(rod->t, NX);
}

/* One step of length dt, with the ledger kept as the program keeps it. */
static void step_rod(struct rod *rod, double dt, struct heat_operator *op)
{
    assert_int_equal(operator_create(&rod->problem, rod->time, dt, op), STATUS_OK);
    const struct coefficients *closure = &op->all;
    const struct exact_sum left = sum_of(&rod->t[0], 1);
    const struct exact_sum right = sum_of(&rod->t[NX - 1], 1);
    exact_sum_add(&rod->ledger.face_sum[FACE_X_MIN], &left);
    exact_sum_add(&rod->ledger.face_sum[FACE_X_MAX], &right);
    ledger_add_step(&rod->ledger, op);
    double next[NX];
    for (int i = 0; i < NX; i++) {
        const double c = rod->t[i];
        const double xm =
            i > 0 ? rod->t[i - 1]
                  : heat_outside_float64(c, closure->a[FACE_X_MIN], closure->b[FACE_X_MIN]);
        const double xp =
            i < NX - 1 ? rod->t[i + 1]
                       : heat_outside_float64(c, closure->a[FACE_X_MAX], closure->b[FACE_X_MAX]);
        next[i] = heat_cell_float64(c, c, xm, xp, c, c, c, c, op->all.r[AXIS_X], 0, 0);
    }
    memcpy(rod->t, next, sizeof next);
    rod->time += dt;
}

static void expect_no_drift(const struct rod *rod, const struct heat_operator *op,
                            double least_change)
{
    const struct exact_sum now = sum_of(rod->t, NX);
    const double start = ledger_heat(&rod->problem, &rod->ledger.start);
    const double heat = ledger_heat(&rod->problem, &now);
    const double came = ledger_boundary_heat(&rod->ledger, &rod->problem, op);
    assert_true(fabs(came) >= least_change * start);
    assert_true(fabs(heat - start - came) <= 1e-13 * start);
}

TEST(heat_in_equals_heat_gained)
{
    const struct boundary_setting cases[] = {
        {.kind = BOUNDARY_TEMPERATURE, .number[BOUNDARY_VALUE].value = 500},
        {.kind = BOUNDARY_FLUX, .number[BOUNDARY_VALUE].value = 30000},
        {.kind = BOUNDARY_CONVECTION,
         .number[BOUNDARY_COEFFICIENT].value = 900,
         .number[BOUNDARY_AMBIENT].value = 1200},
        {.kind = BOUNDARY_TEMPERATURE, .number[BOUNDARY_VALUE].formula = "300 + 200*sin(t/500)"},
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    for (int left = 0; left < CASES; left++) {
        for (int right = 0; right < CASES; right++) {
            struct rod rod;
            struct heat_operator op;
            make_rod(&rod, cases[left], cases[right]);
            const double dt = 0.8 * medium_stable_dt(&rod.problem.medium, &rod.problem.grid);
            for (int step = 0; step < 400; step++) {
                step_rod(&rod, dt, &op);
            }
            expect_no_drift(&rod, &op, 0.01);
            /* a step of another length */
            ledger_close(&rod.ledger, &rod.problem, &op);
            expect_no_drift(&rod, &op, 0.01);
            for (int step = 0; step < 3; step++) {
                step_rod(&rod, 0.31 * dt, &op);
            }
            expect_no_drift(&rod, &op, 0.01);
            boundary_destroy(&rod.problem.boundary);
        }
    }
}

TEST(insulated_faces_let_exactly_nothing_through)
{
    const struct boundary_setting insulated = {.kind = BOUNDARY_FLUX,
                                               .number[BOUNDARY_VALUE].value = 0};
    struct rod rod;
    struct heat_operator op;
    make_rod(&rod, insulated, insulated);
    for (int step = 0; step < 100; step++) {
        step_rod(&rod, 0.5 * medium_stable_dt(&rod.problem.medium, &rod.problem.grid), &op);
    }
    const double came = ledger_boundary_heat(&rod.ledger, &rod.problem, &op);
    assert_true(came == 0);
    boundary_destroy(&rod.problem.boundary);
}

/* J per K and cell, the cells of a face, and the sign, from numbers that can be done by hand. */
TEST(one_face_by_hand)
{
    struct problem problem = {
        .grid = {.cells = {4, 3, 2},
                 .used = {true, true, true},
                 .dimensions = 3,
                 .upper = {4, 3, 2},
                 .spacing = {1, 1, 1}},
        .medium = {.conductivity = 1, .heat_capacity_volume = 2, .diffusivity = 0.5}};
    const struct heat_operator op = {.all = {.r = {0.1, 0.25, 0.1},
                                             .closed = {[FACE_Y_MAX] = true},
                                             .a = {[FACE_Y_MAX] = -1},
                                             .b = {[FACE_Y_MAX] = 40}}};
    struct ledger ledger = {.booked_J = 5};
    for (int step = 0; step < 3; step++) {
        ledger_add_step(&ledger, &op);
    }
    ledger.face_sum[FACE_Y_MAX].digit[2] = 100;
    ledger.face_sum[FACE_X_MIN].digit[2] = 1000; /* open: does not count */
    /* 8 cells on the face: 2 J/K x 0.25 x (-2 x 100 + 8 x 3 x 40) */
    assert_true(ledger_boundary_heat(&ledger, &problem, &op) == 5 + 0.5 * 760);
    ledger_close(&ledger, &problem, &op);
    assert_true(ledger.booked_J == 385);
    assert_true(ledger_boundary_heat(&ledger, &problem, &op) == 385);
    /* an axis that is not in use lets nothing through */
    problem.grid.used[AXIS_Y] = false;
    ledger.face_sum[FACE_Y_MAX].digit[2] = 100;
    assert_true(ledger_boundary_heat(&ledger, &problem, &op) == 385);
}

/* A small difference of large sums keeps its digits: 1e9 steps near a steady state. */
TEST(long_runs_keep_their_digits)
{
    const struct problem problem = {
        .grid = {.cells = {NX, 1, 1}, .used = {true, false, false}, .spacing = {1, 1, 1}},
        .medium = {.conductivity = 1, .heat_capacity_volume = 1, .diffusivity = 1}};
    const struct heat_operator op = {
        .all = {.r = {1, 0, 0}, .closed = {true}, .a = {-1}, .b = {600}}};
    struct ledger ledger = {0};
    const int64_t steps = 1000000000;
    ledger.b_sum[FACE_X_MIN].digit[2] = 600 * steps; /* below 2^40 */
    /* inside: 300 K each step, and 3 x 2^-40 K more in all */
    ledger.face_sum[FACE_X_MIN].digit[2] = 300 * steps;
    ledger.face_sum[FACE_X_MIN].digit[1] = 3;
    assert_true(ledger_boundary_heat(&ledger, &problem, &op) == -6 * 0x1p-40);
}

/* Small and large drifts of either sign, beyond what one term of an exact sum holds. */
TEST(a_drift_is_forgiven)
{
    const struct problem problem = {
        .grid = {.cells = {NX, 1, 1}, .used = {true, false, false}, .spacing = {0.1, 0.1, 0.1}},
        .medium = {.conductivity = 1, .heat_capacity_volume = 3e6, .diffusivity = 1}};
    const double drifts[] = {12.5, -12.5, 3.7e18, -3.7e18, 1e-9};
    for (size_t i = 0; i < sizeof drifts / sizeof drifts[0]; i++) {
        struct ledger ledger = {.start = {{0, 0, 3000, 0}}};
        const double before = ledger_heat(&problem, &ledger.start);
        ledger_forgive(&ledger, &problem, drifts[i]);
        const double moved = ledger_heat(&problem, &ledger.start) - before;
        assert_true(fabs(moved - drifts[i]) <= 4e-16 * (fabs(drifts[i]) + 2 * before));
    }
}

TEST_MAIN(NULL, NULL)
