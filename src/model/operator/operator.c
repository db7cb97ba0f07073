#include "model/operator/operator.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/medium/curve.h"
#include "model/operator/face_factors.h"
#include "model/operator/high_order.h"

enum kind operator_kind(const struct problem *problem)
{
    if (problem->medium.nclasses > 0) {
        return problem->medium.curves != NULL ? KIND_ENTHALPY
               : problem->medium.graded       ? KIND_GRADED
               : problem->medium.per_cell     ? KIND_FACES
                                              : KIND_CLASSES;
    }
    return problem->radius > 1 ? KIND_HIGH_ORDER : KIND_UNIFORM;
}

bool operator_a_varies(const struct problem *problem)
{
    return operator_kind(problem) == KIND_UNIFORM &&
           boundary_coefficient_varies(&problem->boundary);
}

/* Rounded to the precision of the run, so that the ledger uses the kernel's values. */
static void close_face(const struct problem *problem, enum face face, const struct instant *when,
                       struct coefficients *all)
{
    const struct grid *grid = &problem->grid;
    const double h = grid_width(grid, face_axis(face), 0);
    const double k = medium_conductivity(&problem->medium, face_axis(face), 0);
    const struct boundary_state now = boundary_at(&problem->boundary, grid, face, 0, when);
    const struct face_closure closure = boundary_close(&now, k, h);
    all->closed[face] = now.closed;
    all->a[face] = precision_round(problem->precision, closure.a);
    all->b[face] = precision_round(problem->precision, closure.b);
    if (all->kind == KIND_HIGH_ORDER && now.closed && grid->used[face_axis(face)]) {
        wide_close(problem->radius, all->high_order.weight, &now, k, h,
                   &all->high_order.closure[face]);
    }
}

static enum status create(const struct problem *problem, double dt, struct heat_operator *op)
{
    const struct grid *grid = &problem->grid;
    struct coefficients *all = &op->all;
    TRY(boundary_check(NULL, &problem->boundary, grid, &problem->medium, &op->when));
    op->dt = dt;
    memset(op->source, 0, (size_t)problem->sources.count * sizeof *op->source);
    *all = (struct coefficients){.kind = operator_kind(problem)};
    if (all->kind == KIND_HIGH_ORDER) {
        all->high_order.radius = problem->radius;
        wide_weights(problem->radius, problem->precision, all->high_order.weight);
        memcpy(all->high_order.used, grid->used, sizeof grid->used);
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double h = grid_width(grid, (enum axis)axis, 0);
        const double r = grid->used[axis] ? problem->medium.diffusivity * dt / (h * h) : 0;
        all->r[axis] = precision_round(problem->precision, r);
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        close_face(problem, (enum face)f, &op->when, all);
    }
    return STATUS_OK;
}

enum status operator_create(const struct problem *problem, double time, double dt,
                            struct heat_operator *op)
{
    op->when = (struct instant){.time = time, .start = time, .length = dt};
    op->middle = time + dt / 2;
    return create(problem, dt, op);
}

/* At op->middle, and below the limit of exact sums. */
static enum status add_sources(const struct problem *problem, struct heat_operator *op)
{
    TRY(sources_at(&problem->sources, op->middle, op->source));
    for (int c = 0; c < problem->medium.nclasses && problem_has_sources(problem); c++) {
        const double q = operator_class_source(op, problem, c);
        FAIL_IF(!(fabs(q) < EXACT_SUM_LIMIT),
                fail(STATUS_NUMERICS,
                     "sources: they change the temperature by %g K in one step; give ones that "
                     "change it by less than %.3g K",
                     q, EXACT_SUM_LIMIT));
    }
    return STATUS_OK;
}

enum status operator_of_level(const struct problem *problem, double time, double dt,
                              const struct superstep_level *level, struct heat_operator *op)
{
    const double natural = fma(level->p1, dt, time);
    if (level->is_step) {
        TRY(operator_create(problem, natural, level->weight * dt, op));
        return add_sources(problem, op);
    }
    op->middle = natural;
    op->when = (struct instant){.time = natural, .level = level, .start = time, .length = dt};
    TRY(create(problem, level->weight * dt, op));
    return add_sources(problem, op);
}

enum status operator_of_step(const struct problem *problem, int64_t step, struct heat_operator *op)
{
    const struct timeline *timeline = &problem->timeline;
    enum status status =
        operator_create(problem, timeline_time(timeline, step), timeline_dt(timeline, step), op);
    status = status == STATUS_OK ? add_sources(problem, op) : status;
    return status == STATUS_OK ? status : fail_prefix(status, "after step %" PRId64 ": ", step);
}

enum status operator_before(const struct problem *problem, int64_t step, struct heat_operator *op)
{
    return operator_of_step(problem, step > 0 ? step - 1 : 0, op);
}

int operator_closure_count(const struct problem *problem)
{
    return boundary_most_conditions(&problem->boundary) * problem->medium.nclasses;
}

/* The area of the cells inside a face over that of the smallest one: with lines of a cell with the
 * other widths 1. */
static double area_at(const struct problem *problem, enum face face, int of_class)
{
    const struct grid *grid = &problem->grid;
    const enum axis axis = face_axis(face);
    const uint16_t *size = problem->medium.classes[of_class].key.size;
    return problem->medium.lines
               ? grid_axis_face(grid, axis, face_side(face) == SIDE_MIN ? 0 : grid->cells[axis])
               : grid_size_face(grid, axis, size, size);
}

static struct class_closure close_class(const struct problem *problem, enum face face,
                                        const struct boundary_state *now, int of_class)
{
    const struct medium *medium = &problem->medium;
    const struct grid *grid = &problem->grid;
    const enum axis axis = face_axis(face);
    if (medium->classes[of_class].is_ambient) { /* insulated */
        return (struct class_closure){.a = 1};
    }
    const double k = medium_conductivity(medium, axis, of_class);
    const double h = operator_width_at(problem, face, of_class);
    const double area = area_at(problem, face, of_class);
    const struct face_closure closure = boundary_close(now, k, h);
    const double conductance = medium->lines && grid->used[axis]
                                   ? area * k / (h * grid_smallest_width(grid, axis))
                                   : medium_conductance(medium, grid, axis, of_class, of_class);
    return (struct class_closure){.a = closure.a,
                                  .b = closure.b,
                                  .e = closure.e,
                                  .exchange = boundary_exchange(now),
                                  .conductance = grid_cell_volume(grid) * conductance,
                                  .area = llround(ldexp(area, FACE_AREA_BITS))};
}

/* The conditions of a face at the time of an operator. */
struct face_states {
    const struct instant *when;
    struct condition_states {
        const struct boundary_condition *is;
        struct boundary_state now;
        struct boundary_state at[BOUNDARY_TIMES]; /* of one whose factors vary */
    } * condition;
    int ntimes;
    const double *factor[BOUNDARY_TIMES][BOUNDARY_FACTORS]; /* of a plane with factors */
};

static void free_states(struct face_states *states)
{
    free(states->condition);
}

static enum status find_states(const struct heat_operator *op, const struct problem *problem,
                               enum face face, const struct patch_plane *plane,
                               struct face_states *states)
{
    const int n = problem->boundary.nconditions[face];
    double times[BOUNDARY_TIMES];
    *states = (struct face_states){.when = &op->when};
    states->condition = calloc((size_t)n, sizeof *states->condition);
    TRY(CHECK_MEMORY(states->condition != NULL, "no memory for the conditions of a face"));
    for (int p = 0; p < n; p++) {
        struct condition_states *of = &states->condition[p];
        of->is = &problem->boundary.face[face][p];
        of->now = boundary_at(&problem->boundary, &problem->grid, face, p, &op->when);
        boundary_at_times(&problem->boundary, &problem->grid, face, p, &op->when, of->at);
    }
    states->ntimes = boundary_times(&op->when, times);
    for (int i = 0; i < states->ntimes; i++) {
        TRY(face_factors_at(problem, plane, times[i], states->factor[i]));
    }
    return STATUS_OK;
}

/* The condition of the cell at a place of a plane with factors. */
static struct boundary_state state_of_own(const struct condition_states *of, int64_t at,
                                          const struct face_states *states)
{
    double factor[BOUNDARY_TIMES][BOUNDARY_FACTORS];
    for (int i = 0; i < (of->is->moves ? states->ntimes : 1); i++) {
        for (int n = 0; n < BOUNDARY_FACTORS; n++) {
            factor[i][n] = states->factor[i][n][at];
        }
    }
    return of->is->moves ? boundary_moving(&of->is->setting, states->when, of->at, factor)
                         : boundary_scaled(&of->is->setting, &of->now, factor[0]);
}

static struct class_closure close_own(const struct problem *problem, enum face face,
                                      const struct patch_plane *plane, int64_t at,
                                      const struct face_states *states)
{
    const struct boundary_state now =
        state_of_own(&states->condition[plane->h_patch[at]], at, states);
    return close_class(problem, face, &now, plane->h_class[at]);
}

enum status operator_closures(const struct heat_operator *op, const struct problem *problem,
                              enum face face, const struct patch_plane *plane,
                              struct class_closure **closures)
{
    const int n = problem->medium.nclasses;
    const int64_t own = patch_plane_has_factors(plane) ? plane->cells : 0;
    const int64_t count = operator_closure_count(problem);
    *closures = calloc((size_t)(count + own), sizeof **closures);
    TRY(CHECK_MEMORY(*closures != NULL, "no memory for the closures of a face"));
    SCOPED_BY(free_states) struct face_states states = {0};
    TRY(find_states(op, problem, face, plane, &states));
#pragma omp parallel for
    for (int64_t c = 0; c < own; c++) {
        (*closures)[count + c] =
            close_own(problem, face, plane, patch_plane_place(plane, c), &states);
    }
    for (int p = 0; p < problem->boundary.nconditions[face]; p++) {
        for (int c = 0; c < n; c++) {
            (*closures)[p * n + c] = close_class(problem, face, &states.condition[p].now, c);
        }
    }
    return STATUS_OK;
}

int64_t operator_table_length(const struct problem *problem)
{
    const struct medium *medium = &problem->medium;
    const int m = operator_closure_count(problem);
    return medium->curves != NULL ? nonlinear_table_length(medium->nclasses, m, medium->nsegments)
                                  : medium_table_length(medium->nclasses, m);
}

double operator_class_source(const struct heat_operator *op, const struct problem *problem,
                             int of_class)
{
    const struct class_key *key = &problem->medium.classes[of_class].key;
    double density = problem->medium.classes[of_class].metabolic_heat;
    for (int s = 0; s < problem->sources.count; s++) {
        density += class_key_has(key, s) ? op->source[s] : 0;
    }
    const struct medium *medium = &problem->medium;
    const double q = density * op->dt /
                     (medium->lines ? medium->classes[of_class].heat_capacity_volume
                                    : medium->heat_capacity_volume);
    return precision_round(problem->precision,
                           medium->lines ? q : q * grid_size_volume(&problem->grid, key->size));
}

/* --- the table of classes --------------------------------------------------------------------- */

static void set_closure(const struct heat_operator *op, const struct problem *problem,
                        enum face face, const struct class_closure *closure, int of_class,
                        int64_t index, void *table)
{
    const struct face_exchange *x = &closure->exchange;
    const double h = grid_smallest_width(&problem->grid, face_axis(face));
    const double share = area_at(problem, face, of_class);
    const double inflow =
        x->fixed ? 1 : share * (op->dt / (problem->medium.heat_capacity_volume * h));
    const double of_classes[] = {closure->a, closure->b, closure->e, 0};
    const double of_cells[] = {x->s0 * inflow, x->s1 * inflow, x->s4 * inflow, x->fixed ? 1 : 0};
    const double *values = op->all.kind == KIND_CLASSES ? of_classes : of_cells;
    const int64_t at = medium_closure_at(problem->medium.nclasses, operator_closure_count(problem),
                                         (int)face, (int)index);
    for (int v = 0; v < 4; v++) {
        precision_set(problem->precision, table, at + v, values[v]);
    }
}

static void set_closures(const struct heat_operator *op, const struct problem *problem, void *table)
{
    const int n = problem->medium.nclasses;
    for (int f = 0; f < FACE_COUNT; f++) {
        for (int p = 0; p < problem->boundary.nconditions[f]; p++) {
            const struct boundary_state now =
                boundary_at(&problem->boundary, &problem->grid, (enum face)f, p, &op->when);
            for (int c = 0; c < n; c++) {
                const struct class_closure closure = close_class(problem, (enum face)f, &now, c);
                set_closure(op, problem, (enum face)f, &closure, c, p * n + c, table);
            }
        }
    }
}

int64_t operator_first_closure(const struct problem *problem, enum face face,
                               const struct patch_plane *plane, int64_t *length)
{
    const int64_t base =
        medium_closure_at(problem->medium.nclasses, operator_closure_count(problem), (int)face, 0);
    const int64_t first = (*length - base + 3) / 4;
    if (patch_plane_has_factors(plane)) {
        *length = base + 4 * (first + plane->bytes);
    }
    return patch_plane_has_factors(plane) ? first : 0;
}

enum status operator_own_table(const struct heat_operator *op, const struct problem *problem,
                               enum face face, const struct patch_plane *plane, int64_t first,
                               void *table)
{
    SCOPED_BY(free_states) struct face_states states = {0};
    double most = 0;
    if (!patch_plane_has_factors(plane)) {
        return STATUS_OK;
    }
    TRY(find_states(op, problem, face, plane, &states));
#pragma omp parallel for reduction(max : most)
    for (int64_t at = 0; at < plane->bytes; at++) {
        const struct class_closure closure = close_own(problem, face, plane, at, &states);
        most = fmax(most, fabs(closure.b));
        set_closure(op, problem, face, &closure, plane->h_class[at], first + at, table);
    }
    FAIL_IF(!(most < EXACT_SUM_LIMIT),
            fail(STATUS_NUMERICS,
                 "boundary.%s: a formula changes the temperature by %g K within one cell; give one "
                 "that changes it by less than %.3g K, or a finer grid",
                 face_name(face), most, EXACT_SUM_LIMIT));
    return STATUS_OK;
}

/* Conductivities in the table are multiples of this, so that products stay far from overflow in
 * float32. */
static double scale_of(const struct medium *medium)
{
    double most = 0;
    for (int m = 0; m < medium->nmaterials; m++) {
        most = fmax(most, curve_most_conductivity(&medium->curves[m], AXIS_X, -INFINITY, INFINITY));
    }
    return most;
}

struct writing {
    enum precision precision;
    void *table;
    double scale; /* scale_of the medium */
};

static void set(const struct writing *w, int64_t at, double value)
{
    precision_set(w->precision, w->table, at, value);
}

/* Segments beyond the last one begin at infinity. */
static void set_segments(const struct writing *w, const struct medium *medium, int of_class,
                         int64_t at)
{
    const struct curve *curve = &medium->curves[medium->classes[of_class].key.material];
    const double reference = medium->heat_capacity_volume;
    for (int s = 0; s < medium->nsegments; s++) {
        const bool used = s < curve->count;
        const int64_t numbers = at + medium->nsegments + (int64_t)NONLINEAR_SEGMENT * s;
        const double t_slope = used ? curve_slope(curve, s) * reference : 0;
        const double k = used ? curve->conductivity[s] / w->scale : 0;
        const double k_slope = used ? curve_conductivity_slope(curve, s) * reference / w->scale : 0;
        const double values[NONLINEAR_SEGMENT] = {used ? curve->temperature[s] : INFINITY,
                                                  t_slope,
                                                  k,
                                                  k_slope,
                                                  used ? curve->integral[s] / w->scale : 0,
                                                  t_slope * k,
                                                  t_slope * k_slope / 2,
                                                  0};
        set(w, at + s, used ? curve->heat[s] / reference : INFINITY);
        for (int n = 0; n < NONLINEAR_SEGMENT; n++) {
            set(w, numbers + n, values[n]);
        }
    }
}

static void set_class(const struct writing *w, const struct problem *problem, double dt,
                      int of_class, int64_t at)
{
    const struct medium *medium = &problem->medium;
    const struct curve *curve = &medium->curves[medium->classes[of_class].key.material];
    const double reference = medium->heat_capacity_volume;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double h = grid_width(&problem->grid, (enum axis)axis, 0);
        const double k = w->scale * curve->factor[axis];
        const double half = problem->grid.used[axis] ? reference * h * h / (2 * dt * k) : 1;
        set(w, at + NONLINEAR_W + axis, half);
        set(w, at + NONLINEAR_R + axis, 1 / (2 * half));
    }
    const double melting = curve->liquidus_heat - curve->solidus_heat;
    set(w, at + NONLINEAR_PERFUSION, medium->classes[of_class].perfusion * dt / reference);
    set(w, at + NONLINEAR_BLOOD, medium->classes[of_class].arterial_temperature);
    set(w, at + NONLINEAR_SOLIDUS, curve->melts ? curve->solidus_heat / reference : 0);
    set(w, at + NONLINEAR_MELTING, curve->melts ? reference / melting : 0);
}

static void set_enthalpy(const struct heat_operator *op, const struct problem *problem, void *table)
{
    const struct medium *medium = &problem->medium;
    const double dt = op->dt;
    const struct writing w = {
        .precision = problem->precision, .table = table, .scale = scale_of(medium)};
    const int n = medium->nclasses;
    const int m = operator_closure_count(problem);
    for (int c = 0; c < n; c++) {
        set(&w, medium_cell_at(c), medium->classes[c].sigma);
        set(&w, medium_cell_at(c) + 1, operator_class_source(op, problem, c));
        set_class(&w, problem, dt, c, nonlinear_class_at(n, m, c));
        set_segments(&w, medium, c, nonlinear_segments_at(n, m, medium->nsegments, c));
        for (int i = 0; i < AXIS_COUNT * n; i++) {
            const double h = grid_width(&problem->grid, (enum axis)(i / n), 0);
            const int material = medium->classes[c].key.material;
            const int other = medium->classes[i % n].key.material;
            const double contact = medium_contact(medium, c, i % n);
            set(&w, medium_g_at(n, i / n, c, i % n),
                material == other && contact == 0
                    ? NONLINEAR_ONE_CURVE
                    : contact * medium->heat_capacity_volume * h / dt);
        }
    }
}

void operator_table(const struct heat_operator *op, const struct problem *problem,
                    const double *conductances, void *table)
{
    const struct medium *medium = &problem->medium;
    const enum precision precision = problem->precision;
    const int n = medium->nclasses;
    const double scale = op->dt / medium->heat_capacity_volume;
    set_closures(op, problem, table);
    if (op->all.kind == KIND_ENTHALPY) {
        set_enthalpy(op, problem, table);
        return;
    }
    for (int c = 0; c < n; c++) {
        const struct medium_class *own = &medium->classes[c];
        const double heat = own->is_ambient ? 0 : operator_class_source(op, problem, c);
        precision_set(precision, table, medium_cell_at(c),
                      op->all.kind == KIND_CLASSES ? own->sigma
                      : medium->lines              ? heat
                                                   : 0);
        precision_set(precision, table, medium_cell_at(c) + 1,
                      own->is_ambient ? own->ambient
                      : medium->lines ? 0
                                      : heat);
    }
    for (int64_t i = 0; i < AXIS_COUNT * (int64_t)n * n && conductances != NULL; i++) {
        precision_set(precision, table, medium_g_at(n, 0, 0, 0) + i, conductances[i] * scale);
    }
}

void operator_coefficients(const struct heat_operator *op, const struct problem *problem,
                           const struct decomp *decomp, int rank, struct exact_sum *d_face_sum,
                           struct coefficients *c)
{
    *c = op->all;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const bool insulated = c->kind != KIND_ENTHALPY && c->kind != KIND_HIGH_ORDER &&
                               boundary_is_insulated(&problem->boundary, face);
        c->closed[f] = decomp_neighbour(decomp, rank, face) < 0;
        if (!c->closed[f]) {
            c->a[f] = c->b[f] = 0;
        } else if (problem->grid.used[face_axis(face)] && d_face_sum != NULL &&
                   (c->kind == KIND_UNIFORM ? c->a[f] != 1 : !insulated)) {
            /* a = 1: the heat does not depend on the cell, so the ledger needs no sum; else all
             * terms of an insulated face are 0 */
            c->d_face_sum[f] = &d_face_sum[f];
        }
    }
}

void operator_flux_scale(const struct heat_operator *op, const struct problem *problem,
                         double scale[AXIS_COUNT])
{
    const struct medium *medium = &problem->medium;
    for (int a = 0; a < AXIS_COUNT; a++) {
        const double h = grid_width(&problem->grid, (enum axis)a, 0);
        const double used = medium->nclasses > 0 ? medium->heat_capacity_volume * h / (2 * op->dt)
                                                 : medium->conductivity / (2 * h);
        scale[a] = problem->grid.used[a] ? used : 0;
    }
}
