/* The rows of `boundary` in the table of schema_table.c, with its macros. */
#ifndef ISOTHERM_CONFIG_SCHEMA_BOUNDARY_H
#define ISOTHERM_CONFIG_SCHEMA_BOUNDARY_H

#define IN_FACE(member) offsetof(struct boundary_setting, member)

#define FACE(name_, face_, help_)                                                                  \
    SECTION("boundary." name_, help_, .members = "boundary.*", .offset = AT(boundary[face_]),      \
            .check = settings_check_face)
/* The numbers of a boundary condition, which are also formulas of t. */
#define VARYING(path_, member_, formula_, kinds_, help_, ...)                                      \
    KEY(path_, REAL, WARN, IN_FACE(member_), help_, .alternative = IN_FACE(formula_),              \
        .kinds = kinds_, .variables = "t", __VA_ARGS__)
#define CONDITION(path_)                                                                           \
    VARYING(path_ ".value", value, expression, SCHEMA_KIND(BOUNDARY_TEMPERATURE),                  \
            "Type temperature: the temperature of the face, a number or a formula of the time t "  \
            "in s.",                                                                               \
            .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &temperature, .unit = &kelvin,  \
            .check = settings_check_kelvins),                                                      \
        VARYING(path_ ".value", value, expression, SCHEMA_KIND(BOUNDARY_FLUX),                     \
                "Type flux: the heat flux into the domain; 0 insulates.",                          \
                .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &finite,                    \
                .unit = &heat_flux),                                                               \
        VARYING(path_ ".coefficient", coefficient, coefficient_expression,                         \
                SCHEMA_KIND(BOUNDARY_CONVECTION),                                                  \
                "Type convection: the heat transfer coefficient.",                                 \
                .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA, .limit = &not_negative,              \
                .unit = &heat_transfer),                                                           \
        VARYING(path_ ".ambient", ambient, ambient_expression,                                     \
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
        VARYING(path_ ".surroundings", surroundings, surroundings_expression,                      \
                SCHEMA_KIND(BOUNDARY_CONVECTION),                                                  \
                "Type convection: the temperature of what the face radiates to; by default the "   \
                "ambient temperature.",                                                            \
                .flags = SCHEMA_OR_FORMULA, .limit = &temperature, .unit = &kelvin,                \
                .check = settings_check_kelvins)

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
        CONDITION("boundary.*")

#endif
