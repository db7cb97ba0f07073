/* Problems whose properties depend on temperature. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"

#include "kernels/cell/derived_cell.h"

/* Classes with the same number of a curve conduct as one. */
static int curve_of(const struct problem *p, int of_class)
{
    return p->medium.one_curve ? 0 : of_class / 2;
}

static void fill_class(struct problem *p, void *table, int of_class, uint64_t *random)
{
    const struct device_medium *m = &p->medium;
    const struct layout *l = &p->layout;
    const int64_t at = nonlinear_class_at(m->nclasses, m->nclosures, of_class);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double w = 4.0 + axis + 0.1 * curve_of(p, of_class);
        host_set(l, table, at + NONLINEAR_W + axis, w);
        host_set(l, table, at + NONLINEAR_R + axis, 1 / (2 * w));
    }
    const bool perfused = m->perfused && random_below(random, 3) == 0;
    const bool melts = random_below(random, 2) == 0;
    host_set(l, table, at + NONLINEAR_PERFUSION, perfused ? random_between(random, 0.0, 0.1) : 0);
    host_set(l, table, at + NONLINEAR_BLOOD, 310.0);
    host_set(l, table, at + NONLINEAR_SOLIDUS, melts ? random_between(random, 0.0, 500.0) : 0);
    host_set(l, table, at + NONLINEAR_MELTING, melts ? random_between(random, 0.01, 0.1) : 0);
}

/* Continuous, with a plateau now and then; the rest of the segments begin at infinity. */
static void fill_segments(struct problem *p, void *table, int of_class, uint64_t seed)
{
    uint64_t of_curve = seed + (uint64_t)curve_of(p, of_class);
    uint64_t *random = &of_curve;
    const struct device_medium *m = &p->medium;
    const struct layout *l = &p->layout;
    const int count = m->nsegments;
    const int64_t at = nonlinear_segments_at(m->nclasses, m->nclosures, count, of_class);
    const int used = 1 + (int)random_below(random, count);
    double u = 0.0;
    double t = 0.0;
    double k = 1.0;
    double theta = 0.0;
    for (int s = 0; s < count; s++) {
        const double length = random_between(random, 5.0, 1500.0 / count);
        const bool flat = s > 0 && random_below(random, 4) == 0;
        const double slope = flat ? 0.0 : random_between(random, 0.2, 1.0);
        const double k_next = random_between(random, 0.1, 1.0);
        const bool last = s >= used - 1;
        const double k_slope = last || s == 0 ? 0.0 : (k_next - k) / length;
        const double values[NONLINEAR_SEGMENT] = {
            s < used ? t : INFINITY, slope, k, k_slope, theta, slope * k, slope * k_slope / 2};
        host_set(l, table, at + s, s < used ? u : INFINITY);
        for (int n = 0; n < NONLINEAR_SEGMENT; n++) {
            host_set(l, table, at + count + NONLINEAR_SEGMENT * s + n, values[n]);
        }
        theta += slope * length * (k + k_slope * length / 2);
        u += length;
        t += slope * length;
        k = s == 0 ? k : k_next;
    }
}

static void fill_closures(struct problem *p, void *table, uint64_t *random)
{
    const struct device_medium *m = &p->medium;
    for (int i = 0; i < FACE_COUNT * m->nclosures; i++) {
        const int face = i / m->nclosures;
        const bool used = p->args.r[face / 2] > 0.0;
        const int64_t at = medium_closure_at(m->nclasses, m->nclosures, face, i % m->nclosures);
        const int64_t kind = used ? random_below(random, 4) : 1;
        const double closures[4][4] = {
            {random_between(random, 200.0, 900.0), 1.0, 0.0, 1.0},
            {used ? random_between(random, -3.0, 3.0) : 0.0, 0.0, 0.0, 0.0},
            {random_between(random, 0.0, 30.0), random_between(random, 0.0, 0.3), 0.0, 0.0},
            {random_between(random, 0.0, 30.0), random_between(random, 0.0, 0.3), 1e-11, 0.0}};
        for (int n = 0; n < 4; n++) {
            host_set(&p->layout, table, at + n, closures[kind][n]);
        }
    }
}

void problem_make_nonlinear(struct problem *p, int nsegments, uint64_t *random)
{
    struct device_medium *m = &p->medium;
    const int n = m->nclasses;
    p->args.kind = KIND_ENTHALPY;
    m->nsegments = nsegments;
    m->one_curve = n == 1 || random_below(random, 2) == 0;
    m->perfused = random_below(random, 2) == 0;
    const uint64_t seed = random_bits(random);
    p->nvalues = (size_t)nonlinear_table_length(n, m->nclosures, nsegments);
    void *table = calloc(p->nvalues, precision_bytes(p->layout.precision));
    assert_non_null(table);
    for (int c = 0; c < n; c++) {
        host_set(&p->layout, table, medium_cell_at(c), 1.0);
        host_set(&p->layout, table, medium_cell_at(c) + 1,
                 random_below(random, 2) == 0 ? 0.0 : random_between(random, -3.0, 3.0));
        fill_class(p, table, c, random);
        fill_segments(p, table, c, seed);
        for (int i = 0; i < AXIS_COUNT * (c + 1); i++) {
            const int other = i % (c + 1);
            const bool resists = !m->one_curve && random_below(random, 3) == 0;
            const double r = resists ? random_between(random, 0.0, 9.0)
                             : curve_of(p, other) == curve_of(p, c) ? NONLINEAR_ONE_CURVE
                                                                    : 0.0;
            host_set(&p->layout, table, medium_g_at(n, i / (c + 1), c, other), r);
            host_set(&p->layout, table, medium_g_at(n, i / (c + 1), other, c), r);
        }
    }
    fill_closures(p, table, random);
    free((void *)(uintptr_t)m->d_table);
    m->d_table = table;
    m->same_axes = false;
}

static bool is_wide(const struct problem *p)
{
    return p->layout.precision == PRECISION_FLOAT64;
}

/* A part of the table. */
static const void *table_from(const struct problem *p, int64_t at)
{
    return (const char *)p->medium.d_table + (size_t)at * precision_bytes(p->layout.precision);
}

static struct nonlinear_float64 evaluate(const struct problem *p, int of_class, double u)
{
    const struct device_medium *m = &p->medium;
    const void *segments =
        table_from(p, nonlinear_segments_at(m->nclasses, m->nclosures, m->nsegments, of_class));
    if (is_wide(p)) {
        return nonlinear_at_float64(segments, m->nsegments, u);
    }
    const struct nonlinear_float32 at = nonlinear_at_float32(segments, m->nsegments, (float)u);
    return (struct nonlinear_float64){(double)at.temperature, (double)at.conductivity,
                                      (double)at.theta};
}

static struct nonlinear_float32 narrow(const struct nonlinear_float64 *at)
{
    return (struct nonlinear_float32){(float)at->temperature, (float)at->conductivity,
                                      (float)at->theta};
}

static double number_of(const struct problem *p, int of_class, int number)
{
    const struct device_medium *m = &p->medium;
    return host_get(&p->layout, m->d_table,
                    nonlinear_class_at(m->nclasses, m->nclosures, of_class) + number);
}

/* g and the difference of T or theta across a face. */
struct across {
    double g, difference;
    bool closed;
};

static struct across cross(const struct problem *p, const int64_t cell[AXIS_COUNT], int face,
                           const struct nonlinear_float64 *own)
{
    const struct device_medium *m = &p->medium;
    const struct layout *l = &p->layout;
    const int axis = face / 2;
    const int of_class = problem_class(p, cell[0], cell[1], cell[2]);
    const double w = number_of(p, of_class, axis);
    int64_t next[AXIS_COUNT] = {cell[0], cell[1], cell[2]};
    next[axis] += face % 2 == 0 ? -1 : 1;
    const bool outside = cell[axis] == (face % 2 == 0 ? 0 : l->cells[axis] - 1);
    if (outside && p->args.closed[face]) {
        const int closure =
            medium_closure(m->d_patch[face], m->patch_pitch[face], m->first_closure[face],
                           m->nclasses, face, cell, of_class);
        const void *numbers =
            table_from(p, medium_closure_at(m->nclasses, m->nclosures, face, closure));
        if (is_wide(p)) {
            const double half = own->conductivity / w;
            return (struct across){half, nonlinear_face_float64(numbers, half, own->temperature),
                                   true};
        }
        const float half = (float)own->conductivity / (float)w;
        return (struct across){
            (double)half, (double)nonlinear_face_float32(numbers, half, (float)own->temperature),
            true};
    }
    const int other_class = problem_class(p, next[0], next[1], next[2]);
    const struct nonlinear_float64 other =
        evaluate(p, other_class, host_get(l, p->h_in, layout_index(l, next[0], next[1], next[2])));
    const double contact =
        host_get(l, m->d_table, medium_g_at(m->nclasses, axis, of_class, other_class));
    const void *numbers = table_from(p, nonlinear_class_at(m->nclasses, m->nclosures, of_class));
    const void *others = table_from(p, nonlinear_class_at(m->nclasses, m->nclosures, other_class));
    struct across across = {.closed = false};
    if (is_wide(p)) {
        across.g = nonlinear_between_float64(axis, numbers, *own, others, other, contact,
                                             &across.difference);
        return across;
    }
    float difference = 0;
    across.g = (double)nonlinear_between_float32(axis, numbers, narrow(own), others, narrow(&other),
                                                 (float)contact, &difference);
    across.difference = (double)difference;
    return across;
}

void nonlinear_reference_cell(struct problem *p, const int64_t cell[AXIS_COUNT],
                              __int128 sums[FACE_COUNT])
{
    const struct layout *l = &p->layout;
    const struct device_medium *m = &p->medium;
    const int64_t at = layout_index(l, cell[0], cell[1], cell[2]);
    const int of_class = problem_class(p, cell[0], cell[1], cell[2]);
    const double u = host_get(l, p->h_in, at);
    const double base = problem_base(p, at);
    const double q = host_get(l, m->d_table, medium_cell_at(of_class) + 1);
    const struct nonlinear_float64 own = evaluate(p, of_class, u);
    const void *numbers = table_from(p, nonlinear_class_at(m->nclasses, m->nclosures, of_class));
    double g[FACE_COUNT];
    double d[FACE_COUNT];
    for (int face = 0; face < FACE_COUNT; face++) {
        const struct across side = cross(p, cell, face, &own);
        g[face] = side.g;
        d[face] = side.difference;
        if (side.closed) {
            sums[face] += (__int128)rint(ldexp(side.g * side.difference, 80));
        }
    }
    if (is_wide(p)) {
        const double source = nonlinear_source_float64(numbers, q, own.temperature);
        host_set(l, p->h_expected, at,
                 base + nonlinear_sum_float64(g[0], g[1], g[2], g[3], g[4], g[5], d[0], d[1], d[2],
                                              d[3], d[4], d[5], source));
        return;
    }
    const float source = nonlinear_source_float32(numbers, (float)q, (float)own.temperature);
    const float sum = nonlinear_sum_float32(
        (float)g[0], (float)g[1], (float)g[2], (float)g[3], (float)g[4], (float)g[5], (float)d[0],
        (float)d[1], (float)d[2], (float)d[3], (float)d[4], (float)d[5], source);
    host_set(l, p->h_expected, at, (double)((float)base + sum));
}

static double convert(const struct problem *p, enum enthalpy_conversion conversion, int of_class,
                      double x)
{
    const struct device_medium *m = &p->medium;
    const void *segments =
        table_from(p, nonlinear_segments_at(m->nclasses, m->nclosures, m->nsegments, of_class));
    if (conversion == CONVERT_TO_TEMPERATURE) {
        return evaluate(p, of_class, x).temperature;
    }
    return is_wide(p) ? nonlinear_enthalpy_float64(segments, m->nsegments, x)
                      : (double)nonlinear_enthalpy_float32(segments, m->nsegments, (float)x);
}

double nonlinear_liquid(const struct problem *p, const int64_t cell[AXIS_COUNT])
{
    const struct device_medium *m = &p->medium;
    const int of_class = problem_class(p, cell[0], cell[1], cell[2]);
    const void *numbers = table_from(p, nonlinear_class_at(m->nclasses, m->nclosures, of_class));
    const double u =
        host_get(&p->layout, p->h_in, layout_index(&p->layout, cell[0], cell[1], cell[2]));
    return is_wide(p) ? nonlinear_liquid_float64(numbers, u)
                      : (double)nonlinear_liquid_float32(numbers, (float)u);
}

double nonlinear_perfusion(const struct problem *p, const int64_t cell[AXIS_COUNT])
{
    const int of_class = problem_class(p, cell[0], cell[1], cell[2]);
    const double u =
        host_get(&p->layout, p->h_in, layout_index(&p->layout, cell[0], cell[1], cell[2]));
    const double t = evaluate(p, of_class, u).temperature;
    const double blood = number_of(p, of_class, NONLINEAR_BLOOD);
    const double difference = is_wide(p) ? blood - t : (double)((float)blood - (float)t);
    return number_of(p, of_class, NONLINEAR_PERFUSION) * difference;
}

double nonlinear_flux_squared(const struct problem *p, const int64_t cell[AXIS_COUNT],
                              const double scale[AXIS_COUNT])
{
    const int of_class = problem_class(p, cell[0], cell[1], cell[2]);
    const struct nonlinear_float64 own = evaluate(
        p, of_class,
        host_get(&p->layout, p->h_in, layout_index(&p->layout, cell[0], cell[1], cell[2])));
    double along[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const struct across low = cross(p, cell, 2 * axis, &own);
        const struct across high = cross(p, cell, 2 * axis + 1, &own);
        along[axis] =
            derived_flux_between(0, low.difference, high.difference, low.g, high.g, scale[axis]);
    }
    return derived_square(along[0], along[1], along[2]);
}

void nonlinear_convert(const struct problem *p, enum enthalpy_conversion conversion,
                       const void *h_in, void *h_out)
{
    const struct layout *l = &p->layout;
    for (int64_t k = 0; k < l->cells[2]; k++) {
        for (int64_t j = 0; j < l->cells[1]; j++) {
            for (int64_t i = 0; i < l->cells[0]; i++) {
                const int64_t at = layout_index(l, i, j, k);
                host_set(l, h_out, at,
                         convert(p, conversion, problem_class(p, i, j, k), host_get(l, h_in, at)));
            }
        }
    }
}
