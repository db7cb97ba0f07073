/* The checks of materials and sources, and the numbers of materials that are given by name. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/check/settings_check.h"

int settings_heat_of(const struct settings *settings, int number)
{
    const struct material_setting *material = &settings->materials[number];
    return material->becomes != NULL ? material->becomes_number : number;
}

bool material_is_nonlinear(const struct material_setting *material)
{
    return material->melts || material->becomes != NULL ||
           material->solid.conductivity_table != NULL ||
           material->solid.heat_capacity_table != NULL;
}

double material_perfusion(const struct material_setting *material)
{
    const struct perfusion_setting *p = &material->perfusion;
    return p->given ? p->rate * p->blood_density * p->blood_heat_capacity : 0;
}

double settings_melting(const struct settings *settings)
{
    for (int m = 0; settings->output.melting_auto && m < settings->nmaterials; m++) {
        if (settings->materials[m].melts) {
            return settings->materials[m].solidus;
        }
    }
    return settings->output.melting_auto ? NAN : settings->output.melting;
}

/* The number of the material with this name. */
static enum status look_up(const struct settings *settings, const struct item *item,
                           const char *below, const char *name, int *number)
{
    return settings_look_up(settings, item, below, name, "materials",
                            offsetof(struct material_setting, name), "material", number);
}

static int find_ambient(const struct settings *settings, const char *name)
{
    int number = settings->nambients - 1;
    while (number >= 0 && strcmp(settings->ambients[number].name, name) != 0) {
        number--;
    }
    return number;
}

/* The same; ambients count after the materials. */
static enum status look_up_paint(const struct settings *settings, const struct item *item,
                                 const char *below, const char *name, int *number)
{
    const int ambient = find_ambient(settings, name);
    *number = settings->nmaterials + ambient;
    return ambient >= 0 ? STATUS_OK : look_up(settings, item, below, name, number);
}

/* ---- materials ---- */

static enum status check_diffusivity(const struct item *item, double conductivity, double density,
                                     double heat_capacity)
{
    const double volumetric = density * heat_capacity;
    const double diffusivity = conductivity / volumetric;
    return isnormal(volumetric) && isnormal(diffusivity)
               ? STATUS_OK
               : item_fail(item, NULL,
                           "the diffusivity k / (rho c) is not a usable number (%g m^2/s); give "
                           "values in SI units",
                           diffusivity);
}

SETTINGS_CHECK(material)
{
    struct settings *own = (struct settings *)item->base;
    if (tree_child(item->node, "diffusivity") != NULL) {
        own->material.density = own->material.heat_capacity = 1;
    }
    return item->node == NULL
               ? STATUS_OK
               : check_diffusivity(item, settings->material.conductivity,
                                   settings->material.density, settings->material.heat_capacity);
}

static enum status check_perfusion(const struct item *item, const struct material_setting *material)
{
    const double heat = material_perfusion(material);
    return !material->perfusion.given || material->perfusion.rate == 0 ||
                   (heat > 1e-30 && heat < 1e30)
               ? STATUS_OK
               : item_fail(item, "perfusion.rate",
                           "the blood then brings %g W/(m^3 K), which is not a usable number; give "
                           "values in SI units",
                           heat);
}

static enum status check_phases(const struct item *item, const struct material_setting *material)
{
    FAIL_IF(material->has_liquidus && !(material->liquidus >= material->solidus),
            item_fail(item, "liquidus", "%g K is below the solidus, %g K", material->liquidus,
                      material->solidus));
    FAIL_IF(material->melts && material->has_solidus && !(material->solidus > 0),
            item_fail(item, "solidus", "%g K; give a temperature above 0 K", material->solidus));
    return STATUS_OK;
}

/* Missing values are 0, and all are where a table is given. */
static enum status check_axes(const struct item *item, const char *below,
                              const struct phase_setting *phase)
{
    const double *k = phase->conductivity;
    return phase->conductivity_table != NULL || !(k[AXIS_X] > 0) || k[AXIS_Z] > 0
               ? STATUS_OK
               : item_fail(item, below,
                           "two numbers; give one, or three for x, y and z; a table over "
                           "temperature is [[T, value], ...]");
}

/* Its heat capacity and its melting are those of the material that it becomes. */
static enum status check_becomes(const struct settings *settings, const struct item *item,
                                 struct material_setting *material)
{
    static const char key[] = "becomes";
    TRY(look_up(settings, item, key, material->becomes, &material->becomes_number));
    const struct material_setting *next = &settings->materials[material->becomes_number];
    FAIL_IF(next == material, item_fail(item, key, "the material itself; give another one"));
    FAIL_IF(next->becomes != NULL,
            item_fail(item, key, "'%.100s' becomes another material, too; give one that stays",
                      next->name));
    FAIL_IF(!next->melts || next->perfusion.given,
            item_fail(item, key, "'%.100s' has %s; give a material that melts%s", next->name,
                      next->melts ? "a perfusion" : "no latent_heat",
                      next->melts ? ", without perfusion" : " (latent_heat may be 0)"));
    return STATUS_OK;
}

void settings_set_factor(struct shape_setting *factor)
{
    factor->is_factor = true;
    factor->kind = factor->path != NULL         ? INITIAL_FILE
                   : factor->expression != NULL ? INITIAL_EXPRESSION
                                                : INITIAL_UNIFORM;
}

SETTINGS_CHECK(materials)
{
    struct material_setting *material = (struct material_setting *)item->base;
    TRY(settings_check_is_new(item, strcmp));
    if (tree_child(item->node, "diffusivity") != NULL) {
        material->density = material->solid.heat_capacity = 1;
    }
    for (int f = 0; f < FACTORS; f++) {
        settings_set_factor(&material->factor[f]);
    }
    FAIL_IF(item->index == 1 && settings->nparts == 0,
            settings_fail(settings, "parts",
                          "missing: it says which cells are of which material; start the list "
                          "with '- uniform: {material: %s}'",
                          settings->materials[0].name));
    if (material->becomes != NULL) {
        return check_becomes(settings, item, material);
    }
    TRY(check_perfusion(item, material));
    TRY(check_axes(item, "conductivity", &material->solid));
    TRY(check_axes(item, "liquid.conductivity", &material->liquid));
    if (material_is_nonlinear(material)) {
        return check_phases(item, material); /* the values: when the tables are read */
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        TRY(check_diffusivity(item, material->solid.conductivity[axis], material->density,
                              material->solid.heat_capacity));
    }
    return STATUS_OK;
}

SETTINGS_CHECK(part)
{
    struct shape_setting *part = (struct shape_setting *)item->base;
    part->is_condition = true;
    const struct tree *given = tree_child(tree_child(item->node, "file"), "materials");
    for (int n = 0; n < MOST_MATERIALS && part->names[n] != NULL; n++) {
        int number = 0;
        char *name = part->names[n];
        part->labels[n] = n;
        if (given->kind == TREE_MAPPING) { /* "64: bone" */
            part->labels[n] = strtoll(name, &name, 10);
            FAIL_IF(strncmp(name, ": ", 2) != 0,
                    item_fail(item, "file.materials", "%s: the label is not an integer",
                              part->names[n]));
            name += 2;
        }
        TRY(look_up_paint(settings, item, "file.materials", name, &number));
        part->numbers[n] = (unsigned char)number;
    }
    return STATUS_OK;
}

SETTINGS_CHECK(part_material)
{
    struct shape_setting *part = (struct shape_setting *)item->base;
    int number = 0;
    TRY(look_up_paint(settings, item, NULL, part->material, &number));
    part->value = number;
    return STATUS_OK;
}

SETTINGS_CHECK(contact)
{
    struct contact_setting *contact = (struct contact_setting *)item->base;
    const int *number = contact->number;
    static const char key[] = "between";
    for (int side = 0; side < 2; side++) {
        TRY(look_up(settings, item, key, contact->between[side], &contact->number[side]));
    }
    FAIL_IF(number[0] == number[1],
            item_fail(item, key, "between a material and itself; give two materials"));
    for (const struct contact_setting *other = settings->contacts; other < contact; other++) {
        FAIL_IF((other->number[0] == number[0] && other->number[1] == number[1]) ||
                    (other->number[0] == number[1] && other->number[1] == number[0]),
                item_fail(item, key, "a second contact between '%.60s' and '%.60s'",
                          contact->between[0], contact->between[1]));
    }
    return STATUS_OK;
}

/* ---- ambients ---- */

SETTINGS_CHECK(ambient)
{
    const struct ambient_setting *ambient = (const struct ambient_setting *)item->base;
    TRY(settings_check_is_new(item, strcmp));
    for (int m = 0; m < settings->nmaterials; m++) {
        const struct material_setting *material = &settings->materials[m];
        if (strcmp(material->name, ambient->name) == 0) {
            return item_fail(item, "name", "'%.100s' is a material; give the ambient another name",
                             ambient->name);
        }
        if (material_is_nonlinear(material)) {
            return item_fail(item, NULL,
                             "beside '%.100s', which melts or depends on temperature; ambients "
                             "need materials with constant properties",
                             material->name);
        }
    }
    if (settings->nmaterials + settings->nambients > MOST_MATERIALS) {
        return item_fail(item, NULL, "%d materials and ambients; give %d at most",
                         settings->nmaterials + settings->nambients, MOST_MATERIALS);
    }
    return settings->nparts > 0
               ? STATUS_OK
               : item_fail(item, NULL,
                           "needs the list parts, which says which cells are of which material "
                           "and which are of an ambient");
}

static void complete_surface(const struct settings *settings, bool is_held,
                             const struct number_setting *ambient, struct surface_setting *surface)
{
    struct boundary_setting *is = &surface->condition;
    struct number_setting *number = is->number;
    is->may_be_negative = settings->run.temperature == TEMPERATURE_DIFFERENCE;
    is->kind = is_held ? BOUNDARY_TEMPERATURE : BOUNDARY_CONVECTION;
    number[BOUNDARY_AMBIENT] = *ambient;
}

SETTINGS_CHECK(surface)
{
    struct surface_setting *surface = (struct surface_setting *)item->base;
    static const char key[] = "between";
    char *const *names = surface->between;
    const int side = find_ambient(settings, names[0]) >= 0 ? 0 : 1;
    const int ambient = find_ambient(settings, names[side]);
    if (ambient < 0 || find_ambient(settings, names[1 - side]) >= 0) {
        return item_fail(item, key, "'%.60s' and '%.60s'; give a material and an ambient", names[0],
                         names[1]);
    }
    TRY(look_up(settings, item, key, names[1 - side], &surface->number[0]));
    surface->number[1] = settings->nmaterials + ambient;
    FAIL_IF(surface->condition.emissivity > 0 &&
                settings->run.temperature == TEMPERATURE_DIFFERENCE,
            item_fail(item, "emissivity",
                      "radiation needs absolute temperatures, but run.watch.temperature is "
                      "difference; give absolute ones, or a linearized coefficient"));
    complete_surface(settings, tree_child(item->node, "temperature") != NULL,
                     &settings->ambients[ambient].temperature, surface);
    for (const struct surface_setting *other = settings->surfaces; other < surface; other++) {
        if (other->number[0] == surface->number[0] && other->number[1] == surface->number[1]) {
            return item_fail(item, key, "a second surface between '%.60s' and '%.60s'", names[0],
                             names[1]);
        }
        if (other->name != NULL && surface->name != NULL &&
            strcmp(other->name, surface->name) == 0) {
            return item_fail(item, "name", "two surfaces have the name '%.100s'", other->name);
        }
    }
    return STATUS_OK;
}

/* ---- sources ---- */

SETTINGS_CHECK(source)
{
    struct source_setting *source = (struct source_setting *)item->base;
    source->shape.is_condition = true;
    source->shape.value = 1;
    source->material = -1;
    if (source->shape.kind >= SOURCE_GAUSSIAN) {
        source->by_power = tree_child(item->node->first, "power") != NULL;
    }
    const struct table_setting *table = source->density_table;
    char key[SCHEMA_WORD_BYTES];
    snprintf(key, sizeof key, "%s.density", table != NULL ? item->node->first->key : "");
    FAIL_IF(table != NULL && table->ncoefficients > 0,
            item_fail(item, key, "a polynomial; give rows [temperature, density] or a file"));
    FAIL_IF(
        table != NULL && source->profile != NULL,
        item_fail(item, key, "a table over temperature, and `profile` is given; leave one out"));
    FAIL_IF(table != NULL && source->factor.formula != NULL,
            item_fail(item, key,
                      "a table over temperature, and `factor` is a formula; the stable step needs "
                      "the largest slope, so give a number as the factor"));
    return STATUS_OK;
}

SETTINGS_CHECK(source_material)
{
    struct source_setting *source = (struct source_setting *)item->base;
    return source->shape.material == NULL
               ? STATUS_OK
               : look_up(settings, item, NULL, source->shape.material, &source->material);
}

static bool is_at_surface(const struct source_setting *source, int axis)
{
    return source->surface != NO_SURFACE && (int)face_axis((enum face)source->surface) == axis;
}

SETTINGS_CHECK(source_surface)
{
    const struct source_setting *source = (const struct source_setting *)item->base;
    const bool deep = source->shape.kind == SOURCE_GOLDAK;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        FAIL_IF(!settings_axis_used(settings, axis) && (deep || is_at_surface(source, axis)),
                item_fail(item, NULL, "the %s axis has one cell; %s", axis_name((enum axis)axis),
                          deep ? "this source needs a 3D grid" : "give another face"));
    }
    return STATUS_OK;
}

SETTINGS_CHECK(source_radius)
{
    const struct source_setting *source = (const struct source_setting *)item->base;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        FAIL_IF(settings_axis_used(settings, axis) && !is_at_surface(source, axis) &&
                    !(source->radius[axis] > 0),
                item_fail(item, NULL, "no radius along %s; give one value, or one per axis",
                          axis_name((enum axis)axis)));
    }
    return STATUS_OK;
}

/* A position at rest, of the axis that ends the key. */
SETTINGS_CHECK(source_position)
{
    const struct source_setting *source = (const struct source_setting *)item->base;
    const int axis = item->key[strlen(item->key) - 1] - 'x';
    const bool matters = settings_axis_used(settings, axis) &&
                         !(source->shape.kind == SOURCE_GAUSSIAN && is_at_surface(source, axis));
    if (source->path != NULL || !matters || source->at[axis].formula != NULL) {
        return STATUS_OK;
    }
    return item->node == NULL
               ? item_fail(item, NULL,
                           "missing; give the position as a number or a formula of t, or a path")
               : settings_check_within(item, NULL, "the source lies outside the grid", axis,
                                       source->at[axis].value, settings->grid.lower[axis],
                                       settings->grid.upper[axis]);
}

/* The heat that blood and metabolism bring, as a table over temperature; of constant slope. */
static enum status make_perfusion(const struct settings *settings, int m,
                                  struct source_setting *source)
{
    enum { KELVINS = 10000 }; /* far from all temperatures, on both sides */
    const struct perfusion_setting *p = &settings->materials[m].perfusion;
    const double slope = material_perfusion(&settings->materials[m]);
    struct table_setting *table = origin_memory(settings->origin, sizeof *table);
    double(*row)[2] = origin_memory(settings->origin, 2 * sizeof *row);
    TRY(CHECK_MEMORY(table != NULL && row != NULL, "no memory for a table"));
    for (int end = 0; end < 2; end++) {
        const double above = end == 0 ? -KELVINS : KELVINS;
        row[end][0] = p->arterial_temperature + above;
        row[end][1] = p->metabolic_heat - slope * above;
    }
    *table = (struct table_setting){.nrows = 2, .row = row, .scale = {1, 1}};
    *source = (struct source_setting){
        .shape = {.kind = INITIAL_UNIFORM, .value = 1, .is_condition = true},
        .material = m,
        .density_table = table,
        .factor = {.value = 1},
        .surface = NO_SURFACE,
    };
    return STATUS_OK;
}

enum status settings_give_perfusion(struct settings *settings)
{
    bool per_cell = settings->nambients > 0;
    bool possible = true;
    int n = settings->nsources;
    for (int m = 0; m < settings->nmaterials; m++) {
        const struct material_setting *material = &settings->materials[m];
        n += material->perfusion.given ? 1 : 0;
        possible = possible && !material_is_nonlinear(material);
        for (int f = 0; f < FACTORS; f++) {
            per_cell = per_cell || material->factor[f].kind != INITIAL_UNIFORM;
        }
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        possible = possible && !settings->grid.axis[a].given;
    }
    if (!per_cell || !possible || n == settings->nsources || n > MOST_SOURCES) {
        return STATUS_OK; /* where it is refused later, that says why */
    }
    struct source_setting *sources = origin_memory(settings->origin, (size_t)n * sizeof *sources);
    TRY(CHECK_MEMORY(sources != NULL, "no memory for perfusion"));
    memcpy(sources, settings->sources, (size_t)settings->nsources * sizeof *sources);
    settings->sources = sources;
    for (int m = 0; m < settings->nmaterials; m++) {
        if (settings->materials[m].perfusion.given) {
            TRY(make_perfusion(settings, m, &sources[settings->nsources++]));
            settings->materials[m].perfusion.given = false;
            settings->materials[m].perfusion.metabolic_heat = 0;
        }
    }
    return STATUS_OK;
}
