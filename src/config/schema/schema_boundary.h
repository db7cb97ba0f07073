/* The rows of `boundary` in the table of schema_table.c, with its macros. */
#pragma once

#include "config/schema/schema.h"
#include "config/settings.h"

/* The types of a face, and of a patch. */
#define CLOSED_TYPES                                                                               \
    {"temperature", BOUNDARY_TEMPERATURE}, {"flux", BOUNDARY_FLUX},                                \
        {"convection", BOUNDARY_CONVECTION},                                                       \
    {                                                                                              \
        "radiation", BOUNDARY_RADIATION                                                            \
    }
static const struct schema_choice patch_types[] = {CLOSED_TYPES, {NULL, 0}};
static const struct schema_choice boundary_types[] = {
    CLOSED_TYPES, {"periodic", BOUNDARY_PERIODIC}, {NULL, 0}};

#define IN_FACE(member) offsetof(struct boundary_setting, member)

#define FACE(name_, face_)                                                                         \
    SECTION("boundary." name_, .members = "boundary.*", .offset = AT(boundary[face_]),             \
            .check = settings_check_face)
/* A quantity of a boundary condition: a number or a formula of t, or of the place and t. */
#define VARYING_IN(variables_, path_, number_, kinds_, ...)                                        \
    KEY(path_, REAL, WARN, IN_FACE(number[number_].value),                                         \
        .alternative = IN_FACE(number[number_]), .kinds = kinds_, .variables = variables_,         \
        __VA_ARGS__)
#define VARYING(...) VARYING_IN("x, y, z, t", __VA_ARGS__)
/* A factor of a quantity for each cell of the face. */
#define FACE_FACTOR(path_, number_, kinds_)                                                        \
    SECTION(path_, .kinds = kinds_, .restart = SCHEMA_RESTART_WARN, .one_of = "formula, path"),    \
        KEY(path_ ".formula", FORMULA, WARN, IN_FACE(factor[number_].expression),                  \
            .variables = "x, y, z, t", .rival = "path", .example = "\"1 + 9*exp(-x^2/1e-4)\""),    \
        KEY(path_ ".path", TEXT, WARN, IN_FACE(factor[number_].path), .flags = SCHEMA_FILE,        \
            .rival = "formula", .example = "film.npy"),                                            \
        KEY(path_ ".dataset", TEXT, WARN, IN_FACE(factor[number_].dataset), .fallback = "/factor", \
            .needs = "path"),                                                                      \
        KEY(path_ ".times", TIMES, WARN, IN_FACE(factor[number_].times), .limit = &finite,         \
            .unit = &second, .needs = "path", .example = "[0 h, 6 h, 12 h]"),                      \
        KEY(path_ ".period", REAL, WARN, IN_FACE(factor[number_].period), .limit = &not_negative,  \
            .unit = &second, .fallback = "0", .needs = "times", .example = "24 h")
#define CONDITION(path_)                                                                           \
    VARYING(path_ ".value", BOUNDARY_VALUE, SCHEMA_KIND(BOUNDARY_TEMPERATURE),                     \
            .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &temperature, .unit = &kelvin,  \
            .check = settings_check_kelvins),                                                      \
        VARYING(path_ ".value", BOUNDARY_VALUE, SCHEMA_KIND(BOUNDARY_FLUX),                        \
                .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &finite,                    \
                .unit = &heat_flux),                                                               \
        VARYING(path_ ".coefficient", BOUNDARY_COEFFICIENT, SCHEMA_KIND(BOUNDARY_CONVECTION),      \
                .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &not_negative,              \
                .unit = &heat_transfer),                                                           \
        VARYING(path_ ".ambient", BOUNDARY_AMBIENT,                                                \
                SCHEMA_KIND(BOUNDARY_CONVECTION) | SCHEMA_KIND(BOUNDARY_RADIATION),                \
                .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &temperature,               \
                .unit = &kelvin, .check = settings_check_kelvins),                                 \
        KEY(path_ ".emissivity", REAL, WARN, IN_FACE(emissivity), .flags = SCHEMA_REQUIRED,        \
            .kinds = SCHEMA_KIND(BOUNDARY_RADIATION), .limit = &fraction),                         \
        KEY(path_ ".emissivity", REAL, WARN, IN_FACE(emissivity),                                  \
            .kinds = SCHEMA_KIND(BOUNDARY_CONVECTION), .limit = &share, .fallback = "0"),          \
        VARYING_IN("t", path_ ".surroundings", BOUNDARY_SURROUNDINGS,                              \
                   SCHEMA_KIND(BOUNDARY_CONVECTION), .flags = SCHEMA_OR_FORMULA,                   \
                   .limit = &temperature, .unit = &kelvin, .check = settings_check_kelvins),       \
        FACE_FACTOR(path_ ".value_factor", BOUNDARY_VALUE,                                         \
                    SCHEMA_KIND(BOUNDARY_TEMPERATURE) | SCHEMA_KIND(BOUNDARY_FLUX)),               \
        FACE_FACTOR(path_ ".coefficient_factor", BOUNDARY_COEFFICIENT,                             \
                    SCHEMA_KIND(BOUNDARY_CONVECTION)),                                             \
        FACE_FACTOR(path_ ".ambient_factor", BOUNDARY_AMBIENT,                                     \
                    SCHEMA_KIND(BOUNDARY_CONVECTION) | SCHEMA_KIND(BOUNDARY_RADIATION))

/* The condition of a patch is its first member, so that IN_FACE holds for it too. */
#define IN_PATCH(member) offsetof(struct patch_setting, member)
#define FACE_POINT(path_, offset_)                                                                 \
    KEY(path_, REAL, WARN, offset_, .flags = SCHEMA_REQUIRED | SCHEMA_ONES | SCHEMA_POINT,         \
        .min_count = 1, .max_count = PATCH_AXES, .limit = &finite, .unit = &metre,                 \
        .example = "[0.1, 0.2]")
#define CLOSED_KINDS (~(SCHEMA_KIND(BOUNDARY_UNUSED) | SCHEMA_KIND(BOUNDARY_PERIODIC)))

#define BOUNDARY_ROWS                                                                              \
    SECTION("boundary", .flags = SCHEMA_REQUIRED), FACE("x_min", FACE_X_MIN),                      \
        FACE("x_max", FACE_X_MAX), FACE("y_min", FACE_Y_MIN), FACE("y_max", FACE_Y_MAX),           \
        FACE("z_min", FACE_Z_MIN), FACE("z_max", FACE_Z_MAX),                                      \
        KEY("boundary.*.type", CHOICE, WARN, IN_FACE(kind),                                        \
            .flags = SCHEMA_REQUIRED | SCHEMA_SELECTOR, .choices = boundary_types),                \
        CONDITION("boundary.*"),                                                                   \
        LIST("boundary.*.patches", WARN, IN_FACE(patches), IN_FACE(npatches),                      \
             struct patch_setting, .kinds = CLOSED_KINDS, .max_count = MOST_PATCHES,               \
             .check = settings_check_patch,                                                        \
             .example = "- {disc: {center: [0.1, 0.2], radius: 0.01}, type: flux, value: 1e5}"),   \
        KEY("boundary.*.patches[].name", TEXT, WARN, IN_PATCH(name), .example = "heater"),         \
        SECTION("boundary.*.patches[].rectangle", .flags = SCHEMA_NOTED,                           \
                .alternative = IN_PATCH(has_rectangle)),                                           \
        FACE_POINT("boundary.*.patches[].rectangle.lower", IN_PATCH(lower)),                       \
        FACE_POINT("boundary.*.patches[].rectangle.upper", IN_PATCH(upper)),                       \
        SECTION("boundary.*.patches[].disc", .flags = SCHEMA_NOTED,                                \
                .alternative = IN_PATCH(has_disc)),                                                \
        FACE_POINT("boundary.*.patches[].disc.center", IN_PATCH(center)),                          \
        KEY("boundary.*.patches[].disc.radius", REAL, WARN, IN_PATCH(radius),                      \
            .flags = SCHEMA_REQUIRED, .limit = &positive, .unit = &metre),                         \
        KEY("boundary.*.patches[].where", FORMULA, WARN, IN_PATCH(where), .variables = "x, y, z",  \
            .example = "\"x + y < 0.1\""),                                                         \
        KEY("boundary.*.patches[].type", CHOICE, WARN, IN_FACE(kind),                              \
            .flags = SCHEMA_REQUIRED | SCHEMA_SELECTOR, .choices = patch_types),                   \
        CONDITION("boundary.*.patches[]")
