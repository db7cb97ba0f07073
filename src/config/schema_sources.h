/* The rows of `sources` in the table of schema_table.c, with its macros. */
#ifndef ISOTHERM_CONFIG_SCHEMA_SOURCES_H
#define ISOTHERM_CONFIG_SCHEMA_SOURCES_H

#define IN_SOURCE(member) offsetof(struct source_setting, member)

/* A number or a formula of t. */
#define OF_TIME(path_, member_, help_, ...)                                                        \
    KEY(path_, REAL, WARN, IN_SOURCE(member_.value), help_,                                        \
        .alternative = IN_SOURCE(member_.formula), .variables = "t", __VA_ARGS__)
#define SOURCE_NAME(path_)                                                                         \
    KEY(path_ ".name", TEXT, WARN, IN_SOURCE(name), "A name, for messages.", .example = "heater"), \
        OF_TIME(path_ ".factor", factor,                                                           \
                "A factor of the source: a number or a formula of the time t in s, which is "      \
                "taken at the middle of each step.",                                               \
                .flags = SCHEMA_OR_FORMULA, .limit = &finite, .fallback = "1",                     \
                .example = "\"t < 0.5 ? 1 : 0\"")
#define DENSITY(path_)                                                                             \
    KEY(path_ ".material", TEXT, WARN, IN_ENTRY(material),                                         \
        "Only the cells of this material. Left out: of all.", .example = "steel"),                 \
        KEY(path_ ".density", REAL, WARN, IN_SOURCE(density),                                      \
            "The heat per volume and time; below 0 a sink.", .limit = &finite, .rival = "power",   \
            .unit = &power_density),                                                               \
        KEY(path_ ".power", REAL, WARN, IN_SOURCE(power.value),                                    \
            "Instead of `density`: the heat per time of all its cells together.",                  \
            .limit = &finite, .rival = "density", .unit = &power, .flags = SCHEMA_NOTED,           \
            .alternative = IN_SOURCE(by_power)),                                                   \
        SOURCE_NAME(path_)

#define SOURCE_ROWS                                                                                \
    LIST("sources", WARN, AT(sources), AT(nsources), struct source_setting,                        \
         "Heat sources: a list of entries, each of one kind. Where several overlap, they add. "    \
         "The first kinds are shapes of cells, as in `initial`.",                                  \
         .example = "- box: {lower: [0, 0, 0], upper: [1, 1, 0.1], power: 5}",                     \
         .check = settings_check_source),                                                          \
        SHAPE("sources", WARN, "uniform", INITIAL_UNIFORM, "All cells, or all of a material."),    \
        DENSITY("sources[].uniform"), SHAPES("sources", WARN, DENSITY),                            \
        SHAPE("sources", WARN, "expression", INITIAL_EXPRESSION,                                   \
              "The cells at whose centre a condition holds."),                                     \
        KEY("sources[].expression.where", FORMULA, WARN, IN_ENTRY(expression),                     \
            "A condition on the centre (x, y, z) of a cell, in m; a number other than 0 also "     \
            "holds.",                                                                              \
            .flags = SCHEMA_REQUIRED, .variables = "x, y, z", .example = "\"z < 0.1*sin(x)\""),    \
        DENSITY("sources[].expression")

#endif
