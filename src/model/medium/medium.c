#include "model/medium/medium.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/expression.h"
#include "model/medium/curve.h"
#include "model/space/shape.h"

int class_key_compare(const struct class_key *a, const struct class_key *b)
{
    if (a->material != b->material) {
        return a->material < b->material ? -1 : 1;
    }
    if (a->slope != b->slope) {
        return a->slope < b->slope ? -1 : 1;
    }
    for (int w = 0; w < SOURCE_WORDS; w++) {
        if (a->sources[w] != b->sources[w]) {
            return a->sources[w] < b->sources[w] ? -1 : 1;
        }
    }
    return memcmp(a->size, b->size, sizeof a->size);
}

/* The reason for classes, or NULL. A closure that is affine with a constant `a` is none; a wider
 * stencil, and super steps, whose levels have a ledger each, need only the affine one. */
static const char *class_need(const struct settings *settings, const struct boundary_setting *face)
{
    const struct time_setting *time = &settings->time;
    const bool super_steps = time->scheme == SCHEME_STS1 || time->scheme == SCHEME_STS2 ||
                             (time->scheme == SCHEME_AUTO && time->tolerance + time->max_error > 0);
    const bool constant = settings->run.stencil_order <= 2 && !super_steps;
    if (face->npatches > 0) {
        return "a face with patches";
    }
    if (boundary_setting_has_factors(face)) {
        return "a face with a factor for each cell";
    }
    if (boundary_radiates(face)) {
        return "radiation";
    }
    return constant && face->number[BOUNDARY_COEFFICIENT].formula != NULL ? "a coefficient of time"
                                                                          : NULL;
}

static bool varies_per_cell(const struct settings *settings)
{
    bool any = false;
    for (int i = 0; i < settings->nmaterials * FACTORS; i++) {
        any = any || settings->materials[i / FACTORS].factor[i % FACTORS].kind != INITIAL_UNIFORM;
    }
    return any;
}

static bool has_one_isotropic(const struct settings *settings)
{
    if (settings->nambients > 0 || varies_per_cell(settings)) {
        return false;
    }
    const double *k = settings->nmaterials == 1 ? settings->materials[0].solid.conductivity : NULL;
    return settings->nmaterials == 0 || (k != NULL && k[0] == k[1] && k[0] == k[2]);
}

/* Whether the kernels of nonlinear_cell.h are needed: the others have no perfusion. */
static bool needs_curves(const struct settings *settings)
{
    bool any = false;
    for (int m = 0; m < settings->nmaterials; m++) {
        const struct material_setting *material = &settings->materials[m];
        any = any || material->perfusion.given || material_is_nonlinear(material);
    }
    return any;
}

const char *medium_class_key(const struct settings *settings, char key[MEDIUM_KEY_BYTES],
                             const char **what)
{
    if (!has_one_isotropic(settings) || needs_curves(settings)) {
        snprintf(key, MEDIUM_KEY_BYTES, "materials");
        *what = "a medium that is not uniform";
        return key;
    }
    for (int s = 0; s < settings->nsources; s++) {
        if (source_is_painted(&settings->sources[s])) {
            snprintf(key, MEDIUM_KEY_BYTES, "sources[%d]", s);
            *what = "a source with a fixed shape";
            return key;
        }
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        *what = class_need(settings, &settings->boundary[f]);
        if (*what != NULL) {
            snprintf(key, MEDIUM_KEY_BYTES, "boundary.%s", face_name((enum face)f));
            return key;
        }
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (settings->grid.axis[a].given) {
            snprintf(key, MEDIUM_KEY_BYTES, "grid.%s", axis_name((enum axis)a));
            *what = "a graded axis";
            return key;
        }
    }
    return NULL;
}

static void create_uniform(const struct settings *settings, struct medium *medium)
{
    double conductivity = settings->material.conductivity;
    double rho_c = settings->material.density * settings->material.heat_capacity;
    if (settings->nmaterials == 1) {
        conductivity = settings->materials[0].solid.conductivity[AXIS_X];
        rho_c = settings->materials[0].density * settings->materials[0].solid.heat_capacity;
    }
    *medium = (struct medium){
        .conductivity = conductivity,
        .heat_capacity_volume = rho_c,
        .diffusivity = conductivity / rho_c,
    };
}

static struct medium_class material_of(const struct material_setting *material, int number)
{
    const double *k = material->solid.conductivity;
    return (struct medium_class){
        .key = {.material = number},
        .becomes = material->becomes != NULL ? material->becomes_number : number,
        .name = material->name,
        .conductivity = {k[AXIS_X], k[AXIS_Y], k[AXIS_Z]},
        .least_conductivity = {k[AXIS_X], k[AXIS_Y], k[AXIS_Z]},
        .most_conductivity = {k[AXIS_X], k[AXIS_Y], k[AXIS_Z]},
        .heat_capacity_volume = material->density * material->solid.heat_capacity,
        .perfusion = material_perfusion(material),
        .arterial_temperature = material->perfusion.arterial_temperature,
        .metabolic_heat = material->perfusion.metabolic_heat,
    };
}

static struct medium_class ambient_of(const struct settings *settings, int number)
{
    const struct ambient_setting *ambient = &settings->ambients[number - settings->nmaterials];
    const double most = INFINITY;
    struct expression *expression = NULL;
    const bool known = expression_of_number(&ambient->temperature, &expression) == STATUS_OK;
    const double kelvins = known ? expression_number_at(&ambient->temperature, expression, 0) : NAN;
    expression_destroy(expression);
    return (struct medium_class){
        .key = {.material = number},
        .becomes = number,
        .name = ambient->name,
        .conductivity = {most, most, most},
        .least_conductivity = {most, most, most},
        .most_conductivity = {most, most, most},
        .heat_capacity_volume = most,
        .is_ambient = true,
        .ambient = precision_round(settings->run.precision, kelvins),
    };
}

/* What a linear medium with the longest stable step of this one would have. */
static void bound(const struct curve *curve, struct medium_class *material)
{
    material->heat_capacity_volume = curve_least_capacity(curve, -INFINITY, INFINITY);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        material->conductivity[axis] =
            curve_most_conductivity(curve, (enum axis)axis, -INFINITY, INFINITY);
        material->least_conductivity[axis] = curve_least_conductivity(curve, (enum axis)axis);
        material->most_conductivity[axis] = material->conductivity[axis];
    }
}

/* One curve per material, if any material needs one. */
static enum status create_curves(const struct settings *settings, struct medium *medium)
{
    if (!needs_curves(settings)) {
        return STATUS_OK;
    }
    medium->curves = calloc((size_t)settings->nmaterials, sizeof *medium->curves);
    TRY(CHECK_MEMORY(medium->curves != NULL, "no memory for the tables of the materials"));
    medium->nsegments = 1;
    for (int m = 0; m < settings->nmaterials; m++) {
        TRY(curve_create(settings, m, &medium->curves[m]));
        while (medium->nsegments < medium->curves[m].count) {
            medium->nsegments *= 2;
        }
    }
    return STATUS_OK;
}

static void set_pair(struct medium *medium, const int number[2], double resistance,
                     enum area_kind area)
{
    for (int side = 0; side < 2; side++) {
        const int pair = number[side] * medium->nmaterials + number[1 - side];
        medium->resistance[pair] = resistance;
        medium->on_shape[pair] = area == AREA_SHAPE && resistance > 0 && resistance < INFINITY;
    }
    medium->has_slopes =
        medium->has_slopes || medium->on_shape[number[0] * medium->nmaterials + number[1]];
}

/* Ambients, whose faces are insulated where no surface says otherwise. */
static void fill_ambients(const struct settings *settings, struct medium *medium)
{
    const int n = medium->nmaterials;
    const int first = n - medium->nambients;
    for (int a = first; a < n; a++) {
        medium->materials[a] = ambient_of(settings, a);
        for (int m = 0; m < n; m++) {
            medium->resistance[a * n + m] = medium->resistance[m * n + a] = INFINITY;
        }
    }
    medium->surfaces = settings->surfaces;
    medium->nsurfaces = settings->nsurfaces;
    for (int s = 0; s < medium->nsurfaces; s++) {
        const struct surface_setting *surface = &medium->surfaces[s];
        const bool exchanges = surface_setting_exchanges(surface);
        const struct number_setting *coefficient = &surface->condition.number[BOUNDARY_COEFFICIENT];
        set_pair(medium, surface->number, exchanges ? 1 : 1 / coefficient->value, surface->area);
        for (int side = 0; side < 2 && exchanges; side++) { /* see exchange_surfaces_args */
            medium->resistance[surface->number[side] * n + surface->number[1 - side]] = INFINITY;
        }
    }
}

static void fill_materials(const struct settings *settings, struct medium *medium)
{
    const int n = medium->nmaterials - medium->nambients;
    static char alone[] = "material";
    const double k = settings->material.conductivity;
    const struct material_setting single = {.name = alone,
                                            .solid.conductivity = {k, k, k},
                                            .density = settings->material.density,
                                            .solid.heat_capacity =
                                                settings->material.heat_capacity};
    medium->heat_capacity_volume = INFINITY;
    for (int m = 0; m < n; m++) {
        const struct material_setting *setting =
            settings->nmaterials > 0 ? &settings->materials[m] : &single;
        medium->materials[m] = material_of(setting, m);
        medium->perfused = medium->perfused || setting->perfusion.given;
        medium->changes = medium->changes || setting->becomes != NULL;
        if (medium->curves != NULL) {
            bound(&medium->curves[m], &medium->materials[m]);
        }
        medium->heat_capacity_volume =
            fmin(medium->heat_capacity_volume, medium->materials[m].heat_capacity_volume);
    }
    for (int m = 0; m < n; m++) {
        struct medium_class *material = &medium->materials[m];
        const double sigma = medium->heat_capacity_volume / material->heat_capacity_volume;
        material->sigma = precision_round(settings->run.precision, sigma);
        material->weight = 1 / material->sigma;
        if (medium->curves != NULL) {
            material->sigma = 1;
            material->weight =
                curve_most_capacity(&medium->curves[m]) / medium->heat_capacity_volume;
        }
    }
    for (int i = 0; i < settings->ncontacts; i++) {
        const struct contact_setting *contact = &settings->contacts[i];
        set_pair(medium, contact->number, contact->resistance, contact->area);
    }
    fill_ambients(settings, medium);
    bool curved = false;
    for (int p = 0; p < settings->nparts; p++) {
        curved = curved || shape_is_partial(&settings->parts[p]);
    }
    medium->has_slopes = medium->has_slopes && curved;
}

int medium_heat_bits(const struct medium *medium)
{
    enum { COMMON_BITS = 12 }; /* of ordinary materials, whose temperatures are below 2^28 K */
    int bits = 0;
    for (int c = 0; c < medium->nclasses; c++) {
        const int of_class = ilogb(medium->classes[c].weight) + 1;
        bits = of_class > COMMON_BITS && of_class > bits ? of_class : bits;
    }
    return bits;
}

enum status medium_set_classes(struct medium *medium, const struct grid *grid,
                               enum precision precision, const struct class_key *keys,
                               const int64_t *cells, const double *amounts, int nkeys)
{
    double largest = 1; /* of the volumes of cells */
    for (int a = 0; a < AXIS_COUNT; a++) {
        double width = 0;
        for (int64_t i = 0; i < grid->cells[a]; i++) {
            width = fmax(width, grid_axis_width(grid, (enum axis)a, i));
        }
        largest *= width;
    }
    struct medium_class *classes = calloc((size_t)nkeys, sizeof *classes);
    TRY(CHECK_MEMORY(classes != NULL, "no memory for the classes of cells"));
    for (int c = 0; c < nkeys; c++) {
        classes[c] = medium->materials[keys[c].material];
        classes[c].key = keys[c];
        classes[c].cells = cells[c];
        classes[c].amount = medium->lines ? amounts[c] : (double)cells[c];
        if (medium->lines) {
            classes[c].weight *= largest;
        } else if (grid_is_graded(grid) && !classes[c].is_ambient) {
            const double volume = grid_size_volume(grid, keys[c].size);
            const double sigma =
                medium->heat_capacity_volume / (classes[c].heat_capacity_volume * volume);
            if (medium->per_cell) { /* the extremes of the factors */
                classes[c].sigma /= volume;
                classes[c].weight *= volume;
                continue;
            }
            classes[c].sigma = precision_round(precision, sigma);
            classes[c].weight = 1 / classes[c].sigma;
        }
    }
    free(medium->classes);
    medium->classes = classes;
    medium->nclasses = nkeys;
    return STATUS_OK;
}

void medium_use_lines(struct medium *medium)
{
    medium->graded = medium->nmaterials == 1 && !medium->per_cell;
    medium->lines = medium->per_cell = true;
}

enum status medium_create(const struct settings *settings, struct medium *medium)
{
    char key[MEDIUM_KEY_BYTES];
    const char *what = NULL;
    create_uniform(settings, medium);
    if (medium_class_key(settings, key, &what) == NULL) {
        return STATUS_OK;
    }
    const int n = (settings->nmaterials > 0 ? settings->nmaterials : 1) + settings->nambients;
    const size_t bytes = (size_t)n * sizeof *medium->materials;
    SCOPED_BY(medium_destroy)
    struct medium built = {
        .conductivity =
            has_one_isotropic(settings) && !needs_curves(settings) ? medium->conductivity : 0,
        .per_cell = varies_per_cell(settings),
        .has_factors = varies_per_cell(settings),
        .nmaterials = n,
        .nambients = settings->nambients,
        .nclasses = n,
        .materials = calloc(1, bytes),
        .classes = calloc(1, bytes),
        .resistance = calloc((size_t)n * (size_t)n, sizeof *built.resistance),
        .on_shape = calloc((size_t)n * (size_t)n, sizeof *built.on_shape),
        .slope_area = {1},
    };
    TRY(CHECK_MEMORY(built.materials != NULL && built.classes != NULL && built.resistance != NULL &&
                         built.on_shape != NULL,
                     "no memory for %d materials", n));
    TRY(create_curves(settings, &built));
    fill_materials(settings, &built);
    memcpy(built.classes, built.materials, bytes);
    *medium = built;
    built = (struct medium){0};
    return STATUS_OK;
}

void medium_destroy(struct medium *medium)
{
    free(medium->materials);
    free(medium->classes);
    free(medium->resistance);
    free(medium->on_shape);
    free(medium->curves);
    *medium = (struct medium){0};
}

static double conductance(const struct medium *medium, const struct grid *grid, enum axis axis,
                          const struct class_key *own, const struct class_key *neighbour,
                          double contact, const double factors[2])
{
    const double half = grid_size_width(grid, axis, own->size) /
                        (2 * (medium->materials[own->material].conductivity[axis] * factors[0]));
    const double other =
        grid_size_width(grid, axis, neighbour->size) /
        (2 * (medium->materials[neighbour->material].conductivity[axis] * factors[1]));
    const double h = grid_smallest_width(grid, axis);
    /* symmetric to the last bit: the sum of the half cells first */
    return grid->used[axis] ? grid_size_face(grid, axis, own->size, neighbour->size) /
                                  (h * ((half + other) + contact))
                            : 0;
}

static const double without_factors[2] = {1, 1};

double medium_conductance_between(const struct medium *medium, const struct grid *grid,
                                  enum axis axis, const struct class_key *own,
                                  const struct class_key *neighbour, const double factors[2])
{
    const int surface = medium_surface(medium, own->material, neighbour->material);
    const bool exchanges = surface >= 0 && surface_setting_exchanges(&medium->surfaces[surface]);
    const double contact =
        medium->resistance[own->material * medium->nmaterials + neighbour->material];
    /* as at a face of the grid: its half cell conducts twice as much, without a neighbour */
    return conductance(medium, grid, axis, own, neighbour, exchanges ? 0 : contact, factors) *
           (exchanges ? 0.5 : 1);
}

double medium_most_conductance(const struct medium *medium, const struct grid *grid, enum axis axis,
                               const struct class_key *own, const struct class_key *neighbour)
{
    struct class_key is[2] = {*own, *own};
    struct class_key other[2] = {*neighbour, *neighbour};
    double most = 0;
    is[1].material = medium->materials[own->material].becomes;
    other[1].material = medium->materials[neighbour->material].becomes;
    for (int n = 0; n < 4; n++) {
        most = fmax(most, medium_conductance_between(medium, grid, axis, &is[n / 2], &other[n % 2],
                                                     without_factors));
    }
    return most;
}

int medium_next_class(const struct medium *medium, int of_class)
{
    struct class_key wanted = medium->classes[of_class].key;
    int next = 0;
    wanted.material = medium->classes[of_class].becomes;
    while (class_key_compare(&medium->classes[next].key, &wanted) != 0) {
        next++;
    }
    return next;
}

double medium_changes_at(const struct medium *medium, enum precision precision, int of_class)
{
    const struct medium_class *own = &medium->classes[of_class];
    return own->becomes != own->key.material
               ? precision_round(precision, medium->curves[own->key.material].liquidus_heat /
                                                medium->heat_capacity_volume)
               : INFINITY;
}

double medium_conductivity(const struct medium *medium, enum axis axis, int of_class)
{
    return medium->nclasses > 0 ? medium->classes[of_class].conductivity[axis]
                                : medium->conductivity;
}

double medium_conductivity_at(const struct medium *medium, enum axis axis, int of_class,
                              double kelvins)
{
    return medium->curves != NULL
               ? curve_conductivity(&medium->curves[medium->classes[of_class].key.material], axis,
                                    kelvins)
               : medium_conductivity(medium, axis, of_class);
}

double medium_least_conductivity(const struct medium *medium, enum axis axis)
{
    double least = medium->nclasses > 0 ? INFINITY : medium->conductivity;
    for (int c = 0; c < medium->nclasses; c++) {
        least = fmin(least, medium->classes[c].least_conductivity[axis]);
    }
    return least;
}

double medium_conductance_of(const struct medium *medium, const struct grid *grid, enum axis axis,
                             const struct class_key *own, const struct class_key *neighbour,
                             const double factors[2])
{
    return conductance(medium, grid, axis, own, neighbour,
                       medium_contact_of(medium, own, neighbour), factors);
}

double medium_conductance(const struct medium *medium, const struct grid *grid, enum axis axis,
                          int of_class, int neighbour)
{
    return medium_conductance_of(medium, grid, axis, &medium->classes[of_class].key,
                                 &medium->classes[neighbour].key, without_factors);
}

double medium_stable_dt(const struct medium *medium, const struct grid *grid)
{
    if (medium->nclasses > 0) {
        return 1 / medium->fastest_rate;
    }
    double sum = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (grid->used[axis]) {
            const double h = grid_width(grid, (enum axis)axis, 0);
            sum += 1 / (h * h);
        }
    }
    return 1 / (2 * medium->diffusivity * sum);
}
