/* What has changed between two configurations, and what a restart makes of it: every key of the
 * schema in turn, and what is said. */
#include "test_settings_common.h"

#include "config/schema/schema.h"
#include "config/settings_changes.h"

/* Every key applies somewhere: the faces have all types, `initial` all kinds, and there is one
 * entry of each list. */
static const char full_text[] =
    "grid: {cells: [1, 1, 8], lower: [0, 0, 0], upper: [0.4, 0.3, 0.2],\n"
    "  x: {edges: [0, 0.3, 0.4]}, y: {segments: [{to: 0.3, cells: 12, ratio: 1.1}]}}\n"
    "materials: [{name: a, conductivity: 45, density: 7850, heat_capacity: 490},\n"
    "            {name: b, conductivity: [1, 2, 3], density: 7850, heat_capacity: 490}]\n"
    "parts:\n"
    "  - uniform: {material: a}\n"
    "  - sphere: {center: [0.1, 0.1, 0.1], radius: 0.05, material: b}\n"
    "  - box: {lower: [0.1, 0.1, 0.1], upper: [0.2, 0.2, 0.2], material: b}\n"
    "  - cylinder: {axis: y, center: [0.1, 0.1, 0.1], radius: 0.05, from: 0, to: 0.1, material: "
    "b}\n"
    "  - layer: {axis: z, from: 0.05, to: 0.1, material: b}\n"
    "  - expression: {where: x < y, material: b}\n"
    "  - file: {path: parts.h5, materials: [b, a]}\n"
    "  - stl: {path: a.stl, scale: 0.1, turn: [0, 0, 90], move: [0, 0, 1], material: a}\n"
    "contacts: [{between: [a, b], resistance: 1}]\n"
    "ambients: [{name: c, temperature: 300}]\n"
    "surfaces: [{name: d, between: [a, c], coefficient: 1}]\n"
    "sources:\n"
    "  - uniform: {material: a, density: 1}\n"
    "  - sphere: {center: [0.1, 0.1, 0.1], radius: 0.1, power: 1}\n"
    "  - box: {lower: [0, 0, 0], upper: [0.1, 0.1, 0.1], density: 1}\n"
    "  - cylinder: {axis: z, center: [0.1, 0.1, 0.1], radius: 0.1, from: 0,\n"
    "      to: 0.1, density: 1}\n"
    "  - layer: {axis: z, from: 0, to: 0.1, density: 1}\n"
    "  - expression: {where: x > 0, density: 1}\n"
    "  - gaussian: {surface: z_max, radius: 1, power: 1, x: 0.1, y: 0.1, z: 0.1}\n"
    "  - file: {path: a.h5}\n"
    "  - goldak: {front: 1, rear: 1, width: 1, depth: 1, power: 1, x: 0.1, y: 0.1, z: 0.1}\n"
    "initial:\n"
    "  - uniform: {value: 300}\n"
    "  - sphere: {center: [0.1, 0.1, 0.1], radius: 0.05, value: 900}\n"
    "  - box: {lower: [0.1, 0.1, 0.1], upper: [0.2, 0.2, 0.2], value: 200}\n"
    "  - expression: {value: 300 + x}\n"
    "  - file: {path: start.h5}\n"
    "  - cylinder: {axis: y, center: [0.1, 0.1, 0.1], radius: 0.05, from: 0, to: 0.1, value: 200}\n"
    "  - layer: {axis: z, from: 0.05, to: 0.1, value: 200}\n"
    "boundary:\n"
    "  x_min: {type: temperature, value: 350, patches: [\n"
    "    {name: a, rectangle: {lower: [0, 0], upper: [0.1, 0.1]}, type: temperature, value: 3},\n"
    "    {disc: {center: [0, 0], radius: 0.1}, type: flux, value: 3},\n"
    "    {where: y < 0.1, type: convection, coefficient: 3, ambient: 3},\n"
    "    {where: y < 0.1, type: radiation, emissivity: 0.3, ambient: 3}]}\n"
    "  x_max: {type: flux, value: -5}\n"
    "  y_min: {type: convection, coefficient: 10, ambient: 293}\n"
    "  y_max: {type: radiation, emissivity: 0.8, ambient: 300 + t}\n"
    "  z_min: {type: periodic}\n"
    "  z_max: {type: periodic}\n"
    "time: {steps: 10, dt: 0.01}\n"
    "run: {walltime: 60, decomposition: [1, 1, 1]}\n"
    "output:\n"
    "  snapshots: {every: 2}\n"
    "  regions: [{name: part, every: 3, box: {lower: [0, 0, 0], upper: [0.1, 0.1, 0.1]},\n"
    "             slice: {axis: z, at: 0.05}}]\n"
    "  derived: {isotherm: 400, threshold: 500}\n"
    "  probes: {every: 1, points: [{name: core, at: [0.1, 0.1, 0.1]}]}\n"
    "  lines: [{name: axis, from: [0, 0, 0], to: [0.1, 0.1, 0.1], points: 3, every: 1}]\n"
    "  checkpoints: {every: 5}\n"
    "  pictures: {every: 5, range: [273, 900]}\n";

static struct settings_changes compare_texts(const char *before, const char *now,
                                             const char *const *sets, int nsets)
{
    struct settings *first = read_good(before, NULL, 0);
    struct settings *second = read_good(now, sets, nsets);
    struct settings_changes changes;
    assert_int_equal(settings_compare(first, second, &changes), STATUS_OK);
    settings_destroy(first);
    settings_destroy(second);
    return changes;
}

/* ---- every key --------------------------------------------------------------------------------
 */

static bool needs_class(const struct schema_key *row)
{
    return row->type != SCHEMA_SECTION || row->kinds != 0;
}

TEST(test_every_key_says_what_a_restart_does)
{
    for (const struct schema_key *row = schema_table(); row->path != NULL; row++) {
        if (needs_class(row) && row->restart == SCHEMA_RESTART_UNSAID) {
            fail_msg("%s does not say what a restart makes of a change", row->path);
        }
    }
}

/* Where the values of a row lie, and the key in full. NULL: the row is of no value. */
static char *find_values(struct settings *s, const struct schema_key *row, char key[TREE_KEY_BYTES])
{
    const struct {
        const char *prefix, *shown;
        int kind;   /* of the face or entry that `shown` is; -1: any */
        void *base; /* of its values */
    } places[] = {
#define PATCH(n) &s->boundary[FACE_X_MIN].patches[n]
        {"boundary.*.patches[].rectangle.", "boundary.x_min.patches[0].rectangle.", -1, PATCH(0)},
        {"boundary.*.patches[].disc.", "boundary.x_min.patches[1].disc.", -1, PATCH(1)},
        {"boundary.*.patches[].where", "boundary.x_min.patches[2].where", -1, PATCH(2)},
#define FACTOR_OF(name)                                                                            \
    {"boundary.*.patches[]." name, "boundary.x_min.patches[2]." name, -1, PATCH(2)},               \
        {"boundary.*." name, "boundary.y_min." name, -1, &s->boundary[FACE_Y_MIN]}
        FACTOR_OF("coefficient_factor."),
        FACTOR_OF("ambient_factor."),
        {"boundary.*.patches[].", "boundary.x_min.patches[0].", BOUNDARY_TEMPERATURE, PATCH(0)},
        {"boundary.*.patches[].", "boundary.x_min.patches[1].", BOUNDARY_FLUX, PATCH(1)},
        {"boundary.*.patches[].", "boundary.x_min.patches[2].", BOUNDARY_CONVECTION, PATCH(2)},
        {"boundary.*.patches[].", "boundary.x_min.patches[3].", BOUNDARY_RADIATION, PATCH(3)},
        {"boundary.*.", "boundary.x_min.", BOUNDARY_TEMPERATURE, &s->boundary[FACE_X_MIN]},
        {"boundary.*.", "boundary.x_max.", BOUNDARY_FLUX, &s->boundary[FACE_X_MAX]},
        {"boundary.*.", "boundary.y_min.", BOUNDARY_CONVECTION, &s->boundary[FACE_Y_MIN]},
        {"boundary.*.", "boundary.y_max.", BOUNDARY_RADIATION, &s->boundary[FACE_Y_MAX]},
        {"grid.*.edges", "grid.x.edges", -1, &s->grid.axis[AXIS_X]},
        {"grid.*.segments[].", "grid.y.segments[0].", -1, s->grid.axis[AXIS_Y].segments},
        {"materials[].", "materials[0].", -1, s->materials},
        {"contacts[].", "contacts[0].", -1, s->contacts},
        {"ambients[].", "ambients[0].", -1, s->ambients},
        {"surfaces[].", "surfaces[0].", -1, s->surfaces},
        {"parts[].uniform.", "parts[0].uniform.", -1, &s->parts[0]},
        {"parts[].sphere.", "parts[1].sphere.", -1, &s->parts[1]},
        {"parts[].box.", "parts[2].box.", -1, &s->parts[2]},
        {"parts[].cylinder.", "parts[3].cylinder.", -1, &s->parts[3]},
        {"parts[].layer.", "parts[4].layer.", -1, &s->parts[4]},
        {"parts[].expression.", "parts[5].expression.", -1, &s->parts[5]},
        {"parts[].file.", "parts[6].file.", -1, &s->parts[6]},
        {"parts[].stl.", "parts[7].stl.", -1, &s->parts[7]},
        {"sources[].uniform.", "sources[0].uniform.", -1, &s->sources[0]},
        {"sources[].sphere.", "sources[1].sphere.", -1, &s->sources[1]},
        {"sources[].box.", "sources[2].box.", -1, &s->sources[2]},
        {"sources[].cylinder.", "sources[3].cylinder.", -1, &s->sources[3]},
        {"sources[].layer.", "sources[4].layer.", -1, &s->sources[4]},
        {"sources[].expression.", "sources[5].expression.", -1, &s->sources[5]},
        {"sources[].gaussian.", "sources[6].gaussian.", -1, &s->sources[6]},
        {"sources[].file.", "sources[7].file.", -1, &s->sources[7]},
        {"sources[].goldak.", "sources[8].goldak.", -1, &s->sources[8]},
        {"initial[].uniform.", "initial[0].uniform.", -1, &s->initial[0]},
        {"initial[].sphere.", "initial[1].sphere.", -1, &s->initial[1]},
        {"initial[].box.", "initial[2].box.", -1, &s->initial[2]},
        {"initial[].expression.", "initial[3].expression.", -1, &s->initial[3]},
        {"initial[].file.", "initial[4].file.", -1, &s->initial[4]},
        {"initial[].cylinder.", "initial[5].cylinder.", -1, &s->initial[5]},
        {"initial[].layer.", "initial[6].layer.", -1, &s->initial[6]},
        {"output.regions[].", "output.regions[0].", -1, s->output.regions},
        {"output.probes.points[].", "output.probes.points[0].", -1, s->output.probes.points},
        {"output.lines[].", "output.lines[0].", -1, s->output.lines},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const size_t length = strlen(places[i].prefix);
        const bool applies = places[i].kind < 0 || row->kinds == 0 ||
                             (row->kinds & SCHEMA_KIND(places[i].kind)) != 0;
        if (strncmp(row->path, places[i].prefix, length) == 0 && applies) {
            snprintf(key, TREE_KEY_BYTES, "%s%s", places[i].shown, row->path + length);
            return (char *)places[i].base;
        }
    }
    snprintf(key, TREE_KEY_BYTES, "%s", row->path);
    return strchr(row->path, '[') == NULL && strchr(row->path, '*') == NULL ? (char *)s : NULL;
}

/* Another value, whatever the checks would say of it; what was there is left to `old`. */
union value {
    double real;
    int64_t number;
    int word;
    char *text;
};

static void change_value(const struct schema_key *row, char *base, union value *old)
{
    const size_t last = row->max_count > 0 ? (size_t)row->max_count - 1 : 0;
    static char other[] = "another";
    switch (row->type) {
    case SCHEMA_REAL: {
        double *at = (double *)(base + row->offset) + last;
        old->real = *at;
        *at += 1;
        break;
    }
    case SCHEMA_LONG: {
        int64_t *at = (int64_t *)(base + row->offset) + last;
        old->number = *at;
        *at += 1;
        break;
    }
    case SCHEMA_TEXT:
    case SCHEMA_FORMULA:
    case SCHEMA_NAME: {
        char **at = (char **)(base + row->offset);
        old->text = *at;
        *at = other;
        break;
    }
    case SCHEMA_TIMES: {
        static double time;
        struct cadence *at = (struct cadence *)(base + row->offset);
        old->word = at->ntimes;
        at->times = &time;
        at->ntimes = 1;
        break;
    }
    default: {
        int *at = (int *)(base + row->offset) + last;
        old->word = *at;
        *at += 1;
        break;
    }
    }
}

static void restore_value(const struct schema_key *row, char *base, const union value *old)
{
    const size_t last = row->max_count > 0 ? (size_t)row->max_count - 1 : 0;
    switch (row->type) {
    case SCHEMA_REAL:
        ((double *)(base + row->offset))[last] = old->real;
        break;
    case SCHEMA_LONG:
        ((int64_t *)(base + row->offset))[last] = old->number;
        break;
    case SCHEMA_TEXT:
    case SCHEMA_FORMULA:
    case SCHEMA_NAME:
        *(char **)(base + row->offset) = old->text;
        break;
    case SCHEMA_TIMES:
        ((struct cadence *)(base + row->offset))->ntimes = old->word;
        break;
    default:
        ((int *)(base + row->offset))[last] = old->word;
        break;
    }
}

static bool has_change(const struct settings_changes *changes, const char *key,
                       enum schema_restart restart)
{
    for (int i = 0; i < changes->count; i++) {
        if (strcmp(changes->change[i].key, key) == 0) {
            assert_int_equal(changes->change[i].restart, restart);
            return true;
        }
    }
    return false;
}

static int try_row(const struct schema_key *row, struct settings *before, struct settings *now)
{
    struct settings_changes changes;
    char key[TREE_KEY_BYTES];
    char *base = find_values(now, row, key);
    char *same = find_values(before, row, key);
    union value old = {0};
    if (row->type == SCHEMA_SECTION || row->type == SCHEMA_LIST ||
        (row->flags & (SCHEMA_SHARED | SCHEMA_FILE)) != 0) { /* files: test_cli_warnings.py */
        return 0;
    }
    assert_non_null(base);
    if ((row->flags & SCHEMA_OR_AUTO) != 0) {
        *(bool *)(same + row->alternative) = false;
        *(bool *)(base + row->alternative) = false;
    }
    change_value(row, base, &old);
    assert_int_equal(settings_compare(before, now, &changes), STATUS_OK);
    if (!has_change(&changes, key, row->restart)) {
        fail_msg("a change of %s goes unnoticed", key);
    }
    /* a type takes the values that belong to it along */
    if ((row->flags & SCHEMA_SELECTOR) == 0) {
        assert_int_equal(changes.count, 1);
    }
    settings_changes_free(&changes);
    restore_value(row, base, &old);
    return 1;
}

TEST(test_every_key_is_compared)
{
    int tried = 0;
    struct settings *before = read_good(full_text, NULL, 0);
    struct settings *now = read_good(full_text, NULL, 0);
    for (const struct schema_key *row = schema_table(); row->path != NULL; row++) {
        tried += try_row(row, before, now);
    }
    assert_true(tried > 70);
    settings_destroy(before);
    settings_destroy(now);
}

/* ---- what is said -----------------------------------------------------------------------------
 */

static const struct {
    const char *set;
    const char *text[3];
    enum schema_restart restart;
} cases[] = {
    {"time.end=20", {"time.end: 10 -> 20 (--set time.end=20)"}, SCHEMA_RESTART_FREE},
    {"time.steps=7",
     {"time.end: 10 -> none (left out)", "time.steps: none -> 7 (--set time.steps=7)"},
     SCHEMA_RESTART_FREE},
    {"time.safety=0.5", {"time.safety: 0.9 -> 0.5 (--set time.safety=0.5)"}, SCHEMA_RESTART_WARN},
    {"time.dt=0.1", {"time.dt: auto -> 0.1 (--set time.dt=0.1)"}, SCHEMA_RESTART_WARN},
    {"grid.cells[0]=15",
     {"grid.cells: [16, 12] -> [15, 12] (--set grid.cells[0]=15)"},
     SCHEMA_RESTART_NEVER},
    {"grid.upper=[0.5, 0.3]",
     {"grid.upper: [0.4, 0.3] -> [0.5, 0.3] (--set grid.upper=[0.5, 0.3])"},
     SCHEMA_RESTART_ASK},
    {"material.density=1",
     {"material.density: 7850 -> 1 (--set material.density=1)"},
     SCHEMA_RESTART_ASK},
    {"run.precision=float32",
     {"run.precision: float64 -> float32 (--set run.precision=float32)"},
     SCHEMA_RESTART_ASK},
    {"initial[0].uniform.value=1",
     {"initial[0].uniform.value: 300 -> 1 (--set initial[0].uniform.value=1)"},
     SCHEMA_RESTART_IDLE},
    {"initial[3]={uniform: {value: 1}}",
     {"initial[3]: none -> {...} (--set initial[3]={uniform: {value: 1}})"},
     SCHEMA_RESTART_IDLE},
    {"initial[0]={expression: {value: x}}",
     {"initial[0].uniform: {...} -> none (left out)",
      "initial[0].expression: none -> {...} (--set initial[0]={expression: {value: x}})"},
     SCHEMA_RESTART_IDLE},
    {"boundary.x_min={type: flux, value: 350}",
     {"boundary.x_min.type: temperature -> flux (--set boundary.x_min={type: flux, value: 350})",
      "boundary.x_min.value: 350 K -> 350 W/m^2 (--set boundary.x_min={type: flux, value: 350})"},
     SCHEMA_RESTART_WARN},
    {"boundary.y_max.value=300 + 2*t",
     {"boundary.y_max.value: 300 + t -> 300 + 2*t (--set boundary.y_max.value=300 + 2*t)"},
     SCHEMA_RESTART_WARN},
    {"output.snapshots.interval=0.5",
     {"output.snapshots.interval: none -> 0.5 (--set output.snapshots.interval=0.5)"},
     SCHEMA_RESTART_FREE},
    {"output.lines=[{name: a, from: [0, 0], to: [0.1, 0.1], points: 3, every: 1}]",
     {"output.lines[0]: none -> {...} (--set output.lines=[{name: a, from: [0, 0], to: [0.1, 0.1], "
      "points: 3, every: 1}])"},
     SCHEMA_RESTART_FREE},
};

TEST(test_what_is_said)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct settings_changes changes = compare_texts(base_text, base_text, &cases[i].set, 1);
        int n = 0;
        for (; n < 3 && cases[i].text[n] != NULL; n++) {
            char text[CHANGE_TEXT_BYTES];
            assert_true(n < changes.count);
            assert_string_equal(settings_change_text(&changes.change[n], text), cases[i].text[n]);
            assert_int_equal(changes.change[n].restart, cases[i].restart);
        }
        assert_int_equal(changes.count, n);
        settings_changes_free(&changes);
    }
}

static void expect_one(const char *from, const char *to, const char *expected)
{
    char *text = base_with(from, to);
    char said[CHANGE_TEXT_BYTES];
    struct settings_changes changes = compare_texts(base_text, text, NULL, 0);
    assert_int_equal(changes.count, expected != NULL ? 1 : 0);
    if (expected != NULL) {
        assert_string_equal(settings_change_text(&changes.change[0], said), expected);
    }
    settings_changes_free(&changes);
    /* and back */
    changes = compare_texts(text, base_text, NULL, 0);
    assert_int_equal(changes.count, expected != NULL ? 1 : 0);
    settings_changes_free(&changes);
    free(text);
}

TEST(test_lines_and_writing)
{
    expect_one("end: 10", "end: 20", "time.end: 10 -> 20 (line 23 of c.yaml)");
    expect_one("density: 7850", "density: 7851",
               "material.density: 7850 -> 7851 (line 8 of c.yaml)");
    expect_one("title: base\n", "", "title: base -> untitled (the default)");
    /* the same values in other words */
    expect_one("end: 10", "end: 1e1", NULL);
    expect_one("end: 10", "end: 10\n  dt: auto\n  safety: 0.90", NULL);
    expect_one("lower: [0, 0]", "lower: [0.0, 0, 0]", NULL);
    expect_one("time:", "run: {precision: float64, watch: {every: 100}}\ntime:", NULL);
    expect_one("time:", "output: {history: {}}\ntime:", NULL);
}

TEST_MAIN(NULL, NULL)
