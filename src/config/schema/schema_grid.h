/* The rows of graded axes in the table of schema_table.c, with its macros. */
#pragma once

#define IN_AXIS(member) offsetof(struct axis_setting, member)
#define IN_SEGMENT(member) offsetof(struct segment_setting, member)

#define GRADED_AXIS(name_, axis_)                                                                  \
    SECTION("grid." name_, "Cells of different widths on the " name_ " axis.",                     \
            .members = "grid.*", .offset = AT(grid.axis[axis_]), .flags = SCHEMA_NOTED,            \
            .alternative = AT(grid.axis[axis_].given), .one_of = "edges, segments")

static const struct schema_choice geometries[] = {{"cartesian", GEOMETRY_CARTESIAN},
                                                  {"axisymmetric", GEOMETRY_AXISYMMETRIC},
                                                  {"spherical", GEOMETRY_SPHERICAL},
                                                  {NULL, 0}};

#define GRID_ROWS                                                                                  \
    KEY("grid.geometry", CHOICE, NEVER, AT(grid.geometry),                                         \
        "`axisymmetric`: the first axis (x) is the radius and the second one (y), if in use, the " \
        "axis of rotation; `spherical`: x is the radius of a sphere. Both have at most 255 cells " \
        "along the radius, fewer with several materials, and the limits of graded axes.",          \
        .choices = geometries, .fallback = "cartesian"),                                           \
        GRADED_AXIS("x", AXIS_X), GRADED_AXIS("y", AXIS_Y), GRADED_AXIS("z", AXIS_Z),              \
        KEY("grid.*.edges", REAL, NEVER, IN_AXIS(edges),                                           \
            "Cells of different widths on an axis, `grid.x`, `grid.y` or `grid.z`, which then "    \
            "has 1 in `grid.cells`: their edges, ascending, from the lower end of the grid to "    \
            "the upper one.",                                                                      \
            .min_count = 2, .max_count = MOST_EDGES, .limit = &finite, .unit = &metre,             \
            .rival = "segments", .example = "[0 mm, 1 mm, 1.5 mm, 2 mm]"),                         \
        LIST("grid.*.segments", NEVER, IN_AXIS(segments), IN_AXIS(nsegments),                      \
             struct segment_setting,                                                               \
             "Instead of edges: stretches of the axis, one after the other from `grid.lower` on.", \
             .rival = "edges", .example = "- {to: 2 mm, cells: 20, ratio: 1.1}"),                  \
        KEY("grid.*.segments[].to", REAL, NEVER, IN_SEGMENT(to), "The upper end.",                 \
            .flags = SCHEMA_REQUIRED, .limit = &finite, .unit = &metre),                           \
        KEY("grid.*.segments[].cells", LONG, NEVER, IN_SEGMENT(cells), "The number of cells.",     \
            .flags = SCHEMA_REQUIRED, .limit = &graded_cells),                                     \
        KEY("grid.*.segments[].ratio", REAL, NEVER, IN_SEGMENT(ratio),                             \
            "The width of each cell over that of the cell before it.", .limit = &positive,         \
            .fallback = "1")
