#include "model/operator/map/class_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cell/heat_cell.h"
#include "model/operator/map/line_values.h"

/* The largest rates between all pairs of keys, 1/s: [axis][of key][neighbour]; and those of the
 * blood in each key. */
static double *rates_of(const struct problem *problem, const struct class_map *map)
{
    const struct medium *medium = &problem->medium;
    const int n = map->nkeys;
    double *rates = malloc((size_t)n * ((size_t)n * AXIS_COUNT + 1) * sizeof *rates);
    for (int64_t i = 0; rates != NULL && i < (int64_t)n * n * AXIS_COUNT; i++) {
        const struct class_key *own = &map->keys[i / n % n];
        rates[i] = medium_most_conductance(medium, &problem->grid, (enum axis)(i / n / n), own,
                                           &map->keys[i % n]) /
                   (medium->materials[own->material].heat_capacity_volume *
                    grid_size_volume(&problem->grid, own->size));
    }
    for (int key = 0; rates != NULL && key < n; key++) {
        const struct medium_class *material = &medium->materials[map->keys[key].material];
        rates[(int64_t)n * n * AXIS_COUNT + key] =
            material->perfusion / material->heat_capacity_volume;
    }
    return rates;
}

static double rate_of_cell(const uint8_t *at, const struct layout *layout, const double *rates,
                           int n)
{
    const int64_t pitch[AXIS_COUNT] = {1, layout->pitch_y, layout->pitch_z};
    double sum = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double *row = &rates[((int64_t)axis * n + at[0]) * n];
        sum += row[at[-pitch[axis]]] + row[at[pitch[axis]]];
    }
    return sum + rates[(int64_t)n * n * AXIS_COUNT + at[0]];
}

/* The fastest rate of its cells; adds to their hash and to their counts per key of the map. */
static double survey_row(const struct class_map *map, const struct problem *problem,
                         const double *rates, int64_t j, int64_t k, uint64_t *hash, int64_t *counts)
{
    const struct grid *grid = &problem->grid;
    const uint8_t *row = &map->h_class[layout_index(&map->layout, 0, j, k)];
    const int64_t global_row =
        (map->owned.lo[AXIS_Z] + k) * grid->cells[AXIS_Y] + map->owned.lo[AXIS_Y] + j;
    const int64_t index = global_row * grid->cells[AXIS_X] + map->owned.lo[AXIS_X];
    double fastest = 0;
    for (int64_t i = 0; i < map->layout.cells[AXIS_X]; i++) {
        if (!problem->medium.per_cell) {
            fastest = fmax(fastest, rate_of_cell(&row[i], &map->layout, rates, map->nkeys));
        }
        counts[row[i]]++;
        *hash += heat_cell_hash((uint64_t)(index + i), (uint64_t)map->keys[row[i]].material);
    }
    return fastest;
}

static void add_key(struct class_survey *survey, const struct class_key *key, int64_t cells,
                    const struct exact_sum *amount)
{
    int at = 0;
    while (at < survey->nkeys && class_key_compare(&survey->keys[at], key) < 0) {
        at++;
    }
    if (at == survey->nkeys || class_key_compare(&survey->keys[at], key) != 0) {
        if (survey->nkeys >= MEDIUM_CLASSES) {
            survey->nkeys = MEDIUM_CLASSES + 1;
            return;
        }
        const size_t behind = (size_t)(survey->nkeys - at);
        memmove(&survey->keys[at + 1], &survey->keys[at], behind * sizeof *survey->keys);
        memmove(&survey->cells[at + 1], &survey->cells[at], behind * sizeof *survey->cells);
        memmove(&survey->amounts[at + 1], &survey->amounts[at], behind * sizeof *survey->amounts);
        survey->keys[at] = *key;
        survey->cells[at] = 0;
        survey->amounts[at] = (struct exact_sum){{0}};
        survey->nkeys++;
    }
    survey->cells[at] += cells;
    exact_sum_add(&survey->amounts[at], amount);
}

void class_survey_widen(struct class_survey *survey, int face, int patch, int number, double least,
                        double most)
{
    struct boundary_range *range = &survey->face_factors[face][patch][number];
    const bool is_first = survey->patches[face][patch] == 0;
    range->least = is_first ? least : fmin(range->least, least);
    range->most = is_first ? most : fmax(range->most, most);
}

void class_survey_add(struct class_survey *survey, const struct class_survey *more)
{
    survey->fastest_rate = fmax(survey->fastest_rate, more->fastest_rate);
    survey->hash += more->hash;
    for (int i = 0; i < MOST_MATERIALS * MOST_MATERIALS; i++) {
        survey->meets[i / MOST_MATERIALS][i % MOST_MATERIALS] |=
            more->meets[i / MOST_MATERIALS][i % MOST_MATERIALS];
    }
    for (int s = 0; s < MOST_SURFACES; s++) {
        survey->faces[s] += more->faces[s];
        for (int slope = 0; slope <= SLOPES; slope++) {
            exact_sum_add(&survey->areas[s][slope], &more->areas[s][slope]);
        }
    }
    for (int slope = 0; slope <= SLOPES; slope++) {
        survey->slopes[slope].cells += more->slopes[slope].cells;
        survey->slopes[slope].area += more->slopes[slope].area;
    }
    for (int i = 0; i < MOST_MATERIALS * FACTORS; i++) {
        struct factor_range *range = &survey->factors[i / FACTORS][i % FACTORS];
        const struct factor_range *other = &more->factors[i / FACTORS][i % FACTORS];
        range->most = fmax(range->most, other->most);
        range->most_inverse = fmax(range->most_inverse, other->most_inverse);
    }
    for (int i = 0; i < FACE_COUNT * (MOST_PATCHES + 1); i++) {
        const int f = i / (MOST_PATCHES + 1);
        const int p = i % (MOST_PATCHES + 1);
        for (int n = 0; n < BOUNDARY_FACTORS && more->patches[f][p] > 0; n++) {
            const struct boundary_range *range = &more->face_factors[f][p][n];
            class_survey_widen(survey, f, p, n, range->least, range->most);
        }
        survey->patches[f][p] += more->patches[f][p];
    }
    for (int c = 0; c < more->nkeys && survey->nkeys <= MEDIUM_CLASSES; c++) {
        if (more->nkeys > MEDIUM_CLASSES) {
            survey->nkeys = more->nkeys;
        } else {
            add_key(survey, &more->keys[c], more->cells[c], &more->amounts[c]);
        }
    }
}

/* Which materials have cells in row (j, k) beside cells above them on an axis, and the faces of
 * surfaces between them. */
static void survey_contacts(const struct class_map *map, const struct problem *problem, int64_t j,
                            int64_t k, struct class_survey *survey)
{
    const struct grid *grid = &problem->grid;
    const struct layout *layout = &map->layout;
    const int64_t pitch[AXIS_COUNT] = {1, layout->pitch_y, layout->pitch_z};
    const int64_t row = layout_index(layout, 0, j, k);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double unit = grid_cell_face(grid, (enum axis)axis) / grid_largest_face(grid);
        for (int64_t i = 0; grid->used[axis] && i < layout->cells[AXIS_X]; i++) {
            const struct class_key own = class_map_key(map, row + i);
            const struct class_key next = class_map_key(map, row + i + pitch[axis]);
            const int surface = medium_surface(&problem->medium, own.material, next.material);
            survey->meets[own.material][next.material] = 1;
            if (surface >= 0) {
                const int of_ambient = own.material > next.material ? own.slope : next.slope;
                struct exact_parts parts = {{0}};
                exact_parts_add(&parts,
                                unit * grid_size_face(grid, (enum axis)axis, own.size, next.size));
                exact_sum_add_parts(&survey->areas[surface][of_ambient], &parts);
                survey->faces[surface]++;
            }
        }
    }
}

int class_map_pieces(const struct class_map *map, const struct problem *problem,
                     struct box_piece pieces[BOX_PIECES_MOST])
{
    const int64_t *cells = problem->grid.cells;
    struct box wide = map->owned;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t halo = map->layout.halo[axis];
        const int64_t most = halo < cells[axis] ? halo : cells[axis];
        wide.lo[axis] -= most;
        wide.hi[axis] += most;
    }
    return box_pieces(&wide, cells, problem->boundary.periodic, pieces);
}

void class_map_size(const struct class_map *map, int64_t at, uint16_t size[AXIS_COUNT])
{
    const struct layout *l = &map->layout;
    const int64_t pitch[AXIS_COUNT] = {1, l->pitch_y, l->pitch_z};
    const int64_t before[AXIS_COUNT] = {l->halo[AXIS_X], l->halo[AXIS_Y], l->halo[AXIS_Z]};
    int64_t rest = at - l->origin;
    int64_t cell[AXIS_COUNT] = {0};
    for (int a = AXIS_COUNT - 1; a >= 0; a--) {
        rest += before[a] * pitch[a];
    }
    for (int a = AXIS_COUNT - 1; a >= 0; a--) {
        const int64_t n = map->lines->cells[a];
        const int64_t local = pitch[a] > 0 ? rest / pitch[a] : 0;
        rest -= local * pitch[a];
        cell[a] = map->owned.lo[a] + (pitch[a] > 0 ? local - before[a] : 0);
        cell[a] = map->periodic[a] ? (cell[a] % n + n) % n
                                   : (cell[a] < 0 ? 0 : (cell[a] < n ? cell[a] : n - 1));
    }
    grid_size_of(map->lines, cell, size);
}

/* The volumes of the cells of each key in a plane, which exact_parts can hold in pieces. */
static void measure_plane(const struct class_map *map, const struct line_values *lines, int64_t k,
                          struct exact_sum *amounts)
{
    enum { PIECE = 1 << 14 };
    struct exact_parts parts[MEDIUM_CLASSES];
    int64_t terms = 0;
    memset(parts, 0, sizeof parts);
    for (int64_t j = 0; j < map->layout.cells[AXIS_Y]; j++) {
        const uint8_t *row = &map->h_class[layout_index(&map->layout, 0, j, k)];
        for (int64_t i = 0; i < map->layout.cells[AXIS_X]; i++) {
            exact_parts_add(&parts[row[i]], line_values_volume(lines, i, j, k));
            terms++;
            if (terms % PIECE == 0 ||
                (i + 1 == map->layout.cells[AXIS_X] && j + 1 == map->layout.cells[AXIS_Y])) {
#pragma omp critical(class_survey_amounts)
                for (int key = 0; key < map->nkeys; key++) {
                    exact_sum_add_parts(&amounts[key], &parts[key]);
                }
                memset(parts, 0, sizeof parts);
            }
        }
    }
}

/* With lines. */
static enum status measure(const struct class_map *map, const struct problem *problem,
                           struct exact_sum *amounts)
{
    SCOPED_BY(line_values_destroy) struct line_values lines = {.values = NULL};
    if (map->lines == NULL) {
        return STATUS_OK;
    }
    TRY(line_values_create(problem, &map->layout, map->owned.lo, &lines));
#pragma omp parallel for
    for (int64_t k = 0; k < map->layout.cells[AXIS_Z]; k++) {
        measure_plane(map, &lines, k, amounts);
    }
    return STATUS_OK;
}

enum status class_map_survey(const struct class_map *map, const struct problem *problem,
                             struct class_survey *survey)
{
    const int64_t *cells = map->layout.cells;
    struct exact_sum amounts[MEDIUM_CLASSES] = {{{0}}};
    if (map->too_many) {
        survey->nkeys = MEDIUM_CLASSES + 1;
        return STATUS_OK;
    }
    double *rates = rates_of(problem, map);
    TRY(CHECK_MEMORY(rates != NULL, "no memory for the rates of materials"));
    double fastest_rate = survey->fastest_rate;
    uint64_t hash = 0;
    int64_t counts[MEDIUM_CLASSES] = {0}; /* of the map's keys */
#pragma omp parallel for collapse(2) reduction(max : fastest_rate) reduction(+ : hash, counts)
    for (int64_t k = 0; k < cells[AXIS_Z]; k++) {
        for (int64_t j = 0; j < cells[AXIS_Y]; j++) {
            fastest_rate = fmax(fastest_rate, survey_row(map, problem, rates, j, k, &hash, counts));
        }
    }
    free(rates);
    TRY(measure(map, problem, amounts));
    survey->fastest_rate = fmax(fastest_rate, problem->medium.graded ? line_rate(problem) : 0);
    survey->hash += hash;
    for (int c = 0; c < map->nkeys && survey->nkeys <= MEDIUM_CLASSES; c++) {
        add_key(survey, &map->keys[c], counts[c], &amounts[c]);
    }
    for (int slope = 0; slope <= SLOPES; slope++) {
        survey->slopes[slope].cells += map->slopes[slope].cells;
        survey->slopes[slope].area += map->slopes[slope].area;
    }
    const bool any = problem->settings->ncontacts + problem->settings->nsurfaces > 0;
    for (int64_t row = 0; any && row < cells[AXIS_Y] * cells[AXIS_Z]; row++) {
        survey_contacts(map, problem, row % cells[AXIS_Y], row / cells[AXIS_Y], survey);
    }
    return STATUS_OK;
}

/* The classes of cells that have become another material. */
static void add_next_keys(const struct class_survey *survey, const struct medium *medium,
                          struct class_survey *all)
{
    *all = *survey;
    for (int c = 0; c < survey->nkeys && all->nkeys <= MEDIUM_CLASSES; c++) {
        struct class_key next = survey->keys[c];
        next.material = medium->materials[next.material].becomes;
        add_key(all, &next, 0, &(struct exact_sum){{0}});
    }
}

static enum status fail_too_many(const struct problem *problem)
{
    const struct settings *settings = problem->settings;
    const bool slopes = problem->medium.has_slopes && !problem->medium.slopes_per_cell;
    int nsources = 0;
    for (int s = 0; s < settings->nsources; s++) {
        nsources += source_is_painted(&settings->sources[s]) ? 1 : 0;
    }
    const bool sources = nsources > 1;
    char of_slopes[64] = "";
    if (slopes) {
        snprintf(of_slopes, sizeof of_slopes, ", slopes of curved surfaces (%d)", SLOPES);
    }
    return settings_fail(
        settings, sources ? "sources" : "materials",
        "more than %d combinations of materials (%d)%s and sets of %d sources; each is a class "
        "of cells, whose number is a byte%s%s",
        MEDIUM_CLASSES, problem->medium.nmaterials, of_slopes, nsources,
        sources ? "; let sources overlap less and end with their layer; give those of one density "
                  "and factor as one entry with an expression"
                : "",
        slopes ? "; give 'area: cells' in surfaces and contacts" : "");
}

static void measure_surfaces(const struct class_survey *survey, struct problem *problem)
{
    struct medium *medium = &problem->medium;
    for (int slope = 0; slope <= SLOPES; slope++) {
        const struct slope_sum *sum = &survey->slopes[slope];
        medium->slope_area[slope] =
            slope > 0 && sum->cells > 0 ? ldexp((double)sum->area / (double)sum->cells, -30) : 1;
    }
    for (int s = 0; s < medium->nsurfaces; s++) {
        const bool on_shape = medium->surfaces[s].area == AREA_SHAPE;
        medium->surface_faces[s] = survey->faces[s];
        medium->cell_area[s] = medium->surface_area[s] = 0;
        for (int slope = 0; slope <= SLOPES; slope++) {
            const double area =
                exact_sum_value(&survey->areas[s][slope]) * grid_largest_face(&problem->grid);
            medium->cell_area[s] += area;
            medium->surface_area[s] += area * (on_shape ? medium->slope_area[slope] : 1);
        }
    }
}

enum status class_survey_apply(const struct class_survey *survey, struct problem *problem)
{
    struct class_survey all = {.nkeys = survey->nkeys};
    double amounts[MEDIUM_CLASSES];
    if (survey->nkeys <= MEDIUM_CLASSES) {
        add_next_keys(survey, &problem->medium, &all);
    }
    FAIL_IF(all.nkeys > MEDIUM_CLASSES, fail_too_many(problem));
    for (int c = 0; c < all.nkeys; c++) {
        amounts[c] = exact_sum_value(&all.amounts[c]);
    }
    TRY(medium_set_classes(&problem->medium, &problem->grid, problem->precision, all.keys,
                           all.cells, amounts, all.nkeys));
    measure_surfaces(survey, problem);
    return problem_set_survey(problem, survey->fastest_rate, survey->hash);
}

void class_map_destroy(struct class_map *map)
{
    free(map->h_class);
    free(map->h_slope);
    map->h_class = map->h_slope = NULL;
    for (int f = 0; f < FACTORS; f++) {
        free(map->h_factor[f]);
        map->h_factor[f] = NULL;
    }
}

void class_map_renumber(struct class_map *map, const struct medium *medium)
{
    uint8_t number[256] = {0};
    for (int key = 0; key < map->nkeys; key++) {
        while (class_key_compare(&medium->classes[number[key]].key, &map->keys[key]) != 0) {
            number[key]++;
        }
    }
#pragma omp parallel for
    for (int64_t i = 0; i < map->layout.elements; i++) {
        map->h_class[i] = number[map->h_class[i]];
    }
    for (int c = 0; c < medium->nclasses; c++) {
        map->keys[c] = medium->classes[c].key;
    }
}
