#include "model/boundary.h"

#include <math.h>
#include <stdio.h>

static enum status parse_face(const struct settings *settings, enum face face,
                              struct expression **expression)
{
    static const char *const variables[] = {"t"};
    const enum status status =
        expression_create(settings->boundary[face].expression, variables, 1, expression);
    if (status != STATUS_INPUT) {
        return status;
    }
    char key[64];
    char why[STATUS_MESSAGE_BYTES];
    snprintf(key, sizeof key, "boundary.%s.value", face_name(face));
    snprintf(why, sizeof why, "%s", fail_message());
    return settings_fail(settings, key, "%s", why);
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

static void close_face(const struct boundary *boundary, const struct grid *grid,
                       const struct material *material, enum face face, double t, double *a,
                       double *b)
{
    const struct boundary_setting *setting = &boundary->face[face];
    const double h = grid->spacing[face_axis(face)];
    const double k = material->conductivity;
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

/* a and b of one face, unrounded. */
static enum status face_closure(const struct boundary *boundary, const struct grid *grid,
                                const struct material *material, enum face face, double t,
                                double *a, double *b)
{
    *a = 1;
    *b = 0;
    if (grid->used[face_axis(face)]) {
        close_face(boundary, grid, material, face, t, a, b);
    }
    /* also what the ledger's exact sums can hold */
    if (!isfinite(*a) || !(fabs(*b) < EXACT_SUM_LIMIT)) {
        return fail(STATUS_NUMERICS,
                    "at t = %.9g s the temperature beyond the face would be %g T %+g K; it must be "
                    "finite and below %g K",
                    t, *a, *b, EXACT_SUM_LIMIT);
    }
    return STATUS_OK;
}

enum status boundary_check(const struct settings *settings, const struct boundary *boundary,
                           const struct grid *grid, const struct material *material)
{
    for (int face = 0; face < FACE_COUNT; face++) {
        double a = 1;
        double b = 0;
        if (face_closure(boundary, grid, material, (enum face)face, 0, &a, &b) != STATUS_OK) {
            char key[64];
            snprintf(key, sizeof key, "boundary.%s", face_name((enum face)face));
            return settings_fail(settings, key, "%s", fail_message());
        }
    }
    return STATUS_OK;
}

enum status boundary_closure(const struct boundary *boundary, const struct grid *grid,
                             const struct material *material, enum precision precision, double t,
                             struct closure *closure)
{
    struct closure built;
    for (int face = 0; face < FACE_COUNT; face++) {
        const bool used = grid->used[face_axis((enum face)face)];
        double a = 1;
        double b = 0;
        const enum status status =
            face_closure(boundary, grid, material, (enum face)face, t, &a, &b);
        if (status != STATUS_OK) {
            return fail_prefix(status, "boundary.%s: ", face_name((enum face)face));
        }
        const bool single = precision == PRECISION_FLOAT32;
        built.closed[face] = !used || boundary->face[face].kind != BOUNDARY_PERIODIC;
        built.a[face] = single ? (double)(float)a : a;
        built.b[face] = single ? (double)(float)b : b;
    }
    *closure = built;
    return STATUS_OK;
}
