#include "model/boundary.h"

#include <math.h>
#include <stdio.h>

enum { KEY_BYTES = 64 };

static enum status parse_face(const struct settings *settings, enum face face,
                              struct expression **expression)
{
    static const char *const variables[] = {"t"};
    const enum status status =
        expression_create(settings->boundary[face].expression, variables, 1, expression);
    if (status != STATUS_INPUT) {
        return status;
    }
    char key[KEY_BYTES];
    snprintf(key, sizeof key, "boundary.%s.value", face_name(face));
    return settings_fail(settings, key, "%s", fail_message());
}

enum status boundary_create(const struct settings *settings, struct boundary *boundary)
{
    struct boundary built = {0};
    enum status status = STATUS_OK;
    for (int face = 0; face < FACE_COUNT; face++) {
        const struct boundary_setting *setting = &settings->boundary[face];
        built.face[face] = *setting;
        if (setting->kind == BOUNDARY_PERIODIC) {
            built.periodic[face_axis((enum face)face)] = true;
        }
        if (setting->kind == BOUNDARY_TEMPERATURE && setting->expression != NULL) {
            TRY_GOTO(parse_face(settings, (enum face)face, &built.expression[face]));
        }
    }
    *boundary = built;
    return STATUS_OK;
done:
    boundary_destroy(&built);
    return status;
}

void boundary_destroy(struct boundary *boundary)
{
    if (boundary == NULL) {
        return;
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        expression_destroy(boundary->expression[face]);
        boundary->expression[face] = NULL;
    }
}

static double face_temperature(const struct boundary *boundary, enum face face, double t)
{
    struct expression *expression = boundary->expression[face];
    return expression != NULL ? expression_evaluate(expression, &t) : boundary->face[face].value;
}

static void close_face(const struct boundary *boundary, const struct grid *grid, double k,
                       enum face face, double t, double *a, double *b)
{
    const struct boundary_setting *setting = &boundary->face[face];
    const double h = grid->spacing[face_axis(face)];
    switch (setting->kind) {
    case BOUNDARY_TEMPERATURE:
        *a = -1;
        *b = 2 * face_temperature(boundary, face, t);
        break;
    case BOUNDARY_FLUX:
        *a = 1;
        *b = setting->value * h / k;
        break;
    case BOUNDARY_CONVECTION: {
        const double film = setting->coefficient * h;
        *a = (2 * k - film) / (2 * k + film);
        *b = 2 * film * setting->ambient / (2 * k + film);
        break;
    }
    case BOUNDARY_UNUSED:
    case BOUNDARY_PERIODIC:
        *a = 1;
        *b = 0;
        break;
    }
}

/* "boundary.x_min.value": the key of the temperature or flux of a face. */
static const char *face_key(const struct boundary *boundary, enum face face, char key[KEY_BYTES])
{
    const bool convection = boundary->face[face].kind == BOUNDARY_CONVECTION;
    snprintf(key, KEY_BYTES, "boundary.%s.%s", face_name(face), convection ? "ambient" : "value");
    return key;
}

static enum status fail_face(const struct boundary *boundary, enum face face, double t, double b)
{
    const struct boundary_setting *setting = &boundary->face[face];
    const double value = setting->kind == BOUNDARY_CONVECTION ? setting->ambient : setting->value;
    if (setting->kind == BOUNDARY_FLUX) {
        return fail(STATUS_NUMERICS,
                    "this flux (%g W/m^2) changes the temperature by %g K within one cell; give "
                    "one that changes it by less than %.3g K, or a finer grid",
                    value, b, EXACT_SUM_LIMIT);
    }
    if (boundary->expression[face] != NULL) {
        const double found = face_temperature(boundary, face, t);
        if (fabs(b) < EXACT_SUM_LIMIT) {
            char text[BELOW_ZERO_TEXT];
            return fail(STATUS_NUMERICS, "\"%.200s\" at t = %.9g s: %s", setting->expression, t,
                        settings_below_zero(found, text));
        }
        return fail(STATUS_NUMERICS,
                    "\"%.200s\" gives %g K at t = %.9g s; a temperature must be finite and below "
                    "%.3g K in magnitude",
                    setting->expression, isnan(found) ? NAN : found, t, EXACT_SUM_LIMIT / 2);
    }
    return fail(STATUS_NUMERICS,
                "this temperature (%g K) is too far from 0; give one below %.3g K in magnitude",
                value, EXACT_SUM_LIMIT / 2);
}

static double conductivity_at(const struct medium *medium, enum face face, int of_class)
{
    return medium->nclasses > 0 ? medium->classes[of_class].conductivity[face_axis(face)]
                                : medium->conductivity;
}

enum status boundary_face(const struct boundary *boundary, const struct grid *grid, double k,
                          enum face face, double t, double *a, double *b)
{
    *a = 1;
    *b = 0;
    if (grid->used[face_axis(face)]) {
        close_face(boundary, grid, k, face, t, a, b);
    }
    const bool below_zero = boundary->expression[face] != NULL && *b < 2 * BELOW_ZERO &&
                            !boundary->face[face].may_be_negative;
    /* the limit of the ledger's exact sums */
    if (!isfinite(*a) || !(fabs(*b) < EXACT_SUM_LIMIT) || below_zero) {
        return fail_face(boundary, face, t, *b);
    }
    return STATUS_OK;
}

enum status boundary_check(const struct settings *settings, const struct boundary *boundary,
                           const struct grid *grid, const struct medium *medium)
{
    const int nclasses = medium->nclasses > 0 ? medium->nclasses : 1;
    for (int n = 0; n < FACE_COUNT * nclasses; n++) {
        const enum face face = (enum face)(n % FACE_COUNT);
        const double k = conductivity_at(medium, face, n / FACE_COUNT);
        double a = 1;
        double b = 0;
        if (boundary_face(boundary, grid, k, face, 0, &a, &b) != STATUS_OK) {
            char key[KEY_BYTES];
            return settings_fail(settings, face_key(boundary, face, key), "%s", fail_message());
        }
    }
    return STATUS_OK;
}

enum status boundary_closure(const struct boundary *boundary, const struct grid *grid,
                             const struct medium *medium, enum precision precision, double t,
                             struct closure *closure)
{
    struct closure built;
    for (int face = 0; face < FACE_COUNT; face++) {
        const bool used = grid->used[face_axis((enum face)face)];
        double a = 1;
        double b = 0;
        const double k = conductivity_at(medium, (enum face)face, 0);
        const enum status status = boundary_face(boundary, grid, k, (enum face)face, t, &a, &b);
        if (status != STATUS_OK) {
            char key[KEY_BYTES];
            return fail_prefix(status, "%s: ", face_key(boundary, (enum face)face, key));
        }
        const bool single = precision == PRECISION_FLOAT32;
        built.closed[face] = !used || boundary->face[face].kind != BOUNDARY_PERIODIC;
        built.a[face] = single ? (double)(float)a : a;
        built.b[face] = single ? (double)(float)b : b;
    }
    *closure = built;
    return STATUS_OK;
}
