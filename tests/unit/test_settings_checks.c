/* Keys that do not fit together, and text that is no configuration: the exact messages. */
#include "test_settings_common.h"

#include "config/expression.h"

/* the whole list of initial entries */
#define INITIAL                                                                                    \
    "initial:\n"                                                                                   \
    "  - uniform: {value: 300}\n"                                                                  \
    "  - sphere: {center: [0.1, 0.1], radius: 0.05, value: 900}\n"                                 \
    "  - box:\n"                                                                                   \
    "      lower: [0.2, 0.1]\n"                                                                    \
    "      upper: [0.3, 0.2]\n"                                                                    \
    "      value: 200\n"

static const struct damage geometry[] = {
    {"upper: [0.4, 0.3]", "upper: [0.4, 0]",
     "c.yaml:5: grid.upper: the y axis has no length (from 0 to 0); give an upper corner above the "
     "lower one"},
    {"upper: [0.4, 0.3]\n", "upper: [0.4]\n",
     "c.yaml:5: grid.upper: 1 entry ([0.4]); give 2, as many as grid.cells, or 3"},
    {"upper: [0.4, 0.3]\n", "upper: [0.4, 1e-40]\n",
     "c.yaml:5: grid.upper: the cells on the y axis would be 8.33333e-42 m thin, too thin for "
     "distinct positions; give fewer cells or a longer axis"},
    {"lower: [0, 0]\n", "lower: [0.39999999999999997, 0]\n",
     "c.yaml:5: grid.upper: the cells on the x axis would be 3.46945e-18 m thin, too thin for "
     "distinct positions; give fewer cells or a longer axis"},
    {"center: [0.1, 0.1]", "center: [0.46, 0.1]",
     "c.yaml:12: initial[1].sphere.center: the sphere lies outside the grid (it is 0.06 m away, "
     "the radius is 0.05 m); give a centre nearer to the grid or a larger radius"},
    {"center: [0.1, 0.1]", "center: [0.1]",
     "c.yaml:12: initial[1].sphere.center: 1 entry ([0.1]); give 2, as many as grid.cells, or 3"},
    {"upper: [0.3, 0.2]", "upper: [0.2, 0.2]",
     "c.yaml:15: initial[2].box.upper: the box has no length in x (from 0.2 to 0.2); give an upper "
     "corner above the lower one"},
    {"conductivity: 45\n  density: 7850\n  heat_capacity: 490",
     "conductivity: 1e-30\n  density: 1e-300\n  heat_capacity: 1e-300",
     "c.yaml:6: material: the diffusivity k / (rho c) is not a usable number (inf m^2/s); give "
     "values "
     "in SI units"},
};

static const struct damage graded[] = {
    {"cells: [16, 12]", "cells: [16, 12]\n  x: {edges: [0, 0.2, 0.4]}",
     "c.yaml:4: grid.x: the cells of this axis are given twice: grid.cells has 16; give 1 there"},
    {"cells: [16, 12]", "cells: [1, 12]\n  x: {edges: [0, 0.2, 0.2, 0.4]}",
     "c.yaml:4: grid.x.edges: not ascending: edge 2 is 0.2 m after 0.2 m; give each edge above the "
     "one before it"},
    {"cells: [16, 12]", "cells: [1, 12]\n  x: {edges: [0, 0.2]}",
     "c.yaml:4: grid.x: the upper end of the axis is 0.2 m here and 0.4 m in grid.upper; leave it "
     "out there, or give the same value"},
    {"cells: [16, 12]", "cells: [1, 12]\n  x: {edges: [0.1, 0.4]}",
     "c.yaml:4: grid.x: the lower end of the axis is 0.1 m here and 0 m in grid.lower; leave it "
     "out there, or give the same value"},
    {"cells: [16, 12]", "cells: [1, 12]\n  x: {}",
     "c.yaml:4: grid.x: neither edges nor segments; give one of them\n"
     "c.yaml:19: boundary.x_min: the x axis has one cell: leave out its faces\n"
     "c.yaml:20: boundary.x_max: the x axis has one cell: leave out its faces"},
    {"cells: [16, 12]",
     "cells: [1, 12]\n  x: {edges: [0, 0.1, 0.4], segments: [{to: 0.4, cells: 4}]}",
     "c.yaml:4: grid.x.segments[0]: given together with edges; give one of them"},
    {"cells: [16, 12]", "cells: [1, 12]\n  x: {segments: [{to: 0, cells: 4}]}",
     "c.yaml:4: grid.x.segments[0].to: 0 m is not above 0 m, where the segment begins; give "
     "segments in ascending order"},
    {"cells: [16, 12]", "cells: [1, 12]\n  x: {segments: [{to: 0.4, cells: 0}]}",
     "c.yaml:4: grid.x.segments[0].cells: out of range (0); give an integer of 1 or more"},
    {"cells: [16, 12]", "cells: [1, 12]\n  x: {segments: [{to: 0.4, cells: 4, ratio: 0}]}",
     "c.yaml:4: grid.x.segments[0].ratio: out of range (0); give a number above 0"},
    {"cells: [16, 12]", "cells: [1, 12]\n  x: {segments: [{to: 0.4, cells: 4000, ratio: 1.2}]}",
     "c.yaml:4: grid.x: cell 0 would be 0 m thin, too thin for distinct positions; give fewer "
     "cells, a longer axis or a ratio nearer to 1"},
    {"cells: [16, 12]",
     "cells: [1, 12]\n  x: {segments: [{to: 0.2, cells: 2500}, {to: 0.4, cells: 2500}]}",
     "c.yaml:4: grid.x: 5000 cells; give at most 4096 on a graded axis"},
};

static const struct damage boundaries[] = {
    {"time:", "  z_min: {type: flux, value: 0}\ntime:",
     "c.yaml:22: boundary.z_min: the z axis has one cell: leave out its faces"},
    {"[16, 12]", "[16, 1]",
     "c.yaml:20: boundary.y_min: the y axis has one cell: leave out its faces\n"
     "c.yaml:21: boundary.y_max: the y axis has one cell: leave out its faces"},
    {"ambient: 293", "ambient: 293, surroundings: 400",
     "c.yaml:20: boundary.y_min.surroundings: has no effect on a face that does not radiate; add "
     "an "
     "emissivity"},
    {"type: flux, value: -5", "type: radiation, emissivity: 1.5, ambient: 293",
     "c.yaml:19: boundary.x_max.emissivity: out of range (1.5): the largest is 1; give a number "
     "above "
     "0 and at most 1"},
    {"{type: flux, value: -5}", "{type: flux, value: 0, coefficient: 1}",
     "c.yaml:19: boundary.x_max.coefficient: not a key of type flux (1); valid keys: type, value, "
     "value_factor, patches"},
    {"{type: flux, value: -5}", "{type: periodic, value: 0}",
     "c.yaml:19: boundary.x_max.value: not a key of type periodic (0); valid keys: "
     "type"},
};

#define OR_DIFFERENCE                                                                              \
    "for a field of temperature differences give run.watch.temperature: difference"

static const struct damage kelvins[] = {
    {"uniform: {value: 300}", "uniform: {value: -20}",
     "c.yaml:11: initial[0].uniform.value: kelvins? -20 K is below absolute zero; did you mean "
     "253.15 (-20 degC)? " OR_DIFFERENCE},
    {"value: 350", "value: -40",
     "c.yaml:18: boundary.x_min.value: kelvins? -40 K is below absolute zero; did you mean 233.15 "
     "(-40 degC)? " OR_DIFFERENCE},
    {"ambient: 293", "ambient: -10",
     "c.yaml:20: boundary.y_min.ambient: kelvins? -10 K is below absolute zero; did you mean "
     "263.15 (-10 degC)? " OR_DIFFERENCE},
    {"time:", "run: {watch: {temperature: celsius}}\ntime:",
     "c.yaml:22: run.watch.temperature: unknown (celsius); give one of absolute, difference"},
};

TEST(test_kelvins)
{
    EXPECT_ALL(kelvins);
    static const char *const difference[] = {"run.watch.temperature=difference"};
    for (size_t i = 0; i + 1 < sizeof kelvins / sizeof kelvins[0]; i++) {
        char *text = base_with(kelvins[i].from, kelvins[i].to);
        settings_destroy(read_good(text, difference, 1));
        free(text);
    }
    char *zero = base_with("value: 350", "value: 0");
    settings_destroy(read_good(zero, NULL, 0));
    free(zero);
}

#define KNOWN(variables)                                                                           \
    "names are " variables ", pi, e, functions " EXPRESSION_FUNCTIONS                              \
    "; give a number or a formula in " variables

static const struct damage formulas[] = {
    {"300 + t", "300 + t K\\n",
     "c.yaml:21: boundary.y_max.value: not a formula: unknown name \"K\" at column 9 (300 + t "
     "K); " KNOWN("x, y, z, t")},
    {"300 + t", "300 + sin(",
     "c.yaml:21: boundary.y_max.value: not a formula: Unexpected end of expression at column 12 "
     "(300 + sin(); give a number or a formula in x, y, z, t"},
    {"300 + t", "inf",
     "c.yaml:21: boundary.y_max.value: not a formula: unknown name \"inf\" at column 1 "
     "(inf); " KNOWN("x, y, z, t")},
    {"300 + t", "t = 300",
     "c.yaml:21: boundary.y_max.value: not a formula: '=' (for '=='?) at column 3 (t = 300); give "
     "a number or a formula in x, y, z, t"},
    {"300 + t", "300 + t**2",
     "c.yaml:21: boundary.y_max.value: not a formula: '**' (for '^'?) at column 8 (300 + t**2); "
     "give a number or a formula in x, y, z, t"},
    {"300 + t", "300, 301",
     "c.yaml:21: boundary.y_max.value: not a formula: 2 values separated by commas (300, 301); "
     "give a number or a formula in x, y, z, t"},
    {"300 + t", "",
     "c.yaml:21: boundary.y_max.value: empty; give a number, a formula in x, y, z, t or a table "
     "of t, in K"},
    {"uniform: {value: 300}", "expression: {value: \"300+*x\"}",
     "c.yaml:11: initial[0].expression.value: not a formula: Unexpected operator \"*\" at column 5 "
     "(300+*x); give a number or a formula in x, y, z"},
    {"uniform: {value: 300}", "expression: {value: 300 + t}",
     "c.yaml:11: initial[0].expression.value: not a formula: unknown name \"t\" at column 7 (300 + "
     "t); " KNOWN("x, y, z")},
    {"uniform: {value: 300}", "expression: {value: \"\"}",
     "c.yaml:11: initial[0].expression.value: empty; give a formula in x, y, z, in K, such as "
     "\"300 + 10*sin(pi*x)\""},
};

static const struct damage entries[] = {
    {"- uniform: {value: 300}", "- uniform: {value: 300}\n    box: {}",
     "c.yaml:12: initial[0]: two kinds in one entry (uniform, box); begin a new entry with '- "
     "box:'"},
    {INITIAL, "initial: []\n",
     "c.yaml:10: initial: empty ([]); give a list of entries, such as - uniform: {value: 300}"},
    {INITIAL, "initial: {uniform: {value: 3}}\n",
     "c.yaml:10: initial: not a list ({...}); give a list of entries, such as - uniform: {value: "
     "300}"},
    {"- uniform: {value: 300}", "- {}",
     "c.yaml:11: initial[0]: not an entry ({...}); give exactly one of: uniform, sphere, box, "
     "cylinder, layer, expression, steady, file"},
    {"uniform: {value: 300}", "file: {path: \"\"}",
     "c.yaml:11: initial[0].file.path: empty; give a string, such as start.h5"},
    {"end: 10", "end: 10\n  steps: 5",
     "c.yaml:24: time.steps: given together with end; give one of them"},
    {"time:", "output: {pictures: {every: 1, range: [400, 300]}}\ntime:",
     "c.yaml:22: output.pictures.range: not a range (from 400 to 300); give the lower temperature "
     "first"},
};

static const struct damage yaml[] = {
    {"end: 10", "\tend: 10",
     "c.yaml:23: not valid YAML: found character that cannot start any token while scanning for "
     "the next token; indent with spaces, not tabs"},
    {"title: base", "title: [base",
     "c.yaml:2: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence"},
    {"title: base", "title: \"base",
     "c.yaml:21: not valid YAML: did not find expected key while parsing a block mapping"},
    {"title: base", "title: *x", "c.yaml:1: not valid YAML: found undefined alias"},
    {"time:", "---\ntime:", "c.yaml:22: a second YAML document starts here; give one"},
    {"  end: 10\n", "  end: 10\n---\nmore: 1\n",
     "c.yaml:24: a second YAML document starts here; give one"},
    {"title: base", "? [a]\n: b", "c.yaml:1: a key is not a plain word; write 'key: value'"},
    {"title: base", "a: &a [*a]", "c.yaml:1: nested deeper than 16 levels; use fewer"},
    {"title: base", "title: \"a\\0b\"", "c.yaml:1: a string contains a zero byte; remove it"},
    {"title: base", "title: base: x",
     "c.yaml:1: not valid YAML: mapping values are not allowed in this context"},
    {"  end", "      end: 3\n  end",
     "c.yaml:24: not valid YAML: did not find expected key while parsing a block mapping"},
};

TEST_REFUSED(geometry)
TEST_REFUSED(graded)
TEST_REFUSED(boundaries)
TEST_REFUSED(formulas)
TEST_REFUSED(entries)
TEST_REFUSED(yaml)

TEST_MAIN(NULL, NULL)
