/* The heat ledger. tests/physics compares it with other solvers, for every kind of face. */
#include <math.h>

#include "model/operator/ledger.h"
#include "tests/test.h"

enum { NX = 10 };

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

/* The digits of a negative sum are those of 2^40 less its size: all of them count. A level of a
 * super step has such sums, and so have differences of temperature. */
TEST(small_negative_sums_keep_their_digits)
{
    const struct problem problem = {
        .grid = {.cells = {NX, 1, 1}, .used = {true, false, false}, .spacing = {1, 1, 1}},
        .medium = {.conductivity = 1, .heat_capacity_volume = 1, .diffusivity = 1}};
    const double a = -0.32603333;
    const struct heat_operator op = {.all = {.r = {1, 0, 0}, .closed = {true}, .a = {a}}};
    const int64_t nine = ((int64_t)1 << 40) - 1; /* the highest digit */
    const struct ledger ledger = {.face_sum = {{{nine - 99, nine, nine, -1}}}};
    assert_true(ledger_boundary_heat(&ledger, &problem, &op) == (a - 1) * (-100 * 0x1p-80));
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
