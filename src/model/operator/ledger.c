#include "model/operator/ledger.h"

#include <math.h>
#include <string.h>

/* An unevaluated sum of two doubles, about 106 bits: the heat through a face is a small difference
 * of large sums. */
struct wide {
    double high;
    double low;
};

/* D. Knuth's two-sum: high + low is exactly sum.high + x. */
static struct wide wide_add(struct wide sum, double x)
{
    const double high = sum.high + x;
    const double part = high - sum.high;
    const double error = (sum.high - (high - part)) + (x - part);
    return (struct wide){high, sum.low + error};
}

static struct wide wide_add_product(struct wide sum, double x, double y)
{
    const double high = x * y;
    return wide_add(wide_add(sum, high), fma(x, y, -high));
}

double ledger_heat(const struct problem *problem, const struct exact_sum *sum)
{
    return problem_joule_per_kelvin(problem) * exact_sum_value(sum);
}

/* Add `count` (not negative) times x. */
static void add_times(struct exact_sum *sum, double x, int64_t count)
{
    struct exact_sum product = {{0}};
    struct exact_parts parts = {{0, 0, 0}};
    exact_parts_add(&parts, x);
    for (int shift = 60; shift >= 0; shift -= 20) { /* 20 bits of `count` fit beside a digit */
        const int64_t some = count >> shift & 0xfffff;
        for (int d = 0; d < 4; d++) {
            product.digit[d] = product.digit[d] * (1 << 20) + (d < 3 ? parts.part[d] * some : 0);
        }
        exact_sum_normalise(&product);
    }
    exact_sum_add(sum, &product);
}

double ledger_source_capacity(const struct problem *problem, int of_class)
{
    const struct medium *medium = &problem->medium;
    const struct medium_class *own = &medium->classes[of_class];
    const double whole =
        medium->lines ? own->heat_capacity_volume / medium->heat_capacity_volume : 1;
    return own->is_ambient ? 0 : whole;
}

void ledger_add_sources(struct ledger *ledger, const struct problem *problem,
                        const struct heat_operator *op)
{
    for (int c = 0; c < problem->medium.nclasses && problem_has_sources(problem); c++) {
        const struct medium_class *own = &problem->medium.classes[c];
        const double capacity = ledger_source_capacity(problem, c);
        const double each = own->cells > 0 ? capacity * own->amount / (double)own->cells : 0;
        add_times(&ledger->source_sum, operator_class_source(op, problem, c) * each, own->cells);
    }
}

void ledger_add_step(struct ledger *ledger, const struct heat_operator *op)
{
    for (int face = 0; face < FACE_COUNT; face++) {
        if (op->all.closed[face]) {
            struct exact_parts parts = {{0, 0, 0}};
            exact_parts_add(&parts, op->all.b[face]);
            exact_sum_add_parts(&ledger->b_sum[face], &parts);
        }
    }
}

/* Add factor times a sum, digit by digit. A negative one has the highest digits of all: its digits
 * would cancel, and 106 bits hold no more than 2^-66 K beside them. */
static struct wide wide_add_sum(struct wide sum, double factor, const struct exact_sum *of)
{
    static const double unit[4] = {0x1p-80, 0x1p-40, 1, 0x1p40};
    struct exact_sum size = *of;
    const int64_t sign = of->digit[3] < 0 ? -1 : 1;
    for (int d = 0; d < 4; d++) {
        size.digit[d] *= sign;
    }
    exact_sum_normalise(&size);
    for (int d = 3; d >= 0; d--) {
        sum = wide_add_product(sum, factor, (double)(sign * size.digit[d]) * unit[d]);
    }
    return sum;
}

/* Sum over cells and steps of outside - inside at one face, K: a S + N B - S. */
static double face_difference(const struct ledger *ledger, enum face face, double a, double cells)
{
    struct wide sum = wide_add_sum((struct wide){0, 0}, a, &ledger->face_sum[face]);
    sum = wide_add_sum(sum, -1, &ledger->face_sum[face]);
    sum = wide_add_sum(sum, cells, &ledger->b_sum[face]);
    return sum.high + sum.low;
}

double ledger_face_heat(const struct ledger *ledger, const struct problem *problem,
                        const struct heat_operator *op, enum face face)
{
    const struct grid *grid = &problem->grid;
    const enum axis axis = face_axis(face);
    if (!op->all.closed[face] || !grid->used[axis]) {
        return 0;
    }
    if (op->all.kind != KIND_UNIFORM) {
        const double r = op->all.kind == KIND_HIGH_ORDER ? op->all.r[axis] : 1;
        return problem_joule_per_kelvin(problem) * r * exact_sum_value(&ledger->face_sum[face]);
    }
    const int64_t cells = grid_total_cells(grid) / grid->cells[axis];
    return problem_joule_per_kelvin(problem) * op->all.r[axis] *
           face_difference(ledger, face, op->all.a[face], (double)cells);
}

double ledger_boundary_heat(const struct ledger *ledger, const struct problem *problem,
                            const struct heat_operator *op)
{
    double heat = ledger->booked_J;
    for (int face = 0; face < FACE_COUNT; face++) {
        heat += ledger_face_heat(ledger, problem, op, (enum face)face);
    }
    if (problem->medium.nambients > 0) {
        heat += ledger_heat(problem, &ledger->surface_sum);
    }
    return heat;
}

double ledger_source_heat(const struct ledger *ledger, const struct problem *problem)
{
    return ledger->source_booked_J + ledger_heat(problem, &ledger->source_sum);
}

double ledger_turnover(const struct ledger *ledger, const struct problem *problem,
                       const struct heat_operator *op)
{
    double turnover = fabs(ledger->booked_J) + fabs(ledger_source_heat(ledger, problem)) +
                      fabs(ledger_heat(problem, &ledger->surface_sum));
    for (int face = 0; face < FACE_COUNT; face++) {
        turnover += fabs(ledger_face_heat(ledger, problem, op, (enum face)face));
    }
    return turnover;
}

void ledger_close(struct ledger *ledger, const struct problem *problem,
                  const struct heat_operator *op)
{
    ledger->booked_J = ledger_boundary_heat(ledger, problem, op);
    memset(ledger->face_sum, 0, sizeof ledger->face_sum);
    memset(ledger->b_sum, 0, sizeof ledger->b_sum);
    ledger->surface_sum = (struct exact_sum){{0}};
}

void ledger_forgive(struct ledger *ledger, const struct problem *problem, double drift_J)
{
    const double kelvin = drift_J / problem_joule_per_kelvin(problem);
    /* the sum over many cells may exceed the limit of one term */
    const double high = trunc(kelvin / EXACT_SUM_LIMIT);
    struct exact_parts parts = {{0, 0, 0}};
    exact_parts_add(&parts, kelvin - high * EXACT_SUM_LIMIT);
    ledger->start.digit[3] += (int64_t)high; /* counts multiples of EXACT_SUM_LIMIT */
    exact_sum_add_parts(&ledger->start, &parts);
}
