#include "config/schema.h"

#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"

#define AT(member) offsetof(struct settings, member)
#define IN_FACE(member) offsetof(struct boundary_setting, member)
#define IN_ENTRY(member) offsetof(struct initial_setting, member)
#define IN_PROBE(member) offsetof(struct probe_setting, member)
#define IN_LINE(member) offsetof(struct line_setting, member)
#define IN_REGION(member) offsetof(struct region_setting, member)

static const struct schema_limit positive = {0, 1e30, true, false, "above 0", NULL};
static const struct schema_limit not_negative = {0, 1e30, false, false, "of 0 or more", NULL};
static const struct schema_limit from_zero = {0, 0x1p53, false, false, "of 0 or more", NULL};
static const struct schema_limit from_one = {1, 0x1p53, false, false, "of 1 or more", NULL};
static const struct schema_limit int_from_one = {1, INT32_MAX, false, false, "of 1 or more", NULL};
static const struct schema_limit point_count = {2, 1e6, false, false, "from 2 to 1000000", NULL};
static const struct schema_limit fraction = {0, 1, true, false, "above 0 and at most 1", NULL};
static const struct schema_limit gzip_level = {0, 9, false, false, "from 0 to 9", NULL};
static const struct schema_limit finite = {-1e30, 1e30, false, false, "", NULL};
/* base/exact_sum.h can add up to 2^40 K exactly */
static const struct schema_limit temperature = {
    -1e12, 1e12, true, true, "", "sums of temperatures are exact only below 1e12 K in magnitude"};

static const struct schema_choice boundary_types[] = {{"temperature", BOUNDARY_TEMPERATURE},
                                                      {"flux", BOUNDARY_FLUX},
                                                      {"convection", BOUNDARY_CONVECTION},
                                                      {"periodic", BOUNDARY_PERIODIC},
                                                      {NULL, 0}};
static const struct schema_choice precisions[] = {
    {"float64", PRECISION_FLOAT64}, {"float32", PRECISION_FLOAT32}, {NULL, 0}};
static const struct schema_choice derived_fields[] = {{"T_max", DERIVED_T_MAX},
                                                      {"arrival_time", DERIVED_ARRIVAL},
                                                      {"time_above", DERIVED_ABOVE},
                                                      {"heat_flux", DERIVED_FLUX},
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
static const struct schema_choice axes[] = {{"x", AXIS_X}, {"y", AXIS_Y}, {"z", AXIS_Z}, {NULL, 0}};
/* names only: which of them this build has is for the transports to say */
static const struct schema_choice transports[] = {{"auto", 0},      {"host", 0}, {"staged", 0},
                                                  {"gpu-aware", 0}, {"peer", 0}, {NULL, 0}};

#define FACE_SECTION(name, face, meaning)                                                          \
    {                                                                                              \
        .path = "boundary." name, .members = "boundary.*", .type = SCHEMA_SECTION,                 \
        .offset = AT(boundary[face]), .help = meaning                                              \
    }

#define POINT(path_, offset_, flags_, restart_, fallback_, help_)                                  \
    {                                                                                              \
        .path = path_, .type = SCHEMA_REAL, .flags = flags_, .restart = restart_,                  \
        .offset = offset_, .min_count = 1, .max_count = 3, .limit = &finite,                       \
        .fallback = fallback_, .unit = "m", .example = "[0.1, 0.2, 0.3]", .help = help_            \
    }

/* When an output is due: the two keys of it. */
#define CADENCE(path_, offset_, fallback_)                                                         \
    {.path = path_ ".every",                                                                       \
     .type = SCHEMA_LONG,                                                                          \
     .restart = SCHEMA_RESTART_FREE,                                                               \
     .offset = (offset_) + offsetof(struct cadence, every),                                        \
     .limit = &from_zero,                                                                          \
     .fallback = fallback_,                                                                        \
     .rival = "interval",                                                                          \
     .unit = "steps",                                                                              \
     .help = "The interval in steps, or:"},                                                        \
    {                                                                                              \
        .path = path_ ".interval", .type = SCHEMA_REAL, .restart = SCHEMA_RESTART_FREE,            \
        .offset = (offset_) + offsetof(struct cadence, interval), .limit = &positive,              \
        .rival = "every", .unit = "s",                                                             \
        .help = "The interval in simulated time. The step before each multiple is shortened to "   \
                "land exactly on it."                                                              \
    }

/* What a snapshot file holds, and how. */
#define FILE_FORMAT(path_, offset_)                                                                \
    {.path = path_ ".derived",                                                                     \
     .type = SCHEMA_CHOICES,                                                                       \
     .restart = SCHEMA_RESTART_FREE,                                                               \
     .offset = (offset_) + offsetof(struct snapshot_setting, derived),                             \
     .choices = derived_fields,                                                                    \
     .example = "[T_max, heat_flux]",                                                              \
     .help = "Fields beside the temperature, see `output.derived`."},                              \
        {.path = path_ ".precision",                                                               \
         .type = SCHEMA_CHOICE,                                                                    \
         .restart = SCHEMA_RESTART_FREE,                                                           \
         .offset = (offset_) + offsetof(struct snapshot_setting, precision),                       \
         .choices = precisions,                                                                    \
         .fallback = "float32",                                                                    \
         .help = "The format in the file."},                                                       \
    {                                                                                              \
        .path = path_ ".compress", .type = SCHEMA_INT, .restart = SCHEMA_RESTART_FREE,             \
        .offset = (offset_) + offsetof(struct snapshot_setting, compress), .limit = &gzip_level,   \
        .fallback = "0", .help = "The gzip level; 0 is none."                                      \
    }

static const struct schema_key table[] = {
    {.path = "title",
     .type = SCHEMA_TEXT,
     .restart = SCHEMA_RESTART_FREE,
     .offset = AT(title),
     .fallback = "untitled",
     .help = "A name for the run; it appears in the report and in the pictures."},

    {.path = "grid",
     .type = SCHEMA_SECTION,
     .flags = SCHEMA_REQUIRED,
     .help = "The uniform Cartesian grid of cells. An axis with one cell is not in use, so "
             "`[256, 256]` is a 2D problem."},
    {.path = "grid.cells",
     .type = SCHEMA_LONG,
     .restart = SCHEMA_RESTART_NEVER,
     .flags = SCHEMA_REQUIRED,
     .offset = AT(grid.cells),
     .min_count = 1,
     .max_count = 3,
     .limit = &from_one,
     .example = "[128, 128, 64]",
     .help = "Cells along x, y, z; axes left out have one cell."},
    POINT("grid.lower", AT(grid.lower), 0, SCHEMA_RESTART_ASK, "[0, 0, 0]",
          "The grid's lower corner. As many entries as `grid.cells`, or 3."),
    POINT("grid.upper", AT(grid.upper), 0, SCHEMA_RESTART_ASK, "[1, 1, 1]",
          "Its upper corner, likewise."),

    {.path = "material",
     .type = SCHEMA_SECTION,
     .flags = SCHEMA_REQUIRED,
     .help = "The material, the same everywhere."},
    {.path = "material.conductivity",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_ASK,
     .flags = SCHEMA_REQUIRED,
     .offset = AT(material.conductivity),
     .limit = &positive,
     .unit = "W/(m K)",
     .help = "Thermal conductivity k."},
    {.path = "material.density",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_ASK,
     .flags = SCHEMA_REQUIRED,
     .offset = AT(material.density),
     .limit = &positive,
     .unit = "kg/m^3",
     .help = "Density rho."},
    {.path = "material.heat_capacity",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_ASK,
     .flags = SCHEMA_REQUIRED,
     .offset = AT(material.heat_capacity),
     .limit = &positive,
     .unit = "J/(kg K)",
     .help = "Specific heat capacity c. The diffusivity is k / (rho c)."},

    {.path = "initial",
     .members = "initial[]",
     .type = SCHEMA_LIST,
     .restart = SCHEMA_RESTART_IDLE,
     .flags = SCHEMA_REQUIRED,
     .offset = AT(initial),
     .alternative = AT(ninitial),
     .entry_bytes = sizeof(struct initial_setting),
     .example = "- uniform: {value: 300}",
     .help = "The temperature at the start: a list of entries, each of one kind. Later entries "
             "paint over earlier ones. Coordinates have as many entries as `grid.cells`, or 3; "
             "those of axes with one cell do not matter."},
    {.path = "initial[].uniform",
     .type = SCHEMA_SECTION,
     .restart = SCHEMA_RESTART_IDLE,
     .kinds = SCHEMA_KIND(INITIAL_UNIFORM),
     .help = "One temperature everywhere."},
    {.path = "initial[].uniform.value",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_IDLE,
     .flags = SCHEMA_REQUIRED,
     .offset = IN_ENTRY(value),
     .limit = &temperature,
     .unit = "K",
     .help = "The temperature."},
    {.path = "initial[].sphere",
     .type = SCHEMA_SECTION,
     .restart = SCHEMA_RESTART_IDLE,
     .kinds = SCHEMA_KIND(INITIAL_SPHERE),
     .help = "The cells whose centre lies in a sphere (2D: a disc). It may reach out of the grid, "
             "but not lie outside altogether."},
    POINT("initial[].sphere.center", IN_ENTRY(center), SCHEMA_REQUIRED, SCHEMA_RESTART_IDLE, NULL,
          "Its centre."),
    {.path = "initial[].sphere.radius",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_IDLE,
     .flags = SCHEMA_REQUIRED,
     .offset = IN_ENTRY(radius),
     .limit = &positive,
     .unit = "m",
     .help = "Its radius."},
    {.path = "initial[].sphere.value",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_IDLE,
     .flags = SCHEMA_REQUIRED,
     .offset = IN_ENTRY(value),
     .limit = &temperature,
     .unit = "K",
     .help = "Its temperature."},
    {.path = "initial[].box",
     .type = SCHEMA_SECTION,
     .restart = SCHEMA_RESTART_IDLE,
     .kinds = SCHEMA_KIND(INITIAL_BOX),
     .help = "The cells whose centre lies in a box, which lies in the grid."},
    POINT("initial[].box.lower", IN_ENTRY(lower), SCHEMA_REQUIRED, SCHEMA_RESTART_IDLE, NULL,
          "Its lower corner."),
    POINT("initial[].box.upper", IN_ENTRY(upper), SCHEMA_REQUIRED, SCHEMA_RESTART_IDLE, NULL,
          "Its upper corner."),
    {.path = "initial[].box.value",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_IDLE,
     .flags = SCHEMA_REQUIRED,
     .offset = IN_ENTRY(value),
     .limit = &temperature,
     .unit = "K",
     .help = "Its temperature."},
    {.path = "initial[].expression",
     .type = SCHEMA_SECTION,
     .restart = SCHEMA_RESTART_IDLE,
     .kinds = SCHEMA_KIND(INITIAL_EXPRESSION),
     .help = "A formula of the position, everywhere."},
    {.path = "initial[].expression.value",
     .type = SCHEMA_FORMULA,
     .restart = SCHEMA_RESTART_IDLE,
     .flags = SCHEMA_REQUIRED,
     .offset = IN_ENTRY(expression),
     .variables = "x, y, z",
     .unit = "K",
     .example = "\"300 + 10*sin(pi*x)\"",
     .help = "The temperature at the centre (x, y, z) of a cell, in m."},
    {.path = "initial[].file",
     .type = SCHEMA_SECTION,
     .restart = SCHEMA_RESTART_IDLE,
     .kinds = SCHEMA_KIND(INITIAL_FILE),
     .help = "A field from an HDF5 file, of exactly the grid's shape."},
    {.path = "initial[].file.path",
     .type = SCHEMA_TEXT,
     .restart = SCHEMA_RESTART_IDLE,
     .flags = SCHEMA_REQUIRED,
     .offset = IN_ENTRY(path),
     .example = "start.h5",
     .help = "The file, relative to the working directory."},
    {.path = "initial[].file.dataset",
     .type = SCHEMA_TEXT,
     .restart = SCHEMA_RESTART_IDLE,
     .offset = IN_ENTRY(dataset),
     .fallback = "/T",
     .help = "The dataset in it, of numbers in K and of shape (nz, ny, nx); 2D also (ny, nx). An "
             "attribute `units` must say so, too."},

    {.path = "boundary",
     .type = SCHEMA_SECTION,
     .flags = SCHEMA_REQUIRED,
     .help = "What happens at the faces. Every face of an axis in use must be given, faces of an "
             "axis with one cell must not. `boundary.*` below stands for each of the six, "
             "`x_min` to `z_max`."},
    FACE_SECTION("x_min", FACE_X_MIN, "The face at the lower end of x."),
    FACE_SECTION("x_max", FACE_X_MAX, "The face at the upper end of x."),
    FACE_SECTION("y_min", FACE_Y_MIN, "The face at the lower end of y."),
    FACE_SECTION("y_max", FACE_Y_MAX, "The face at the upper end of y."),
    FACE_SECTION("z_min", FACE_Z_MIN, "The face at the lower end of z."),
    FACE_SECTION("z_max", FACE_Z_MAX, "The face at the upper end of z."),
    {.path = "boundary.*.type",
     .type = SCHEMA_CHOICE,
     .restart = SCHEMA_RESTART_WARN,
     .flags = SCHEMA_REQUIRED | SCHEMA_SELECTOR,
     .offset = IN_FACE(kind),
     .choices = boundary_types,
     .help = "The kind of boundary. Periodic faces come in pairs."},
    {.path = "boundary.*.value",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_WARN,
     .flags = SCHEMA_REQUIRED | SCHEMA_OR_FORMULA,
     .offset = IN_FACE(value),
     .alternative = IN_FACE(expression),
     .kinds = SCHEMA_KIND(BOUNDARY_TEMPERATURE),
     .limit = &temperature,
     .variables = "t",
     .unit = "K",
     .help =
         "Type temperature: the temperature of the face, also as a formula of the time t in s."},
    {.path = "boundary.*.value",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_WARN,
     .flags = SCHEMA_REQUIRED,
     .offset = IN_FACE(value),
     .kinds = SCHEMA_KIND(BOUNDARY_FLUX),
     .limit = &finite,
     .unit = "W/m^2",
     .help = "Type flux: the heat flux into the domain; 0 insulates."},
    {.path = "boundary.*.coefficient",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_WARN,
     .flags = SCHEMA_REQUIRED,
     .offset = IN_FACE(coefficient),
     .kinds = SCHEMA_KIND(BOUNDARY_CONVECTION),
     .limit = &not_negative,
     .unit = "W/(m^2 K)",
     .help = "Type convection: the heat transfer coefficient."},
    {.path = "boundary.*.ambient",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_WARN,
     .flags = SCHEMA_REQUIRED,
     .offset = IN_FACE(ambient),
     .kinds = SCHEMA_KIND(BOUNDARY_CONVECTION),
     .limit = &temperature,
     .unit = "K",
     .help = "Type convection: the temperature of the surroundings."},

    {.path = "time",
     .type = SCHEMA_SECTION,
     .flags = SCHEMA_REQUIRED,
     .help = "How far and in which steps: either `end` or `steps`."},
    {.path = "time.end",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_FREE,
     .offset = AT(time.end),
     .limit = &positive,
     .rival = "steps",
     .unit = "s",
     .help = "The simulated time; the last step is shortened to land exactly on it."},
    {.path = "time.steps",
     .type = SCHEMA_LONG,
     .restart = SCHEMA_RESTART_FREE,
     .offset = AT(time.steps),
     .limit = &from_one,
     .rival = "end",
     .help = "The number of steps, instead of `end`."},
    {.path = "time.dt",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_WARN,
     .flags = SCHEMA_OR_AUTO,
     .offset = AT(time.dt),
     .alternative = AT(time.dt_auto),
     .limit = &positive,
     .fallback = "auto",
     .unit = "s",
     .help = "The time step. `auto` takes `safety` times the largest stable one."},
    {.path = "time.safety",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_WARN,
     .offset = AT(time.safety),
     .limit = &fraction,
     .fallback = "0.9",
     .help = "The fraction of the largest stable step that `dt: auto` takes."},

    {.path = "run",
     .type = SCHEMA_SECTION,
     .help = "How the run uses the machine. None of these "
             "changes a bit of the result but `precision`."},
    {.path = "run.backend",
     .type = SCHEMA_TEXT, /* the table of backends knows their names */
     .restart = SCHEMA_RESTART_FREE,
     .offset = AT(run.backend),
     .fallback = "auto",
     .help = "What computes: `auto`, a GPU when one answers, else the CPU; or a backend by the "
             "name that `isotherm run --help` gives."},
    {.path = "run.precision",
     .type = SCHEMA_CHOICE,
     .restart = SCHEMA_RESTART_ASK,
     .offset = AT(run.precision),
     .choices = precisions,
     .fallback = "float64",
     .help = "The format of the field in memory."},
    {.path = "run.decomposition",
     .type = SCHEMA_INT,
     .restart = SCHEMA_RESTART_FREE,
     .flags = SCHEMA_OR_AUTO,
     .offset = AT(run.decomposition),
     .alternative = AT(run.decomposition_auto),
     .min_count = 1,
     .max_count = 3,
     .limit = &int_from_one,
     .fallback = "auto",
     .example = "[2, 2, 1]",
     .help = "Ranks along x, y, z. `auto` makes the halo traffic least."},
    {.path = "run.halo", .type = SCHEMA_SECTION, .help = "The halo exchange between ranks."},
    {.path = "run.halo.transport",
     .type = SCHEMA_NAME,
     .restart = SCHEMA_RESTART_FREE,
     .offset = AT(run.transport),
     .choices = transports,
     .fallback = "auto",
     .help = "The way of the halos from rank to rank. `auto` takes the fastest that is proven to "
             "work."},
    {.path = "run.halo.overlap",
     .type = SCHEMA_CHOICE,
     .restart = SCHEMA_RESTART_FREE,
     .offset = AT(run.overlap),
     .choices = overlaps,
     .fallback = "auto",
     .help = "Whether the interior is computed while halos travel."},
    {.path = "run.watch",
     .type = SCHEMA_SECTION,
     .help = "The numbers watched while the run goes on: no temperature beyond what initial and "
             "boundary values allow (maximum principle), and no heat from nowhere (ledger). On a "
             "violation the run stops with exit code 5. On by default."},
    {.path = "run.watch.every",
     .type = SCHEMA_LONG,
     .restart = SCHEMA_RESTART_FREE,
     .offset = AT(run.watch_every),
     .limit = &from_zero,
     .fallback = "100",
     .unit = "steps",
     .help =
         "The interval; also checked whenever the history, a checkpoint or a picture looks at the "
         "field. Snapshots do not look: 0 turns it off, and then they look for NaN and "
         "infinities."},

    {.path = "run.walltime",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_FREE,
     .flags = SCHEMA_OR_AUTO,
     .offset = AT(run.walltime),
     .alternative = AT(run.walltime_auto),
     .limit = &positive,
     .fallback = "auto",
     .unit = "s",
     .help = "The wall-clock time that the run may take. It stops in time with a checkpoint and "
             "exit code 75. `auto`: to the end of the Slurm job (`SLURM_JOB_END_TIME`); without "
             "one, no limit."},
    {.path = "run.walltime_margin",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_FREE,
     .offset = AT(run.walltime_margin),
     .limit = &not_negative,
     .fallback = "30",
     .unit = "s",
     .help = "What shall be left of that time, beyond the measured time of steps and checkpoints."},
    {.path = "run.watchdog",
     .type = SCHEMA_SECTION,
     .help = "When a step or a write takes far longer than any before, each rank says where it "
             "stands; when it still goes on, the run ends with exit code 4."},
    {.path = "run.watchdog.patience",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_FREE,
     .offset = AT(run.watchdog_patience),
     .limit = &not_negative,
     .fallback = "300",
     .unit = "s",
     .help = "What takes less never counts as hung; 0 turns the watchdog off."},
    {.path = "run.watchdog.factor",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_FREE,
     .offset = AT(run.watchdog_factor),
     .limit = &not_negative,
     .fallback = "20",
     .help = "Nor does what takes less than this many times the longest of its kind before."},
    {.path = "run.watchdog.grace",
     .type = SCHEMA_REAL,
     .restart = SCHEMA_RESTART_FREE,
     .offset = AT(run.watchdog_grace),
     .limit = &not_negative,
     .fallback = "600",
     .unit = "s",
     .help = "From the first warning to the end of the run."},

#include "config/schema_output.h"
};

const struct schema_key *schema_table(int *count)
{
    *count = (int)(sizeof table / sizeof table[0]);
    return table;
}
