/* Values of boundary conditions that are not valid. */
#include <math.h>
#include <stdio.h>

#include "model/medium/boundary.h"

/* The largest magnitude of a heat transfer coefficient, as in the schema. */
static const double MOST_COEFFICIENT = 1e30;

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
    if (setting->kind != BOUNDARY_TEMPERATURE && number == BOUNDARY_VALUE) {
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
    *number = ambient && now->number[BOUNDARY_VALUE] == 0 ? BOUNDARY_AMBIENT : BOUNDARY_VALUE;
    if (isfinite(closure.a) && fabs(closure.b) < EXACT_SUM_LIMIT) {
        return STATUS_OK;
    }
    FAIL_IF(now->emissivity > 0,
            fail(STATUS_NUMERICS,
                 "a face that radiates to %g K cannot be solved for on this grid; give a lower "
                 "temperature, or a finer grid",
                 now->number[BOUNDARY_SURROUNDINGS]));
    FAIL_IF(!now->fixed && *number == BOUNDARY_VALUE,
            fail(STATUS_NUMERICS,
                 "this flux (%g W/m^2) changes the temperature by %g K within one cell; give "
                 "one that changes it by less than %.3g K, or a finer grid",
                 now->number[*number], closure.b, EXACT_SUM_LIMIT));
    return fail(STATUS_NUMERICS,
                "this temperature (%g K) is too far from 0; give one below %.3g K in magnitude",
                now->number[*number], EXACT_SUM_LIMIT / 2);
}

/* The formulas; *number: which one is to blame. */
static enum status check_formulas(const struct boundary_condition *condition, double t,
                                  enum boundary_number *number)
{
    for (int n = 0; n < BOUNDARY_NUMBERS; n++) {
        const struct number_setting *of = &condition->setting.number[n];
        *number = (enum boundary_number)n;
        if (of->formula != NULL) {
            TRY(check_formula(&condition->setting, *number, t,
                              expression_number_at(of, condition->expression[n], t)));
        }
    }
    return STATUS_OK;
}

/* The same. */
static enum status check_condition(const struct boundary *boundary, const struct grid *grid,
                                   const struct medium *medium, enum face face, int patch,
                                   const struct instant *when, enum boundary_number *number)
{
    const enum axis axis = face_axis(face);
    const struct boundary_condition *condition = &boundary->face[face][patch];
    const struct boundary_state now = boundary_at(boundary, grid, face, patch, when);
    TRY(grid->used[axis] ? check_formulas(condition, when->time, number) : STATUS_OK);
    /* the worst class: that of the smallest conductivity and the largest cells */
    for (int corner = 0; corner < boundary_corners(condition) && !condition->open; corner++) {
        const struct boundary_state at = boundary_corner(condition, &now, corner);
        const struct face_closure closure = boundary_close(
            &at, medium_least_conductivity(medium, axis), grid_largest_width(grid, axis));
        TRY(check_closure(&condition->setting, &at, closure, number));
    }
    return STATUS_OK;
}

static enum status check_surfaces(const struct boundary *boundary, const struct grid *grid,
                                  const struct medium *medium, const struct instant *when,
                                  char key[BOUNDARY_KEY_BYTES])
{
    for (int s = 0; s < boundary->nsurfaces; s++) {
        const struct boundary_condition *condition = &boundary->surface[s];
        const bool is_held = condition->setting.kind == BOUNDARY_TEMPERATURE;
        const struct boundary_state now = boundary_condition_at(condition, when);
        enum boundary_number number = BOUNDARY_VALUE;
        enum status status = check_formulas(condition, when->time, &number);
        for (int axis = 0; axis < AXIS_COUNT && status == STATUS_OK; axis++) {
            const struct face_closure closure =
                boundary_close(&now, medium_least_conductivity(medium, (enum axis)axis),
                               grid_largest_width(grid, (enum axis)axis));
            status = grid->used[axis] && now.emissivity == 0
                         ? check_closure(&condition->setting, &now, closure, &number)
                         : STATUS_OK;
        }
        snprintf(key, BOUNDARY_KEY_BYTES, "surfaces[%d].%s", s,
                 number == BOUNDARY_COEFFICIENT ? boundary_number_names[number]
                 : is_held                      ? "temperature"
                                                : "flux");
        if (number == BOUNDARY_AMBIENT) {
            snprintf(key, BOUNDARY_KEY_BYTES, "ambients[%d].temperature",
                     medium->surfaces[s].number[1] - medium->nmaterials + medium->nambients);
        }
        TRY(status);
    }
    return STATUS_OK;
}

/* Formulas of the temperatures at t = 0, also without a surface. */
static enum status check_ambients(const struct settings *settings, const struct medium *medium)
{
    const double least =
        settings->run.temperature == TEMPERATURE_DIFFERENCE ? -HUGE_VAL : BELOW_ZERO;
    for (int a = 0; a < medium->nambients; a++) {
        const double kelvins =
            medium->materials[medium->nmaterials - medium->nambients + a].ambient;
        char key[BOUNDARY_KEY_BYTES];
        snprintf(key, sizeof key, "ambients[%d].temperature", a);
        FAIL_IF(!isfinite(kelvins) || kelvins < least,
                settings_fail(settings, key,
                              "the formula gives %g K at t = 0; a temperature must be finite and "
                              "not below 0 K",
                              kelvins));
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
            boundary_key((enum face)f, p, boundary_number_names[number], key);
            if (status != STATUS_OK) {
                return settings != NULL ? settings_fail(settings, key, "%s", fail_message())
                                        : fail_prefix(status, "%s: ", key);
            }
        }
    }
    char key[BOUNDARY_KEY_BYTES];
    const enum status status = check_surfaces(boundary, grid, medium, when, key);
    if (status == STATUS_OK) {
        return settings != NULL ? check_ambients(settings, medium) : STATUS_OK;
    }
    return settings != NULL ? settings_fail(settings, key, "%s", fail_message())
                            : fail_prefix(status, "%s: ", key);
}
