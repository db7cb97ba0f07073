#include "model/medium/boundary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The largest magnitude of a heat transfer coefficient, as in the schema. */
static const double MOST_COEFFICIENT = 1e30;

static const char *const number_names[BOUNDARY_NUMBERS] = {
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

static enum status create_condition(const struct settings *settings,
                                    const struct boundary_setting *setting, enum face face,
                                    int patch, struct boundary_condition *condition)
{
    condition->setting = *setting;
    condition->name = patch > 0 ? settings->boundary[face].patches[patch - 1].name : NULL;
    use_maps(condition);
    for (int n = 0; n < BOUNDARY_NUMBERS; n++) {
        const enum status status =
            expression_of_number(&condition->setting.number[n], &condition->expression[n]);
        char key[BOUNDARY_KEY_BYTES];
        TRY(settings_place(settings->origin, status, "%s",
                           boundary_key(face, patch, number_names[n], key)));
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
        TRY(create_condition(settings, p > 0 ? &setting->patches[p - 1].condition : setting, face,
                             p, &boundary->face[face][p]));
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
    *boundary = built;
    built = (struct boundary){0};
    return STATUS_OK;
}

void boundary_destroy(struct boundary *boundary)
{
    for (int f = 0; boundary != NULL && f < FACE_COUNT; f++) {
        for (int i = 0; i < boundary->nconditions[f] * BOUNDARY_NUMBERS; i++) {
            expression_destroy(
                boundary->face[f][i / BOUNDARY_NUMBERS].expression[i % BOUNDARY_NUMBERS]);
        }
        free(boundary->face[f]);
        boundary->face[f] = NULL;
        boundary->nconditions[f] = 0;
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

static bool any_condition(const struct boundary *boundary,
                          bool (*is_one)(const struct boundary_setting *condition))
{
    bool any = false;
    for (int f = 0; f < FACE_COUNT; f++) {
        for (int p = 0; p < boundary->nconditions[f]; p++) {
            any = any || is_one(&boundary->face[f][p].setting);
        }
    }
    return any;
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

/* --- values that are not valid --------------------------------------------------------------- */

/* The value `found` of a formula at time t. */
static enum status check_formula(const struct boundary_setting *setting,
                                 enum boundary_number number, double t, double found)
{
    const char *formula = setting->number[number].formula;
    const double shown = isnan(found) ? NAN : found; /* without its sign */
    if (number == BOUNDARY_COEFFICIENT) {
        return found >= 0 && found <= MOST_COEFFICIENT
                   ? STATUS_OK
                   : fail(STATUS_NUMERICS,
                          "\"%.200s\" gives %g W/(m^2 K) at t = %.9g s; a heat transfer "
                          "coefficient must be finite and not negative",
                          formula, shown, t);
    }
    if (setting->kind == BOUNDARY_FLUX) {
        return isfinite(found) ? STATUS_OK
                               : fail(STATUS_NUMERICS,
                                      "\"%.200s\" gives %g W/m^2 at t = %.9g s; a heat flux must "
                                      "be finite",
                                      formula, shown, t);
    }
    FAIL_IF(!(fabs(found) < EXACT_SUM_LIMIT / 2),
            fail(STATUS_NUMERICS,
                 "\"%.200s\" gives %g K at t = %.9g s; a temperature must be finite and below "
                 "%.3g K in magnitude",
                 formula, shown, t, EXACT_SUM_LIMIT / 2));
    if (found < BELOW_ZERO && !setting->may_be_negative) {
        char text[BELOW_ZERO_TEXT];
        return fail(STATUS_NUMERICS, "\"%.200s\" at t = %.9g s: %s", formula, t,
                    settings_below_zero(found, text));
    }
    return STATUS_OK;
}

/* b is within the limit of the ledger's exact sums; *number: which one is to blame. */
static enum status check_closure(const struct boundary_setting *setting,
                                 const struct boundary_state *now, struct face_closure closure,
                                 enum boundary_number *number)
{
    const bool ambient =
        setting->kind == BOUNDARY_CONVECTION || setting->kind == BOUNDARY_RADIATION;
    *number = ambient ? BOUNDARY_AMBIENT : BOUNDARY_VALUE;
    if (isfinite(closure.a) && fabs(closure.b) < EXACT_SUM_LIMIT) {
        return STATUS_OK;
    }
    FAIL_IF(now->emissivity > 0,
            fail(STATUS_NUMERICS,
                 "a face that radiates to %g K cannot be solved for on this grid; give a lower "
                 "temperature, or a finer grid",
                 now->number[BOUNDARY_SURROUNDINGS]));
    FAIL_IF(setting->kind == BOUNDARY_FLUX,
            fail(STATUS_NUMERICS,
                 "this flux (%g W/m^2) changes the temperature by %g K within one cell; give "
                 "one that changes it by less than %.3g K, or a finer grid",
                 now->number[*number], closure.b, EXACT_SUM_LIMIT));
    return fail(STATUS_NUMERICS,
                "this temperature (%g K) is too far from 0; give one below %.3g K in magnitude",
                now->number[*number], EXACT_SUM_LIMIT / 2);
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
    const struct boundary_condition *condition = &boundary->face[face][patch];
    struct boundary_state at[BOUNDARY_TIMES];
    boundary_at_times(boundary, grid, face, patch, when, at);
    if (when->level != NULL && grid->used[face_axis(face)] &&
        condition_varies(&condition->setting)) {
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
}

/* *number: which one is to blame. */
static enum status check_condition(const struct boundary *boundary, const struct grid *grid,
                                   const struct medium *medium, enum face face, int patch,
                                   const struct instant *when, enum boundary_number *number)
{
    const enum axis axis = face_axis(face);
    const struct boundary_condition *condition = &boundary->face[face][patch];
    const struct boundary_state now = boundary_at(boundary, grid, face, patch, when);
    for (int n = 0; n < BOUNDARY_NUMBERS && grid->used[axis]; n++) {
        *number = (enum boundary_number)n;
        if (condition->setting.number[n].formula != NULL) {
            TRY(check_formula(&condition->setting, *number, when->time,
                              expression_number_at(&condition->setting.number[n],
                                                   condition->expression[n], when->time)));
        }
    }
    /* the worst class: that of the smallest conductivity and the largest cells */
    for (int corner = 0; corner < boundary_corners(condition) && !condition->open; corner++) {
        const struct boundary_state at = boundary_corner(condition, &now, corner);
        const struct face_closure closure = boundary_close(
            &at, medium_least_conductivity(medium, axis), grid_largest_width(grid, axis));
        TRY(check_closure(&condition->setting, &at, closure, number));
    }
    return STATUS_OK;
}

enum status boundary_check(const struct settings *settings, const struct boundary *boundary,
                           const struct grid *grid, const struct medium *medium,
                           const struct instant *when)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        /* the condition of the face last */
        for (int p = boundary->nconditions[f] - 1; p >= 0; p--) {
            enum boundary_number number = BOUNDARY_VALUE;
            char key[BOUNDARY_KEY_BYTES];
            const enum status status =
                check_condition(boundary, grid, medium, (enum face)f, p, when, &number);
            boundary_key((enum face)f, p, number_names[number], key);
            if (status != STATUS_OK) {
                return settings != NULL ? settings_fail(settings, key, "%s", fail_message())
                                        : fail_prefix(status, "%s: ", key);
            }
        }
    }
    return STATUS_OK;
}
