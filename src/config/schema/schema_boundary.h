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

#define FACE(name_, face_, help_)                                                                  \
    SECTION("boundary." name_, help_, .members = "boundary.*", .offset = AT(boundary[face_]),      \
            .check = settings_check_face)
/* A quantity of a boundary condition: a number or a formula of t, or of the place and t. */
#define VARYING_IN(variables_, path_, number_, kinds_, help_, ...)                                 \
    KEY(path_, REAL, WARN, IN_FACE(number[number_].value), help_,                                  \
        .alternative = IN_FACE(number[number_]), .kinds = kinds_, .variables = variables_,         \
        __VA_ARGS__)
#define VARYING(...) VARYING_IN("x, y, z, t", __VA_ARGS__)
/* A factor of a quantity for each cell of the face. */
#define FACE_FACTOR(path_, number_, kinds_, what_)                                                 \
    SECTION(path_,                                                                                 \
            "A factor of `" what_ "` for each cell of the face: a formula or a file. With the "    \
            "value 1 for `" what_ "` itself, it is the quantity in SI units.",                     \
            .kinds = kinds_, .restart = SCHEMA_RESTART_WARN, .one_of = "formula, path"),           \
        KEY(path_ ".formula", FORMULA, WARN, IN_FACE(factor[number_].expression),                  \
            "The factor as a formula of the centre (x, y, z) of the cell inside the face, in m, "  \
            "and of the time t in s. Without t it is rounded to float32.",                         \
            .variables = "x, y, z, t", .rival = "path", .example = "\"1 + 9*exp(-x^2/1e-4)\""),    \
        KEY(path_ ".path", TEXT, WARN, IN_FACE(factor[number_].path),                              \
            "A .npy or HDF5 file of factors, of the shape of the face: (ny, nx) at z, (nz, nx) "   \
            "at y, (nz, ny) at x; in 2D a list. " INPUT_FILE,                                      \
            .flags = SCHEMA_FILE, .rival = "formula", .example = "film.npy"),                      \
        KEY(path_ ".dataset", TEXT, WARN, IN_FACE(factor[number_].dataset),                        \
            "The dataset of an HDF5 file, of that shape. Rounded to float32.",                     \
            .fallback = "/factor", .needs = "path"),                                               \
        KEY(path_ ".times", TIMES, WARN, IN_FACE(factor[number_].times),                           \
            "The file has a first axis more, with a map for each of these times, such as (nt, "    \
            "ny, nx); linear in between. Without `period` they span the run.",                     \
            .limit = &finite, .unit = &second, .needs = "path", .example = "[0 h, 6 h, 12 h]"),    \
        KEY(path_ ".period", REAL, WARN, IN_FACE(factor[number_].period),                          \
            "The time after which the maps of `times` repeat.", .limit = &not_negative,            \
            .unit = &second, .fallback = "0", .needs = "times", .example = "24 h")
#define CONDITION(path_)                                                                           \
    VARYING(path_ ".value", BOUNDARY_VALUE, SCHEMA_KIND(BOUNDARY_TEMPERATURE),                     \
            "Type temperature: the temperature of the face, a number or a formula of the time t "  \
            "in s and of the centre (x, y, z) of the cell inside the face, in m.",                 \
            .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &temperature, .unit = &kelvin,  \
            .check = settings_check_kelvins),                                                      \
        VARYING(path_ ".value", BOUNDARY_VALUE, SCHEMA_KIND(BOUNDARY_FLUX),                        \
                "Type flux: the heat flux into the domain; 0 insulates.",                          \
                .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &finite,                    \
                .unit = &heat_flux),                                                               \
        VARYING(path_ ".coefficient", BOUNDARY_COEFFICIENT, SCHEMA_KIND(BOUNDARY_CONVECTION),      \
                "Type convection: the heat transfer coefficient.",                                 \
                .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &not_negative,              \
                .unit = &heat_transfer),                                                           \
        VARYING(path_ ".ambient", BOUNDARY_AMBIENT,                                                \
                SCHEMA_KIND(BOUNDARY_CONVECTION) | SCHEMA_KIND(BOUNDARY_RADIATION),                \
                "Types convection and radiation: the ambient temperature.",                        \
                .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &temperature,               \
                .unit = &kelvin, .check = settings_check_kelvins),                                 \
        KEY(path_ ".emissivity", REAL, WARN, IN_FACE(emissivity),                                  \
            "Type radiation: the emissivity of the face, of the heat flux emissivity * "           \
            "5.670374419e-8 W/(m^2 K^4) * (ambient^4 - T^4).",                                     \
            .flags = SCHEMA_REQUIRED, .kinds = SCHEMA_KIND(BOUNDARY_RADIATION),                    \
            .limit = &fraction),                                                                   \
        KEY(path_ ".emissivity", REAL, WARN, IN_FACE(emissivity),                                  \
            "Type convection: the emissivity of a face that also radiates.",                       \
            .kinds = SCHEMA_KIND(BOUNDARY_CONVECTION), .limit = &share, .fallback = "0"),          \
        VARYING_IN(                                                                                \
            "t", path_ ".surroundings", BOUNDARY_SURROUNDINGS, SCHEMA_KIND(BOUNDARY_CONVECTION),   \
            "Type convection: the temperature of what the face radiates to; by default the "       \
            "ambient temperature.",                                                                \
            .flags = SCHEMA_OR_FORMULA, .limit = &temperature, .unit = &kelvin,                    \
            .check = settings_check_kelvins),                                                      \
        FACE_FACTOR(path_ ".value_factor", BOUNDARY_VALUE,                                         \
                    SCHEMA_KIND(BOUNDARY_TEMPERATURE) | SCHEMA_KIND(BOUNDARY_FLUX), "value"),      \
        FACE_FACTOR(path_ ".coefficient_factor", BOUNDARY_COEFFICIENT,                             \
                    SCHEMA_KIND(BOUNDARY_CONVECTION), "coefficient"),                              \
        FACE_FACTOR(path_ ".ambient_factor", BOUNDARY_AMBIENT,                                     \
                    SCHEMA_KIND(BOUNDARY_CONVECTION) | SCHEMA_KIND(BOUNDARY_RADIATION), "ambient")

/* The condition of a patch is its first member, so that IN_FACE holds for it too. */
#define IN_PATCH(member) offsetof(struct patch_setting, member)
#define FACE_POINT(path_, offset_, help_)                                                          \
    KEY(path_, REAL, WARN, offset_, help_, .flags = SCHEMA_REQUIRED | SCHEMA_ONES | SCHEMA_POINT,  \
        .min_count = 1, .max_count = PATCH_AXES, .limit = &finite, .unit = &metre,                 \
        .example = "[0.1, 0.2]")
#define CLOSED_KINDS (~(SCHEMA_KIND(BOUNDARY_UNUSED) | SCHEMA_KIND(BOUNDARY_PERIODIC)))

#define BOUNDARY_ROWS                                                                              \
    SECTION("boundary",                                                                            \
            "The boundary conditions. Every face of an axis with several cells must be given, "    \
            "faces of an axis with one cell must not. `boundary.*` below stands for each of the "  \
            "six faces, `x_min` to `z_max`.",                                                      \
            .flags = SCHEMA_REQUIRED),                                                             \
        FACE("x_min", FACE_X_MIN, "The face at the lower end of x."),                              \
        FACE("x_max", FACE_X_MAX, "The face at the upper end of x."),                              \
        FACE("y_min", FACE_Y_MIN, "The face at the lower end of y."),                              \
        FACE("y_max", FACE_Y_MAX, "The face at the upper end of y."),                              \
        FACE("z_min", FACE_Z_MIN, "The face at the lower end of z."),                              \
        FACE("z_max", FACE_Z_MAX, "The face at the upper end of z."),                              \
        KEY("boundary.*.type", CHOICE, WARN, IN_FACE(kind),                                        \
            "The boundary condition. Periodic faces come in pairs.",                               \
            .flags = SCHEMA_REQUIRED | SCHEMA_SELECTOR, .choices = boundary_types),                \
        CONDITION("boundary.*"),                                                                   \
        LIST("boundary.*.patches", WARN, IN_FACE(patches), IN_FACE(npatches),                      \
             struct patch_setting,                                                                 \
             "Parts of the face with conditions of their own: a list of shapes, which may "        \
             "overlap; later entries overwrite earlier ones. At most 255 per face, in 2D and 3D.", \
             .kinds = CLOSED_KINDS, .max_count = MOST_PATCHES, .check = settings_check_patch,      \
             .example = "- {disc: {center: [0.1, 0.2], radius: 0.01}, type: flux, value: 1e5}"),   \
        KEY("boundary.*.patches[].name", TEXT, WARN, IN_PATCH(name),                               \
            "A name. A named patch has columns in `history.csv`.", .example = "heater"),           \
        SECTION("boundary.*.patches[].rectangle",                                                  \
                "The cells of the face whose centre lies in a rectangle. Coordinates along the "   \
                "face are in the order x, y, z without that of the face; in 2D there may be one.", \
                .flags = SCHEMA_NOTED, .alternative = IN_PATCH(has_rectangle)),                    \
        FACE_POINT("boundary.*.patches[].rectangle.lower", IN_PATCH(lower), "The lower corner."),  \
        FACE_POINT("boundary.*.patches[].rectangle.upper", IN_PATCH(upper), "The upper corner."),  \
        SECTION("boundary.*.patches[].disc", "The cells of the face whose centre lies in a disc.", \
                .flags = SCHEMA_NOTED, .alternative = IN_PATCH(has_disc)),                         \
        FACE_POINT("boundary.*.patches[].disc.center", IN_PATCH(center), "The centre."),           \
        KEY("boundary.*.patches[].disc.radius", REAL, WARN, IN_PATCH(radius), "The radius.",       \
            .flags = SCHEMA_REQUIRED, .limit = &positive, .unit = &metre),                         \
        KEY("boundary.*.patches[].where", FORMULA, WARN, IN_PATCH(where),                          \
            "The cells at the face whose own centre (x, y, z), in m, half a cell inside the "      \
            "face, "                                                                               \
            "meets a condition; a number other than 0 also holds.",                                \
            .variables = "x, y, z", .example = "\"x + y < 0.1\""),                                 \
        KEY("boundary.*.patches[].type", CHOICE, WARN, IN_FACE(kind),                              \
            "The boundary condition of the patch.", .flags = SCHEMA_REQUIRED | SCHEMA_SELECTOR,    \
            .choices = patch_types),                                                               \
        CONDITION("boundary.*.patches[]")
