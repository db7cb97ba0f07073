/* The rows of probes and lines in the table of schema_table.c, with its macros. */
#pragma once

#define IN_PROBE(member) offsetof(struct probe_setting, member)
#define IN_LINE(member) offsetof(struct line_setting, member)

#define SAMPLE_ROWS                                                                                \
    SECTION("output.probes", .one_of = CADENCE_KEYS),                                              \
        CADENCE("output.probes", AT(output.probes.cadence)),                                       \
        LIST("output.probes.points", FREE, AT(output.probes.points), AT(output.probes.npoints),    \
             struct probe_setting, .flags = SCHEMA_REQUIRED,                                       \
             .example = "- {name: core, at: [0.5, 0.5, 0.5]}", .check = settings_check_probe),     \
        KEY("output.probes.points[].name", TEXT, FREE, IN_PROBE(name), .flags = SCHEMA_REQUIRED,   \
            .example = "core"),                                                                    \
        POINT("output.probes.points[].at", FREE, IN_PROBE(at), .check = settings_check_inside),    \
        KEY("output.probes.points[].side", CHOICE, FREE, IN_PROBE(side), .choices = sides,         \
            .fallback = "below"),                                                                  \
        SECTION("output.probes.points[].impedance", .flags = SCHEMA_NOTED,                         \
                .alternative = IN_PROBE(has_impedance), .one_of = "reference, to",                 \
                .check = settings_check_impedance),                                                \
        KEY("output.probes.points[].impedance.reference", REAL, FREE, IN_PROBE(reference),         \
            .flags = SCHEMA_NOTED, .alternative = IN_PROBE(has_reference), .rival = "to",          \
            .limit = &temperature, .unit = &kelvin, .check = settings_check_kelvins),              \
        KEY("output.probes.points[].impedance.to", TEXT, FREE, IN_PROBE(to), .rival = "reference", \
            .example = "case", .check = settings_check_impedance_to),                              \
        KEY("output.probes.points[].impedance.source", TEXT, FREE, IN_PROBE(source),               \
            .example = "heater", .check = settings_check_impedance_source),                        \
        LIST("output.lines", FREE, AT(output.lines), AT(output.nlines), struct line_setting,       \
             .example =                                                                            \
                 "- {name: axis, from: [0, 0.5, 0.5], to: [1, 0.5, 0.5], points: 101, every: 10}", \
             .one_of = CADENCE_KEYS, .check = settings_check_file),                                \
        KEY("output.lines[].name", TEXT, FREE, IN_LINE(name), .flags = SCHEMA_REQUIRED,            \
            .example = "axis"),                                                                    \
        POINT("output.lines[].from", FREE, IN_LINE(from), .check = settings_check_inside),         \
        POINT("output.lines[].to", FREE, IN_LINE(to), .check = settings_check_inside),             \
        KEY("output.lines[].points", LONG, FREE, IN_LINE(points), .flags = SCHEMA_REQUIRED,        \
            .limit = &point_count),                                                                \
        CADENCE("output.lines[]", IN_LINE(cadence))
