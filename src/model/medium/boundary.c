#include "model/medium/boundary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const boundary_number_names[BOUNDARY_NUMBERS] = {
    [BOUNDARY_VALUE] = "value",
    [BOUNDARY_COEFFICIENT] = "coefficient",
    [BOUNDARY_AMBIENT] = "ambient",
    [BOUNDARY_SURROUNDINGS] = "surroundings",
};

const char *boundary_key(enum face face, int patch, const char *name, char key[BOUNDARY_KEY_BYTES])
{
    char entry[32] = "";
    if (patch > 0) {
        snprintf(entry, sizeof entry, ".patches[%d]", patch - 1);
    }
    snprintf(key, BOUNDARY_KEY_BYTES, "boundary.%s%s%s%s", face_name(face), entry,
             name[0] != '\0' ? "." : "", name);
    return key;
}

/* Let a formula of the position be a factor of 1. */
static void use_maps(struct boundary_condition *condition)
{
    struct boundary_setting *setting = &condition->setting;
    for (int n = 0; n < BOUNDARY_FACTORS; n++) {
        struct shape_setting *factor = &setting->factor[n];
        if (setting->is_map[n]) {
            factor->kind = INITIAL_EXPRESSION;
            factor->expression = setting->number[n].formula;
            setting->number[n] = (struct number_setting){.value = 1};
        }
        condition->moves = condition->moves || factor->varies;
        condition->open = condition->open || (factor->varies && factor->table == NULL);
        condition->range[n] = (struct boundary_range){1, 1};
    }
}

/* *number: the last one that was read. */
static enum status create_condition(const struct boundary_setting *setting,
                                    struct boundary_condition *condition, int *number)
{
    enum status status = STATUS_OK;
    condition->setting = *setting;
    use_maps(condition);
    for (int n = 0; n < BOUNDARY_NUMBERS && status == STATUS_OK; n++) {
        status = expression_of_number(&condition->setting.number[n], &condition->expression[n]);
        *number = n;
    }
    return status;
}

static enum status create_surfaces(const struct settings *settings, struct boundary *boundary)
{
    bool any = false;
    for (int s = 0; s < settings->nsurfaces; s++) {
        any = any || surface_setting_exchanges(&settings->surfaces[s]);
    }
    if (!any) {
        return STATUS_OK;
    }
    boundary->surface = calloc((size_t)settings->nsurfaces, sizeof *boundary->surface);
    TRY(CHECK_MEMORY(boundary->surface != NULL, "no memory for the surfaces"));
    boundary->nsurfaces = settings->nsurfaces;
    for (int s = 0; s < settings->nsurfaces; s++) {
        struct boundary_setting setting = settings->surfaces[s].condition;
        int number;
        if (setting.kind == BOUNDARY_TEMPERATURE) { /* its own place is that of the flux */
            setting.number[BOUNDARY_VALUE] = setting.number[BOUNDARY_SURROUNDINGS];
        }
        if (surface_setting_exchanges(&settings->surfaces[s])) {
            TRY(create_condition(&setting, &boundary->surface[s], &number));
        }
    }
    return STATUS_OK;
}

static enum status create_face(const struct settings *settings, enum face face,
                               struct boundary *boundary)
{
    const struct boundary_setting *setting = &settings->boundary[face];
    const int nconditions = 1 + setting->npatches;
    boundary->face[face] = calloc((size_t)nconditions, sizeof *boundary->face[face]);
    TRY(CHECK_MEMORY(boundary->face[face] != NULL, "no memory for the boundary conditions"));
    boundary->nconditions[face] = nconditions;
    for (int p = 0; p < nconditions; p++) {
        struct boundary_condition *condition = &boundary->face[face][p];
        char key[BOUNDARY_KEY_BYTES];
        int number;
        condition->name = p > 0 ? setting->patches[p - 1].name : NULL;
        const enum status status = create_condition(
            p > 0 ? &setting->patches[p - 1].condition : setting, condition, &number);
        TRY(settings_place(settings->origin, status, "%s",
                           boundary_key(face, p, boundary_number_names[number], key)));
    }
    return STATUS_OK;
}

enum status boundary_create(const struct settings *settings, struct boundary *boundary)
{
    SCOPED_BY(boundary_destroy) struct boundary built = {0};
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        if (settings->boundary[f].kind == BOUNDARY_PERIODIC) {
            built.periodic[face_axis(face)] = true;
        }
        TRY(create_face(settings, face, &built));
    }
    TRY(create_surfaces(settings, &built));
    *boundary = built;
    built = (struct boundary){0};
    return STATUS_OK;
}

static void destroy_conditions(struct boundary_condition **conditions, int *count)
{
    for (int i = 0; i < *count * BOUNDARY_NUMBERS; i++) {
        expression_destroy((*conditions)[i / BOUNDARY_NUMBERS].expression[i % BOUNDARY_NUMBERS]);
    }
    free(*conditions);
    *conditions = NULL;
    *count = 0;
}

void boundary_destroy(struct boundary *boundary)
{
    for (int f = 0; boundary != NULL && f < FACE_COUNT; f++) {
        destroy_conditions(&boundary->face[f], &boundary->nconditions[f]);
    }
    if (boundary != NULL) {
        destroy_conditions(&boundary->surface, &boundary->nsurfaces);
    }
}

int boundary_most_conditions(const struct boundary *boundary)
{
    int most = 1;
    for (int f = 0; f < FACE_COUNT; f++) {
        most = boundary->nconditions[f] > most ? boundary->nconditions[f] : most;
    }
    return most;
}

bool boundary_has_factors(const struct boundary *boundary, enum face face)
{
    bool any = false;
    for (int p = 0; p < boundary->nconditions[face]; p++) {
        any = any || boundary_setting_has_factors(&boundary->face[face][p].setting);
    }
    return any;
}

bool boundary_is_insulated(const struct boundary *boundary, enum face face)
{
    bool all = true;
    for (int p = 0; p < boundary->nconditions[face]; p++) {
        const struct boundary_setting *is = &boundary->face[face][p].setting;
        const struct number_setting *flux = &is->number[BOUNDARY_VALUE];
        all = all && is->kind == BOUNDARY_FLUX && flux->formula == NULL && flux->value == 0;
    }
    return all;
}

bool boundary_is_painted(const struct boundary *boundary, enum face face)
{
    return boundary->nconditions[face] > 1 || boundary_has_factors(boundary, face);
}

bool boundary_next_named(const struct boundary *boundary, int *face, int *patch)
{
    for (++*patch; *face < FACE_COUNT; ++*face, *patch = 1) {
        for (; *patch < boundary->nconditions[*face]; ++*patch) {
            if (boundary->face[*face][*patch].name != NULL) {
                return true;
            }
        }
    }
    return false;
}

static bool condition_varies(const struct boundary_setting *condition)
{
    bool varies = false;
    for (int n = 0; n < BOUNDARY_NUMBERS; n++) {
        varies = varies || condition->number[n].formula != NULL ||
                 (n < BOUNDARY_FACTORS && condition->factor[n].varies);
    }
    return varies;
}

static bool coefficient_varies(const struct boundary_setting *condition)
{
    return condition->number[BOUNDARY_COEFFICIENT].formula != NULL ||
           condition->factor[BOUNDARY_COEFFICIENT].varies;
}

static bool any_surface(const struct boundary *boundary,
                        bool (*is_one)(const struct boundary_setting *condition))
{
    bool any = false;
    for (int s = 0; s < boundary->nsurfaces; s++) {
        any = any || is_one(&boundary->surface[s].setting);
    }
    return any;
}

static bool any_condition(const struct boundary *boundary,
                          bool (*is_one)(const struct boundary_setting *condition))
{
    bool any = any_surface(boundary, is_one);
    for (int f = 0; f < FACE_COUNT; f++) {
        for (int p = 0; p < boundary->nconditions[f]; p++) {
            any = any || is_one(&boundary->face[f][p].setting);
        }
    }
    return any;
}

bool boundary_surface_varies(const struct boundary *boundary)
{
    return any_surface(boundary, condition_varies);
}

bool boundary_varies(const struct boundary *boundary)
{
    return any_condition(boundary, condition_varies);
}

bool boundary_coefficient_varies(const struct boundary *boundary)
{
    return any_condition(boundary, coefficient_varies);
}

bool boundary_any_radiates(const struct boundary *boundary)
{
    return any_condition(boundary, boundary_radiates);
}

/* The flux that does not depend on the temperature of the face, W/m^2. */
static double constant_flux(const struct boundary_state *now)
{
    return now->fixed ? 0 : now->number[BOUNDARY_VALUE];
}

/* That and the ambient's share of convection. */
static double inward(const struct boundary_state *now, double radiated)
{
    const double around = now->number[BOUNDARY_SURROUNDINGS];
    return constant_flux(now) + now->number[BOUNDARY_COEFFICIENT] * now->number[BOUNDARY_AMBIENT] +
           radiated * (around * around) * (around * around);
}

struct face_closure boundary_close(const struct boundary_state *now, double k, double h)
{
    const double half = h / (2 * k);
    const double coefficient = now->number[BOUNDARY_COEFFICIENT];
    const double radiated = now->emissivity * STEFAN_BOLTZMANN;
    if (now->emissivity > 0) {
        return (struct face_closure){
            .a = 1 + coefficient * half,
            .b = inward(now, radiated) * half,
            .e = radiated * half,
        };
    }
    if (now->fixed) {
        return (struct face_closure){.a = -1, .b = 2 * now->number[BOUNDARY_VALUE]};
    }
    const double film = coefficient * h;
    return (struct face_closure){
        .a = (2 * k - film) / (2 * k + film),
        .b = 2 * (film * now->number[BOUNDARY_AMBIENT] + constant_flux(now) * h) / (2 * k + film),
    };
}

struct face_exchange boundary_exchange(const struct boundary_state *now)
{
    const double radiated = now->emissivity * STEFAN_BOLTZMANN;
    if (now->fixed) {
        return (struct face_exchange){.s0 = now->number[BOUNDARY_VALUE], .s1 = 1, .fixed = true};
    }
    return (struct face_exchange){
        .s0 = inward(now, radiated),
        .s1 = now->number[BOUNDARY_COEFFICIENT],
        .s4 = radiated,
    };
}

static struct boundary_state state_at(const struct boundary_condition *condition, double t)
{
    const struct boundary_setting *setting = &condition->setting;
    struct boundary_state now = {.closed = setting->kind != BOUNDARY_PERIODIC};
    now.fixed = setting->kind == BOUNDARY_TEMPERATURE;
    now.emissivity = boundary_radiates(setting) ? setting->emissivity : 0;
    for (int n = 0; n < BOUNDARY_NUMBERS; n++) {
        now.number[n] = expression_number_at(&setting->number[n], condition->expression[n], t);
    }
    if (!setting->has_surroundings) {
        now.number[BOUNDARY_SURROUNDINGS] = now.number[BOUNDARY_AMBIENT];
    }
    return now;
}

/* The temperatures and fluxes of a level of a super step, from those at its start, in its middle
 * and at its end. A coefficient multiplies the temperature of a cell, so it stays that of the
 * natural time; its product with the ambient temperature does not. */
static void correct_data(const struct superstep_level *level, struct boundary_state at[3],
                         struct boundary_state *now)
{
    const double hc = now->number[BOUNDARY_COEFFICIENT];
    for (int i = 0; i < 3 && hc > 0; i++) {
        at[i].number[BOUNDARY_AMBIENT] *= at[i].number[BOUNDARY_COEFFICIENT] / hc;
    }
    for (int n = 0; n < BOUNDARY_NUMBERS; n++) {
        const double value =
            superstep_data(level, at[0].number[n], at[1].number[n], at[2].number[n]);
        const bool is_below_zero = n == BOUNDARY_SURROUNDINGS && value < 0;
        if (n != BOUNDARY_COEFFICIENT && !is_below_zero) {
            now->number[n] = value;
        }
    }
}

int boundary_times(const struct instant *when, double times[BOUNDARY_TIMES])
{
    static const double share[] = {0, 0.5, 1 - 0x1p-30}; /* before a jump at the end */
    times[0] = when->time;
    for (int i = 1; i < BOUNDARY_TIMES; i++) {
        times[i] = fma(share[i - 1], when->length, when->start);
    }
    return when->level != NULL ? BOUNDARY_TIMES : 1;
}

void boundary_at_times(const struct boundary *boundary, const struct grid *grid, enum face face,
                       int patch, const struct instant *when,
                       struct boundary_state at[BOUNDARY_TIMES])
{
    double times[BOUNDARY_TIMES];
    const int ntimes = boundary_times(when, times);
    for (int i = 0; i < ntimes; i++) {
        at[i] = grid->used[face_axis(face)] ? state_at(&boundary->face[face][patch], times[i])
                                            : (struct boundary_state){.closed = true};
    }
}

struct boundary_state boundary_at(const struct boundary *boundary, const struct grid *grid,
                                  enum face face, int patch, const struct instant *when)
{
    return grid->used[face_axis(face)] ? boundary_condition_at(&boundary->face[face][patch], when)
                                       : (struct boundary_state){.closed = true};
}

struct boundary_state boundary_condition_at(const struct boundary_condition *condition,
                                            const struct instant *when)
{
    struct boundary_state at[BOUNDARY_TIMES];
    double times[BOUNDARY_TIMES];
    const int ntimes = boundary_times(when, times);
    for (int i = 0; i < ntimes; i++) {
        at[i] = state_at(condition, times[i]);
    }
    if (when->level != NULL && condition_varies(&condition->setting)) {
        correct_data(when->level, &at[1], &at[0]);
    }
    return at[0];
}

struct boundary_state boundary_moving(const struct boundary_setting *setting,
                                      const struct instant *when,
                                      const struct boundary_state at[BOUNDARY_TIMES],
                                      double factor[BOUNDARY_TIMES][BOUNDARY_FACTORS])
{
    struct boundary_state own[BOUNDARY_TIMES];
    for (int i = 0; i < (when->level != NULL ? BOUNDARY_TIMES : 1); i++) {
        own[i] = boundary_scaled(setting, &at[i], factor[i]);
    }
    if (when->level != NULL) {
        correct_data(when->level, &own[1], &own[0]);
    }
    return own[0];
}

struct boundary_state boundary_scaled(const struct boundary_setting *setting,
                                      const struct boundary_state *now,
                                      const double factor[BOUNDARY_FACTORS])
{
    struct boundary_state scaled = *now;
    for (int n = 0; n < BOUNDARY_FACTORS; n++) {
        scaled.number[n] *= factor[n];
    }
    if (!setting->has_surroundings) {
        scaled.number[BOUNDARY_SURROUNDINGS] *= factor[BOUNDARY_AMBIENT];
    }
    return scaled;
}

int boundary_corners(const struct boundary_condition *condition)
{
    return boundary_setting_has_factors(&condition->setting) ? 1 << BOUNDARY_FACTORS : 1;
}

struct boundary_state boundary_corner(const struct boundary_condition *condition,
                                      const struct boundary_state *now, int corner)
{
    double factor[BOUNDARY_FACTORS];
    for (int n = 0; n < BOUNDARY_FACTORS; n++) {
        const struct boundary_range *range = &condition->range[n];
        factor[n] = (corner >> n & 1) != 0 ? range->least : range->most;
    }
    return boundary_scaled(&condition->setting, now, factor);
}

void boundary_widen_by(const struct boundary_state *now, double *low, double *high)
{
    const double given[] = {now->fixed ? now->number[BOUNDARY_VALUE] : NAN,
                            now->number[BOUNDARY_COEFFICIENT] > 0 ? now->number[BOUNDARY_AMBIENT]
                                                                  : NAN,
                            now->emissivity > 0 ? now->number[BOUNDARY_SURROUNDINGS] : NAN};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        *low = isfinite(given[i]) ? fmin(*low, given[i]) : *low;
        *high = isfinite(given[i]) ? fmax(*high, given[i]) : *high;
    }
}

void boundary_widen(const struct boundary *boundary, const struct grid *grid,
                    const struct instant *when, double *low, double *high)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        for (int p = 0; p < boundary->nconditions[f]; p++) {
            const struct boundary_state now = boundary_at(boundary, grid, (enum face)f, p, when);
            const struct boundary_condition *condition = &boundary->face[f][p];
            for (int corner = 0; corner < boundary_corners(condition); corner++) {
                const struct boundary_state at = boundary_corner(condition, &now, corner);
                boundary_widen_by(&at, low, high);
            }
        }
    }
    for (int s = 0; s < boundary->nsurfaces; s++) {
        const struct boundary_state now = boundary_condition_at(&boundary->surface[s], when);
        boundary_widen_by(&now, low, high);
    }
}
