#include <math.h>
#include <stdlib.h>

#include "base/comm.h"
#include "model/operator/factor_map.h"
#include "solve/observe/diagnostics.h"

/* FLOW: W; TEMPERATURE: K times the share of a face in the largest one. */
enum { FLOW, TEMPERATURE, SURFACE_SUMS };

/* The temperatures of the cells at the faces of this rank. */
static enum status read_cells(const struct level *level, void *h_values)
{
    const struct surfaces *surfaces = &level->classes->surfaces;
    struct engine *engine = level->engine;
    const enum precision precision = level->field->layout.precision;
    TRY(engine_settle(engine));
    TRY(ENQUEUE(engine->operations, gather, engine->bulk_queue, .precision = precision,
                .d_field = level->field->d_now, .d_elements = surfaces->d_elements,
                .count = surfaces->count, .d_values = surfaces->d_values));
    TRY(engine->runtime->copy_to_host(engine->bulk_queue, h_values, surfaces->d_values,
                                      (size_t)surfaces->count * precision_bytes(precision)));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

/* All faces between two classes have these numbers. */
struct pair {
    int surface;
    double conductance; /* W/K */
    double share;       /* of the difference that lies in the half cell: the face is behind it */
    double film;        /* the same of the film, per conductance */
    double ambient;     /* K */
    double weight;      /* of the face's temperature */
};

static struct pair pair_at(const struct problem *problem, int pair)
{
    const struct medium *medium = &problem->medium;
    const struct grid *grid = &problem->grid;
    const int n = medium->nclasses;
    const enum axis axis = (enum axis)(pair / (n * n));
    const int own = pair / n % n;
    const int other = pair % n;
    const struct class_key *key = &medium->classes[own].key;
    const struct class_key *beside = &medium->classes[other].key;
    const double h = grid_size_width(grid, axis, key->size);
    const double area =
        grid_cell_face(grid, axis) * grid_size_face(grid, axis, key->size, beside->size);
    const double conductance =
        medium_conductance(medium, grid, axis, own, other) * grid_cell_volume(grid);
    return (struct pair){
        .surface = medium_surface(medium, key->material, beside->material),
        .conductance = conductance,
        .share = conductance * h / (2 * medium_conductivity(medium, axis, own) * area),
        .film = medium_contact(medium, own, other) / area,
        .ambient = medium->classes[other].ambient,
        .weight = area / grid_largest_face(grid) * medium_area(medium, key, beside),
    };
}

/* With properties or slopes per cell. */
static void adapt(const struct stepper *stepper, int64_t face, struct pair *of)
{
    const struct problem *problem = stepper->problem;
    const struct class_map *map = &stepper->level->classes->map;
    const struct surfaces *surfaces = &stepper->level->classes->surfaces;
    const int axis = medium_axis_of(problem->medium.nclasses, surfaces->h_pairs[face]);
    const int64_t at = surfaces->h_faces[face];
    const bool of_cells = problem->medium.slopes_per_cell && !problem->medium.lines;
    const double area =
        of_cells ? factor_map_area(map, problem, axis, at) : 1; /* else the classes have it */
    of->conductance = factor_map_conductance(map, problem, axis, at) *
                      problem->medium.heat_capacity_volume * grid_cell_volume(&problem->grid);
    if (problem->medium.lines) {
        const struct grid *grid = &problem->grid;
        const int64_t pitch[AXIS_COUNT] = {1, map->layout.pitch_y, map->layout.pitch_z};
        const struct class_key low = class_map_key(map, at - pitch[axis]);
        const struct class_key high = class_map_key(map, at);
        const double of_face = grid_cell_face(grid, (enum axis)axis) *
                               grid_size_face(grid, (enum axis)axis, low.size, high.size);
        of->film = medium_contact_of(&problem->medium, &low, &high) / of_face;
        of->weight = of_face / grid_largest_face(grid) * medium_area(&problem->medium, &low, &high);
    }
    of->share = of->conductance > 0 ? 1 - of->film / area * of->conductance : 0;
    of->weight *= area;
}

/* Sum the faces from `begin` to before `end`, which exact_parts can hold. */
static void sum_piece(const struct stepper *stepper, const struct pair *pairs,
                      const struct face_exchange *exchanges, const void *values, int64_t begin,
                      int64_t end, struct exact_sum (*sums)[SURFACE_SUMS])
{
    const double joule_per_kelvin = problem_joule_per_kelvin(stepper->problem);
    const struct surfaces *surfaces = &stepper->level->classes->surfaces;
    const enum precision precision = stepper->problem->precision;
    const int first = 2 * stepper->problem->medium.nclasses;
    struct exact_parts parts[MOST_SURFACES][SURFACE_SUMS] = {{{{0}}}};
    for (int64_t f = begin; f < end; f++) {
        struct pair of = pairs[surfaces->h_pairs[f] - first];
        if (surfaces->h_faces != NULL) {
            adapt(stepper, f, &of);
        }
        const double inside = precision_get(precision, values, f);
        const struct surface_face *at =
            surfaces->h_exchange != NULL ? &surfaces->h_exchange[f] : NULL;
        if (at != NULL && at->surface >= 0) {
            const struct class_closure none = {.exchange = exchanges[at->surface]};
            const struct class_closure closure =
                class_closure_of_half(&none, at->half, at->conductance * joule_per_kelvin);
            exact_parts_add(&parts[of.surface][FLOW], class_closure_flow(&closure, inside));
            exact_parts_add(&parts[of.surface][TEMPERATURE],
                            class_closure_face(&closure, inside) * of.weight);
            continue;
        }
        const double warmer = of.ambient - inside;
        exact_parts_add(&parts[of.surface][FLOW], of.conductance * warmer);
        exact_parts_add(&parts[of.surface][TEMPERATURE], fma(of.share, warmer, inside) * of.weight);
    }
#pragma omp critical
    for (int i = 0; i < stepper->problem->medium.nsurfaces * SURFACE_SUMS; i++) {
        exact_sum_add_parts(&sums[i / SURFACE_SUMS][i % SURFACE_SUMS],
                            &parts[i / SURFACE_SUMS][i % SURFACE_SUMS]);
    }
}

static enum status sum_mine(const struct stepper *stepper, const struct heat_operator *op,
                            struct exact_sum (*sums)[SURFACE_SUMS])
{
    struct face_exchange exchanges[MOST_SURFACES];
    const struct surfaces *surfaces = &stepper->level->classes->surfaces;
    const enum precision precision = stepper->problem->precision;
    if (surfaces->count == 0) {
        return STATUS_OK;
    }
    enum { PIECE = 1 << 14 }; /* less than EXACT_PARTS_MAX_TERMS */
    const int n = stepper->problem->medium.nclasses;
    SCOPED_FREE void *values = malloc((size_t)surfaces->count * precision_bytes(precision));
    SCOPED_FREE struct pair *pairs = malloc((size_t)(AXIS_COUNT * n * n) * sizeof *pairs);
    TRY(CHECK_MEMORY(values != NULL && pairs != NULL, "no memory for the cells of surfaces"));
    for (int p = 0; p < AXIS_COUNT * n * n; p++) {
        pairs[p] = pair_at(stepper->problem, p);
    }
    surface_exchanges(op, stepper->problem, exchanges);
    TRY(read_cells(stepper->level, values));
#pragma omp parallel for schedule(static) if (surfaces->count > PIECE)
    for (int64_t begin = 0; begin < surfaces->count; begin += PIECE) {
        const int64_t end = surfaces->count - begin < PIECE ? surfaces->count : begin + PIECE;
        sum_piece(stepper, pairs, exchanges, values, begin, end, sums);
    }
    return STATUS_OK;
}

enum status surfaces_take(struct stepper *stepper, struct surface_diagnostics *found)
{
    MPI_Comm comm = stepper->team->comm;
    const struct problem *problem = stepper->problem;
    const struct grid *grid = &problem->grid;
    const int n = problem->medium.nsurfaces;
    struct exact_sum sums[MOST_SURFACES][SURFACE_SUMS] = {{{{0}}}};
    if (n == 0) {
        return STATUS_OK;
    }
    const int before = phases_enter(stepper->level->phases, PHASE_DIAGNOSTICS);
    struct heat_operator op;
    TRY(stepper_operator_per_second(stepper, &op));
    TRY(status_agree(comm, sum_mine(stepper, &op, sums)));
    TRY(exact_sums_reduce(comm, sums[0], n * SURFACE_SUMS));
    for (int s = 0; s < n; s++) {
        const double area = problem->medium.surface_area[s];
        found[s] = (struct surface_diagnostics){
            .flow = exact_sum_value(&sums[s][FLOW]),
            .area = area,
            .cell_area = problem->medium.cell_area[s],
            .mean = exact_sum_value(&sums[s][TEMPERATURE]) * grid_largest_face(grid) / area,
        };
    }
    phases_enter(stepper->level->phases, before);
    return STATUS_OK;
}
