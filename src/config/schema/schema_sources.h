/* The rows of `sources` in the table of schema_table.c, with its macros. */
#pragma once

#define IN_SOURCE(member) offsetof(struct source_setting, member)

/* A number or a formula of t. */
#define OF_TIME(path_, member_, help_, ...)                                                        \
    KEY(path_, REAL, WARN, IN_SOURCE(member_.value), help_, .alternative = IN_SOURCE(member_),     \
        .variables = "t", __VA_ARGS__)
#define SOURCE_NAME(path_)                                                                         \
    KEY(path_ ".name", TEXT, WARN, IN_SOURCE(name), "A name, for messages.", .example = "heater"), \
        OF_TIME(path_ ".factor", factor,                                                           \
                "A factor of the source: a number or a formula of the time t in s, which is "      \
                "taken at the middle of each step.",                                               \
                .flags = SCHEMA_OR_FORMULA, .limit = &finite, .fallback = "1",                     \
                .example = "\"t < 0.5 ? 1 : 0\"")
#define POWERED .one_of = "density, power"
#define DENSITY(path_)                                                                             \
    KEY(path_ ".material", TEXT, WARN, IN_ENTRY(material),                                         \
        "The material of the heated cells. Left out: all cells.", .example = "steel",              \
        .check = settings_check_source_material),                                                  \
        KEY(path_ ".density", REAL, WARN, IN_SOURCE(density),                                      \
            "The heat per volume and time; below 0 a sink. Or a table over temperature, which "    \
            "costs a pass and excludes a `factor` that is a formula; the run ends with a message " \
            "where a temperature exceeds the last row and the heat grows up to it.",               \
            .flags = SCHEMA_OR_TABLE, .alternative = IN_SOURCE(density_table), .limit = &finite,   \
            .rival = "power", .unit = &power_density, .example = "[[300, 1e6], [400, 4e6]]"),      \
        KEY(path_ ".profile", FORMULA, WARN, IN_SOURCE(profile),                                   \
            "A factor of the density: a formula of the centre (x, y, z) of a cell, in m, rounded " \
            "to float32. In the layer of cells at a face, of the thickness h, a heat flux "        \
            "divided "                                                                             \
            "by h. It costs a pass.",                                                              \
            .variables = "x, y, z", .needs = "density", .example = "\"exp(-x^2/1e-6)\""),          \
        KEY(path_ ".power", REAL, WARN, IN_SOURCE(power.value),                                    \
            "Instead of `density`: the heat per time of all its cells together.",                  \
            .limit = &finite, .rival = "density", .unit = &power, .flags = SCHEMA_NOTED,           \
            .alternative = IN_SOURCE(by_power)),                                                   \
        SOURCE_NAME(path_)

#define MOVES(path_)                                                                               \
    KEY(path_ ".path", TEXT, WARN, IN_SOURCE(path),                                                \
        "A CSV file of rows t, x, y, z, power, in s, m and W, with t increasing; linear between "  \
        "the rows, no heat before the first and after the last. The power is left out if the "     \
        "key `power` is given. Or a scan path of rows Mode, X, Y, Z, Power, Param: mode 0 is a "   \
        "line to that point at the speed Param, mode 1 a spot for the duration Param; lengths "    \
        "are in mm if the line of names has X(mm). With the key `power`, its Power is a factor.",  \
        .example = "track.csv", .flags = SCHEMA_FILE),                                             \
        OF_TIME(path_ ".x", at[AXIS_X], "Instead of `path`: the x position, a formula of t.",      \
                .flags = SCHEMA_OR_FORMULA, .limit = &finite, .unit = &metre, .rival = "path",     \
                .check = settings_check_source_position, .example = "\"0.8*t\""),                  \
        OF_TIME(path_ ".y", at[AXIS_Y], "The y position.", .flags = SCHEMA_OR_FORMULA,             \
                .limit = &finite, .unit = &metre, .rival = "path",                                 \
                .check = settings_check_source_position),                                          \
        OF_TIME(path_ ".z", at[AXIS_Z], "The z position.", .flags = SCHEMA_OR_FORMULA,             \
                .limit = &finite, .unit = &metre, .rival = "path",                                 \
                .check = settings_check_source_position),                                          \
        OF_TIME(path_ ".power", power,                                                             \
                "The power, a number or a formula of t; required without `path`.",                 \
                .flags = SCHEMA_OR_FORMULA, .limit = &finite, .unit = &power),                     \
        KEY(path_ ".absorptivity", REAL, WARN, IN_SOURCE(absorptivity),                            \
            "The share of the power that heats.", .limit = &fraction, .fallback = "1"),            \
        SOURCE_NAME(path_)
#define HALF_AXIS(path_, member_, help_)                                                           \
    KEY(path_, REAL, WARN, IN_SOURCE(member_), help_, .flags = SCHEMA_REQUIRED,                    \
        .limit = &positive, .unit = &metre)

#define MOVING_ROWS                                                                                \
    SHAPE("sources", WARN, "gaussian", SOURCE_GAUSSIAN,                                            \
          "A beam with a Gaussian profile, moving or at rest: exp(-2 d^2) of the peak at d radii " \
          "from its centre. The part outside the grid is lost.",                                   \
          .one_of = "power, path"),                                                                \
        KEY("sources[].gaussian.surface", CHOICE, WARN, IN_SOURCE(surface),                        \
            "The face that it heats: the layer of cells there. `none`: the volume.",               \
            .choices = surfaces, .fallback = "none", .check = settings_check_source_surface),      \
        KEY("sources[].gaussian.radius", REAL, WARN, IN_SOURCE(radius),                            \
            "The radius to 1/e^2 of the peak; three values for x, y, z.",                          \
            .flags = SCHEMA_REQUIRED | SCHEMA_SAME, .min_count = 1, .max_count = 3,                \
            .limit = &positive, .unit = &metre, .example = "[50e-6, 50e-6, 30e-6]",                \
            .check = settings_check_source_radius),                                                \
        MOVES("sources[].gaussian"),                                                               \
        SHAPE("sources", WARN, "goldak", SOURCE_GOLDAK,                                            \
              "Goldak's double ellipsoid, which moves along a face: exp(-3 d^2) of the peak at d " \
              "half axes from its centre, in the half space below.",                               \
              .one_of = "power, path"),                                                            \
        KEY("sources[].goldak.surface", CHOICE, WARN, IN_SOURCE(surface),                          \
            "The face from which it is deep.", .choices = &surfaces[1], .fallback = "z_max",       \
            .check = settings_check_source_surface),                                               \
        HALF_AXIS("sources[].goldak.front", front, "The half axis ahead of the centre."),          \
        HALF_AXIS("sources[].goldak.rear", rear, "The half axis behind it."),                      \
        HALF_AXIS("sources[].goldak.width", width, "The half axis to both sides."),                \
        HALF_AXIS("sources[].goldak.depth", depth, "The half axis into the body."),                \
        KEY("sources[].goldak.front_share", REAL, WARN, IN_SOURCE(front_share),                    \
            "The share of the power ahead of the centre. `auto`: front / (front + rear), which "   \
            "makes the density continuous.",                                                       \
            .flags = SCHEMA_OR_AUTO, .alternative = IN_SOURCE(share_auto), .limit = &fraction,     \
            .fallback = "auto"),                                                                   \
        MOVES("sources[].goldak")

#define SOURCE_ROWS                                                                                \
    LIST("sources", WARN, AT(sources), AT(nsources), struct source_setting,                        \
         "Heat sources: a list of entries, each of one kind. Where several overlap, they add. "    \
         "The first kinds are shapes of cells, as in `initial`.",                                  \
         .flags = SCHEMA_ONE_KIND,                                                                 \
         .example = "- box: {lower: [0, 0, 0], upper: [1, 1, 0.1], power: 5}",                     \
         .max_count = MOST_SOURCES, .check = settings_check_source),                               \
        SHAPE("sources", WARN, "uniform", INITIAL_UNIFORM, "All cells, or all of a material.",     \
              POWERED),                                                                            \
        DENSITY("sources[].uniform"), SHAPES("sources", WARN, DENSITY, POWERED),                   \
        SHAPE("sources", WARN, "expression", INITIAL_EXPRESSION,                                   \
              "The cells at whose centre a condition holds.", POWERED),                            \
        KEY("sources[].expression.where", FORMULA, WARN, IN_ENTRY(expression),                     \
            "A condition on the centre (x, y, z) of a cell, in m; a number other than 0 also "     \
            "holds.",                                                                              \
            .flags = SCHEMA_REQUIRED, .variables = "x, y, z", .example = "\"z < 0.1*sin(x)\""),    \
        DENSITY("sources[].expression"),                                                           \
        SHAPE("sources", WARN, "file", INITIAL_FILE,                                               \
              "Densities from an HDF5 file, of the shape of the grid. Each step then reads and "   \
              "writes the field once more."),                                                      \
        KEY("sources[].file.path", TEXT, WARN, IN_ENTRY(path), INPUT_FILE,                         \
            .flags = SCHEMA_REQUIRED | SCHEMA_FILE, .example = "power.h5"),                        \
        KEY("sources[].file.dataset", TEXT, WARN, IN_ENTRY(dataset),                               \
            "The dataset, of numbers in W/m^3 and of shape (nz, ny, nx); in 2D also (ny, nx). "    \
            "Rounded to float32.",                                                                 \
            .fallback = "/source"),                                                                \
        SOURCE_NAME("sources[].file"), MOVING_ROWS
