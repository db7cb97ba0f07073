/* Problems without classes: of a uniform medium, and of high order. */
#include "problem.h"

#include <math.h>
#include <string.h>

#include "kernels/cell/heat_cell.h"

/* The neighbour of a cell across `face`, as a double (exact for float32). */
static double neighbour(const struct problem *p, const int64_t of[AXIS_COUNT], enum face face)
{
    int64_t cell[AXIS_COUNT] = {of[0], of[1], of[2]};
    const enum axis axis = face_axis(face);
    const int64_t last = face_side(face) == SIDE_MIN ? 0 : p->layout.cells[axis] - 1;
    if (p->args.closed[face] && cell[axis] == last) {
        const double inside =
            host_get(&p->layout, p->h_in, layout_index(&p->layout, of[0], of[1], of[2]));
        const double a = p->args.a[face];
        const double b = p->args.b[face];
        return p->layout.precision == PRECISION_FLOAT64
                   ? heat_outside_float64(inside, a, b)
                   : (double)heat_outside_float32((float)inside, (float)a, (float)b);
    }
    cell[axis] += face_side(face) == SIDE_MIN ? -1 : 1;
    return host_get(&p->layout, p->h_in, layout_index(&p->layout, cell[0], cell[1], cell[2]));
}

void uniform_reference_cell(struct problem *p, const int64_t cell[AXIS_COUNT],
                            __int128 sums[FACE_COUNT])
{
    const int64_t at = layout_index(&p->layout, cell[0], cell[1], cell[2]);
    const double c = host_get(&p->layout, p->h_in, at);
    const double base = problem_base(p, at);
    const double *r = p->args.r;
    double n[FACE_COUNT];
    for (int face = 0; face < FACE_COUNT; face++) {
        n[face] = neighbour(p, cell, (enum face)face);
        const int64_t edge = face % 2 == 0 ? 0 : p->layout.cells[face / 2] - 1;
        if (p->args.closed[face] && cell[face / 2] == edge) {
            sums[face] += fixed_point(c);
        }
    }
    if (p->layout.precision == PRECISION_FLOAT64) {
        ((double *)p->h_expected)[at] =
            heat_cell_float64(base, c, n[0], n[1], n[2], n[3], n[4], n[5], r[0], r[1], r[2]);
    } else {
        ((float *)p->h_expected)[at] = heat_cell_float32(
            (float)base, (float)c, (float)n[0], (float)n[1], (float)n[2], (float)n[3], (float)n[4],
            (float)n[5], (float)r[0], (float)r[1], (float)r[2]);
    }
}

/* The steps of half of the passes differ in length, and in the coefficients of their faces. */
static void vary_lengths(struct problem *p, uint64_t *random)
{
    const bool one_length = random_below(random, 2) == 0;
    for (int n = 0; n < p->nsteps * AXIS_COUNT && !one_length; n++) {
        struct coefficients *level = &p->levels[n / AXIS_COUNT];
        const int face = 2 * (n % AXIS_COUNT) + (int)random_below(random, 2);
        level->r[n % AXIS_COUNT] *= random_between(random, 0.1, 1.0);
        level->a[face] *= level->b[face] != 0 ? random_between(random, 0.1, 1.0) : 1;
    }
}

/* Each step has values of its own at closed faces. */
void uniform_fill(struct problem *p, uint64_t *random)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool used = p->args.r[axis] > 0.0;
        p->args.r[axis] = used ? random_between(random, 0.0, 0.16) : 0.0;
        for (int face = 2 * axis; face <= 2 * axis + 1; face++) {
            const bool insulated = !used || random_below(random, 4) == 0;
            p->args.a[face] = insulated ? 1.0 : random_between(random, -1.0, 1.0);
            for (int s = 0; s < p->nsteps; s++) {
                p->levels[s].b[face] = insulated ? 0.0 : random_between(random, -500.0, 500.0);
            }
        }
    }
    for (int s = 0; s < p->nsteps; s++) {
        memcpy(p->args.b, p->levels[s].b, sizeof p->args.b);
        p->levels[s] = p->args;
    }
    vary_lengths(p, random);
}

static double input(const struct problem *p, const int64_t cell[AXIS_COUNT], int axis, int64_t at)
{
    int64_t other[AXIS_COUNT] = {cell[0], cell[1], cell[2]};
    other[axis] = at;
    return host_get(&p->layout, p->h_in, layout_index(&p->layout, other[0], other[1], other[2]));
}

/* Weights of the cells from a face on: a sum in double. */
static double from_face(const struct problem *p, const int64_t cell[AXIS_COUNT], int face,
                        int64_t row, const double *weight, double given)
{
    const struct wide_closure *closure = &p->args.high_order.closure[face];
    const int axis = face / 2;
    const int64_t last = p->layout.cells[axis] - 1;
    const double own = input(p, cell, axis, face % 2 == 0 ? row : last - row);
    double sum = given * fma(-closure->slope, own, closure->value);
    for (int64_t n = 0; n < 2 * p->args.high_order.radius; n++) {
        const double other = input(p, cell, axis, face % 2 == 0 ? n : last - n);
        sum = fma(weight[n], other - own, sum);
    }
    return sum;
}

static double difference(const struct problem *p, const int64_t cell[AXIS_COUNT], int axis)
{
    const int64_t from_low = cell[axis];
    const int64_t from_high = p->layout.cells[axis] - 1 - cell[axis];
    if (!p->args.high_order.used[axis]) {
        return 0;
    }
    if (p->args.closed[2 * axis] && from_low < p->args.high_order.radius) {
        const struct wide_closure *c = &p->args.high_order.closure[2 * axis];
        return from_face(p, cell, 2 * axis, from_low, c->weight[from_low], c->given[from_low]);
    }
    if (p->args.closed[2 * axis + 1] && from_high < p->args.high_order.radius) {
        const struct wide_closure *c = &p->args.high_order.closure[2 * axis + 1];
        return from_face(p, cell, 2 * axis + 1, from_high, c->weight[from_high],
                         c->given[from_high]);
    }
    const double own = input(p, cell, axis, cell[axis]);
    double sum = 0;
    for (int k = p->args.high_order.radius; k >= 1; k--) {
        const double below = input(p, cell, axis, cell[axis] - k);
        const double above = input(p, cell, axis, cell[axis] + k);
        if (p->layout.precision == PRECISION_FLOAT64) {
            sum = fma(p->args.high_order.weight[k - 1], fma(-2.0, own, below + above), sum);
        } else {
            const float both = (float)below + (float)above;
            sum = fmaf((float)p->args.high_order.weight[k - 1], fmaf(-2.0F, (float)own, both),
                       (float)sum);
        }
    }
    return sum;
}

void high_order_reference_cell(struct problem *p, const int64_t cell[AXIS_COUNT],
                               __int128 sums[FACE_COUNT])
{
    const int64_t at = layout_index(&p->layout, cell[0], cell[1], cell[2]);
    const double base = problem_base(p, at);
    double d[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        d[axis] = difference(p, cell, axis);
    }
    const double *r = p->args.r;
    if (p->layout.precision == PRECISION_FLOAT64) {
        ((double *)p->h_expected)[at] = fma(r[0], d[0], fma(r[1], d[1], fma(r[2], d[2], base)));
    } else {
        ((float *)p->h_expected)[at] =
            fmaf((float)r[0], (float)d[0],
                 fmaf((float)r[1], (float)d[1], fmaf((float)r[2], (float)d[2], (float)base)));
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        const int axis = face / 2;
        const int64_t edge = face % 2 == 0 ? 0 : p->layout.cells[axis] - 1;
        if (p->args.high_order.used[axis] && p->args.closed[face] && cell[axis] == edge) {
            const struct wide_closure *c = &p->args.high_order.closure[face];
            sums[face] += fixed_point(from_face(p, cell, face, 0, c->in, c->in_given));
        }
    }
}

/* Any weights: the kernel does not know what they mean. */
static void random_closure(struct wide_closure *closure, int radius, uint64_t *random)
{
    memset(closure, 0, sizeof *closure);
    for (int row = 0; row < radius; row++) {
        for (int cell = 0; cell < 2 * radius; cell++) {
            closure->weight[row][cell] = cell == row ? 0 : random_between(random, -2, 2);
        }
        closure->given[row] = random_between(random, -2, 2);
    }
    for (int cell = 1; cell < 2 * radius; cell++) {
        closure->in[cell] = random_between(random, -2, 2);
    }
    closure->in_given = random_between(random, -2, 2);
    closure->value = random_between(random, -500, 500);
    closure->slope = (double)random_below(random, 2);
}

void high_order_fill(struct problem *p, uint64_t *random)
{
    struct high_order *order = &p->args.high_order;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        order->used[axis] = p->args.r[axis] > 0.0;
        p->args.r[axis] =
            order->used[axis] ? random_between(random, 0.0, p->nsteps > 1 ? 0.01 : 0.1) : 0.0;
        random_closure(&order->closure[2 * axis], order->radius, random);
        random_closure(&order->closure[2 * axis + 1], order->radius, random);
    }
    for (int k = 0; k < order->radius; k++) {
        order->weight[k] = precision_round(p->layout.precision, random_between(random, -2, 2));
    }
    for (int s = 0; s < p->nsteps; s++) {
        p->levels[s] = p->args;
        for (int face = 0; face < FACE_COUNT && s > 0; face++) {
            p->levels[s].high_order.closure[face].value = random_between(random, -500, 500);
        }
    }
    vary_lengths(p, random);
}
