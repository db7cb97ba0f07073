/* The rows of `sources` in the table of schema_table.c, with its macros. */
#pragma once

#define IN_SOURCE(member) offsetof(struct source_setting, member)

/* A number or a formula of t. */
#define OF_TIME(path_, member_, ...)                                                               \
    KEY(path_, REAL, WARN, IN_SOURCE(member_.value), .alternative = IN_SOURCE(member_),            \
        .variables = "t", __VA_ARGS__)
#define SOURCE_NAME(path_)                                                                         \
    KEY(path_ ".name", TEXT, WARN, IN_SOURCE(name), .example = "heater"),                          \
        OF_TIME(path_ ".factor", factor, .flags = SCHEMA_OR_FORMULA, .limit = &finite,             \
                .fallback = "1", .example = "\"t < 0.5 ? 1 : 0\"")
#define POWERED .one_of = "density, power"
#define DENSITY(path_)                                                                             \
    KEY(path_ ".material", TEXT, WARN, IN_ENTRY(material), .example = "steel",                     \
        .check = settings_check_source_material),                                                  \
        KEY(path_ ".density", REAL, WARN, IN_SOURCE(density), .flags = SCHEMA_OR_TABLE,            \
            .alternative = IN_SOURCE(density_table), .limit = &finite, .rival = "power",           \
            .unit = &power_density, .example = "[[300, 1e6], [400, 4e6]]"),                        \
        KEY(path_ ".profile", FORMULA, WARN, IN_SOURCE(profile), .variables = "x, y, z",           \
            .needs = "density", .example = "\"exp(-x^2/1e-6)\""),                                  \
        KEY(path_ ".power", REAL, WARN, IN_SOURCE(power.value), .limit = &finite,                  \
            .rival = "density", .unit = &power, .flags = SCHEMA_NOTED,                             \
            .alternative = IN_SOURCE(by_power)),                                                   \
        SOURCE_NAME(path_)

#define MOVES(path_)                                                                               \
    KEY(path_ ".path", TEXT, WARN, IN_SOURCE(path), .example = "track.csv", .flags = SCHEMA_FILE), \
        OF_TIME(path_ ".x", at[AXIS_X], .flags = SCHEMA_OR_FORMULA, .limit = &finite,              \
                .unit = &metre, .rival = "path", .check = settings_check_source_position,          \
                .example = "\"0.8*t\""),                                                           \
        OF_TIME(path_ ".y", at[AXIS_Y], .flags = SCHEMA_OR_FORMULA, .limit = &finite,              \
                .unit = &metre, .rival = "path", .check = settings_check_source_position),         \
        OF_TIME(path_ ".z", at[AXIS_Z], .flags = SCHEMA_OR_FORMULA, .limit = &finite,              \
                .unit = &metre, .rival = "path", .check = settings_check_source_position),         \
        OF_TIME(path_ ".power", power, .flags = SCHEMA_OR_FORMULA, .limit = &finite,               \
                .unit = &power),                                                                   \
        KEY(path_ ".absorptivity", REAL, WARN, IN_SOURCE(absorptivity), .limit = &fraction,        \
            .fallback = "1"),                                                                      \
        SOURCE_NAME(path_)
#define HALF_AXIS(path_, member_)                                                                  \
    KEY(path_, REAL, WARN, IN_SOURCE(member_), .flags = SCHEMA_REQUIRED, .limit = &positive,       \
        .unit = &metre)

#define MOVING_ROWS                                                                                \
    SHAPE("sources", WARN, "gaussian", SOURCE_GAUSSIAN, .one_of = "power, path"),                  \
        KEY("sources[].gaussian.surface", CHOICE, WARN, IN_SOURCE(surface), .choices = surfaces,   \
            .fallback = "none", .check = settings_check_source_surface),                           \
        KEY("sources[].gaussian.radius", REAL, WARN, IN_SOURCE(radius),                            \
            .flags = SCHEMA_REQUIRED | SCHEMA_SAME, .min_count = 1, .max_count = 3,                \
            .limit = &positive, .unit = &metre, .example = "[50e-6, 50e-6, 30e-6]",                \
            .check = settings_check_source_radius),                                                \
        MOVES("sources[].gaussian"),                                                               \
        SHAPE("sources", WARN, "goldak", SOURCE_GOLDAK, .one_of = "power, path"),                  \
        KEY("sources[].goldak.surface", CHOICE, WARN, IN_SOURCE(surface), .choices = &surfaces[1], \
            .fallback = "z_max", .check = settings_check_source_surface),                          \
        HALF_AXIS("sources[].goldak.front", front), HALF_AXIS("sources[].goldak.rear", rear),      \
        HALF_AXIS("sources[].goldak.width", width), HALF_AXIS("sources[].goldak.depth", depth),    \
        KEY("sources[].goldak.front_share", REAL, WARN, IN_SOURCE(front_share),                    \
            .flags = SCHEMA_OR_AUTO, .alternative = IN_SOURCE(share_auto), .limit = &fraction,     \
            .fallback = "auto"),                                                                   \
        MOVES("sources[].goldak")

#define SOURCE_ROWS                                                                                \
    LIST("sources", WARN, AT(sources), AT(nsources), struct source_setting,                        \
         .flags = SCHEMA_ONE_KIND,                                                                 \
         .example = "- box: {lower: [0, 0, 0], upper: [1, 1, 0.1], power: 5}",                     \
         .max_count = MOST_SOURCES, .check = settings_check_source),                               \
        SHAPE("sources", WARN, "uniform", INITIAL_UNIFORM, POWERED), DENSITY("sources[].uniform"), \
        SHAPES("sources", WARN, DENSITY, POWERED),                                                 \
        SHAPE("sources", WARN, "expression", INITIAL_EXPRESSION, POWERED),                         \
        KEY("sources[].expression.where", FORMULA, WARN, IN_ENTRY(expression),                     \
            .flags = SCHEMA_REQUIRED, .variables = "x, y, z", .example = "\"z < 0.1*sin(x)\""),    \
        DENSITY("sources[].expression"), SHAPE("sources", WARN, "file", INITIAL_FILE),             \
        KEY("sources[].file.path", TEXT, WARN, IN_ENTRY(path),                                     \
            .flags = SCHEMA_REQUIRED | SCHEMA_FILE, .example = "power.h5"),                        \
        KEY("sources[].file.dataset", TEXT, WARN, IN_ENTRY(dataset), .fallback = "/source"),       \
        SOURCE_NAME("sources[].file"), MOVING_ROWS
