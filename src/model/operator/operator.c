#include "model/operator/operator.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/operator/enthalpy.h"
#include "model/operator/high_order.h"

enum kind operator_kind(const struct problem *problem)
{
    if (problem->medium.nclasses > 0) {
        return problem->medium.curves != NULL ? KIND_ENTHALPY : KIND_CLASSES;
    }
    return problem->radius > 1 ? KIND_HIGH_ORDER : KIND_UNIFORM;
}

enum status operator_create(const struct problem *problem, double time, double dt,
                            struct heat_operator *op)
{
    const struct grid *grid = &problem->grid;
    const enum precision precision = problem->precision;
    op->time = time;
    op->dt = dt;
    op->radius = problem->radius;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double h = grid->spacing[axis];
        const double r = grid->used[axis] ? problem->medium.diffusivity * dt / (h * h) : 0;
        op->r[axis] = precision_round(precision, r);
    }
    memset(op->source, 0, (size_t)problem->sources.count * sizeof *op->source);
    return boundary_closure(&problem->boundary, grid, &problem->medium, precision, time,
                            &op->closure);
}

/* Below the limit of exact sums. */
static enum status add_sources(const struct problem *problem, struct heat_operator *op)
{
    TRY(sources_at(&problem->sources, op->time + op->dt / 2, op->source));
    for (int c = 0; c < problem->medium.nclasses && problem_has_sources(problem); c++) {
        const double q = operator_class_source(op, problem, c);
        if (!(fabs(q) < EXACT_SUM_LIMIT)) {
            return fail(STATUS_NUMERICS,
                        "sources: they change the temperature by %g K in one step; give ones that "
                        "change it by less than %.3g K",
                        q, EXACT_SUM_LIMIT);
        }
    }
    return STATUS_OK;
}

enum status operator_of_step(const struct problem *problem, int64_t step, struct heat_operator *op)
{
    const struct timeline *timeline = &problem->timeline;
    enum status status =
        operator_create(problem, timeline_time(timeline, step), timeline_dt(timeline, step), op);
    if (status == STATUS_OK) {
        status = add_sources(problem, op);
    }
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

enum status operator_closures(const struct heat_operator *op, const struct problem *problem,
                              enum face face, struct class_closure *closures)
{
    const struct medium *medium = &problem->medium;
    const enum axis axis = face_axis(face);
    for (int p = 0; p < problem->boundary.nconditions[face]; p++) {
        struct boundary_state now;
        TRY(boundary_evaluate(&problem->boundary, &problem->grid, medium, face, p, op->time, &now));
        for (int c = 0; c < medium->nclasses; c++) {
            const struct face_closure closure = boundary_close(
                &now, medium_conductivity(medium, axis, c), problem->grid.spacing[axis]);
            closures[p * medium->nclasses + c] = (struct class_closure){
                .a = closure.a,
                .b = closure.b,
                .e = closure.e,
                .exchange = boundary_exchange(&now),
                .conductance = grid_cell_volume(&problem->grid) *
                               medium_conductance(medium, &problem->grid, axis, c, c)};
        }
    }
    return STATUS_OK;
}

struct class_closure class_closure_with(const struct class_closure *closure,
                                        const struct grid *grid, enum axis axis, double k)
{
    const struct face_exchange *x = &closure->exchange;
    const double h = grid->spacing[axis];
    const double half = h / (2 * k);
    struct class_closure built = {.exchange = *x,
                                  .conductance = grid_cell_volume(grid) * k / (h * h)};
    if (x->fixed) {
        built.a = -1;
        built.b = 2 * x->s0;
    } else if (x->s4 > 0) {
        built.a = 1 + x->s1 * half;
        built.b = x->s0 * half;
        built.e = x->s4 * half;
    } else {
        built.a = (1 - x->s1 * half) / (1 + x->s1 * half);
        built.b = 2 * x->s0 * half / (1 + x->s1 * half);
    }
    return built;
}

int64_t operator_table_length(const struct problem *problem)
{
    const struct medium *medium = &problem->medium;
    const int m = operator_closure_count(problem);
    return medium->curves != NULL ? nonlinear_table_length(medium->nclasses, m, medium->nsegments)
                                  : medium_table_length(medium->nclasses, m);
}

static enum status set_closures(const struct heat_operator *op, const struct problem *problem,
                                void *table)
{
    const enum precision precision = problem->precision;
    const int n = problem->medium.nclasses;
    const int m = operator_closure_count(problem);
    struct class_closure *closures = calloc((size_t)m, sizeof *closures);
    enum status status = STATUS_OK;
    TRY(CHECK_MEMORY(closures != NULL, "no memory for the closures of a face"));
    for (int f = 0; f < FACE_COUNT; f++) {
        TRY_GOTO(operator_closures(op, problem, (enum face)f, closures));
        for (int c = 0; c < problem->boundary.nconditions[f] * n; c++) {
            const struct face_exchange *x = &closures[c].exchange;
            const double h = problem->grid.spacing[f / 2];
            const double inflow =
                x->fixed ? 1 : op->dt / (problem->medium.heat_capacity_volume * h);
            const double of_classes[] = {closures[c].a, closures[c].b, closures[c].e, 0};
            const double of_enthalpy[] = {x->s0 * inflow, x->s1 * inflow, x->s4 * inflow,
                                          x->fixed ? 1 : 0};
            const double *values = problem->medium.curves != NULL ? of_enthalpy : of_classes;
            for (int v = 0; v < 4; v++) {
                precision_set(precision, table, medium_closure_at(n, m, f, c) + v, values[v]);
            }
        }
    }
done:
    free(closures);
    return status;
}

double operator_class_source(const struct heat_operator *op, const struct problem *problem,
                             int of_class)
{
    const struct class_key *key = &problem->medium.classes[of_class].key;
    double density = problem->medium.classes[of_class].metabolic_heat;
    for (int s = 0; s < problem->sources.count; s++) {
        density += class_key_has(key, s) ? op->source[s] : 0;
    }
    const double q = density * op->dt / problem->medium.heat_capacity_volume;
    return precision_round(problem->precision, q);
}

enum status operator_table(const struct heat_operator *op, const struct problem *problem,
                           bool same_dt, void *table)
{
    const struct medium *medium = &problem->medium;
    const enum precision precision = problem->precision;
    const int n = medium->nclasses;
    const double scale = op->dt / medium->heat_capacity_volume;
    if (medium->curves != NULL) {
        double q[MEDIUM_CLASSES];
        for (int c = 0; c < n; c++) {
            q[c] = operator_class_source(op, problem, c);
        }
        enthalpy_table(problem, op->dt, q, table);
        return set_closures(op, problem, table);
    }
    for (int c = 0; c < n; c++) {
        precision_set(precision, table, medium_cell_at(c), medium->classes[c].sigma);
        precision_set(precision, table, medium_cell_at(c) + 1,
                      operator_class_source(op, problem, c));
    }
    for (int c = 0; c < n && !same_dt; c++) {
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            for (int other = 0; other < n; other++) {
                const double conductance =
                    medium_conductance(medium, &problem->grid, (enum axis)axis, c, other);
                precision_set(precision, table, medium_g_at(n, axis, c, other),
                              conductance * scale);
            }
        }
    }
    return set_closures(op, problem, table);
}

static enum status set_high_order(const struct heat_operator *op, const struct problem *problem,
                                  struct coefficients *c)
{
    const struct grid *grid = &problem->grid;
    struct high_order *high = &c->high_order;
    high->radius = op->radius;
    wide_weights(op->radius, problem->precision, high->weight);
    memcpy(high->used, grid->used, sizeof high->used);
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        struct boundary_state now;
        if (c->closed[f] && grid->used[axis]) {
            TRY(boundary_evaluate(&problem->boundary, grid, &problem->medium, (enum face)f, 0,
                                  op->time, &now));
            wide_close(op->radius, high->weight, &now, problem->medium.conductivity,
                       grid->spacing[axis], &high->closure[f]);
        }
    }
    return STATUS_OK;
}

enum status operator_coefficients(const struct heat_operator *op, const struct problem *problem,
                                  const struct decomp *decomp, int rank,
                                  struct exact_sum *d_face_sum, struct coefficients *coefficients)
{
    struct coefficients *c = coefficients;
    *c = (struct coefficients){.kind = operator_kind(problem), .r = {op->r[0], op->r[1], op->r[2]}};
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        c->closed[f] = decomp_neighbour(decomp, rank, face) < 0;
        if (!c->closed[f]) {
            continue;
        }
        c->a[f] = op->closure.a[f];
        c->b[f] = op->closure.b[f];
        /* a = 1: the heat does not depend on the cell, so the ledger needs no sum */
        const bool always = problem->medium.nclasses > 0 || op->radius > 1;
        if (problem->grid.used[face_axis(face)] && d_face_sum != NULL &&
            (always || op->closure.a[f] != 1.0)) {
            c->d_face_sum[f] = &d_face_sum[f];
        }
    }
    return op->radius > 1 ? set_high_order(op, problem, c) : STATUS_OK;
}

void operator_flux_args(const struct heat_operator *op, const struct problem *problem,
                        const struct decomp *decomp, int rank, struct flux_args *args)
{
    const struct grid *grid = &problem->grid;
    for (int f = 0; f < FACE_COUNT; f++) {
        args->closed[f] = decomp_neighbour(decomp, rank, (enum face)f) < 0;
        args->a[f] = op->closure.a[f];
        args->b[f] = op->closure.b[f];
    }
    const struct medium *medium = &problem->medium;
    args->medium = NULL;
    for (int a = 0; a < AXIS_COUNT; a++) {
        const double h = grid->spacing[a];
        const double scale = medium->nclasses > 0 ? medium->heat_capacity_volume * h / (2 * op->dt)
                                                  : medium->conductivity / (2 * h);
        args->scale[a] = grid->used[a] ? scale : 0;
    }
}
