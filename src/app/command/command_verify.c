/* isotherm verify: measured orders of accuracy, for every boundary type, against exact solutions.
 *
 * Every case is a product of one-dimensional modes f(x) on a steady profile. In space, the error
 * against the solution of the heat equation falls as h^2 when dt ~ h^2. In time, the error against
 * the exact solution of the semi-discrete equations falls as dt. That solution has the same modes,
 * with the decay rate alpha sum 4/h^2 sin^2(beta h / 2) and beta from the closure
 * (docs/reference/numerics.md). */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/command/commands.h"
#include "app/command/verify_case.h"
#include "base/comm.h"
#include "base/log.h"
#include "base/text/table.h"
#include "kernels/backends.h"
#include "solve/solver.h"

static const char *order_names(void)
{
    return "2, 4, 6, 8";
}

static const char *scheme_names(void)
{
    return "euler, sts1, sts2, monotone, implicit, steady";
}

static struct {
    struct option_name backend;
    struct option_name order;
    struct option_name scheme;
    const char *json;
} options = {.backend = {"auto", backend_names},
             .order = {"2", order_names},
             .scheme = {"euler", scheme_names}};

static const struct option option_table[] = {
    {OPTION_NAME, "--backend", "NAME", " (default auto)", &options.backend},
    {OPTION_NAME, "--order", "N", " (default 2)", &options.order},
    {OPTION_NAME, "--scheme", "NAME", "", &options.scheme}, /* the first one */
    {OPTION_STRING, "--json", "FILE", "also write the table as JSON", &options.json},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

enum { LEVELS = 3 };
static const double ORDER_TOLERANCE = 0.05;
static const double STS_TOLERANCE = 0.1;   /* of super steps that are as long as possible */
static const double STIFF_TOLERANCE = 0.3; /* K; unstable modes reach far more in ten steps */
/* Orders above 2 may be exceeded: the error at a face is of a higher order where the solution is
 * odd about it. */
static const double WIDE_TOLERANCE = 0.6;

/* The sum of (T - exact)^2 over the cells of this rank, K^2. */
static enum status local_square_error(const struct solver *solver, struct expression *exact,
                                      double *sum)
{
    struct field *field = solver->level.field;
    const struct grid *grid = &solver->problem.grid;
    const double time = solver->state.time;
    const int64_t *n = field->layout.cells;
    SCOPED_FREE double *plane = malloc((size_t)(n[AXIS_X] * n[AXIS_Y]) * sizeof *plane);
    TRY(CHECK_MEMORY(plane != NULL, "no memory for a plane of cells"));
    *sum = 0;
    for (int64_t k = 0; k < n[AXIS_Z]; k++) {
        const struct box box = {.lo = {0, 0, k}, .hi = {n[AXIS_X], n[AXIS_Y], k + 1}};
        TRY(field_read(field, &box, plane));
        for (int64_t cell = 0; cell < n[AXIS_X] * n[AXIS_Y]; cell++) {
            const int64_t *offset = field->placement.offset;
            const double at[] = {grid_center(grid, AXIS_X, offset[AXIS_X] + cell % n[AXIS_X]),
                                 grid_center(grid, AXIS_Y, offset[AXIS_Y] + cell / n[AXIS_X]),
                                 grid_center(grid, AXIS_Z, offset[AXIS_Z] + k), time};
            const double error = plane[cell] - expression_evaluate(exact, at);
            *sum += error * error;
        }
    }
    return STATUS_OK;
}

static enum status measure_error(const struct solver *solver, const char *exact_text, double *error)
{
    static const char *const variables[] = {"x", "y", "z", "t"};
    struct expression *exact = NULL;
    double sum = 0;
    enum status status;
    TRY_GOTO(expression_create(exact_text, variables, 4, &exact));
    TRY_GOTO(local_square_error(solver, exact, &sum));
done:
    expression_destroy(exact);
    TRY(status_agree(solver->team.comm, status));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, solver->team.comm));
    *error = sqrt(sum / (double)grid_total_cells(&solver->problem.grid));
    return STATUS_OK;
}

/* cells: NULL, or "grid.cells=..." */
static enum status solve(const struct verify_problem *problem, const char *cells, double *error)
{
    char backend[64];
    SCOPED_BY(settings_release) struct settings *settings = NULL;
    snprintf(backend, sizeof backend, "run.backend=%s", options.backend.name);
    const char *const sets[] = {backend, cells};
    TRY(settings_read_text("verify", problem->config, sets, cells != NULL ? 2 : 1, &settings));
    SCOPED_BY(solver_destroy) struct solver solver;
    TRY(solver_create(MPI_COMM_WORLD, settings, &solver));
    if (solver.stepper.steady != NULL) {
        solver.stepper.steady->quiet = true;
    }
    TRY(stepper_advance(&solver.stepper, solver.problem.timeline.steps));
    TRY(stepper_show_due(&solver.stepper));
    return measure_error(&solver, problem->exact, error);
}

struct orders {
    int wanted; /* in space */
    enum time_scheme scheme;
    double space_error[LEVELS];
    double time_error[LEVELS]; /* of order 2 only */
    double space, time;        /* from the two finest levels */
    double stiff_error;        /* of super steps: VERIFY_STIFF */
};

static bool measures_space(const struct orders *orders)
{
    return orders->scheme == SCHEME_EULER;
}

static enum status measure_orders(enum verify_kind kind, int dimensions, struct orders *orders)
{
    const bool wide = orders->wanted > 2;
    struct verify_problem problem;
    for (int level = 0; level < LEVELS; level++) {
        log_transient("verify: %s, %dD, level %d of %d", verify_kind_name(kind), dimensions,
                      level + 1, LEVELS);
        if (measures_space(orders)) {
            TRY(wide ? verify_problem_of_order(kind, orders->wanted, dimensions, level, &problem)
                     : verify_problem_in_space(kind, dimensions, level, &problem));
            TRY(solve(&problem, NULL, &orders->space_error[level]));
        }
        if (!wide) {
            TRY(verify_problem_in_time(kind, orders->scheme, dimensions, level, &problem));
            TRY(solve(&problem, NULL, &orders->time_error[level]));
        }
    }
    if (orders->scheme != SCHEME_EULER) {
        TRY(verify_problem_in_time(kind, orders->scheme, dimensions, VERIFY_STIFF, &problem));
        TRY(solve(&problem, NULL, &orders->stiff_error));
    }
    const double ratio = orders->space_error[LEVELS - 2] / orders->space_error[LEVELS - 1];
    orders->space = wide ? log(ratio) / log(1.5) : log2(ratio);
    orders->time = log2(orders->time_error[LEVELS - 2] / orders->time_error[LEVELS - 1]);
    return STATUS_OK;
}

static int order_in_time(enum time_scheme scheme)
{
    return scheme == SCHEME_EULER || scheme == SCHEME_STS1 ? 1 : 2;
}

static bool is_correct(const struct orders *orders)
{
    /* NaN is not */
    if (orders->wanted > 2) {
        return orders->space >= orders->wanted - WIDE_TOLERANCE;
    }
    if (orders->scheme != SCHEME_EULER) {
        return fabs(orders->time - order_in_time(orders->scheme)) <= STS_TOLERANCE &&
               orders->stiff_error <= STIFF_TOLERANCE;
    }
    return fabs(orders->space - 2.0) <= ORDER_TOLERANCE &&
           fabs(orders->time - 1.0) <= ORDER_TOLERANCE;
}

static void report_case(enum verify_kind kind, int dimensions, const struct orders *orders,
                        struct table *table, struct json *json)
{
    const double *space = orders->space_error;
    const double *time = orders->time_error;
    table_row_begin(table, json);
    table_text(table, "boundary", "boundary", -22, verify_kind_name(kind));
    table_int(table, "dimensions", NULL, 0, dimensions);
    table_text(table, NULL, "", -2, (const char[]){(char)('0' + dimensions), 'D', '\0'});
    if (measures_space(orders)) {
        table_real(table, NULL, "space: coarse", 13, -3, space[0]);
        table_real(table, "finest_space_error_K", "fine", 10, -3, space[LEVELS - 1]);
        table_real(table, "order_in_space", "order", 7, 3, orders->space);
    }
    if (orders->wanted == 2) {
        table_real(table, NULL, "time: coarse", 13, -3, time[0]);
        table_real(table, "finest_time_error_K", "fine", 10, -3, time[LEVELS - 1]);
        table_real(table, "order_in_time", "order", 7, 3, orders->time);
    }
    if (!measures_space(orders)) {
        table_real(table, "stiff_error_K", "stiff", 10, -3, orders->stiff_error);
    }
    json_bool(json, "ok", is_correct(orders));
    table_text(table, NULL, "", -6, is_correct(orders) ? " ok" : " WRONG");
    table_row_end(table);
}

static enum status verify_all(int order, enum time_scheme scheme, struct json *json, int *wrong)
{
    struct table table = {.has_heading = false};
    if (order == 2) {
        log_info("%s, 7-point Laplacian, float64; errors are root mean squares in K",
                 scheme == SCHEME_EULER      ? "forward Euler"
                 : scheme == SCHEME_IMPLICIT ? "implicit steps"
                                             : "super steps of 16 stages");
    } else {
        log_info("forward Euler, stencil of order %d, float64; errors of means over cells, root "
                 "mean squares in K",
                 order);
    }
    json_begin(json, NULL, '{');
    json_begin(json, "rows", '[');
    const int kinds = order == 2 ? VERIFY_KINDS : VERIFY_FLUX_OF_TIME;
    for (int kind = 0; kind < kinds; kind++) {
        for (int dimensions = 1; dimensions <= AXIS_COUNT; dimensions++) {
            struct orders orders = {.wanted = order, .scheme = scheme};
            TRY(measure_orders((enum verify_kind)kind, dimensions, &orders));
            report_case((enum verify_kind)kind, dimensions, &orders, &table, json);
            *wrong += is_correct(&orders) ? 0 : 1;
        }
    }
    json_end(json, ']');
    json_end(json, '}');
    return STATUS_OK;
}

/* --- steady states --- */

#define STEADY(materials, x_min, x_max)                                                            \
    "title: verify\n" materials "\ninitial: [{uniform: {value: 300}}]\n"                           \
    "boundary: {x_min: " x_min ", x_max: " x_max "}\n"                                             \
    "time: {steady: {temperature: 1.0e-9, tolerance: 1.0e-8}}\n"                                   \
    "output: {directory: none, history: {every: 0}}\n"
#define FLUX_OF_WALL "(907 / (0.12 + 0.6 + 0.01 + 0.02 / 45 + 0.1))"
#define INTEGRAL(rise) "(10 * " rise " + 25 / 1200 * " rise " ^ 2)" /* of k from 300 K on */

/* The order of their errors; 0: they are exact on any grid. */
static const struct {
    const char *name;
    struct verify_problem problem;
    int order;
} steady_cases[] = {
    {"wall with a contact",
     {STEADY("grid: {cells: [160], upper: [0.2]}\n"
             "materials: [{name: a, conductivity: 1, density: 1000, heat_capacity: 1000}, "
             "{name: b, conductivity: 0.1, density: 1000, heat_capacity: 1000}, "
             "{name: c, conductivity: 45, density: 1000, heat_capacity: 1000}]\n"
             "parts: [{uniform: {material: a}}, "
             "{layer: {axis: x, from: 0.12, to: 0.18, material: b}}, "
             "{layer: {axis: x, from: 0.18, to: 0.2, material: c}}]\n"
             "contacts: [{between: [b, c], resistance: 0.01}]",
             "{type: temperature, value: 1200}",
             "{type: convection, coefficient: 10, ambient: 293}"),
      "x < 0.12 ? 1200 - x * " FLUX_OF_WALL
      " : x < 0.18 ? 1200 - (0.12 + (x - 0.12) / 0.1) * " FLUX_OF_WALL
      " : 293 + (0.1 + (0.2 - x) / 45) * " FLUX_OF_WALL},
     0},
    {"radiating slab",
     {STEADY("grid: {cells: [160], upper: [0.02]}\n"
             "material: {conductivity: 40, density: 1000, heat_capacity: 1000}",
             "{type: flux, value: 1.0e5}", "{type: radiation, emissivity: 0.8, ambient: 300}"),
      "(1e5 / (0.8 * 5.670374419e-8) + 300 ^ 4) ^ 0.25 + 2500 * (0.02 - x)"},
     0},
    {"slab with k(T)",
     {STEADY("grid: {cells: [160], upper: [1]}\n"
             "materials: [{name: a, conductivity: [[300, 10], [1500, 60]], density: 1000, "
             "heat_capacity: 1000}]\nparts: [{uniform: {material: a}}]",
             "{type: temperature, value: 1400}", "{type: temperature, value: 400}"),
      "300 + 24 * (sqrt(100 + (" INTEGRAL("1100") " * (1 - x) + " INTEGRAL(
          "100") " * x) / 12) - 10)"},
     2},
    {"perfused tissue",
     {STEADY("grid: {cells: [160], upper: [0.06]}\n"
             "materials: [{name: a, conductivity: 0.5, density: 1000, heat_capacity: 4000, "
             "perfusion: {rate: 0.001, blood_density: 1000, blood_heat_capacity: 4000, "
             "arterial_temperature: 310}}]\nparts: [{uniform: {material: a}}]",
             "{type: temperature, value: 290}", "{type: flux, value: 0}"),
      "310 - 20 * cosh(sqrt(8000) * (0.06 - x)) / cosh(sqrt(8000) * 0.06)"},
     2},
};

/* Of grids with 160 and 320 cells. */
static enum status verify_steady(struct json *json, int *wrong)
{
    struct table table = {.has_heading = false};
    log_info("steady states, float64; errors are root mean squares in K");
    json_begin(json, NULL, '{');
    json_begin(json, "rows", '[');
    for (size_t n = 0; n < sizeof steady_cases / sizeof *steady_cases; n++) {
        double error[2];
        TRY(solve(&steady_cases[n].problem, NULL, &error[0]));
        TRY(solve(&steady_cases[n].problem, "grid.cells=[320]", &error[1]));
        const double order = log2(error[0] / error[1]);
        const bool is_exact = steady_cases[n].order == 0;
        const bool ok =
            is_exact ? fmax(error[0], error[1]) < 1e-7
                     : fabs(order - steady_cases[n].order) <= ORDER_TOLERANCE && error[1] < 1;
        table_row_begin(&table, json);
        table_text(&table, "problem", "problem", -22, steady_cases[n].name);
        table_real(&table, "coarse_error_K", "coarse", 10, -3, error[0]);
        table_real(&table, "fine_error_K", "fine", 10, -3, error[1]);
        table_real(&table, is_exact ? NULL : "order", "order", 7, 3, is_exact ? NAN : order);
        json_bool(json, "ok", ok);
        table_text(&table, NULL, "", -6, ok ? " ok" : " WRONG");
        table_row_end(&table);
        *wrong += ok ? 0 : 1;
    }
    json_end(json, ']');
    json_end(json, '}');
    return STATUS_OK;
}

static enum status order_of_option(int *order)
{
    for (*order = 2; *order <= 8; *order += 2) {
        const char name[] = {(char)('0' + *order), '\0'};
        if (strcmp(options.order.name, name) == 0) {
            return STATUS_OK;
        }
    }
    return fail(STATUS_INPUT,
                "--order: '%.40s' is not an order of run.stencil.order; give one of %s",
                options.order.name, order_names());
}

static enum status scheme_of_option(enum time_scheme *scheme)
{
    static const char *const names[] = {"euler", "sts1", "sts2", "monotone", "implicit", "steady"};
    static const enum time_scheme schemes[] = {SCHEME_EULER,    SCHEME_STS1,     SCHEME_STS2,
                                               SCHEME_MONOTONE, SCHEME_IMPLICIT, SCHEME_STEADY};
    for (int i = 0; i < 6; i++) {
        *scheme = schemes[i];
        if (strcmp(options.scheme.name, names[i]) == 0) {
            return i == 0 || strcmp(options.order.name, "2") == 0
                       ? STATUS_OK
                       : fail(STATUS_INPUT, "--scheme %s is measured with --order 2", names[i]);
        }
    }
    return fail(STATUS_INPUT, "--scheme: '%.40s' is not a time scheme; give one of %s",
                options.scheme.name, scheme_names());
}

static enum status execute(void)
{
    enum time_scheme scheme = SCHEME_EULER;
    const bool first = comm_rank(MPI_COMM_WORLD) == 0;
    struct json json;
    int wrong = 0;
    int order = 0;
    TRY(status_agree(MPI_COMM_WORLD, order_of_option(&order)));
    TRY(status_agree(MPI_COMM_WORLD, scheme_of_option(&scheme)));
    TRY(status_agree(MPI_COMM_WORLD, first ? json_check_place(options.json) : STATUS_OK));
    TRY(status_agree(MPI_COMM_WORLD, json_open(&json)));
    const enum status status = scheme == SCHEME_STEADY ? verify_steady(&json, &wrong)
                                                       : verify_all(order, scheme, &json, &wrong);
    log_transient("%s", "");
    TRY(status_agree(MPI_COMM_WORLD, json_finish(&json, status, first ? options.json : NULL)));
    FAIL_IF(
        wrong > 0,
        status_agree(MPI_COMM_WORLD,
                     fail(STATUS_NUMERICS,
                          "%d of the rows above are wrong: this build does not solve the equation",
                          wrong)));
    if (scheme == SCHEME_STEADY) {
        log_info("all steady states are correct: exact, or of order 2 within %g", ORDER_TOLERANCE);
    } else if (scheme != SCHEME_EULER) {
        log_info("all orders are correct: %d in time, within %g", order_in_time(scheme),
                 STS_TOLERANCE);
    } else if (order == 2) {
        log_info("all orders are correct: 2 in space, 1 in time, within %g", ORDER_TOLERANCE);
    } else {
        log_info("all orders are correct: at least %g in space", order - WIDE_TOLERANCE);
    }
    return STATUS_OK;
}

const struct command command_verify = {
    .name = "verify",
    .summary = "measure orders of accuracy against exact solutions",
    .uses_mpi = true,
    .line =
        {.usage = "isotherm verify [options]",
         .about =
             "Measure the orders of accuracy for every boundary type in 1, 2 and 3 dimensions:\n"
             "solve problems with known solutions on successively finer grids and with\n"
             "successively shorter steps. Expected: 2.00 in space and 1.00 in time, each\n"
             "within 0.05; otherwise the exit code is 5. --order 4, 6 or 8 measures that order\n"
             "of run.stencil.order instead, apart from the error of the time steps. --scheme\n"
             "sts1, sts2, monotone or implicit measures that time scheme alone: 1.00 or\n"
             "2.00, within 0.1; and the error after ten of the longest steps from a state\n"
             "with a stiff mode. --scheme steady solves for steady states on two grids.",
         .example = "  $ isotherm verify\n  $ mpirun -n 3 isotherm verify --json orders.json",
         .options = option_table},
    .execute = execute,
};
