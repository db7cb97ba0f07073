/* The rows of graded axes in the table of schema_table.c, with its macros. */
#pragma once

#define IN_AXIS(member) offsetof(struct axis_setting, member)
#define IN_SEGMENT(member) offsetof(struct segment_setting, member)

#define GRADED_AXIS(name_, axis_)                                                                  \
    SECTION("grid." name_, .members = "grid.*", .offset = AT(grid.axis[axis_]),                    \
            .flags = SCHEMA_NOTED, .alternative = AT(grid.axis[axis_].given),                      \
            .one_of = "edges, segments")

static const struct schema_choice geometries[] = {{"cartesian", GEOMETRY_CARTESIAN},
                                                  {"axisymmetric", GEOMETRY_AXISYMMETRIC},
                                                  {"spherical", GEOMETRY_SPHERICAL},
                                                  {NULL, 0}};

#define GRID_ROWS                                                                                  \
    KEY("grid.geometry", CHOICE, NEVER, AT(grid.geometry), .choices = geometries,                  \
        .fallback = "cartesian"),                                                                  \
        GRADED_AXIS("x", AXIS_X), GRADED_AXIS("y", AXIS_Y), GRADED_AXIS("z", AXIS_Z),              \
        KEY("grid.*.edges", REAL, NEVER, IN_AXIS(edges), .min_count = 2, .max_count = MOST_EDGES,  \
            .limit = &finite, .unit = &metre, .rival = "segments",                                 \
            .example = "[0 mm, 1 mm, 1.5 mm, 2 mm]"),                                              \
        LIST("grid.*.segments", NEVER, IN_AXIS(segments), IN_AXIS(nsegments),                      \
             struct segment_setting, .rival = "edges",                                             \
             .example = "- {to: 2 mm, cells: 20, ratio: 1.1}"),                                    \
        KEY("grid.*.segments[].to", REAL, NEVER, IN_SEGMENT(to), .flags = SCHEMA_REQUIRED,         \
            .limit = &finite, .unit = &metre),                                                     \
        KEY("grid.*.segments[].cells", LONG, NEVER, IN_SEGMENT(cells), .flags = SCHEMA_REQUIRED,   \
            .limit = &graded_cells),                                                               \
        KEY("grid.*.segments[].ratio", REAL, NEVER, IN_SEGMENT(ratio), .limit = &positive,         \
            .fallback = "1")
