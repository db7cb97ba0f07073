/* The polynomials of super steps: consistency, order, damping, and the growth of rounding errors.
 */
#include <math.h>

#include "model/superstep/superstep.h"
#include "tests/test.h"

static const int stages[] = {4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192};
enum { NSTAGES = sizeof stages / sizeof stages[0], POINTS = 40000 };

/* The state after some levels, for u' = lambda u, z = lambda tau, from u = 1. */
static double run(const struct superstep *superstep, double z, int first, int last, double *most)
{
    double u = 1;
    double before = 1;
    *most = 1;
    for (int l = first; l < last; l++) {
        const struct superstep_level *level = &superstep->level[l];
        const double base = level->corrects ? before : u;
        before = u;
        u = base + level->weight * z * u;
        *most = level->predicts ? *most : fmax(*most, fabs(u));
    }
    return u;
}

static void check_stages(enum time_scheme scheme, int s)
{
    struct superstep forward;
    struct superstep reversed;
    const double limit = superstep_limit(scheme, s);
    const double from = scheme == SCHEME_STS1 ? 1.4 * limit / (s * s) : 2 * log(5);
    const double damped = scheme == SCHEME_MONOTONE ? 1 : 0.2;
    superstep_levels(scheme, s, false, &forward);
    superstep_levels(scheme, s, true, &reversed);
    for (int i = 1; i <= POINTS; i++) {
        double most = 0;
        double unused = 0;
        const double z = -limit * i / POINTS;
        const double r = run(&forward, z, 0, s, &most);
        assert_true(most <= 1 + 1e-9);
        if (-z >= from) {
            assert_true(fabs(r) <= damped * (1 + 1e-6));
        }
        if (s <= 32) {
            assert_true(fabs(r - run(&reversed, z, 0, s, &unused)) < 1e-6);
        }
    }
    /* no error within a super step grows until its end, in the reversed order */
    for (int l = 1; l < s; l++) {
        for (int i = 1; i <= 1000 && !reversed.level[l].corrects; i++) {
            double unused = 0;
            assert_true(fabs(run(&reversed, -limit * i / 1000, l, s, &unused)) <= 1 + 1e-9);
        }
    }
}

TEST(polynomials_are_damped_and_bounded)
{
    for (int i = 0; i < NSTAGES; i++) {
        check_stages(SCHEME_STS1, stages[i]);
        check_stages(SCHEME_STS2, stages[i]);
        if (stages[i] <= 48) {
            check_stages(SCHEME_MONOTONE, stages[i]);
        }
    }
}

/* The sums of the weights, and of products of two. */
TEST(orders)
{
    for (int i = 0; i < 3 * NSTAGES; i++) {
        const enum time_scheme scheme = i < NSTAGES       ? SCHEME_STS1
                                        : i < 2 * NSTAGES ? SCHEME_STS2
                                                          : SCHEME_MONOTONE;
        struct superstep superstep;
        if (superstep_limit(scheme, stages[i % NSTAGES]) == 0) {
            continue;
        }
        superstep_levels(scheme, stages[i % NSTAGES], i % 3 == 0, &superstep);
        const struct superstep_level *last = &superstep.level[superstep.nlevels - 1];
        const double p1 = last->corrects ? superstep.level[superstep.nlevels - 2].p1 : last->p1;
        const double p2 = last->corrects ? superstep.level[superstep.nlevels - 2].p2 : last->p2;
        assert_true(fabs(p1 + last->weight - 1) < 1e-14);
        if (scheme != SCHEME_STS1) {
            assert_true(fabs(p2 + last->weight * last->p1 - 0.5) < 1e-14);
        }
    }
}

/* Quadratic data are met: t^2 / tau^2 gives 2 p2. */
TEST(data_in_time)
{
    const struct superstep_level level = {.p1 = 0.3, .p2 = 0.02};
    assert_true(fabs(superstep_data(&level, 5, 5, 5) - 5) < 1e-15);
    assert_true(fabs(superstep_data(&level, 0, 0.5, 1) - 0.3) < 1e-15);
    assert_true(fabs(superstep_data(&level, 0, 0.25, 1) - 0.04) < 1e-15);
}

TEST(stages_of_a_length)
{
    assert_int_equal(superstep_stages(SCHEME_EULER, 2), 1);
    assert_int_equal(superstep_stages(SCHEME_EULER, 2.1), 0);
    assert_int_equal(superstep_stages(SCHEME_STS2, 6.95), 4);
    assert_int_equal(superstep_stages(SCHEME_STS2, 6.97), 8);
    assert_int_equal(superstep_stages(SCHEME_STS2, 18075), 192);
    assert_int_equal(superstep_stages(SCHEME_STS2, 18100), 0);
    assert_int_equal(superstep_stages(SCHEME_STS1, 100), 12);
}

TEST_MAIN(NULL, NULL)
