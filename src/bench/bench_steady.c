/* isotherm bench steady: cycles and milliseconds to a steady state, and the parts of a cycle. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "bench/bench_parts.h"
#include "solve/solver.h"
#include "solve/start/initial.h"

enum { CYCLES = 60, CALLS = 10 }; /* at most; of a part in a round */

struct steady_bench {
    const struct bench_request *request;
    const struct backend *backend;
    double copy_GBs;
    struct json *json;
    struct table table;
};

/* A ratio of conductivities of 1000, but in the first. cells: each cell is one of four materials,
 * by a number from -1 to 1 for its indices. */
#define CELL_NUMBER                                                                                \
    "cos(1e5*sin(12.9898*rint(%g*x - 0.5) + 78.233*rint(%g*y - 0.5) + 37.719*rint(%g*z - 0.5)))"
static const struct {
    const char *name, *parts;
} media[] = {
    {"uniform", NULL},
    {"layers", "{layer: {axis: z, from: 0.3, to: 0.36, material: b}}, "
               "{layer: {axis: z, from: 0.5, to: 0.75, material: b}}"},
    {"sphere", "{sphere: {center: [0.5, 0.5, 0.5], radius: 0.3, material: b}}"},
    {"blocks", "{box: {lower: [0.1, 0.1, 0.1], upper: [0.4, 0.5, 0.6], material: b}}, "
               "{box: {lower: [0.4, 0.5, 0.6], upper: [0.8, 0.9, 0.9], material: b}}"},
    {"cells", "{expression: {where: \"" CELL_NUMBER " < 0.70710678\", material: c}}, "
              "{expression: {where: \"" CELL_NUMBER " < 0\", material: d}}, "
              "{expression: {where: \"" CELL_NUMBER " < -0.70710678\", material: b}}"},
};

static void write_materials(char *text, size_t size, const int64_t n[AXIS_COUNT], const char *parts)
{
    const double x = (double)n[0], y = (double)n[1], z = (double)n[2];
    char placed[1024];
    snprintf(placed, sizeof placed, parts, x, y, z, x, y, z, x, y, z);
    snprintf(text, size,
             "materials: [{name: a, conductivity: 1, density: 1000, heat_capacity: 1000}, "
             "{name: b, conductivity: 1000, density: 1000, heat_capacity: 1000}, "
             "{name: c, conductivity: 10, density: 1000, heat_capacity: 1000}, "
             "{name: d, conductivity: 100, density: 1000, heat_capacity: 1000}]\n"
             "parts: [{uniform: {material: a}}, %s]",
             placed);
}

/* Faces of each type: given, film, closed, flux, given, film. */
static enum status make_settings(const struct steady_bench *bench, int medium, const char *solver,
                                 struct settings **settings)
{
    const int64_t *n = bench->request->size;
    const bool is_ours = strcmp(solver, "multigrid") == 0; /* HYPRE: after two corrections */
    const bool is_plain = media[medium].parts == NULL;     /* of cubes; parts lie in a unit cube */
    char text[4096];
    char materials[2048] = "material: {conductivity: 10, density: 1000, heat_capacity: 1000}";
    if (!is_plain) {
        write_materials(materials, sizeof materials, n, media[medium].parts);
    }
    snprintf(text, sizeof text,
             "title: bench\n"
             "grid: {cells: [%" PRId64 ", %" PRId64 ", %" PRId64 "], upper: [1, %.17g, %.17g]}\n"
             "%s\n"
             "initial: [{uniform: {value: 290}}]\n"
             "boundary:\n"
             "  x_min: {type: temperature, value: 300}\n"
             "  x_max: {type: convection, coefficient: 20, ambient: 340}\n"
             "  y_min: {type: flux, value: 0}\n"
             "  y_max: {type: flux, value: 100}\n"
             "%s"
             "time: {steady: {temperature: %s, tolerance: 1, cycles: %d, solver: %s}}\n"
             "run: {backend: %s}\n"
             "output: {directory: none, history: {every: 0}}\n",
             n[0], n[1], n[2], is_plain ? (double)n[1] / (double)n[0] : 1,
             is_plain ? (double)n[2] / (double)n[0] : 1, materials,
             n[2] == 1 ? ""
                       : "  z_min: {type: temperature, value: 320}\n"
                         "  z_max: {type: convection, coefficient: 100, ambient: 310}\n",
             is_ours ? "1.0e-9" : "1.0e-3", CYCLES, solver, bench->backend->name);
    return settings_read_text("bench", text, NULL, 0, settings);
}

/* The residual before each cycle, and the seconds then. */
struct course {
    double first; /* the residual to which the others are relative */
    double residual[CYCLES], seconds[CYCLES];
    int count;
};

/* The largest residual. */
static void note_largest(const struct steady *steady, struct course *course)
{
    course->count = (int)steady->count;
    for (int n = 0; n < course->count; n++) {
        course->residual[n] = steady->record[n].residual;
        course->seconds[n] = n > 0 ? steady->record[n - 1].seconds : 0;
    }
}

/* The cycles until the residual is `share` of the first one, and the seconds; 0: never. */
static int cycles_to(const struct course *course, double share, double *seconds)
{
    for (int n = 1; n < course->count; n++) {
        if (course->residual[n] <= share * course->first) {
            *seconds = course->seconds[n];
            return n;
        }
    }
    *seconds = NAN;
    return 0;
}

static const double shares[] = {1e-8, 1e-10};

static void report(struct steady_bench *bench, int medium, const char *residual,
                   const int cycles[2], const double seconds[2], double setup_s)
{
    static const char *const names[][4] = {{"cycles_1e8", "1e-8", "ms_1e8", "ms"},
                                           {"cycles_1e10", "1e-10", "ms_1e10", "ms"}};
    const int64_t *n = bench->request->size;
    const double cells = (double)n[0] * (double)n[1] * (double)n[2];
    struct table *table = &bench->table;
    table_row_begin(table, bench->json);
    table_text(table, "medium", "medium", -10, media[medium].name);
    table_text(table, "residual", "residual", -10, residual);
    for (int s = 0; s < 2; s++) {
        table_int(table, names[s][0], names[s][1], 6, cycles[s]);
        table_real(table, names[s][2], names[s][3], 10, 2, 1e3 * seconds[s]);
        if (s == 0) {
            table_real(table, "Munknowns_per_s", "Munknowns/s", 12, 0, 1e-6 * cells / seconds[s]);
        }
    }
    table_real(table, "setup_ms", "set-up ms", 10, 1, 1e3 * setup_s);
    table_row_end(table);
}

static void report_course(struct steady_bench *bench, int medium, const char *residual,
                          const struct course *course, double setup_s)
{
    int cycles[2];
    double seconds[2];
    for (int s = 0; s < 2; s++) {
        cycles[s] = cycles_to(course, shares[s], &seconds[s]);
    }
    report(bench, medium, residual, cycles, seconds, setup_s);
}

/* --- the parts of a cycle on the finest grid --- */

enum part_name {
    PART_SMOOTH,
    PART_INTERPOLATE,
    PART_JACOBI,
    PART_FLOW,
    PART_RESTRICT,
    PART_CORRECT
};

struct part {
    enum part_name name;
    const struct solver *solver;
    struct queue *queue;
};

static enum status call_part(void *context)
{
    const struct part *part = context;
    const struct operations *operations = part->solver->engine.operations;
    const struct field *field = part->solver->level.field;
    const struct steady *steady = part->solver->stepper.steady;
    const struct steady_grid *fine = &steady->grids.grid[0];
    const struct steady_grid *coarse = &steady->grids.grid[1];
    const bool uniform = steady->grids.uniform;
    switch (part->name) {
    case PART_SMOOTH:
        return ENQUEUE(operations, ascend, part->queue, .fine = fine->m, .coarse = coarse->m,
                       .factor = 1, .nsteps = uniform ? 4 : 8,
                       .weight = {0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F}, .d_r = fine->d_r,
                       .d_e = coarse->d_e, .d_out = fine->d_e, .d_other = fine->d_other);
    case PART_INTERPOLATE:
        return ENQUEUE(operations, interpolate, part->queue, .fine = fine->m, .coarse = coarse->m,
                       .factor = 1, .d_e = coarse->d_e, .d_out = fine->d_e);
    case PART_JACOBI:
        return ENQUEUE(operations, relax, part->queue, .grid = fine->m, .weight = 1,
                       .d_r = fine->d_r, .d_e = fine->d_e, .d_out = fine->d_other);
    case PART_FLOW:
        return ENQUEUE(operations, flow_out, part->queue, .grid = fine->m, .d_e = fine->d_e,
                       .d_out = fine->d_other);
    case PART_RESTRICT:
        return uniform ? ENQUEUE(operations, average, part->queue, .fine = fine->m,
                                 .coarse = coarse->m, .d_r = fine->d_r, .d_out = coarse->d_r)
                       : ENQUEUE(operations, gather_up, part->queue, .fine = fine->m,
                                 .coarse = coarse->m, .d_r = fine->d_r, .d_out = coarse->d_r);
    case PART_CORRECT:
        break;
    }
    return ENQUEUE(operations, correct, part->queue, .layout = field->layout, .grid = fine->m,
                   .closed = {true, true, true, true, true, true}, .d_in = field->d_now,
                   .d_e = fine->d_e, .d_out = field->d_next, .d_r = fine->d_r,
                   .d_mean = steady_grids_take_means(&steady->grids) ? coarse->d_r : NULL,
                   .coarse = coarse->m, .d_largest = steady->d_largest);
}

static enum status time_parts(struct steady_bench *bench, int medium, struct solver *solver)
{
    static const struct {
        const char *name;
        double bytes, bytes_of_classes;                 /* per cell; 0: no such part */
    } parts[] = {[PART_SMOOTH] = {"smooth", 8.5, 55.5}, /* of classes: two passes after the next */
                 [PART_INTERPOLATE] = {"interpolate", 4.5, 7.5},
                 [PART_JACOBI] = {"jacobi", 12, 24}, /* one step */
                 [PART_FLOW] = {"flow", 8, 20},
                 [PART_RESTRICT] = {"restrict", 4.5, 7.5},
                 [PART_CORRECT] = {"correct", 24.5, 0}}; /* with the means */
    const int64_t *n = bench->request->size;
    const double cells = (double)n[0] * (double)n[1] * (double)n[2];
    struct bench_place place = {.backend = bench->backend, .device = solver->engine.device};
    struct part context = {.solver = solver};
    TRY(bench_place_open(&place));
    context.queue = place.queue;
    enum status status = STATUS_OK;
    for (size_t p = 0; p < sizeof parts / sizeof parts[0] && status == STATUS_OK; p++) {
        const struct bench_calls calls = {place, call_part, &context};
        const double bytes =
            solver->stepper.steady->grids.uniform ? parts[p].bytes : parts[p].bytes_of_classes;
        double rounds[BENCH_MAX_REPEATS];
        if (bytes == 0) {
            continue;
        }
        context.name = (enum part_name)p;
        for (int r = 0; r < bench->request->repeats && status == STATUS_OK; r++) {
            status = bench_time_calls(&calls, CALLS, &rounds[r]);
        }
        const double seconds = clock_figures_of(rounds, bench->request->repeats).median_s;
        table_row_begin(&bench->table, bench->json);
        table_text(&bench->table, "medium", "medium", -10, media[medium].name);
        table_text(&bench->table, "part", "part", -11, parts[p].name);
        table_real(&bench->table, "ms", "ms", 10, 3, 1e3 * seconds);
        table_real(&bench->table, "bandwidth_GBs", "GB/s", 10, 1, 1e-9 * bytes * cells / seconds);
        table_real(&bench->table, "copy_percent", "% copy", 8, 1,
                   100 * 1e-9 * bytes * cells / seconds / bench->copy_GBs);
        table_row_end(&bench->table);
    }
    bench_place_close(&place);
    return status;
}

static enum status solve_once(struct solver *solver)
{
    solver->stepper.steady->count = 0;
    solver->stepper.steady->pq = 0;
    solver->stepper.steady->rounding = false;
    TRY(initial_state(&solver->stepper));
    return stepper_advance(&solver->stepper, 1);
}

/* From the initial state without another start; for the root mean square, too. */
static enum status note_first(struct solver *solver, struct course *largest, struct course *squares)
{
    struct steady *steady = solver->stepper.steady;
    const bool can_start = steady->grids.can_start;
    steady->squares = true;
    steady->grids.can_start = false;
    TRY(solve_once(solver));
    largest->first = steady->record[0].residual;
    squares->first = sqrt(steady->record[0].squares);
    steady->grids.can_start = can_start;
    return STATUS_OK;
}

/* The root mean square of the residual in place of the largest one, in cycles that take the same
 * time. */
static enum status note_squares(struct solver *solver, struct course *course)
{
    const struct steady *steady = solver->stepper.steady;
    TRY(solve_once(solver));
    course->count = course->count < steady->count ? course->count : (int)steady->count;
    for (int n = 0; n < course->count; n++) {
        course->residual[n] = sqrt(steady->record[n].squares);
    }
    return STATUS_OK;
}

/* Of this rank, K. */
static double largest_difference(const struct field *a, const struct field *b)
{
    const struct layout *layout = &a->layout;
    const struct box owned = layout_owned(layout);
    double most = 0;
    for (int64_t n = 0; n < box_cells(&owned); n++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, n, cell);
        const int64_t at = layout_index(layout, cell[0], cell[1], cell[2]);
        most = fmax(most, fabs(((const double *)a->d_now)[at] - ((const double *)b->d_now)[at]));
    }
    return most;
}

/* HYPRE from the initial state to each residual, as the first of two corrections, and the
 * difference of its solution to the one that there is. */
static enum status report_hypre(struct steady_bench *bench, int medium, const struct solver *ours)
{
    SCOPED_BY(settings_release) struct settings *settings = NULL;
    TRY(make_settings(bench, medium, "hypre", &settings));
    SCOPED_BY(solver_destroy) struct solver solver;
    TRY(solver_create(MPI_COMM_WORLD, settings, &solver));
    struct hypre_run run[2];
    solver.stepper.steady->quiet = true;
    for (int n = 0; n < 2; n++) {
        solver.stepper.steady->hypre_share = shares[n];
        TRY(solve_once(&solver));
        run[n] = solver.stepper.steady->record[0].hypre;
    }
    report(bench, medium, "HYPRE, rms", (const int[]){run[0].cycles, run[1].cycles},
           (const double[]){run[0].seconds, run[1].seconds}, run[1].setup_s);
    log_info("  its temperatures differ by at most %.2g K",
             largest_difference(solver.level.field, ours->level.field));
    return STATUS_OK;
}

static enum status solve(struct steady_bench *bench, int medium, bool parts)
{
    SCOPED_BY(settings_release) struct settings *settings = NULL;
    TRY(make_settings(bench, medium, "multigrid", &settings));
    SCOPED_BY(solver_destroy) struct solver solver;
    const double start = clock_seconds();
    TRY(solver_create(MPI_COMM_WORLD, settings, &solver));
    const double setup_s = clock_seconds() - start;
    if (parts) {
        TRY(bench_time_copy(bench->backend, solver.engine.device, (size_t)1 << 28,
                            &bench->copy_GBs));
        return time_parts(bench, medium, &solver);
    }
    solver.stepper.steady->quiet = true;
    struct course course = {.count = 0};
    struct course squares = {.count = 0};
    for (int64_t n = 0; n < bench->request->repeats; n++) { /* the last one counts */
        TRY(solve_once(&solver));
    }
    note_largest(solver.stepper.steady, &course);
    squares = course;
    TRY(note_first(&solver, &course, &squares));
    if (solver.stepper.steady->grids.uniform) { /* else it is not known before each cycle */
        report_course(bench, medium, "largest", &course, setup_s);
    }
    TRY(note_squares(&solver, &squares));
    report_course(bench, medium, "rms", &squares, setup_s);
    if (steady_has_hypre && backend_has(bench->backend, BACKEND_HOST_ACCESS)) {
        TRY(report_hypre(bench, medium, &solver));
    }
    return STATUS_OK;
}

enum status bench_steady(const struct bench_request *request, struct json *json)
{
    const int nmedia = sizeof media / sizeof media[0];
    struct steady_bench bench = {.request = request, .backend = request->chosen, .json = json};
    json_string(json, "backend", bench.backend->name);
    json_int3(json, "cells", request->size);
    for (int parts = 0; parts < 2; parts++) {
        bench.table.has_heading = false;
        log_info(parts
                     ? "parts of a cycle on the finest grid, and their share of a copy"
                     : "to residuals of 1e-8 and 1e-10 of that of the initial state: the largest, "
                       "and the root mean square");
        json_begin(json, parts ? "parts" : "rows", '[');
        for (int m = 0; m < (parts ? 2 : nmedia); m++) {
            if (bench_is_listed(&request->media, media[m].name)) {
                TRY(solve(&bench, m, parts));
            }
        }
        json_end(json, ']');
    }
    return STATUS_OK;
}
