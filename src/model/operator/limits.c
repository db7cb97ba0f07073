#include "model/operator/limits.h"

#include <math.h>

#include "model/operator/ledger.h"

/* The rounding error of a new temperature is at most this times the unit roundoff and the largest
 * magnitude M. The worst case is a closed face, with r summing to at most 1/2 and values beyond the
 * face up to 3M: those 3M, sums of neighbours 4M and differences 6M, all times r: 6.5; and three
 * partial results of up to 4M each: 12. */
static const double ROUNDINGS_OF_A_CELL = 18.5;

static double unit_roundoff(enum precision precision)
{
    return precision == PRECISION_FLOAT64 ? 0x1p-53 : 0x1p-24;
}

void limits_begin(struct limits *limits, double min, double max)
{
    limits->ever = (struct reach){.low = min, .high = max, .overshoot = 1};
    limits->last = limits->ever;
    limits->roundings = (struct roundings){0};
}

void limits_renew(struct limits *limits, double min, double max)
{
    limits->roundings = (struct roundings){0};
    limits->last = (struct reach){.low = min, .high = max, .overshoot = 1};
}

/* Cells at the faces of the axes in `touched`: the new value is g T + wn neighbours + wb boundary
 * values, g + wn + wb = 1. With g >= 0 it is a mean. Otherwise, if deviations from the middle of
 * the range (half width E) are at most Y, the new one is at most (-g + wn) Y + wb E, which is Y for
 * Y = wb E / (1 + g - wn). */
static double overshoot_of(const struct grid *grid, const double a[AXIS_COUNT],
                           const double r[AXIS_COUNT], unsigned touched)
{
    double neighbours = 0;
    double boundary = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (!grid->used[axis]) {
            continue;
        }
        const bool touches = (touched >> axis & 1U) != 0;
        neighbours += touches ? r[axis] : 2 * r[axis];
        boundary += touches ? r[axis] * (1 - a[axis]) : 0;
    }
    const double own = 1 - neighbours - boundary;
    if (own >= 0) {
        return 1;
    }
    const double rest = 1 + own - neighbours;
    return rest > 0 ? fmax(1, boundary / rest) : INFINITY;
}

static double overshoot_of_uniform(const struct grid *grid, const struct heat_operator *op)
{
    double a[AXIS_COUNT];
    unsigned open = 0; /* axes without closed faces */
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const enum face low = face_of((enum axis)axis, SIDE_MIN);
        const enum face high = face_of((enum axis)axis, SIDE_MAX);
        /* the smaller a gives the cell itself less weight */
        a[axis] = fmin(op->all.a[low], op->all.a[high]);
        open |= grid->used[axis] && op->all.closed[low] ? 0U : 1U << axis;
    }
    double most = 1;
    for (unsigned touched = 1; touched < 1U << AXIS_COUNT; touched++) {
        if ((touched & open) == 0) {
            most = fmax(most, overshoot_of(grid, a, op->all.r, touched));
        }
    }
    return most;
}

/* The temperature of a closed face is the fixed point of outside = a inside + b; a flux opens the
 * range on one side. */
static void widen_by_face(struct reach *reach, double a, double b)
{
    if (a != 1) {
        const double temperature = b / (1 - a);
        reach->low = fmin(reach->low, temperature);
        reach->high = fmax(reach->high, temperature);
    } else if (b > 0) {
        reach->high = INFINITY;
    } else if (b < 0) {
        reach->low = -INFINITY;
    }
}

/* The worst case of the rounding errors that the ledger does not include. A is the largest
 * magnitude, D the range. heat_cell.h, everywhere: the sum of two neighbours up to 2A and the
 * difference up to 2D, both times r on each axis; three partial results, means, up to A. At a
 * closed face the value beyond differs from the inside one by J = (1 - a) D or |b|: it is rounded
 * itself, at up to A + J, and makes the sum, the difference and the three partial results larger by
 * up to J, J and r J: r (A + 6 J) in total.
 *
 * wide_cell.h, generously: the magnitudes of w sum to at most 3.3, so those of the weights of
 * neighbours to 7: on each axis sums of two up to 2A, differences of up to 2D, and `radius` partial
 * sums. Next to a closed face the weights of a row sum to at most 27, and that of the given value,
 * of magnitude |b| or less, is at most 6; the row of the ledger is as long. */
static void count_roundings(struct roundings *n, const struct problem *problem,
                            const struct heat_operator *op)
{
    const struct grid *grid = &problem->grid;
    const double cells = (double)grid_total_cells(grid);
    const bool wide = problem->radius > 1;
    const double longest = wide ? 2 * problem->radius + 2 : 1;
    n->of_magnitude += 3 * cells;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double r = grid->used[axis] ? op->all.r[axis] : 0;
        n->of_magnitude += cells * (wide ? 7 : 2) * r;
        n->of_range += cells * (wide ? 7 * (problem->radius + 2) : 2) * r;
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        if (!grid->used[axis] || !op->all.closed[f]) {
            continue;
        }
        const double at_face = cells / (double)grid->cells[axis] * (wide ? problem->radius + 1 : 1);
        const double terms = at_face * op->all.r[axis] * longest;
        const bool given = wide || op->all.a[f] == 1;
        /* the ledger multiplies its sums: of the temperatures by (a - 1) r, of b by r */
        n->face_terms += at_face * fmax(1, (2 - op->all.a[f]) * op->all.r[axis]);
        n->of_magnitude += terms * (wide ? 6 : 1);
        n->of_range += terms * (wide ? 27 : 6 * (1 - op->all.a[f]));
        n->fixed_K += given ? terms * 6 * fabs(op->all.b[f]) : 0;
    }
}

/* The range and the heat that the closed faces add in one step. */
struct outside_reach {
    struct reach reach;
    double least_a;
    double flux_K; /* of classes: the sum of the magnitudes of what fluxes add to the cells */
    double open;   /* cells with a formula of place and time */
    double faces;  /* of surfaces, whose cells are rounded once more */
};

/* The smallest conductivity has the smallest a and the largest b of a flux; the temperatures do not
 * depend on it. */
static void add_state(const struct problem *problem, const struct heat_operator *op, enum face face,
                      const struct boundary_state *now, struct outside_reach *outside)
{
    const enum axis axis = face_axis(face);
    struct face_closure closure =
        boundary_close(now, medium_least_conductivity(&problem->medium, axis),
                       grid_largest_width(&problem->grid, axis));
    if (problem->medium.nclasses == 0) { /* as the kernel has them */
        closure = (struct face_closure){.a = op->all.a[face], .b = op->all.b[face]};
    }
    if (closure.e > 0) {
        /* the face is between the cell and a temperature between these two */
        const double around = now->number[BOUNDARY_SURROUNDINGS];
        const double ambient =
            now->number[BOUNDARY_COEFFICIENT] > 0 ? now->number[BOUNDARY_AMBIENT] : around;
        widen_by_face(&outside->reach, -1, 2 * around);
        widen_by_face(&outside->reach, -1, 2 * ambient);
        widen_by_face(&outside->reach, 1, now->number[BOUNDARY_VALUE]); /* of a surface */
        outside->least_a = -1;
        return;
    }
    widen_by_face(&outside->reach, closure.a, closure.b);
    outside->least_a = fmin(outside->least_a, closure.a);
}

static void add_condition(const struct problem *problem, const struct heat_operator *op,
                          enum face face, int patch, struct outside_reach *outside)
{
    const struct grid *grid = &problem->grid;
    const enum axis axis = face_axis(face);
    const struct boundary_condition *condition = &problem->boundary.face[face][patch];
    const struct boundary_state now = boundary_at(&problem->boundary, grid, face, patch, &op->when);
    double flux = 0; /* the largest magnitude */
    if (condition->open) {
        outside->reach.low = -INFINITY;
        outside->reach.high = INFINITY;
        outside->least_a = -1;
        outside->open += (double)condition->cells;
        return;
    }
    for (int corner = 0; corner < boundary_corners(condition); corner++) {
        const struct boundary_state at = boundary_corner(condition, &now, corner);
        add_state(problem, op, face, &at, outside);
        flux = fmax(flux, fabs(at.number[BOUNDARY_VALUE]));
    }
    if (!now.fixed && now.emissivity == 0) {
        double volumes = 1; /* of the face times 1 m, in volumes of a cell */
        for (int a = 0; a < AXIS_COUNT; a++) {
            volumes *= a != (int)axis ? grid->upper[a] - grid->lower[a] : 1;
        }
        volumes *= grid_girth(grid, grid->upper[AXIS_X]) / grid_cell_volume(grid);
        outside->flux_K += flux * op->dt / problem->medium.heat_capacity_volume * volumes;
    }
}

/* The largest magnitude of what fluxes of these surfaces add to the cells. */
static void add_surfaces(const struct problem *problem, const struct heat_operator *op,
                         struct outside_reach *outside)
{
    const struct medium *medium = &problem->medium;
    for (int s = 0; s < problem->boundary.nsurfaces; s++) {
        const struct boundary_state now =
            boundary_condition_at(&problem->boundary.surface[s], &op->when);
        for (int axis = 0; axis < AXIS_COUNT && boundary_exchanges(&problem->boundary, s); axis++) {
            if (problem->grid.used[axis]) {
                add_state(problem, op, face_of((enum axis)axis, SIDE_MIN), &now, outside);
            }
        }
        outside->flux_K += now.fixed ? 0
                                     : fabs(now.number[BOUNDARY_VALUE]) * medium->surface_area[s] *
                                           op->dt / medium->heat_capacity_volume /
                                           grid_cell_volume(&problem->grid);
        outside->faces += (double)medium->surface_faces[s];
    }
}

/* As overshoot_of, with any share of the row sum s at closed faces, which is worst with all of it:
 * then the own weight is 1 - s (1 - a). */
static double overshoot_of_classes(double s, double a)
{
    if (1 - s * (1 - a) >= 0) {
        return 1;
    }
    const double rest = 2 * (1 - s) + s * (1 + a);
    return rest > 0 ? fmax(1, s * (1 - a) / rest) : INFINITY;
}

/* One step. */
static void join_reach(struct reach *reach, const struct reach *more)
{
    reach->low = fmin(reach->low, more->low);
    reach->high = fmax(reach->high, more->high);
    reach->overshoot = fmax(reach->overshoot, more->overshoot);
    reach->inside = fmax(reach->inside, more->inside);
    reach->steps++;
}

/* The boundary and blood. */
static struct outside_reach outside_of(const struct problem *problem,
                                       const struct heat_operator *op)
{
    const struct medium *medium = &problem->medium;
    struct outside_reach outside = {.reach = {.low = INFINITY, .high = -INFINITY}, .least_a = 1};
    for (int f = 0; f < FACE_COUNT; f++) {
        if (!problem->grid.used[face_axis((enum face)f)] || !op->all.closed[f]) {
            continue;
        }
        for (int p = 0; p < problem->boundary.nconditions[f]; p++) {
            add_condition(problem, op, (enum face)f, p, &outside);
        }
    }
    add_surfaces(problem, op, &outside);
    for (int c = 0; c < medium->nclasses; c++) {
        if (medium->classes[c].perfusion > 0) { /* a part of the row sum, like a neighbour */
            widen_by_face(&outside.reach, 0, medium->classes[c].arterial_temperature);
            outside.least_a = fmin(outside.least_a, 0);
        }
        if (medium->classes[c].is_ambient) { /* a neighbour out of the sums */
            widen_by_face(&outside.reach, 0, medium->classes[c].ambient);
        }
    }
    return outside;
}

static double most_weight(const struct medium *medium)
{
    double weight = 1;
    for (int c = 0; c < medium->nclasses; c++) {
        weight = fmax(weight, medium->classes[c].weight);
    }
    return weight;
}

/* Per cell, in units of T / sigma: the new temperature itself, and the temperatures in the two sums
 * of the heat; and in S, 6 differences, 7 sums and the product, each at most the row sum times the
 * range, twice that at faces; with perfusion one difference and one product more. */
static void count_roundings_of_classes(struct roundings *n, const struct problem *problem, double s,
                                       const struct outside_reach *outside)
{
    const struct medium *medium = &problem->medium;
    /* an unknown flux changes a cell in a step by twice the magnitude at most */
    n->of_magnitude +=
        3 * medium->total_weight + most_weight(medium) * (12 * outside->open + 6 * outside->faces);
    n->of_range += 2 * (medium->perfused ? 16 : 14) * s * medium->total_weight;
    n->fixed_K += 6 * outside->flux_K;
    const double cells = (double)grid_total_cells(&problem->grid);
    n->face_terms += 6 * cells + ldexp(2 * cells, medium_heat_bits(medium));
}

/* A new temperature is a mean of old ones and a source. Where it is not a mean, the source
 * also grows. */
static void widen_by_source(struct reach *reach, double least, double most)
{
    const bool is_mean = reach->overshoot == 1;
    reach->low += least < 0 ? (is_mean ? least : -INFINITY) : 0;
    reach->high += most > 0 ? (is_mean ? most : INFINITY) : 0;
}

void limits_outside(const struct problem *problem, const struct heat_operator *op, double *low,
                    double *high)
{
    struct outside_reach outside = outside_of(problem, op);
    const bool open = boundary_varies(&problem->boundary) || problem->sources.count > 0;
    for (int c = 0; c < problem->medium.nclasses; c++) {
        outside.reach.high += problem->medium.classes[c].metabolic_heat > 0 ? INFINITY : 0;
    }
    *low = open ? -INFINITY : outside.reach.low;
    *high = open ? INFINITY : outside.reach.high;
}

/* In S of a cell the source takes part in each of 7 sums, and in the product. */
static void add_sources(struct limits *limits, const struct problem *problem,
                        const struct heat_operator *op)
{
    const struct medium *medium = &problem->medium;
    double least = 0;
    double most = 0;
    for (int c = 0; c < medium->nclasses && problem_has_sources(problem); c++) {
        const struct medium_class *own = &medium->classes[c];
        const double q = operator_class_source(op, problem, c);
        const double kelvins = medium->lines ? q : own->sigma * q; /* of the cell itself */
        least = fmin(least, kelvins);
        most = fmax(most, kelvins);
        limits->roundings.fixed_K += 8 * fabs(q) * ledger_source_capacity(problem, c) * own->amount;
    }
    widen_by_source(&limits->ever, least, most);
    widen_by_source(&limits->last, least, most);
}

void limits_step(struct limits *limits, const struct problem *problem,
                 const struct heat_operator *op)
{
    struct outside_reach outside = outside_of(problem, op);
    if (problem->medium.nclasses > 0) {
        const double s = op->dt * problem->medium.fastest_rate * problem->timeline.share;
        outside.reach.overshoot = overshoot_of_classes(s, outside.least_a);
        count_roundings_of_classes(&limits->roundings, problem, s, &outside);
    } else {
        /* of a wider stencil the range is not checked */
        outside.reach.overshoot =
            problem->radius > 1 ? 1 : overshoot_of_uniform(&problem->grid, op);
        count_roundings(&limits->roundings, problem, op);
    }
    if (op->when.level != NULL) {
        outside.reach.overshoot = 1 + 2 * op->when.level->overshoot;
        outside.reach.inside = op->when.level->inside;
    }
    join_reach(&limits->ever, &outside.reach);
    join_reach(&limits->last, &outside.reach);
    add_sources(limits, problem, op);
}

/* Each cell: the heat is rounded once, which the ledger includes, then the new temperature; its
 * weight is at most that of the largest class. sigma is at most 1, but of heat capacities per cell.
 */
void limits_add_moving(struct limits *limits, const struct medium *medium, double least,
                       double most, double cells)
{
    const double weight = most_weight(medium);
    double sigma = 1;
    for (int c = 0; c < medium->nclasses; c++) {
        sigma = fmax(sigma, medium->classes[c].sigma);
    }
    widen_by_source(&limits->ever, fmin(sigma * least, 0), fmax(sigma * most, 0));
    widen_by_source(&limits->last, fmin(sigma * least, 0), fmax(sigma * most, 0));
    limits->roundings.of_magnitude += weight * cells;
    limits->roundings.fixed_K += 2 * fmax(fabs(least), fabs(most)) * cells;
    limits->roundings.face_terms += cells;
}

static void range_of(const struct reach *reach, enum precision precision, double *low, double *high)
{
    *low = reach->low;
    *high = reach->high;
    const bool bounded = isfinite(*low) && isfinite(*high);
    if (reach->overshoot > 1 && !(bounded && isfinite(reach->overshoot))) {
        *low = -INFINITY;
        *high = INFINITY;
        return;
    }
    double wider = 0;
    if (reach->overshoot > 1) {
        wider = 0.5 * (*high - *low) * (reach->overshoot - 1);
    }
    const double magnitude =
        fmax(isfinite(*low) ? fabs(*low) : 0, isfinite(*high) ? fabs(*high) : 0);
    /* each step adds its error: the weights of old values never sum to more than 1 */
    const double within = reach->inside > 0 ? reach->inside * (*high - *low) : 0;
    const double rounding = ROUNDINGS_OF_A_CELL * unit_roundoff(precision) *
                            (magnitude + wider + within) * (double)reach->steps;
    *low -= wider + rounding;
    *high += wider + rounding;
}

void limits_range(const struct limits *limits, enum precision precision, double *low, double *high)
{
    double ever_low = 0;
    double ever_high = 0;
    range_of(&limits->last, precision, low, high);
    range_of(&limits->ever, precision, &ever_low, &ever_high);
    *low = fmax(*low, ever_low);
    *high = fmin(*high, ever_high);
}

double limits_rounding(const struct limits *limits, const struct grid *grid,
                       enum precision precision, double min, double max)
{
    /* exact sums round each term at 2^-80 K */
    const double cut = 0x1p-80;
    const struct reach *last = &limits->last;
    const bool open = !isfinite(last->low) || !isfinite(last->high);
    const double low = fmin(min, isfinite(last->low) ? last->low : min);
    const double high = fmax(max, isfinite(last->high) ? last->high : max);
    /* with an unbounded flux: twice the extremes at both checks */
    const double room = open ? 2 : 1;
    const double magnitude = room * (fmax(fabs(low), fabs(high)) + last->inside * (high - low));
    const struct roundings *n = &limits->roundings;
    return unit_roundoff(precision) *
               (n->of_magnitude * magnitude + n->of_range * room * (high - low) + n->fixed_K) +
           (n->face_terms + 2 * (double)grid_total_cells(grid)) * cut;
}
