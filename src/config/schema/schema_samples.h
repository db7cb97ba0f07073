/* The rows of probes and lines in the table of schema_table.c, with its macros. */
#pragma once

#define IN_PROBE(member) offsetof(struct probe_setting, member)
#define IN_LINE(member) offsetof(struct line_setting, member)

#define SAMPLE_ROWS                                                                                \
    SECTION("output.probes", "The temperature at points, in `probes.csv`. Off when left out.",     \
            .one_of = CADENCE_KEYS),                                                               \
        CADENCE("output.probes", AT(output.probes.cadence)),                                       \
        LIST("output.probes.points", FREE, AT(output.probes.points), AT(output.probes.npoints),    \
             struct probe_setting,                                                                 \
             "The points. The temperature is interpolated between cell centres, linearly in each " \
             "cell, and within half a cell of a face towards the temperature of the face.",        \
             .flags = SCHEMA_REQUIRED, .example = "- {name: core, at: [0.5, 0.5, 0.5]}",           \
             .check = settings_check_probe),                                                       \
        KEY("output.probes.points[].name", TEXT, FREE, IN_PROBE(name),                             \
            "The name of the column. Use letters, digits, _ and -.", .flags = SCHEMA_REQUIRED,     \
            .example = "core"),                                                                    \
        POINT("output.probes.points[].at", FREE, IN_PROBE(at), "The position, inside the grid.",   \
              .check = settings_check_inside),                                                     \
        KEY("output.probes.points[].side", CHOICE, FREE, IN_PROBE(side),                           \
            "At a contact resistance, where the temperature jumps: the side of the point.",        \
            .choices = sides, .fallback = "below"),                                                \
        SECTION("output.probes.points[].impedance",                                                \
                "Also the thermal impedance of the probe, (T - reference) / power, as the column " \
                "Zth_NAME_K_per_W. It uses the power in the step before the row; `nan` where it "  \
                "is 0.",                                                                           \
                .flags = SCHEMA_NOTED, .alternative = IN_PROBE(has_impedance),                     \
                .one_of = "reference, to", .check = settings_check_impedance),                     \
        KEY("output.probes.points[].impedance.reference", REAL, FREE, IN_PROBE(reference),         \
            "The temperature of the reference, such as the ambient temperature.",                  \
            .flags = SCHEMA_NOTED, .alternative = IN_PROBE(has_reference), .rival = "to",          \
            .limit = &temperature, .unit = &kelvin, .check = settings_check_kelvins),              \
        KEY("output.probes.points[].impedance.to", TEXT, FREE, IN_PROBE(to),                       \
            "Instead of `reference`: the name of the probe whose temperature is the reference.",   \
            .rival = "reference", .example = "case", .check = settings_check_impedance_to),        \
        KEY("output.probes.points[].impedance.source", TEXT, FREE, IN_PROBE(source),               \
            "The name of the sources whose power counts. Left out: all sources.",                  \
            .example = "heater", .check = settings_check_impedance_source),                        \
        LIST("output.lines", FREE, AT(output.lines), AT(output.nlines), struct line_setting,       \
             "The temperature along straight lines, in NAME.csv.",                                 \
             .example =                                                                            \
                 "- {name: axis, from: [0, 0.5, 0.5], to: [1, 0.5, 0.5], points: 101, every: 10}", \
             .one_of = CADENCE_KEYS, .check = settings_check_file),                                \
        KEY("output.lines[].name", TEXT, FREE, IN_LINE(name),                                      \
            "The file is NAME.csv. Use letters, digits, _ and -.", .flags = SCHEMA_REQUIRED,       \
            .example = "axis"),                                                                    \
        POINT("output.lines[].from", FREE, IN_LINE(from), "The first point.",                      \
              .check = settings_check_inside),                                                     \
        POINT("output.lines[].to", FREE, IN_LINE(to), "The last point.",                           \
              .check = settings_check_inside),                                                     \
        KEY("output.lines[].points", LONG, FREE, IN_LINE(points),                                  \
            "The number of points, evenly spaced, both ends included.", .flags = SCHEMA_REQUIRED,  \
            .limit = &point_count),                                                                \
        CADENCE("output.lines[]", IN_LINE(cadence))
