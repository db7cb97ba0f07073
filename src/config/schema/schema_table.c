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
#define KEY(path_, type_, restart_, offset_, help_, ...)                                           \
    {                                                                                              \
        .path = path_, .type = SCHEMA_##type_, .restart = SCHEMA_RESTART_##restart_,               \
        .offset = offset_, .help = help_, __VA_ARGS__                                              \
    }
#define SECTION(path_, help_, ...)                                                                 \
    {                                                                                              \
        .path = path_, .type = SCHEMA_SECTION, .help = help_, __VA_ARGS__                          \
    }
#define LIST(path_, restart_, offset_, count_, entry_, help_, ...)                                 \
    KEY(path_, LIST, restart_, offset_, help_, .members = path_ "[]", .alternative = count_,       \
        .entry_bytes = sizeof(entry_), __VA_ARGS__)

/* A kind of entry of `initial` or `parts`, and what it sets the cells to. */
#define SHAPE(list_, restart_, name_, kind_, help_, ...)                                           \
    SECTION(list_ "[]." name_, help_, .kinds = SCHEMA_KIND(kind_),                                 \
            .restart = SCHEMA_RESTART_##restart_, __VA_ARGS__)
#define KELVINS(path_)                                                                             \
    KEY(path_ ".value", REAL, IDLE, IN_ENTRY(value), "The temperature.", .flags = SCHEMA_REQUIRED, \
        .limit = &temperature, .unit = &kelvin, .check = settings_check_kelvins)
#define MATERIAL(path_)                                                                            \
    KEY(path_ ".material", TEXT, ASK, IN_ENTRY(material), "The name of the material.",             \
        .flags = SCHEMA_REQUIRED, .example = "steel", .check = settings_check_part_material)
#define POSITION(path_, restart_, offset_, help_, ...)                                             \
    KEY(path_, REAL, restart_, offset_, help_, .limit = &finite, .unit = &metre, __VA_ARGS__)
#define SHAPES(list_, restart_, VALUE, ...)                                                        \
    SHAPE(list_, restart_, "sphere", INITIAL_SPHERE,                                               \
          "The cells whose centre lies in a sphere (2D: a disc). It must overlap the grid.",       \
          .check = settings_check_sphere, __VA_ARGS__),                                            \
        POINT(list_ "[].sphere.center", restart_, IN_ENTRY(center), "The centre."),                \
        KEY(list_ "[].sphere.radius", REAL, restart_, IN_ENTRY(radius), "The radius.",             \
            .flags = SCHEMA_REQUIRED, .limit = &positive, .unit = &metre),                         \
        VALUE(list_ "[].sphere"),                                                                  \
        SHAPE(list_, restart_, "box", INITIAL_BOX,                                                 \
              "The cells whose centre lies in a box inside the grid, its upper planes excluded.",  \
              .check = settings_check_box, __VA_ARGS__),                                           \
        POINT(list_ "[].box.lower", restart_, IN_ENTRY(lower), "The lower corner."),               \
        POINT(list_ "[].box.upper", restart_, IN_ENTRY(upper), "The upper corner."),               \
        VALUE(list_ "[].box"),                                                                     \
        SHAPE(                                                                                     \
            list_, restart_, "cylinder", INITIAL_CYLINDER,                                         \
            "The cells whose centre lies in a cylinder along an axis. It must overlap the grid.",  \
            .check = settings_check_sphere, __VA_ARGS__),                                          \
        KEY(list_ "[].cylinder.axis", CHOICE, restart_, IN_ENTRY(axis),                            \
            "The direction of the cylinder.", .flags = SCHEMA_REQUIRED, .choices = axes),          \
        POINT(list_ "[].cylinder.center", restart_, IN_ENTRY(center),                              \
              "A point on the centre line."),                                                      \
        KEY(list_ "[].cylinder.radius", REAL, restart_, IN_ENTRY(radius), "The radius.",           \
            .flags = SCHEMA_REQUIRED, .limit = &positive, .unit = &metre),                         \
        POSITION(list_ "[].cylinder.from", restart_, IN_ENTRY(from),                               \
                 "The lower end on that axis.", .fallback = "-1e30"),                              \
        POSITION(list_ "[].cylinder.to", restart_, IN_ENTRY(to), "The upper end on that axis.",    \
                 .fallback = "1e30"),                                                              \
        VALUE(list_ "[].cylinder"),                                                                \
        SHAPE(list_, restart_, "layer", INITIAL_LAYER,                                             \
              "The cells whose centre lies between two planes, from `from` to below `to`.",        \
              .check = settings_check_layer, __VA_ARGS__),                                         \
        KEY(list_ "[].layer.axis", CHOICE, restart_, IN_ENTRY(axis),                               \
            "The axis normal to the layer.", .flags = SCHEMA_REQUIRED, .choices = axes),           \
        POSITION(list_ "[].layer.from", restart_, IN_ENTRY(from), "The lower plane.",              \
                 .flags = SCHEMA_REQUIRED),                                                        \
        POSITION(list_ "[].layer.to", restart_, IN_ENTRY(to), "The upper plane.",                  \
                 .flags = SCHEMA_REQUIRED),                                                        \
        VALUE(list_ "[].layer")

#define COORDINATES(path_, restart_, offset_, flags_, help_, ...)                                  \
    KEY(path_, REAL, restart_, offset_, help_, .flags = SCHEMA_POINT | (flags_), .min_count = 1,   \
        .max_count = 3, .limit = &finite, .unit = &metre, .example = "[0.1, 0.2, 0.3]",            \
        __VA_ARGS__)
#define POINT(path_, restart_, offset_, help_, ...)                                                \
    COORDINATES(path_, restart_, offset_, SCHEMA_REQUIRED, help_, __VA_ARGS__)

#define INPUT_FILE                                                                                 \
    "The file, relative to the folder of the configuration, or to the working directory."
#define CADENCE_KEYS "every, interval, times, logarithmic"
#define CADENCE(path_, offset_, ...)                                                               \
    KEY(path_ ".every", LONG, FREE, (offset_) + offsetof(struct cadence, every),                   \
        "The interval in steps.", .limit = &from_zero, .rival = "interval, times, logarithmic",    \
        .unit = &steps, .flags = SCHEMA_CADENCE, __VA_ARGS__),                                     \
        KEY(path_ ".interval", REAL, FREE, (offset_) + offsetof(struct cadence, interval),         \
            "The interval in simulated time, instead of `every`. The step before each multiple "   \
            "is shortened to land exactly on it; a super step by a tolerance only for "            \
            "checkpoints.",                                                                        \
            .limit = &positive, .rival = "every, times, logarithmic", .unit = &second),            \
        KEY(path_ ".times", TIMES, FREE, offset_,                                                  \
            "A list of simulated times, instead of `every`; the first and the last state are "     \
            "also written.",                                                                       \
            .limit = &positive, .rival = "every, interval, logarithmic", .unit = &second,          \
            .flags = SCHEMA_SHARED, .example = "[1 s, 10 s, 1 min]"),                              \
        KEY(path_ ".logarithmic", TIMES, FREE, offset_,                                            \
            "Simulated times that are evenly spaced on a logarithmic axis, instead of `every`.",   \
            .limit = &positive, .rival = "every, interval, times", .unit = &second,                \
            .flags = SCHEMA_SHARED, .example = "{from: 1 ms, to: 100 s, per_decade: 5}")

#define FILE_FORMAT(path_, offset_)                                                                \
    KEY(path_ ".derived", CHOICES, FREE, (offset_) + offsetof(struct snapshot_setting, derived),   \
        "Fields in addition to the temperature, see `output.derived`.", .choices = derived_fields, \
        .check = settings_check_derived, .example = "[T_max, heat_flux]"),                         \
        KEY(path_ ".precision", CHOICE, FREE,                                                      \
            (offset_) + offsetof(struct snapshot_setting, precision), "The format in the file.",   \
            .choices = precisions, .fallback = "float32"),                                         \
        KEY(path_ ".compress", INT, FREE, (offset_) + offsetof(struct snapshot_setting, compress), \
            "The gzip level; 0: no compression.", .limit = &gzip_level, .fallback = "0")

static const struct schema_key table[] = {
    KEY("title", TEXT, FREE, AT(title),
        "A name for the run; it appears in the report and in the pictures.",
        .fallback = "untitled"),

    QUANTITY_ROWS,

    SECTION("grid",
            "The Cartesian grid of cells. An axis with one cell is unused, so `[256, 256]` is a 2D "
            "problem.",
            .flags = SCHEMA_REQUIRED),
    KEY("grid.cells", LONG, NEVER, AT(grid.cells),
        "The number of cells along x, y, z; an axis left out has one.",
        .flags = SCHEMA_REQUIRED | SCHEMA_ONES, .min_count = 1, .max_count = 3, .limit = &from_one,
        .example = "[128, 128, 64]"),
    COORDINATES("grid.lower", ASK, AT(grid.lower), 0,
                "The lower corner of the grid. As many entries as `grid.cells`, or 3.",
                .fallback = "[0, 0, 0]"),
    COORDINATES("grid.upper", ASK, AT(grid.upper), SCHEMA_ONES, "The upper corner of the grid.",
                .fallback = "[1, 1, 1]"),
    GRID_ROWS,

    SECTION("material", "The material, uniform over the grid.", .flags = SCHEMA_REQUIRED,
            .rival = "materials", .check = settings_check_material),
    KEY("material.conductivity", REAL, ASK, AT(material.conductivity), "Thermal conductivity k.",
        .flags = SCHEMA_REQUIRED, .rival = "diffusivity", .limit = &positive,
        .unit = &conductivity),
    KEY("material.density", REAL, ASK, AT(material.density), "Density rho.",
        .flags = SCHEMA_REQUIRED, .rival = "diffusivity", .limit = &positive, .unit = &density),
    KEY("material.heat_capacity", REAL, ASK, AT(material.heat_capacity),
        "Specific heat capacity c. The diffusivity is k / (rho c).", .flags = SCHEMA_REQUIRED,
        .rival = "diffusivity", .limit = &positive, .unit = &heat_capacity),
    KEY("material.diffusivity", REAL, ASK, AT(material.conductivity),
        "Instead of the other keys. Fluxes, powers and contents are then divided by rho c, as if "
        "that were 1.",
        .flags = SCHEMA_SHARED, .rival = "conductivity, density, heat_capacity", .limit = &positive,
        .unit = &diffusivity),

    LIST("materials", ASK, AT(materials), AT(nmaterials), struct material_setting,
         "Several materials on one grid; `parts` assigns them to cells. At most 255.",
         .example = "- {name: steel, conductivity: 45, density: 7850, heat_capacity: 470}",
         .max_count = MOST_MATERIALS, .rival = "material", .check = settings_check_materials),
    MATERIAL_ROWS,
    LIST("parts", ASK, AT(parts), AT(nparts), struct shape_setting,
         "The material of each cell: a list of shapes, each of one kind, as in `initial`. Later "
         "entries overwrite earlier ones.",
         .flags = SCHEMA_ONE_KIND, .example = "- uniform: {material: steel}",
         .check = settings_check_part),
    SHAPE("parts", ASK, "uniform", INITIAL_UNIFORM, "One material everywhere."),
    MATERIAL("parts[].uniform"),
    SHAPES("parts", ASK, MATERIAL),
    SHAPE("parts", ASK, "expression", INITIAL_EXPRESSION,
          "The cells at whose centre a condition holds."),
    KEY("parts[].expression.where", FORMULA, ASK, IN_ENTRY(expression),
        "A condition on the centre (x, y, z) of a cell, in m; a number other than 0 also holds.",
        .flags = SCHEMA_REQUIRED, .variables = "x, y, z", .example = "\"z < 0.1*sin(x)\""),
    MATERIAL("parts[].expression"),
    SHAPE("parts", ASK, "file", INITIAL_FILE,
          "Numbers of materials from an HDF5, .npy, .tif or .nii file, of the shape of the grid."),
    KEY("parts[].file.path", TEXT, ASK, IN_ENTRY(path), INPUT_FILE,
        .flags = SCHEMA_REQUIRED | SCHEMA_FILE, .example = "chip.h5"),
    KEY("parts[].file.dataset", TEXT, ASK, IN_ENTRY(dataset),
        "The dataset, of integers and of shape (nz, ny, nx); in 2D also (ny, nx).",
        .fallback = "/material"),
    KEY("parts[].file.materials", TEXT, ASK, IN_ENTRY(names),
        "The names of the materials with the numbers 0, 1, 2, ... of the dataset, or a map from "
        "numbers to names: `{64: bone}`.",
        .flags = SCHEMA_REQUIRED | SCHEMA_LABELS, .min_count = 1, .max_count = MOST_MATERIALS,
        .example = "[silicon, copper]"),
    BODY_ROWS,
    CONTACT_ROWS,
    AMBIENT_ROWS,

    SOURCE_ROWS,

    LIST("initial", IDLE, AT(initial), AT(ninitial), struct shape_setting,
         "The initial temperature: a list of entries, each of one kind. Later entries overwrite "
         "earlier ones. Coordinates have as many entries as `grid.cells`, or 3; those of axes with "
         "one cell are ignored.",
         .flags = SCHEMA_REQUIRED | SCHEMA_ONE_KIND, .example = "- uniform: {value: 300}"),
    SHAPE("initial", IDLE, "uniform", INITIAL_UNIFORM, "One temperature everywhere."),
    KELVINS("initial[].uniform"),
    SHAPES("initial", IDLE, KELVINS),
    SHAPE("initial", IDLE, "expression", INITIAL_EXPRESSION,
          "A formula of the position, for all cells."),
    KEY("initial[].expression.value", FORMULA, IDLE, IN_ENTRY(expression),
        "The temperature at the centre (x, y, z) of a cell; coordinates in m.",
        .flags = SCHEMA_REQUIRED, .variables = "x, y, z", .unit = &kelvin,
        .example = "\"300 + 10*sin(pi*x)\""),
    SHAPE(
        "initial", IDLE, "steady", INITIAL_STEADY,
        "`- steady: {}`, the last entry: the steady state of the conditions and sources at t = 0, "
        "from the entries before it (docs/guide/steady_state.md). The keys of `time.steady` "
        "have their defaults."),
    SHAPE("initial", IDLE, "file", INITIAL_FILE,
          "A field from an HDF5 file: any, a checkpoint or a snapshot."),
    KEY("initial[].file.path", TEXT, IDLE, IN_ENTRY(path), INPUT_FILE,
        .flags = SCHEMA_REQUIRED | SCHEMA_FILE, .example = "start.h5"),
    KEY("initial[].file.dataset", TEXT, IDLE, IN_ENTRY(dataset),
        "The dataset, of numbers in K and of shape (nz, ny, nx); in 2D also (ny, nx). Its "
        "attribute `units`, if present, must be K.",
        .fallback = "/T"),
    KEY("initial[].file.interpolate", CHOICE, IDLE, IN_ENTRY(interpolate),
        "`true`: the file has another grid of the same domain. The new cells get averages, which "
        "keep the heat (docs/reference/numerics.md). The run starts at time 0.",
        .choices = truths, .fallback = "false"),
    KEY("initial[].file.time", REAL, IDLE, IN_ENTRY(time),
        "The file is a series of snapshots (NAME.vtkhdf): the state at this time.",
        .flags = SCHEMA_NOTED, .alternative = IN_ENTRY(has_time), .limit = &not_negative,
        .unit = &second),

    BOUNDARY_ROWS,

    TIME_ROWS,

    SECTION("run",
            "How the run uses the machine. Only `precision` and `stencil` change the result; "
            "all others give bitwise identical results."),
    KEY("run.backend", TEXT, FREE, AT(run.backend),
        "The compute backend: `auto` (a GPU when one is available, else the CPU), or one of the "
        "names that `isotherm run --help` lists.",
        .fallback = "auto"),
    KEY("run.precision", CHOICE, ASK, AT(run.precision),
        "The floating-point format of the field in memory.", .choices = precisions,
        .fallback = "float64"),
    SECTION("run.stencil", "The differences in space."),
    KEY("run.stencil.order", CHOICE, ASK, AT(run.stencil_order),
        "The order of accuracy in space. 4, 6 and 8 read 2, 3 and 4 cells on either side; they "
        "need a uniform medium, and faces with a temperature, a flux or convection, or periodic "
        "ones. The temperature of a cell is then taken as the mean over the cell, also where "
        "`initial` has a formula.",
        .choices = orders, .fallback = "2"),
    KEY("run.decomposition", INT, FREE, AT(run.decomposition),
        "The number of ranks along x, y, z. `auto` minimizes the halo traffic.",
        .flags = SCHEMA_OR_AUTO | SCHEMA_ONES, .alternative = AT(run.decomposition_auto),
        .min_count = 1, .max_count = 3, .limit = &int_from_one, .fallback = "auto",
        .example = "[2, 2, 1]"),
    KEY("run.steps_per_pass", INT, FREE, AT(run.steps_per_pass),
        "The most time steps that one pass over the field advances; halos are that many layers "
        "deep and are exchanged once per pass. `auto`: the fastest, by a short measurement at the "
        "start. Always 1 between several ranks where a material becomes another one, or with a "
        "source from a file.",
        .flags = SCHEMA_OR_AUTO, .alternative = AT(run.steps_per_pass_auto), .limit = &pass_steps,
        .fallback = "auto"),
    KEY("run.sleeping_tiles", CHOICE, FREE, AT(run.sleeping_tiles),
        "Steps leave out parts of the grid where no bit can change. `auto`: while these are large, "
        "with moving sources and at least 1000 steps. Only with `time.scheme: euler`, and not "
        "where a material becomes another one.",
        .choices = overlaps, .fallback = "auto"),
    SECTION("run.halo", "The halo exchange between ranks."),
    KEY("run.halo.transport", NAME, FREE, AT(run.transport),
        "The transport of halos between ranks. `auto`: the fastest transport that passes a test.",
        .choices = transports, .fallback = "auto"),
    KEY("run.halo.overlap", CHOICE, FREE, AT(run.overlap),
        "`on`: the interior is computed during the halo exchange.", .choices = overlaps,
        .fallback = "auto"),
    SECTION("run.watch",
            "Checks of the solution during the run: temperatures stay within the initial and "
            "boundary values (maximum principle), and the heat balance holds (ledger). On a "
            "violation the run stops with exit code 5. On by default."),
    KEY("run.watch.every", LONG, FREE, AT(run.watch_every),
        "The interval. The history, checkpoints and pictures also check the field when they are "
        "written. 0 turns the checks off; snapshots then check for NaN and infinities.",
        .limit = &from_zero, .fallback = "100", .unit = &steps),
    KEY("run.watch.temperature", CHOICE, FREE, AT(run.temperature),
        "`absolute`: a temperature below 0 K is an error, with exit code 2 in the configuration "
        "and in formulas at the start, with 5 later. `difference`: the field is a difference of "
        "temperatures, of any sign.",
        .choices = scales, .fallback = "absolute"),

    SECTION("run.self_check",
            "Steps are computed twice and compared bit for bit; a difference is repaired. Not with "
            "`scheme: implicit` or `steady`, nor with a tolerance."),
    KEY("run.self_check.share", REAL, FREE, AT(run.self_check),
        "About the share of the time that steps computed twice, and their copies, may add; 0 turns "
        "the check off, 1 computes every step twice. Needs device memory for two more fields.",
        .limit = &share, .fallback = "0", .check = settings_check_time),
    KEY("run.self_check.memory", CHOICE, FREE, AT(run.memory_check),
        "Each pass sums the bits that it reads and writes, so that a bit that changes in memory "
        "between two passes is found for certain.",
        .choices = truths, .fallback = "false"),
    KEY("run.walltime", REAL, FREE, AT(run.walltime),
        "The wall-clock time limit. The run stops before it with a checkpoint and exit code 75. "
        "`auto`: the end of the Slurm job (`SLURM_JOB_END_TIME`); outside Slurm, no limit.",
        .flags = SCHEMA_OR_AUTO, .alternative = AT(run.walltime_auto), .limit = &positive,
        .fallback = "auto", .unit = &second),
    KEY("run.walltime_margin", REAL, FREE, AT(run.walltime_margin),
        "The reserve before the limit, in addition to the measured time of steps and checkpoints.",
        .limit = &not_negative, .fallback = "30", .unit = &second),
    SECTION("run.watchdog",
            "When a step or a write takes far longer than any before, each rank reports its phase; "
            "if it still does not finish, the run ends with exit code 4."),
    KEY("run.watchdog.patience", REAL, FREE, AT(run.watchdog_patience),
        "The shortest time that counts as hung; 0 turns the watchdog off.", .limit = &not_negative,
        .fallback = "300", .unit = &second),
    KEY("run.watchdog.factor", REAL, FREE, AT(run.watchdog_factor),
        "A step or write counts as hung only if it takes this many times the longest one before.",
        .limit = &not_negative, .fallback = "20"),
    KEY("run.watchdog.grace", REAL, FREE, AT(run.watchdog_grace),
        "The time from the first warning to the end of the run.", .limit = &not_negative,
        .fallback = "600", .unit = &second),

    SECTION("output", "The outputs. `every` counts steps; 0 turns an output off."),
    KEY("output.directory", TEXT, FREE, AT(output.directory),
        "The folder of all output files, relative to the working directory.", .fallback = "out"),
    KEY("output.writer", CHOICE, FREE, AT(output.writer),
        "`auto`: a thread writes snapshots and checkpoints in the background if MPI provides "
        "MPI_THREAD_MULTIPLE; otherwise, and with `foreground`, the steps wait. The files are the "
        "same.",
        .choices = writers, .fallback = "auto"),
    SECTION(
        "output.history",
        "A line of `history.csv`: minimum, maximum and mean temperature, heat, the heat ledger, "
        "and for each face the heat flow through it and its mean temperature. On by default."),
    CADENCE("output.history", AT(output.history), .fallback = "10"),
    KEY("output.history.materials", CHOICE, FREE, AT(output.history_materials),
        "`true`: also the minimum, maximum and mean temperature and the heat of each material of "
        "several. Each line then costs one more pass over the field.",
        .choices = truths, .fallback = "false"),
    KEY("output.history.melt_pool", CHOICE, FREE, AT(output.history_melt_pool),
        "`true`: also the extent along each axis and the volume of the region above "
        "`output.melting`. Each line then costs one more pass over the field.",
        .choices = truths, .fallback = "false", .check = settings_check_melt_pool),
    KEY("output.melting", REAL, WARN, AT(output.melting),
        "The temperature above which a cell counts as melted, for `melt_pool` of the history and "
        "for melt_time, freeze_time and meltings. `auto`: the solidus of the materials with "
        "`latent_heat`.",
        .flags = SCHEMA_OR_AUTO, .alternative = AT(output.melting_auto), .limit = &temperature,
        .fallback = "auto", .unit = &kelvin),
    SECTION("output.snapshots", "The field for ParaView, VisIt and Python. Off when left out.",
            .one_of = CADENCE_KEYS),
    CADENCE("output.snapshots", AT(output.snapshots.cadence)),
    FILE_FORMAT("output.snapshots", AT(output.snapshots)),
    LIST("output.regions", FREE, AT(output.regions), AT(output.nregions), struct region_setting,
         "Parts of the grid, each with its own file next to `snapshots.vtkhdf`.",
         .example = "- {name: middle, slice: {axis: z, at: 0.5}, every: 10}",
         .one_of = CADENCE_KEYS, .check = settings_check_file),
    KEY("output.regions[].name", TEXT, FREE, IN_REGION(name),
        "The files are NAME.vtkhdf and NAME.xdmf. Use letters, digits, _ and -.",
        .flags = SCHEMA_REQUIRED, .example = "middle"),
    CADENCE("output.regions[]", IN_REGION(file.cadence)),
    SECTION("output.regions[].box",
            "The cells whose centre lies in a box inside the grid. Left out: the whole grid.",
            .flags = SCHEMA_NOTED, .alternative = IN_REGION(has_box), .check = settings_check_box),
    POINT("output.regions[].box.lower", FREE, IN_REGION(lower), "The lower corner."),
    POINT("output.regions[].box.upper", FREE, IN_REGION(upper), "The upper corner."),
    SECTION("output.regions[].slice",
            "One layer of cells of the box: those that a plane intersects.", .flags = SCHEMA_NOTED,
            .alternative = IN_REGION(has_slice), .check = settings_check_slice),
    KEY("output.regions[].slice.axis", CHOICE, FREE, IN_REGION(slice_axis),
        "The axis normal to the plane.", .flags = SCHEMA_REQUIRED, .choices = axes),
    KEY("output.regions[].slice.at", REAL, FREE, IN_REGION(slice_at),
        "The position on that axis. Between two cells the upper one is taken.",
        .flags = SCHEMA_REQUIRED, .limit = &finite, .unit = &metre),
    KEY("output.regions[].stride", LONG, FREE, IN_REGION(stride),
        "Only the cells whose index along x, y, z, from 0 at the lower corner of the grid, is a "
        "multiple of this. Not used on the axis of a slice.",
        .min_count = 1, .max_count = 3, .limit = &from_one, .fallback = "[1, 1, 1]",
        .example = "[4, 4, 4]", .flags = SCHEMA_ONES),
    FILE_FORMAT("output.regions[]", IN_REGION(file)),
    SECTION("output.derived",
            "The fields that `derived` of snapshots and regions selects. From samples: the "
            "highest temperature so far (T_max), the time of the first sample at or above "
            "`isotherm` (arrival_time; NaN before), the rate at which a cell last cooled from "
            "one temperature of `cooling` to the other (cooling_rate, K/s; NaN before), the time "
            "above `threshold` (time_above); the times of the first sample above "
            "`output.melting` and of the last one that was no longer above it (melt_time, "
            "freeze_time; NaN before), and how often a cell melted (meltings); the thermal dose "
            "of tissue in equivalent minutes at 43 degC (CEM43, min). At the time of the file: "
            "the magnitude of the heat flux at the centre of each cell (heat_flux), the part of "
            "a cell that is liquid (liquid_fraction), where a material melts, and the number of "
            "its material in `materials`, from 0 on (material)."),
    KEY("output.derived.every", LONG, WARN, AT(output.derived.every),
        "The interval between samples.", .limit = &from_one, .fallback = "1", .unit = &steps),
    KEY("output.derived.isotherm", REAL, WARN, AT(output.derived.isotherm),
        "The temperature of arrival_time; required for it.", .limit = &temperature,
        .unit = &kelvin),
    KEY("output.derived.cooling", REAL, WARN, AT(output.derived.cooling),
        "The temperatures from which and to which cooling_rate is taken, the upper one first: "
        "their difference over the time between the last passages. Left out: at `isotherm`, from "
        "the samples before and after it. Give temperatures outside melting ranges.",
        .min_count = 2, .max_count = 2, .limit = &temperature, .unit = &kelvin,
        .example = "[1563, 1463]", .check = settings_check_range),
    KEY("output.derived.threshold", REAL, WARN, AT(output.derived.threshold),
        "The temperature of time_above; required for it.", .limit = &temperature, .unit = &kelvin),
    SAMPLE_ROWS,
    SECTION("output.checkpoints",
            "The exact state, from which `--restart` continues. Off when left out.",
            .one_of = CADENCE_KEYS ", walltime"),
    CADENCE("output.checkpoints", AT(output.checkpoints.cadence)),
    KEY("output.checkpoints.walltime", REAL, FREE, AT(output.checkpoints.walltime),
        "Also write one when this much wall-clock time has passed since the last, to within a "
        "quarter of a second. May be given alone. Does not affect the solution.",
        .limit = &positive, .unit = &second),
    KEY("output.checkpoints.keep", INT, FREE, AT(output.checkpoints.keep),
        "The number of checkpoints kept.", .limit = &int_from_one, .fallback = "2"),
    SECTION("output.pictures",
            "PNG pictures of the mid-plane, with a colour bar. Off when left out.",
            .one_of = CADENCE_KEYS),
    CADENCE("output.pictures", AT(output.pictures.cadence)),
    KEY("output.pictures.plane", CHOICE, FREE, AT(output.pictures.plane_normal),
        "The axis normal to the plane; of a 2D problem the whole grid is shown.", .choices = axes,
        .fallback = "z"),
    KEY("output.pictures.range", REAL, FREE, AT(output.pictures.range),
        "The temperatures at the ends of the colour bar. `auto`: the range of the field.",
        .flags = SCHEMA_OR_AUTO, .alternative = AT(output.pictures.range_auto), .min_count = 2,
        .max_count = 2, .limit = &temperature, .fallback = "auto", .unit = &kelvin,
        .example = "[273, 900]", .check = settings_check_range),
    KEY("output.pictures.colormap", CHOICE, FREE, AT(output.pictures.colormap),
        "The colour map. `coolwarm` is neutral in the middle of the range; in the others, warmer "
        "is lighter.",
        .choices = colormaps, .fallback = "inferno"),
    {.path = NULL},
};

const struct schema_key *schema_table(void)
{
    return table;
}
