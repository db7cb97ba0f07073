#include "model/boundary.h"

#include <math.h>
#include <stdio.h>

enum { KEY_BYTES = 64 };

/* The largest magnitude of a heat transfer coefficient, as in the schema. */
static const double MOST_COEFFICIENT = 1e30;

static const char *const number_names[BOUNDARY_NUMBERS] = {
    [BOUNDARY_VALUE] = "value",
    [BOUNDARY_COEFFICIENT] = "coefficient",
    [BOUNDARY_AMBIENT] = "ambient",
    [BOUNDARY_SURROUNDINGS] = "surroundings",
};

/* "boundary.x_min.value" */
static const char *number_key(enum face face, enum boundary_number number, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "boundary.%s.%s", face_name(face), number_names[number]);
    return key;
}

static const char *formula_of(const struct boundary_setting *setting, enum boundary_number number)
{
    const char *const formulas[BOUNDARY_NUMBERS] = {
        [BOUNDARY_VALUE] = setting->expression,
        [BOUNDARY_COEFFICIENT] = setting->coefficient_expression,
        [BOUNDARY_AMBIENT] = setting->ambient_expression,
        [BOUNDARY_SURROUNDINGS] = setting->surroundings_expression,
    };
    return formulas[number];
}

static double number_of(const struct boundary_setting *setting, enum boundary_number number)
{
    const double numbers[BOUNDARY_NUMBERS] = {
        [BOUNDARY_VALUE] = setting->value,
        [BOUNDARY_COEFFICIENT] = setting->coefficient,
        [BOUNDARY_AMBIENT] = setting->ambient,
        [BOUNDARY_SURROUNDINGS] = setting->surroundings,
    };
    return numbers[number];
}

static bool uses(const struct boundary_setting *setting, enum boundary_number number)
{
    switch (setting->kind) {
    case BOUNDARY_TEMPERATURE:
    case BOUNDARY_FLUX:
        return number == BOUNDARY_VALUE;
    case BOUNDARY_CONVECTION:
        return number == BOUNDARY_COEFFICIENT || number == BOUNDARY_AMBIENT ||
               (number == BOUNDARY_SURROUNDINGS && setting->has_surroundings);
    case BOUNDARY_RADIATION:
        return number == BOUNDARY_AMBIENT;
    case BOUNDARY_UNUSED:
    case BOUNDARY_PERIODIC:
        break;
    }
    return false;
}

static void destroy_condition(struct boundary_condition *condition)
{
    for (int n = 0; n < BOUNDARY_NUMBERS; n++) {
        expression_destroy(condition->expression[n]);
        condition->expression[n] = NULL;
    }
}

static enum status create_condition(const struct settings *settings, enum face face,
                                    struct boundary_condition *condition)
{
    static const char *const variables[] = {"t"};
    const struct boundary_setting *setting = &settings->boundary[face];
    *condition = (struct boundary_condition){.setting = *setting};
    for (int n = 0; n < BOUNDARY_NUMBERS; n++) {
        const enum boundary_number number = (enum boundary_number)n;
        const char *formula = formula_of(setting, number);
        if (formula == NULL || !uses(setting, number)) {
            continue;
        }
        const enum status status =
            expression_create(formula, variables, 1, &condition->expression[n]);
        if (status != STATUS_OK) {
            char key[KEY_BYTES];
            return status == STATUS_INPUT ? settings_fail(settings, number_key(face, number, key),
                                                          "%s", fail_message())
                                          : status;
        }
    }
    return STATUS_OK;
}

enum status boundary_create(const struct settings *settings, struct boundary *boundary)
{
    struct boundary built = {0};
    enum status status = STATUS_OK;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        if (settings->boundary[f].kind == BOUNDARY_PERIODIC) {
            built.periodic[face_axis(face)] = true;
        }
        TRY_GOTO(create_condition(settings, face, &built.face[f]));
    }
    *boundary = built;
    return STATUS_OK;
done:
    boundary_destroy(&built);
    return status;
}

void boundary_destroy(struct boundary *boundary)
{
    for (int f = 0; boundary != NULL && f < FACE_COUNT; f++) {
        destroy_condition(&boundary->face[f]);
    }
}

bool boundary_varies(const struct boundary *boundary)
{
    for (int i = 0; i < FACE_COUNT * BOUNDARY_NUMBERS; i++) {
        if (boundary->face[i / BOUNDARY_NUMBERS].expression[i % BOUNDARY_NUMBERS] != NULL) {
            return true;
        }
    }
    return false;
}

static struct face_closure close_radiating(const struct boundary_state *now, double k, double h)
{
    const double half = h / (2 * k);
    const double film = now->number[BOUNDARY_COEFFICIENT];
    const double around = now->number[BOUNDARY_SURROUNDINGS];
    const double radiated = now->emissivity * STEFAN_BOLTZMANN;
    return (struct face_closure){
        .a = 1 + film * half,
        .b = (film * now->number[BOUNDARY_AMBIENT] +
              radiated * (around * around) * (around * around)) *
             half,
        .e = radiated * half,
    };
}

struct face_closure boundary_close(const struct boundary_state *now, double k, double h)
{
    if (now->emissivity > 0) {
        return close_radiating(now, k, h);
    }
    const double film = now->number[BOUNDARY_COEFFICIENT] * h;
    switch (now->kind) {
    case BOUNDARY_TEMPERATURE:
        return (struct face_closure){.a = -1, .b = 2 * now->number[BOUNDARY_VALUE]};
    case BOUNDARY_FLUX:
        return (struct face_closure){.a = 1, .b = now->number[BOUNDARY_VALUE] * h / k};
    case BOUNDARY_CONVECTION:
        return (struct face_closure){
            .a = (2 * k - film) / (2 * k + film),
            .b = 2 * film * now->number[BOUNDARY_AMBIENT] / (2 * k + film),
        };
    case BOUNDARY_RADIATION:
    case BOUNDARY_UNUSED:
    case BOUNDARY_PERIODIC:
        break;
    }
    return (struct face_closure){.a = 1};
}

/* --- values that are not valid --------------------------------------------------------------- */

/* The value `found` of a formula at time t. */
static enum status check_formula(const struct boundary_setting *setting,
                                 enum boundary_number number, double t, double found)
{
    const char *formula = formula_of(setting, number);
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
    if (!(fabs(found) < EXACT_SUM_LIMIT / 2)) {
        return fail(STATUS_NUMERICS,
                    "\"%.200s\" gives %g K at t = %.9g s; a temperature must be finite and below "
                    "%.3g K in magnitude",
                    formula, shown, t, EXACT_SUM_LIMIT / 2);
    }
    if (found < BELOW_ZERO && !setting->may_be_negative) {
        char text[BELOW_ZERO_TEXT];
        return fail(STATUS_NUMERICS, "\"%.200s\" at t = %.9g s: %s", formula, t,
                    settings_below_zero(found, text));
    }
    return STATUS_OK;
}

/* b is within the limit of the ledger's exact sums; *number: which one is to blame. */
static enum status check_closure(const struct boundary_state *now, struct face_closure closure,
                                 enum boundary_number *number)
{
    const bool ambient = now->kind == BOUNDARY_CONVECTION || now->kind == BOUNDARY_RADIATION;
    *number = ambient ? BOUNDARY_AMBIENT : BOUNDARY_VALUE;
    if (isfinite(closure.a) && fabs(closure.b) < EXACT_SUM_LIMIT) {
        return STATUS_OK;
    }
    if (now->emissivity > 0) {
        return fail(STATUS_NUMERICS,
                    "a face that radiates to %g K cannot be solved for on this grid; give a lower "
                    "temperature, or a finer grid",
                    now->number[BOUNDARY_SURROUNDINGS]);
    }
    if (now->kind == BOUNDARY_FLUX) {
        return fail(STATUS_NUMERICS,
                    "this flux (%g W/m^2) changes the temperature by %g K within one cell; give "
                    "one that changes it by less than %.3g K, or a finer grid",
                    now->number[*number], closure.b, EXACT_SUM_LIMIT);
    }
    return fail(STATUS_NUMERICS,
                "this temperature (%g K) is too far from 0; give one below %.3g K in magnitude",
                now->number[*number], EXACT_SUM_LIMIT / 2);
}

static enum status evaluate(const struct boundary_condition *condition, double least_k, double h,
                            double t, struct boundary_state *now, enum boundary_number *number)
{
    const struct boundary_setting *setting = &condition->setting;
    *now = (struct boundary_state){.kind = setting->kind};
    now->emissivity = boundary_radiates(setting) ? setting->emissivity : 0;
    for (int n = 0; n < BOUNDARY_NUMBERS; n++) {
        *number = (enum boundary_number)n;
        now->number[n] = uses(setting, *number) ? number_of(setting, *number) : 0;
        if (condition->expression[n] != NULL) {
            now->number[n] = expression_evaluate(condition->expression[n], &t);
            TRY(check_formula(setting, *number, t, now->number[n]));
        }
    }
    if (!uses(setting, BOUNDARY_SURROUNDINGS)) {
        now->number[BOUNDARY_SURROUNDINGS] = now->number[BOUNDARY_AMBIENT];
    }
    /* the worst class: that of the smallest conductivity */
    return check_closure(now, boundary_close(now, least_k, h), number);
}

static enum status evaluate_face(const struct boundary *boundary, const struct grid *grid,
                                 const struct medium *medium, enum face face, double t,
                                 struct boundary_state *now, enum boundary_number *number)
{
    const enum axis axis = face_axis(face);
    if (!grid->used[axis]) {
        *now = (struct boundary_state){.kind = BOUNDARY_UNUSED};
        return STATUS_OK;
    }
    return evaluate(&boundary->face[face], medium_least_conductivity(medium, axis),
                    grid->spacing[axis], t, now, number);
}

/* --- the closures ---------------------------------------------------------------------------- */

enum status boundary_evaluate(const struct boundary *boundary, const struct grid *grid,
                              const struct medium *medium, enum face face, double t,
                              struct boundary_state *now)
{
    enum boundary_number number = BOUNDARY_VALUE;
    char key[KEY_BYTES];
    const enum status status = evaluate_face(boundary, grid, medium, face, t, now, &number);
    return status == STATUS_OK ? status
                               : fail_prefix(status, "%s: ", number_key(face, number, key));
}

enum status boundary_check(const struct settings *settings, const struct boundary *boundary,
                           const struct grid *grid, const struct medium *medium)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        struct boundary_state now;
        enum boundary_number number = BOUNDARY_VALUE;
        char key[KEY_BYTES];
        if (evaluate_face(boundary, grid, medium, face, 0, &now, &number) != STATUS_OK) {
            return settings_fail(settings, number_key(face, number, key), "%s", fail_message());
        }
    }
    return STATUS_OK;
}

enum status boundary_closure(const struct boundary *boundary, const struct grid *grid,
                             const struct medium *medium, enum precision precision, double t,
                             struct closure *closure)
{
    const bool single = precision == PRECISION_FLOAT32;
    struct closure built;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const enum axis axis = face_axis(face);
        struct boundary_state now;
        TRY(boundary_evaluate(boundary, grid, medium, face, t, &now));
        const struct face_closure found =
            boundary_close(&now, medium_conductivity(medium, axis, 0), grid->spacing[axis]);
        built.closed[f] = now.kind != BOUNDARY_PERIODIC;
        built.a[f] = single ? (double)(float)found.a : found.a;
        built.b[f] = single ? (double)(float)found.b : found.b;
    }
    *closure = built;
    return STATUS_OK;
}
