#include "model/superstep/superstep.h"

#include <math.h>
#include <stddef.h>

#include "kernels/cell/fixed_exp.h"

struct superstep_row {
    int nstages;
    int first; /* in superstep_factors: the pair's alpha and a, then the real factors */
    double limit;
};

#include "model/superstep/superstep_table.h"

enum {
    ROWS = sizeof superstep_rows / sizeof superstep_rows[0],
    MONOTONE_ROWS = sizeof superstep_monotone_rows / sizeof superstep_monotone_rows[0]
};

/* Chebyshev's polynomial of degree s, shifted and scaled so that stiff modes are damped to 1/5:
 * R(z) = T_s(w0 + w1 z) / T_s(w0) with T_s(w0) = 5. */
struct chebyshev {
    double above; /* w0 - 1 */
    double w1;
};

/* (exp(x) - exp(-x)) / 2 with the same bits everywhere. */
static double fixed_sinh(double x)
{
    return 0.5 * (fixed_exp(x) - fixed_exp(-x));
}

static struct chebyshev chebyshev_of(int nstages)
{
    const double arcosh_5 = 0x1.256e66a48a3b6p1;
    const double tanh_of_it = sqrt(24) / 5;
    const double half = fixed_sinh(arcosh_5 / (2 * nstages));
    return (struct chebyshev){.above = 2 * half * half,
                              .w1 = fixed_sinh(arcosh_5 / nstages) / (nstages * tanh_of_it)};
}

/* sin^2(x) with the same bits everywhere, for 0 <= x <= pi / 2: by Taylor's series to degree 23. */
static double fixed_sine_squared(double x)
{
    double sum = 0;
    for (int k = 23; k >= 3; k -= 2) {
        sum = (1 + sum) * (-x * x / (double)(k * (k - 1)));
    }
    const double sine = x * (1 + sum);
    return sine * sine;
}

/* SCHEME_STS1 has the stages of SCHEME_STS2. */
static const struct superstep_row *row_of(enum time_scheme scheme, int nstages)
{
    const bool monotone = scheme == SCHEME_MONOTONE;
    const struct superstep_row *row = monotone ? superstep_monotone_rows : superstep_rows;
    for (int i = 0; i < (monotone ? MONOTONE_ROWS : ROWS); i++) {
        if (row[i].nstages == nstages) {
            return &row[i];
        }
    }
    return NULL;
}

double superstep_limit(enum time_scheme scheme, int nstages)
{
    const struct superstep_row *row = row_of(scheme, nstages);
    if (scheme == SCHEME_EULER) {
        return nstages == 1 ? 2 : 0;
    }
    if (row == NULL) {
        return 0;
    }
    if (scheme != SCHEME_STS1) {
        return row->limit;
    }
    const struct chebyshev c = chebyshev_of(nstages);
    return 0.999 * (2 + c.above) / c.w1;
}

int superstep_stages(enum time_scheme scheme, double tau_radius)
{
    if (scheme == SCHEME_EULER) {
        return tau_radius <= superstep_limit(scheme, 1) ? 1 : 0;
    }
    for (int i = 0; i < ROWS; i++) {
        const int nstages = superstep_rows[i].nstages;
        if (tau_radius <= superstep_limit(scheme, nstages)) {
            return nstages;
        }
    }
    return 0;
}

int superstep_stages_most(enum time_scheme scheme, enum precision precision, bool linear)
{
    const bool second = scheme != SCHEME_STS1;
    const int least = second ? 8 : 16;
    const int most = scheme == SCHEME_MONOTONE ? superstep_monotone_rows[MONOTONE_ROWS - 1].nstages
                                               : SUPERSTEP_LEVELS_MOST;
    const int wanted =
        precision == PRECISION_FLOAT64 ? (linear ? most : 4 * least) : (linear ? 8 * least : least);
    return wanted < most ? wanted : most;
}

/* Lebedev's order of `n` factors that are sorted from the largest to the smallest: no product of
 * its first ones is large anywhere (V. I. Lebedev and S. A. Finogenov, USSR Comput. Math. Math.
 * Phys. 13 (1973) 21). */
static void lebedev_order(int n, int *order)
{
    int shorter[SUPERSTEP_LEVELS_MOST];
    if (n == 1) {
        order[0] = 0;
    } else if (n % 2 == 0) {
        lebedev_order(n / 2, shorter);
        for (int i = 0; i < n / 2; i++) {
            order[2 * i] = n - 1 - shorter[i];
            order[2 * i + 1] = shorter[i];
        }
    } else {
        lebedev_order(n - 1, shorter);
        order[0] = n / 2;
        for (int i = 0; i < n - 1; i++) {
            order[i + 1] = shorter[i] + (shorter[i] >= n / 2 ? 1 : 0);
        }
    }
}

/* Set p1 and p2 of all levels: the elementary symmetric sums of the weights before them. */
static void set_data(struct superstep *superstep)
{
    double p1 = 0;
    double p2 = 0;
    for (int l = 0; l < superstep->nlevels; l++) {
        struct superstep_level *level = &superstep->level[l];
        const double w = level->weight;
        level->p1 = p1;
        level->p2 = p2;
        if (level->predicts) { /* u + w F: the level after it adds to u */
            struct superstep_level *second = &superstep->level[++l];
            second->p1 = p1 + w;
            second->p2 = fma(w, p1, p2);
            p2 = fma(second->weight, second->p1, p2);
            p1 += second->weight;
        } else {
            p2 = fma(w, p1, p2);
            p1 += w;
        }
    }
}

/* Temperatures in between are bounded in the order for nonlinear problems. The overshoot at the end
 * is that of data that are made for it, on an unbounded grid, and as much again for other media. */
static void set_limits(enum time_scheme scheme, bool linear, struct superstep *superstep)
{
    const bool second = scheme != SCHEME_STS1;
    const double s = superstep->nlevels;
    for (int l = 0; l < superstep->nlevels; l++) {
        superstep->level[l].inside = !linear ? 1 : second ? 0.043 * s * s * s * s : 0.7 * s * s;
        superstep->level[l].overshoot = scheme == SCHEME_MONOTONE ? 0.1 : 0.08 * s * sqrt(s);
    }
}

/* Let the levels be the pairs, alpha and a each, and the real factors behind them, which are in the
 * order for linear problems; else reversed. */
static void set_weights(struct superstep *superstep, const double *pairs, int npairs, bool linear)
{
    const double *factors = pairs + (ptrdiff_t)2 * npairs;
    const int nreal = superstep->nlevels - 2 * npairs;
    struct superstep_level *level = &superstep->level[linear ? 0 : nreal];
    for (int i = 0; i < npairs; i++) {
        const double *pair = &pairs[2 * (linear ? i : npairs - 1 - i)];
        level[2 * i] = (struct superstep_level){.weight = pair[0], .predicts = true};
        level[2 * i + 1] = (struct superstep_level){.weight = pair[1], .corrects = true};
    }
    level = &superstep->level[linear ? 2 * npairs : 0];
    for (int i = 0; i < nreal; i++) {
        level[i] = (struct superstep_level){.weight = factors[linear ? i : nreal - 1 - i]};
    }
}

void superstep_levels(enum time_scheme scheme, int nstages, bool linear,
                      struct superstep *superstep)
{
    *superstep = (struct superstep){.nlevels = nstages};
    if (scheme == SCHEME_STS2 || scheme == SCHEME_MONOTONE) {
        set_weights(superstep, &superstep_factors[row_of(scheme, nstages)->first],
                    scheme == SCHEME_MONOTONE ? nstages / 2 : 1, linear);
    } else if (scheme == SCHEME_STS1) {
        const struct chebyshev c = chebyshev_of(nstages);
        int order[SUPERSTEP_LEVELS_MOST];
        double factors[SUPERSTEP_LEVELS_MOST];
        double sum = 0;
        lebedev_order(nstages, order);
        for (int i = 0; i < nstages; i++) {
            const double half_angle = (2 * order[i] + 1) * (M_PI / (4 * nstages));
            factors[nstages - 1 - i] = c.w1 / (c.above + 2 * fixed_sine_squared(half_angle));
            sum += factors[nstages - 1 - i];
        }
        for (int i = 0; i < nstages; i++) {
            factors[i] /= sum; /* which is 1 but for rounding */
        }
        set_weights(superstep, factors, 0, linear);
    } else {
        for (int l = 0; l < nstages; l++) {
            superstep->level[l] = (struct superstep_level){
                .weight = 1.0 / nstages, .is_step = true, .p1 = (double)l / nstages};
        }
        return;
    }
    set_data(superstep);
    set_limits(scheme, linear, superstep);
}
