/* The checks of materials, and the numbers of materials that are given by name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/settings_check.h"

static enum status check_diffusivity(const struct settings *settings, const char *key,
                                     double conductivity, double density, double heat_capacity)
{
    const double volumetric = density * heat_capacity;
    const double diffusivity = conductivity / volumetric;
    if (!isnormal(volumetric) || !isnormal(diffusivity)) {
        return settings_fail(settings, key,
                             "the diffusivity k / (rho c) is not a usable number (%g m^2/s); give "
                             "values in SI units",
                             diffusivity);
    }
    return STATUS_OK;
}

SETTINGS_CHECK(material)
{
    if (item->node == NULL) {
        return STATUS_OK;
    }
    return check_diffusivity(settings, item->key, settings->material.conductivity,
                             settings->material.density, settings->material.heat_capacity);
}

enum status settings_check_medium(const struct settings *settings)
{
    const struct tree *root = settings->origin->root;
    const bool one = tree_child(root, "material") != NULL;
    if (one && settings->nmaterials > 0) {
        return settings_fail(settings, "materials",
                             "given together with material; give one of "
                             "them");
    }
    if (!one && settings->nmaterials == 0) {
        return settings_fail(settings, "material",
                             "missing; give a section with the keys: conductivity, density, "
                             "heat_capacity; or the lists materials and parts");
    }
    if (settings->nmaterials > MOST_MATERIALS) {
        return settings_fail(settings, "materials", "%d materials; give at most %d",
                             settings->nmaterials, MOST_MATERIALS);
    }
    const int others = settings->nparts + settings->ncontacts;
    if (one && others > 0) {
        return settings_fail(settings, settings->nparts > 0 ? "parts" : "contacts",
                             "needs the list materials, instead of material");
    }
    if (settings->nmaterials > 1 && settings->nparts == 0) {
        return settings_fail(settings, "parts",
                             "missing: it says which cells are of which material; start the list "
                             "with '- uniform: {material: %s}'",
                             settings->materials[0].name);
    }
    return STATUS_OK;
}

static int find(const struct settings *settings, const char *name)
{
    int number = 0;
    while (number < settings->nmaterials && strcmp(settings->materials[number].name, name) != 0) {
        number++;
    }
    return number;
}

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

static enum status check_perfusion(const struct settings *settings, const struct item *item,
                                   const struct material_setting *material)
{
    const double heat = material_perfusion(material);
    char key[TREE_KEY_BYTES];
    if (material->perfusion.given && material->perfusion.rate > 0 &&
        !(heat > 1e-30 && heat < 1e30)) {
        return settings_fail(settings, settings_key_below(item, "perfusion.rate", key),
                             "the blood then brings %g W/(m^3 K), which is not a usable number; "
                             "give values in SI units",
                             heat);
    }
    return STATUS_OK;
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

static enum status check_phases(const struct settings *settings, const struct item *item,
                                const struct material_setting *material)
{
    char key[TREE_KEY_BYTES];
    if (material->melts && !material->has_solidus) {
        return settings_fail(settings, settings_key_below(item, "latent_heat", key),
                             "needs solidus, the temperature at which the material melts");
    }
    if (material->has_liquidus && !(material->liquidus >= material->solidus)) {
        return settings_fail(settings, settings_key_below(item, "liquidus", key),
                             "%g K is below the solidus, %g K", material->liquidus,
                             material->solidus);
    }
    if (material->melts && !(material->solidus > 0)) {
        return settings_fail(settings, settings_key_below(item, "solidus", key),
                             "%g K; give a temperature above 0 K", material->solidus);
    }
    return STATUS_OK;
}

/* Missing values are 0, and all are where a table is given. */
static enum status check_axes(const struct settings *settings, const struct item *item,
                              const char *name, const struct phase_setting *phase)
{
    char key[TREE_KEY_BYTES];
    const double *k = phase->conductivity;
    if (phase->conductivity_table == NULL && k[AXIS_X] > 0 && !(k[AXIS_Z] > 0)) {
        return settings_fail(settings, settings_key_below(item, name, key),
                             "two numbers; give one, or three for x, y and z; a table over "
                             "temperature is [[T, value], ...]");
    }
    return STATUS_OK;
}

/* Keys of melting without `latent_heat`. */
static enum status check_melts(const struct settings *settings, const struct item *item,
                               const struct material_setting *material)
{
    static const char *const names[] = {"solidus", "liquidus", "liquid"};
    char key[TREE_KEY_BYTES];
    for (int n = 0; n < 3 && !material->melts; n++) {
        if (tree_child(item->node, names[n]) != NULL) {
            return settings_fail(settings, settings_key_below(item, names[n], key),
                                 "needs latent_heat, which may be 0");
        }
    }
    return STATUS_OK;
}

static enum status look_up(const struct settings *settings, const char *key, const char *name,
                           int *number);

/* Its heat capacity and its melting are those of the material that it becomes. */
static enum status check_becomes(const struct settings *settings, const struct item *item,
                                 struct material_setting *material)
{
    static const char *const others[] = {"density",  "heat_capacity", "latent_heat", "solidus",
                                         "liquidus", "liquid",        "perfusion"};
    char key[TREE_KEY_BYTES];
    for (size_t n = 0; n < sizeof others / sizeof others[0]; n++) {
        if (tree_child(item->node, others[n]) != NULL) {
            return settings_fail(settings, settings_key_below(item, others[n], key),
                                 "given together with becomes; leave it out: %s '%.100s'",
                                 strcmp(others[n], "perfusion") == 0
                                     ? "blood does not flow through what becomes"
                                     : "it is that of",
                                 material->becomes);
        }
    }
    settings_key_below(item, "becomes", key);
    TRY(look_up(settings, key, material->becomes, &material->becomes_number));
    const struct material_setting *next = &settings->materials[material->becomes_number];
    if (next == material) {
        return settings_fail(settings, key, "the material itself; give another one");
    }
    if (next->becomes != NULL) {
        return settings_fail(settings, key,
                             "'%.100s' becomes another material, too; give one that stays",
                             next->name);
    }
    if (!next->melts || next->perfusion.given) {
        return settings_fail(settings, key, "'%.100s' has %s; give a material that melts%s",
                             next->name, next->melts ? "a perfusion" : "no latent_heat",
                             next->melts ? ", without perfusion" : " (latent_heat may be 0)");
    }
    return STATUS_OK;
}

SETTINGS_CHECK(materials)
{
    struct material_setting *material = (struct material_setting *)item->base;
    const int number = (int)(material - settings->materials);
    if (find(settings, material->name) != number) {
        return settings_fail(settings, item->key, "a second material with the name '%.100s'",
                             material->name);
    }
    if (material->becomes != NULL) {
        return check_becomes(settings, item, material);
    }
    TRY(check_melts(settings, item, material));
    TRY(check_perfusion(settings, item, material));
    TRY(check_axes(settings, item, "conductivity", &material->solid));
    TRY(check_axes(settings, item, "liquid.conductivity", &material->liquid));
    if (material_is_nonlinear(material)) {
        return check_phases(settings, item, material); /* the values: when the tables are read */
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        TRY(check_diffusivity(settings, item->key, material->solid.conductivity[axis],
                              material->density, material->solid.heat_capacity));
    }
    return STATUS_OK;
}

/* The number of the material with this name. */
static enum status look_up(const struct settings *settings, const char *key, const char *name,
                           int *number)
{
    enum { NAMES = 8 };
    char names[400] = "";
    size_t used = 0;
    if (settings->nmaterials == 0) {
        return settings_fail(settings, key, "needs the list materials, instead of material");
    }
    *number = find(settings, name);
    if (*number < settings->nmaterials) {
        return STATUS_OK;
    }
    for (int n = 0; n < settings->nmaterials && n < NAMES; n++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", n > 0 ? ", " : "",
                                 settings->materials[n].name);
    }
    return settings_fail(settings, key, "no material has the name '%.100s'; materials has: %s%s",
                         name, names, settings->nmaterials > NAMES ? ", ..." : "");
}

SETTINGS_CHECK(part)
{
    struct shape_setting *part = (struct shape_setting *)item->base;
    char kind[64];
    char key[TREE_KEY_BYTES];
    int number = 0;
    part->is_condition = true;
    snprintf(kind, sizeof kind, "%.40s.material", item->node->first->key);
    if (part->kind != INITIAL_FILE) {
        TRY(look_up(settings, settings_key_below(item, kind, key), part->material, &number));
        part->value = number;
        return STATUS_OK;
    }
    settings_key_below(item, "file.materials", key);
    for (int n = 0; n < MOST_MATERIALS && part->names[n] != NULL; n++) {
        TRY(look_up(settings, key, part->names[n], &number));
        part->numbers[n] = (unsigned char)number;
    }
    return STATUS_OK;
}

SETTINGS_CHECK(contact)
{
    struct contact_setting *contact = (struct contact_setting *)item->base;
    char key[TREE_KEY_BYTES];
    settings_key_below(item, "between", key);
    for (int side = 0; side < 2; side++) {
        TRY(look_up(settings, key, contact->between[side], &contact->number[side]));
    }
    if (contact->number[0] == contact->number[1]) {
        return settings_fail(settings, key, "between a material and itself; give two materials");
    }
    for (const struct contact_setting *other = settings->contacts; other < contact; other++) {
        const bool same =
            (other->number[0] == contact->number[0] && other->number[1] == contact->number[1]) ||
            (other->number[0] == contact->number[1] && other->number[1] == contact->number[0]);
        if (same) {
            return settings_fail(settings, key, "a second contact between '%.60s' and '%.60s'",
                                 contact->between[0], contact->between[1]);
        }
    }
    return STATUS_OK;
}

/* A position at rest. */
static enum status check_place(const struct settings *settings, const struct item *item,
                               const struct source_setting *source, int axis)
{
    const double at = source->at[axis].value;
    const double lower = settings->grid.lower[axis];
    const double upper = settings->grid.upper[axis];
    const char *name = axis_name((enum axis)axis);
    const bool matters = settings->grid.cells[axis] > 1 &&
                         !(source->shape.kind == SOURCE_GAUSSIAN && source->surface != NO_SURFACE &&
                           (int)face_axis((enum face)source->surface) == axis);
    char member[64];
    char key[TREE_KEY_BYTES];
    snprintf(member, sizeof member, "%.40s.%s", item->node->first->key, name);
    settings_key_below(item, member, key);
    if (!matters || source->at[axis].formula != NULL) {
        return STATUS_OK;
    }
    if (tree_child(item->node->first, name) == NULL) {
        return settings_fail(settings, key,
                             "missing; give the position as a number or a formula of t, or a path");
    }
    if (at < lower || at > upper) {
        return settings_fail(settings, key,
                             "the source lies outside the grid in %s (%g); give a value from %g to "
                             "%g",
                             name, at, lower, upper);
    }
    return STATUS_OK;
}

static enum status check_moving(const struct settings *settings, const struct item *item,
                                const struct source_setting *source)
{
    const struct tree *node = item->node->first;
    const bool deep = source->shape.kind == SOURCE_GOLDAK;
    char member[64];
    char key[TREE_KEY_BYTES];
    snprintf(member, sizeof member, "%.40s.surface", node->key);
    settings_key_below(item, member, key);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool used = settings->grid.cells[axis] > 1;
        const bool at_surface =
            source->surface != NO_SURFACE && (int)face_axis((enum face)source->surface) == axis;
        if (!used && (deep || at_surface)) {
            return settings_fail(settings, key, "the %s axis has one cell; %s",
                                 axis_name((enum axis)axis),
                                 deep ? "this source needs a 3D grid" : "give another face");
        }
        if (!deep && used && !at_surface && !(source->radius[axis] > 0)) {
            snprintf(member, sizeof member, "%.40s.radius", node->key);
            return settings_fail(settings, settings_key_below(item, member, key),
                                 "no radius along %s; give one value, or one per axis",
                                 axis_name((enum axis)axis));
        }
        if (source->path == NULL) {
            TRY(check_place(settings, item, source, axis));
        } else if (tree_child(node, axis_name((enum axis)axis)) != NULL) {
            snprintf(member, sizeof member, "%.40s.%s", node->key, axis_name((enum axis)axis));
            return settings_fail(settings, settings_key_below(item, member, key),
                                 "given together with path; give one of them");
        }
    }
    if (source->path == NULL && !source->by_power) {
        return settings_fail(settings, settings_key_below(item, node->key, key),
                             "no power; give the key power, or a path with powers");
    }
    return STATUS_OK;
}

SETTINGS_CHECK(source)
{
    struct source_setting *source = (struct source_setting *)item->base;
    const struct tree *node = item->node->first;
    const bool density = tree_child(node, "density") != NULL;
    char name[64];
    char key[TREE_KEY_BYTES];
    source->shape.is_condition = true;
    source->shape.value = 1;
    source->material = -1;
    if (source - settings->sources >= MOST_SOURCES) {
        return settings_fail(settings, item->key, "the list has %d entries; give at most %d",
                             settings->nsources, MOST_SOURCES);
    }
    if (source->shape.kind == INITIAL_FILE) {
        return STATUS_OK;
    }
    if (!source_is_painted(source)) {
        source->by_power = tree_child(node, "power") != NULL;
        return check_moving(settings, item, source);
    }
    if (density == source->by_power) {
        snprintf(name, sizeof name, "%.40s.power", node->key);
        return settings_fail(settings, settings_key_below(item, density ? name : node->key, key),
                             density ? "given together with density; give one of them"
                                     : "neither density nor power; give one of them");
    }
    if (source->shape.material != NULL) {
        snprintf(name, sizeof name, "%.40s.material", node->key);
        TRY(look_up(settings, settings_key_below(item, name, key), source->shape.material,
                    &source->material));
    }
    return STATUS_OK;
}
