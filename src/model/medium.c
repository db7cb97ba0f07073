#include "model/medium.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/heat_cell.h"

/* A closure that is not affine with a constant `a`: the uniform kernel and its ledger need that. */
static bool needs_classes(const struct boundary_setting *face)
{
    return face->npatches > 0 || boundary_radiates(face) ||
           (face->kind == BOUNDARY_CONVECTION && face->coefficient_expression != NULL);
}

static bool has_one_isotropic(const struct settings *settings)
{
    const double *k = settings->nmaterials == 1 ? settings->materials[0].conductivity : NULL;
    return settings->nmaterials == 0 || (k != NULL && k[0] == k[1] && k[0] == k[2]);
}

static bool is_uniform(const struct settings *settings)
{
    bool uniform = has_one_isotropic(settings);
    for (int f = 0; f < FACE_COUNT; f++) {
        uniform = uniform && !needs_classes(&settings->boundary[f]);
    }
    return uniform;
}

static void create_uniform(const struct settings *settings, struct medium *medium)
{
    double conductivity = settings->material.conductivity;
    double rho_c = settings->material.density * settings->material.heat_capacity;
    if (settings->nmaterials == 1) {
        conductivity = settings->materials[0].conductivity[AXIS_X];
        rho_c = settings->materials[0].density * settings->materials[0].heat_capacity;
    }
    *medium = (struct medium){
        .conductivity = conductivity,
        .heat_capacity_volume = rho_c,
        .diffusivity = conductivity / rho_c,
    };
}

/* `material` as the only one of a list. */
static struct material_setting single_material(const struct settings *settings)
{
    static char name[] = "material";
    const double k = settings->material.conductivity;
    return (struct material_setting){
        .name = name,
        .conductivity = {k, k, k},
        .density = settings->material.density,
        .heat_capacity = settings->material.heat_capacity,
    };
}

static void fill_classes(const struct settings *settings, struct medium *medium)
{
    const int n = medium->nclasses;
    const struct material_setting only = single_material(settings);
    medium->heat_capacity_volume = INFINITY;
    for (int c = 0; c < n; c++) {
        const struct material_setting *material =
            settings->nmaterials > 0 ? &settings->materials[c] : &only;
        struct medium_class *class = &medium->classes[c];
        class->name = material->name;
        class->heat_capacity_volume = material->density * material->heat_capacity;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            class->conductivity[axis] = material->conductivity[axis];
        }
        medium->heat_capacity_volume =
            fmin(medium->heat_capacity_volume, class->heat_capacity_volume);
    }
    for (int c = 0; c < n; c++) {
        struct medium_class *class = &medium->classes[c];
        const double sigma = medium->heat_capacity_volume / class->heat_capacity_volume;
        const bool single = settings->run.precision == PRECISION_FLOAT32;
        class->sigma = single ? (double)(float)sigma : sigma;
        class->weight = 1 / class->sigma;
    }
    for (int i = 0; i < settings->ncontacts; i++) {
        const struct contact_setting *contact = &settings->contacts[i];
        const int a = contact->number[0];
        const int b = contact->number[1];
        medium->resistance[a * n + b] = contact->resistance;
        medium->resistance[b * n + a] = contact->resistance;
    }
}

enum status medium_create(const struct settings *settings, struct medium *medium)
{
    const size_t n = settings->nmaterials > 0 ? (size_t)settings->nmaterials : 1;
    create_uniform(settings, medium);
    if (is_uniform(settings)) {
        return STATUS_OK;
    }
    *medium = (struct medium){
        .conductivity = has_one_isotropic(settings) ? medium->conductivity : 0,
        .nclasses = (int)n,
    };
    medium->classes = calloc(n, sizeof *medium->classes);
    medium->resistance = calloc(n * n, sizeof *medium->resistance);
    if (medium->classes == NULL || medium->resistance == NULL) {
        medium_destroy(medium);
        return fail(STATUS_MEMORY, "no memory for %zu materials", n);
    }
    fill_classes(settings, medium);
    return STATUS_OK;
}

void medium_destroy(struct medium *medium)
{
    free(medium->classes);
    free(medium->resistance);
    *medium = (struct medium){0};
}

double medium_conductivity(const struct medium *medium, enum axis axis, int of_class)
{
    return medium->nclasses > 0 ? medium->classes[of_class].conductivity[axis]
                                : medium->conductivity;
}

double medium_least_conductivity(const struct medium *medium, enum axis axis)
{
    double least = medium_conductivity(medium, axis, 0);
    for (int c = 1; c < medium->nclasses; c++) {
        least = fmin(least, medium_conductivity(medium, axis, c));
    }
    return least;
}

double medium_conductance(const struct medium *medium, const struct grid *grid, enum axis axis,
                          int of_class, int neighbour)
{
    const double h = grid->spacing[axis];
    const double k = medium->classes[of_class].conductivity[axis];
    const double other = medium->classes[neighbour].conductivity[axis];
    const double contact = medium->resistance[of_class * medium->nclasses + neighbour];
    /* symmetric to the last bit: the sum of the half cells first */
    return grid->used[axis] ? 1 / (h * ((h / (2 * k) + h / (2 * other)) + contact)) : 0;
}

double medium_stable_dt(const struct medium *medium, const struct grid *grid)
{
    if (medium->nclasses > 0) {
        return 1 / medium->fastest_rate;
    }
    double sum = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (grid->used[axis]) {
            sum += 1 / (grid->spacing[axis] * grid->spacing[axis]);
        }
    }
    return 1 / (2 * medium->diffusivity * sum);
}

static uint64_t add_number(uint64_t hash, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return heat_mix64(hash ^ bits);
}

uint64_t medium_hash(const struct medium *medium)
{
    const int n = medium->nclasses;
    const double *k = n == 1 ? medium->classes[0].conductivity : NULL;
    if (n == 0 || (k != NULL && k[AXIS_X] == k[AXIS_Y] && k[AXIS_X] == k[AXIS_Z])) {
        return 0;
    }
    uint64_t hash = medium->class_hash + (uint64_t)n;
    for (int c = 0; c < n; c++) {
        hash = add_number(hash, medium->classes[c].heat_capacity_volume);
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            hash = add_number(hash, medium->classes[c].conductivity[axis]);
        }
        for (int other = 0; other < n; other++) {
            hash = add_number(hash, medium->resistance[c * n + other]);
        }
    }
    return hash;
}
