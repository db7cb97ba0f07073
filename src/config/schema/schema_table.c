#include "config/schema/schema.h"

#include <stddef.h>
#include <stdint.h>

#include "config/check/settings_check.h"
#include "config/schema/schema_boundary.h"
#include "config/schema/schema_grid.h"
#include "config/schema/schema_materials.h"
#include "config/schema/schema_samples.h"
#include "config/schema/schema_sources.h"
#include "config/schema/schema_time.h"
#include "config/schema/schema_units.h"
#include "config/settings.h"

#define AT(member) offsetof(struct settings, member)
#define IN_ENTRY(member) offsetof(struct shape_setting, member)
#define IN_REGION(member) offsetof(struct region_setting, member)

static const struct schema_limit positive = {0, 1e30, true, false, "above 0", NULL};
static const struct schema_limit not_negative = {0, 1e30, false, false, "of 0 or more", NULL};
static const struct schema_limit from_zero = {0, 0x1p53, false, false, "of 0 or more", NULL};
static const struct schema_limit from_one = {1, 0x1p53, false, false, "of 1 or more", NULL};
static const struct schema_limit graded_cells = {1,     MOST_GRADED_CELLS, false,
                                                 false, "of 1 or more",    NULL};
static const struct schema_limit int_from_one = {1, INT32_MAX, false, false, "of 1 or more", NULL};
static const struct schema_limit point_count = {2, 1e6, false, false, "from 2 to 1000000", NULL};
static const struct schema_limit fraction = {0, 1, true, false, "above 0 and at most 1", NULL};
static const struct schema_limit share = {0, 1, false, false, "from 0 to 1", NULL};
static const struct schema_limit pass_steps = {1, 8, false, false, "from 1 to 8", NULL};
static const struct schema_limit gzip_level = {0, 9, false, false, "from 0 to 9", NULL};
static const struct schema_limit small_kelvins = {
    0, 100, true, false, "above 0 and at most 100", "it is a difference of temperatures"};
static const struct schema_limit finite = {-1e30, 1e30, false, false, "", NULL};
/* base/exact_sum.h can add up to 2^40 K exactly */
static const struct schema_limit temperature = {
    -1e12, 1e12, true, true, "", "sums of temperatures are exact only below 1e12 K in magnitude"};

static const struct schema_choice precisions[] = {
    {"float64", PRECISION_FLOAT64}, {"float32", PRECISION_FLOAT32}, {NULL, 0}};
static const struct schema_choice orders[] = {{"2", 2}, {"4", 4}, {"6", 6}, {"8", 8}, {NULL, 0}};
static const struct schema_choice derived_fields[] = {{"T_max", DERIVED_T_MAX},
                                                      {"arrival_time", DERIVED_ARRIVAL},
                                                      {"time_above", DERIVED_ABOVE},
                                                      {"heat_flux", DERIVED_FLUX},
                                                      {"liquid_fraction", DERIVED_LIQUID},
                                                      {"cooling_rate", DERIVED_COOLING},
                                                      {"melt_time", DERIVED_MELTED},
                                                      {"freeze_time", DERIVED_FROZEN},
                                                      {"meltings", DERIVED_MELTINGS},
                                                      {"CEM43", DERIVED_DOSE},
                                                      {"material", DERIVED_MATERIAL},
                                                      {NULL, 0}};
static const struct schema_choice overlaps[] = {
    {"auto", OVERLAP_AUTO}, {"on", OVERLAP_ON}, {"off", OVERLAP_OFF}, {NULL, 0}};
static const struct schema_choice writers[] = {
    {"auto", WRITER_AUTO}, {"foreground", WRITER_FOREGROUND}, {NULL, 0}};
static const struct schema_choice colormaps[] = {{"inferno", COLORMAP_INFERNO},
                                                 {"magma", COLORMAP_MAGMA},
                                                 {"viridis", COLORMAP_VIRIDIS},
                                                 {"coolwarm", COLORMAP_COOLWARM},
                                                 {NULL, 0}};
static const struct schema_choice truths[] = {{"false", TRUTH_NO}, {"true", TRUTH_YES}, {NULL, 0}};
static const struct schema_choice scales[] = {
    {"absolute", TEMPERATURE_ABSOLUTE}, {"difference", TEMPERATURE_DIFFERENCE}, {NULL, 0}};
static const struct schema_choice axes[] = {{"x", AXIS_X}, {"y", AXIS_Y}, {"z", AXIS_Z}, {NULL, 0}};
static const struct schema_choice sides[] = {{"below", SIDE_MIN}, {"above", SIDE_MAX}, {NULL, 0}};
static const struct schema_choice surfaces[] = {
    {"none", NO_SURFACE},  {"x_min", FACE_X_MIN}, {"x_max", FACE_X_MAX}, {"y_min", FACE_Y_MIN},
    {"y_max", FACE_Y_MAX}, {"z_min", FACE_Z_MIN}, {"z_max", FACE_Z_MAX}, {NULL, 0}};
static const struct schema_choice areas[] = {
    {"shape", AREA_SHAPE}, {"cells", AREA_CELLS}, {NULL, 0}};
/* names only: the transports determine which of them this build has */
static const struct schema_choice transports[] = {{"auto", 0},      {"host", 0}, {"staged", 0},
                                                  {"gpu-aware", 0}, {"peer", 0}, {NULL, 0}};

/* The rows of the table. The last arguments are further members, by name. */
#define KEY(path_, type_, restart_, offset_, ...)                                                  \
    {                                                                                              \
        .path = path_, .type = SCHEMA_##type_, .restart = SCHEMA_RESTART_##restart_,               \
        .offset = offset_, __VA_ARGS__                                                             \
    }
#define SECTION(path_, ...)                                                                        \
    {                                                                                              \
        .path = path_, .type = SCHEMA_SECTION, __VA_ARGS__                                         \
    }
#define LIST(path_, restart_, offset_, count_, entry_, ...)                                        \
    KEY(path_, LIST, restart_, offset_, .members = path_ "[]", .alternative = count_,              \
        .entry_bytes = sizeof(entry_), __VA_ARGS__)

/* A kind of entry of `initial` or `parts`, and what it sets the cells to. */
#define SHAPE(list_, restart_, name_, kind_, ...)                                                  \
    SECTION(list_ "[]." name_, .kinds = SCHEMA_KIND(kind_), .restart = SCHEMA_RESTART_##restart_,  \
            __VA_ARGS__)
#define KELVINS(path_)                                                                             \
    KEY(path_ ".value", REAL, IDLE, IN_ENTRY(value), .flags = SCHEMA_REQUIRED,                     \
        .limit = &temperature, .unit = &kelvin, .check = settings_check_kelvins)
#define MATERIAL(path_)                                                                            \
    KEY(path_ ".material", TEXT, ASK, IN_ENTRY(material), .flags = SCHEMA_REQUIRED,                \
        .example = "steel", .check = settings_check_part_material)
#define POSITION(path_, restart_, offset_, ...)                                                    \
    KEY(path_, REAL, restart_, offset_, .limit = &finite, .unit = &metre, __VA_ARGS__)
#define SHAPES(list_, restart_, VALUE, ...)                                                        \
    SHAPE(list_, restart_, "sphere", INITIAL_SPHERE, .check = settings_check_sphere, __VA_ARGS__), \
        POINT(list_ "[].sphere.center", restart_, IN_ENTRY(center)),                               \
        KEY(list_ "[].sphere.radius", REAL, restart_, IN_ENTRY(radius), .flags = SCHEMA_REQUIRED,  \
            .limit = &positive, .unit = &metre),                                                   \
        VALUE(list_ "[].sphere"),                                                                  \
        SHAPE(list_, restart_, "box", INITIAL_BOX, .check = settings_check_box, __VA_ARGS__),      \
        POINT(list_ "[].box.lower", restart_, IN_ENTRY(lower)),                                    \
        POINT(list_ "[].box.upper", restart_, IN_ENTRY(upper)), VALUE(list_ "[].box"),             \
        SHAPE(list_, restart_, "cylinder", INITIAL_CYLINDER, .check = settings_check_sphere,       \
              __VA_ARGS__),                                                                        \
        KEY(list_ "[].cylinder.axis", CHOICE, restart_, IN_ENTRY(axis), .flags = SCHEMA_REQUIRED,  \
            .choices = axes),                                                                      \
        POINT(list_ "[].cylinder.center", restart_, IN_ENTRY(center)),                             \
        KEY(list_ "[].cylinder.radius", REAL, restart_, IN_ENTRY(radius),                          \
            .flags = SCHEMA_REQUIRED, .limit = &positive, .unit = &metre),                         \
        POSITION(list_ "[].cylinder.from", restart_, IN_ENTRY(from), .fallback = "-1e30"),         \
        POSITION(list_ "[].cylinder.to", restart_, IN_ENTRY(to), .fallback = "1e30"),              \
        VALUE(list_ "[].cylinder"),                                                                \
        SHAPE(list_, restart_, "layer", INITIAL_LAYER, .check = settings_check_layer,              \
              __VA_ARGS__),                                                                        \
        KEY(list_ "[].layer.axis", CHOICE, restart_, IN_ENTRY(axis), .flags = SCHEMA_REQUIRED,     \
            .choices = axes),                                                                      \
        POSITION(list_ "[].layer.from", restart_, IN_ENTRY(from), .flags = SCHEMA_REQUIRED),       \
        POSITION(list_ "[].layer.to", restart_, IN_ENTRY(to), .flags = SCHEMA_REQUIRED),           \
        VALUE(list_ "[].layer")

#define COORDINATES(path_, restart_, offset_, flags_, ...)                                         \
    KEY(path_, REAL, restart_, offset_, .flags = SCHEMA_POINT | (flags_), .min_count = 1,          \
        .max_count = 3, .limit = &finite, .unit = &metre, .example = "[0.1, 0.2, 0.3]",            \
        __VA_ARGS__)
#define POINT(path_, restart_, offset_, ...)                                                       \
    COORDINATES(path_, restart_, offset_, SCHEMA_REQUIRED, __VA_ARGS__)

#define CADENCE_KEYS "every, interval, times, logarithmic"
#define CADENCE(path_, offset_, ...)                                                               \
    KEY(path_ ".every", LONG, FREE, (offset_) + offsetof(struct cadence, every),                   \
        .limit = &from_zero, .rival = "interval, times, logarithmic", .unit = &steps,              \
        .flags = SCHEMA_CADENCE, __VA_ARGS__),                                                     \
        KEY(path_ ".interval", REAL, FREE, (offset_) + offsetof(struct cadence, interval),         \
            .limit = &positive, .rival = "every, times, logarithmic", .unit = &second),            \
        KEY(path_ ".times", TIMES, FREE, offset_, .limit = &positive,                              \
            .rival = "every, interval, logarithmic", .unit = &second, .flags = SCHEMA_SHARED,      \
            .example = "[1 s, 10 s, 1 min]"),                                                      \
        KEY(path_ ".logarithmic", TIMES, FREE, offset_, .limit = &positive,                        \
            .rival = "every, interval, times", .unit = &second, .flags = SCHEMA_SHARED,            \
            .example = "{from: 1 ms, to: 100 s, per_decade: 5}")

#define FILE_FORMAT(path_, offset_)                                                                \
    KEY(path_ ".derived", CHOICES, FREE, (offset_) + offsetof(struct snapshot_setting, derived),   \
        .choices = derived_fields, .check = settings_check_derived,                                \
        .example = "[T_max, heat_flux]"),                                                          \
        KEY(path_ ".precision", CHOICE, FREE,                                                      \
            (offset_) + offsetof(struct snapshot_setting, precision), .choices = precisions,       \
            .fallback = "float32"),                                                                \
        KEY(path_ ".compress", INT, FREE, (offset_) + offsetof(struct snapshot_setting, compress), \
            .limit = &gzip_level, .fallback = "0")

static const struct schema_key table[] = {
    KEY("title", TEXT, FREE, AT(title), .fallback = "untitled"),

    QUANTITY_ROWS,

    SECTION("grid", .flags = SCHEMA_REQUIRED),
    KEY("grid.cells", LONG, NEVER, AT(grid.cells), .flags = SCHEMA_REQUIRED | SCHEMA_ONES,
        .min_count = 1, .max_count = 3, .limit = &from_one, .example = "[128, 128, 64]"),
    COORDINATES("grid.lower", ASK, AT(grid.lower), 0, .fallback = "[0, 0, 0]"),
    COORDINATES("grid.upper", ASK, AT(grid.upper), SCHEMA_ONES, .fallback = "[1, 1, 1]"),
    GRID_ROWS,

    SECTION("material", .flags = SCHEMA_REQUIRED, .rival = "materials",
            .check = settings_check_material),
    KEY("material.conductivity", REAL, ASK, AT(material.conductivity), .flags = SCHEMA_REQUIRED,
        .rival = "diffusivity", .limit = &positive, .unit = &conductivity),
    KEY("material.density", REAL, ASK, AT(material.density), .flags = SCHEMA_REQUIRED,
        .rival = "diffusivity", .limit = &positive, .unit = &density),
    KEY("material.heat_capacity", REAL, ASK, AT(material.heat_capacity), .flags = SCHEMA_REQUIRED,
        .rival = "diffusivity", .limit = &positive, .unit = &heat_capacity),
    KEY("material.diffusivity", REAL, ASK, AT(material.conductivity), .flags = SCHEMA_SHARED,
        .rival = "conductivity, density, heat_capacity", .limit = &positive, .unit = &diffusivity),

    LIST("materials", ASK, AT(materials), AT(nmaterials), struct material_setting,
         .example = "- {name: steel, conductivity: 45, density: 7850, heat_capacity: 470}",
         .max_count = MOST_MATERIALS, .rival = "material", .check = settings_check_materials),
    MATERIAL_ROWS,
    LIST("parts", ASK, AT(parts), AT(nparts), struct shape_setting, .flags = SCHEMA_ONE_KIND,
         .example = "- uniform: {material: steel}", .check = settings_check_part),
    SHAPE("parts", ASK, "uniform", INITIAL_UNIFORM),
    MATERIAL("parts[].uniform"),
    SHAPES("parts", ASK, MATERIAL),
    SHAPE("parts", ASK, "expression", INITIAL_EXPRESSION),
    KEY("parts[].expression.where", FORMULA, ASK, IN_ENTRY(expression), .flags = SCHEMA_REQUIRED,
        .variables = "x, y, z", .example = "\"z < 0.1*sin(x)\""),
    MATERIAL("parts[].expression"),
    SHAPE("parts", ASK, "file", INITIAL_FILE),
    KEY("parts[].file.path", TEXT, ASK, IN_ENTRY(path), .flags = SCHEMA_REQUIRED | SCHEMA_FILE,
        .example = "chip.h5"),
    KEY("parts[].file.dataset", TEXT, ASK, IN_ENTRY(dataset), .fallback = "/material"),
    KEY("parts[].file.materials", TEXT, ASK, IN_ENTRY(names),
        .flags = SCHEMA_REQUIRED | SCHEMA_LABELS, .min_count = 1, .max_count = MOST_MATERIALS,
        .example = "[silicon, copper]"),
    BODY_ROWS,
    CONTACT_ROWS,
    AMBIENT_ROWS,

    SOURCE_ROWS,

    LIST("initial", IDLE, AT(initial), AT(ninitial), struct shape_setting,
         .flags = SCHEMA_REQUIRED | SCHEMA_ONE_KIND, .example = "- uniform: {value: 300}"),
    SHAPE("initial", IDLE, "uniform", INITIAL_UNIFORM),
    KELVINS("initial[].uniform"),
    SHAPES("initial", IDLE, KELVINS),
    SHAPE("initial", IDLE, "expression", INITIAL_EXPRESSION),
    KEY("initial[].expression.value", FORMULA, IDLE, IN_ENTRY(expression), .flags = SCHEMA_REQUIRED,
        .variables = "x, y, z", .unit = &kelvin, .example = "\"300 + 10*sin(pi*x)\""),
    SHAPE("initial", IDLE, "steady", INITIAL_STEADY),
    SHAPE("initial", IDLE, "file", INITIAL_FILE),
    KEY("initial[].file.path", TEXT, IDLE, IN_ENTRY(path), .flags = SCHEMA_REQUIRED | SCHEMA_FILE,
        .example = "start.h5"),
    KEY("initial[].file.dataset", TEXT, IDLE, IN_ENTRY(dataset), .fallback = "/T"),
    KEY("initial[].file.interpolate", CHOICE, IDLE, IN_ENTRY(interpolate), .choices = truths,
        .fallback = "false"),
    KEY("initial[].file.time", REAL, IDLE, IN_ENTRY(time), .flags = SCHEMA_NOTED,
        .alternative = IN_ENTRY(has_time), .limit = &not_negative, .unit = &second),

    BOUNDARY_ROWS,

    TIME_ROWS,

    SECTION("run"),
    KEY("run.backend", TEXT, FREE, AT(run.backend), .fallback = "auto"),
    KEY("run.precision", CHOICE, ASK, AT(run.precision), .choices = precisions,
        .fallback = "float64"),
    SECTION("run.stencil"),
    KEY("run.stencil.order", CHOICE, ASK, AT(run.stencil_order), .choices = orders,
        .fallback = "2"),
    KEY("run.decomposition", INT, FREE, AT(run.decomposition),
        .flags = SCHEMA_OR_AUTO | SCHEMA_ONES, .alternative = AT(run.decomposition_auto),
        .min_count = 1, .max_count = 3, .limit = &int_from_one, .fallback = "auto",
        .example = "[2, 2, 1]"),
    KEY("run.steps_per_pass", INT, FREE, AT(run.steps_per_pass), .flags = SCHEMA_OR_AUTO,
        .alternative = AT(run.steps_per_pass_auto), .limit = &pass_steps, .fallback = "auto"),
    KEY("run.sleeping_tiles", CHOICE, FREE, AT(run.sleeping_tiles), .choices = overlaps,
        .fallback = "auto"),
    SECTION("run.halo"),
    KEY("run.halo.transport", NAME, FREE, AT(run.transport), .choices = transports,
        .fallback = "auto"),
    KEY("run.halo.overlap", CHOICE, FREE, AT(run.overlap), .choices = overlaps, .fallback = "auto"),
    SECTION("run.watch"),
    KEY("run.watch.every", LONG, FREE, AT(run.watch_every), .limit = &from_zero, .fallback = "100",
        .unit = &steps),
    KEY("run.watch.temperature", CHOICE, FREE, AT(run.temperature), .choices = scales,
        .fallback = "absolute"),

    SECTION("run.self_check"),
    KEY("run.self_check.share", REAL, FREE, AT(run.self_check), .limit = &share, .fallback = "0",
        .check = settings_check_time),
    KEY("run.self_check.memory", CHOICE, FREE, AT(run.memory_check), .choices = truths,
        .fallback = "false"),
    KEY("run.walltime", REAL, FREE, AT(run.walltime), .flags = SCHEMA_OR_AUTO,
        .alternative = AT(run.walltime_auto), .limit = &positive, .fallback = "auto",
        .unit = &second),
    KEY("run.walltime_margin", REAL, FREE, AT(run.walltime_margin), .limit = &not_negative,
        .fallback = "30", .unit = &second),
    SECTION("run.watchdog"),
    KEY("run.watchdog.patience", REAL, FREE, AT(run.watchdog_patience), .limit = &not_negative,
        .fallback = "300", .unit = &second),
    KEY("run.watchdog.factor", REAL, FREE, AT(run.watchdog_factor), .limit = &not_negative,
        .fallback = "20"),
    KEY("run.watchdog.grace", REAL, FREE, AT(run.watchdog_grace), .limit = &not_negative,
        .fallback = "600", .unit = &second),

    SECTION("output"),
    KEY("output.directory", TEXT, FREE, AT(output.directory), .fallback = "out"),
    KEY("output.writer", CHOICE, FREE, AT(output.writer), .choices = writers, .fallback = "auto"),
    SECTION("output.history"),
    CADENCE("output.history", AT(output.history), .fallback = "10"),
    KEY("output.history.materials", CHOICE, FREE, AT(output.history_materials), .choices = truths,
        .fallback = "false"),
    KEY("output.history.melt_pool", CHOICE, FREE, AT(output.history_melt_pool), .choices = truths,
        .fallback = "false", .check = settings_check_melt_pool),
    KEY("output.melting", REAL, WARN, AT(output.melting), .flags = SCHEMA_OR_AUTO,
        .alternative = AT(output.melting_auto), .limit = &temperature, .fallback = "auto",
        .unit = &kelvin),
    SECTION("output.snapshots", .one_of = CADENCE_KEYS),
    CADENCE("output.snapshots", AT(output.snapshots.cadence)),
    FILE_FORMAT("output.snapshots", AT(output.snapshots)),
    LIST("output.regions", FREE, AT(output.regions), AT(output.nregions), struct region_setting,
         .example = "- {name: middle, slice: {axis: z, at: 0.5}, every: 10}",
         .one_of = CADENCE_KEYS, .check = settings_check_file),
    KEY("output.regions[].name", TEXT, FREE, IN_REGION(name), .flags = SCHEMA_REQUIRED,
        .example = "middle"),
    CADENCE("output.regions[]", IN_REGION(file.cadence)),
    SECTION("output.regions[].box", .flags = SCHEMA_NOTED, .alternative = IN_REGION(has_box),
            .check = settings_check_box),
    POINT("output.regions[].box.lower", FREE, IN_REGION(lower)),
    POINT("output.regions[].box.upper", FREE, IN_REGION(upper)),
    SECTION("output.regions[].slice", .flags = SCHEMA_NOTED, .alternative = IN_REGION(has_slice),
            .check = settings_check_slice),
    KEY("output.regions[].slice.axis", CHOICE, FREE, IN_REGION(slice_axis),
        .flags = SCHEMA_REQUIRED, .choices = axes),
    KEY("output.regions[].slice.at", REAL, FREE, IN_REGION(slice_at), .flags = SCHEMA_REQUIRED,
        .limit = &finite, .unit = &metre),
    KEY("output.regions[].stride", LONG, FREE, IN_REGION(stride), .min_count = 1, .max_count = 3,
        .limit = &from_one, .fallback = "[1, 1, 1]", .example = "[4, 4, 4]", .flags = SCHEMA_ONES),
    FILE_FORMAT("output.regions[]", IN_REGION(file)),
    SECTION("output.derived"),
    KEY("output.derived.every", LONG, WARN, AT(output.derived.every), .limit = &from_one,
        .fallback = "1", .unit = &steps),
    KEY("output.derived.isotherm", REAL, WARN, AT(output.derived.isotherm), .limit = &temperature,
        .unit = &kelvin),
    KEY("output.derived.cooling", REAL, WARN, AT(output.derived.cooling), .min_count = 2,
        .max_count = 2, .limit = &temperature, .unit = &kelvin, .example = "[1563, 1463]",
        .check = settings_check_range),
    KEY("output.derived.threshold", REAL, WARN, AT(output.derived.threshold), .limit = &temperature,
        .unit = &kelvin),
    SAMPLE_ROWS,
    SECTION("output.checkpoints", .one_of = CADENCE_KEYS ", walltime"),
    CADENCE("output.checkpoints", AT(output.checkpoints.cadence)),
    KEY("output.checkpoints.walltime", REAL, FREE, AT(output.checkpoints.walltime),
        .limit = &positive, .unit = &second),
    KEY("output.checkpoints.keep", INT, FREE, AT(output.checkpoints.keep), .limit = &int_from_one,
        .fallback = "2"),
    SECTION("output.pictures", .one_of = CADENCE_KEYS),
    CADENCE("output.pictures", AT(output.pictures.cadence)),
    KEY("output.pictures.plane", CHOICE, FREE, AT(output.pictures.plane_normal), .choices = axes,
        .fallback = "z"),
    KEY("output.pictures.range", REAL, FREE, AT(output.pictures.range), .flags = SCHEMA_OR_AUTO,
        .alternative = AT(output.pictures.range_auto), .min_count = 2, .max_count = 2,
        .limit = &temperature, .fallback = "auto", .unit = &kelvin, .example = "[273, 900]",
        .check = settings_check_range),
    KEY("output.pictures.colormap", CHOICE, FREE, AT(output.pictures.colormap),
        .choices = colormaps, .fallback = "inferno"),
    {.path = NULL},
};

const struct schema_key *schema_table(void)
{
    return table;
}
