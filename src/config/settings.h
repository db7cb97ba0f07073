/* The configuration of a run: plain structs, checked, with all defaults filled in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/precision.h"
#include "base/status.h"
#include "config/grid_setting.h"
#include "config/shape_setting.h"
#include "config/time_setting.h"

struct settings;

/* A property as a function of temperature, or a number as one of time: rows, a file of them, or a
 * polynomial. */
enum { MOST_TABLE_ROWS = 30, MOST_COEFFICIENTS = 8 };
struct table_setting {
    char *file;       /* CSV of rows; NULL: in the configuration */
    char *path;       /* of the file: that, or beside the configuration */
    int nrows;        /* 0: a polynomial, or a file that is not read yet */
    double (*row)[2]; /* K or s, increasing; value. Of temperature: at most MOST_TABLE_ROWS */
    int ncoefficients;
    double coefficient[MOST_COEFFICIENTS]; /* c0 + c1 T + c2 T^2 + ... */
    double from, to;                       /* K */

    bool of_time;
    bool steps;                 /* each value holds until the next row; else linear between rows */
    double period;              /* s, after which it repeats; 0: the last value holds */
    double scale[2], zero[2];   /* s and the value are scale * number + zero of the file */
    struct table_setting *next; /* of time, in the configuration */
};

/* Read the files of all tables, once. STATUS_FILE or STATUS_INPUT with the key and the line. */
enum status settings_read_tables(const struct settings *settings);

/* The first table over time, which leads to the next; NULL: there is none. */
const struct table_setting *settings_time_tables(const struct settings *settings);

/* Where x lies in a table of rows: share of the way from row[0] to row[1]. */
double table_share(const struct table_setting *table, double x, int row[2]);
/* The value of a table of rows at x, s or K. */
double table_at(const struct table_setting *table, double x);

/* The first time after t at which a table over time has a row; infinite: none. */
double table_next_row(const struct table_setting *table, double t);

/* Of a phase. A table replaces the number; neither: those of the solid. */
struct phase_setting {
    double conductivity[AXIS_COUNT]; /* W/(m K); one value is that of all axes */
    double heat_capacity;            /* J/(kg K) */
    struct table_setting *conductivity_table, *heat_capacity_table;
};

/* Blood flow through a tissue, after Pennes. */
struct perfusion_setting {
    bool given;
    double rate;                 /* volume of blood per volume of tissue and time, 1/s */
    double blood_density;        /* kg/m^3 */
    double blood_heat_capacity;  /* J/(kg K) */
    double arterial_temperature; /* K */
    double metabolic_heat;       /* W/m^3 */
};

/* Properties that may vary from cell to cell. */
enum { FACTOR_CONDUCTIVITY, FACTOR_HEAT_CAPACITY, FACTORS };

/* A material of a list of them. */
struct material_setting {
    char *name;
    double density; /* kg/m^3 */
    struct phase_setting solid, liquid;
    bool melts;         /* latent_heat is given */
    double latent_heat; /* J/kg */
    bool has_solidus;   /* solidus is given */
    double solidus;     /* K */
    bool has_liquidus;  /* else it is the solidus */
    double liquidus;    /* K */
    struct perfusion_setting perfusion;
    struct shape_setting factor[FACTORS]; /* of each cell; `uniform`: 1 */
    char *becomes;                        /* NULL: it stays what it is */
    int becomes_number; /* else of that material, whose heat capacity and melting it has */
};

/* Whether its properties depend on temperature. */
bool material_is_nonlinear(const struct material_setting *material);

/* Of the blood: the heat that it brings per volume, time and kelvin, W/(m^3 K). */
double material_perfusion(const struct material_setting *material);

/* The number of the material whose density, heat capacity and melting material `number` has. */
int settings_heat_of(const struct settings *settings, int number);

/* The temperature above which a cell counts as melted, K: output.melting, or the solidus of the
 * first material that melts; NAN: none does. */
double settings_melting(const struct settings *settings);

/* The area to which a coefficient or resistance between cells refers: that of their faces, or that
 * of the painted shape. */
enum area_kind { AREA_CELLS, AREA_SHAPE };

/* A resistance at all faces between cells of two materials. */
struct contact_setting {
    char *between[2];
    int number[2];     /* of these materials */
    double resistance; /* m^2 K/W */
    enum area_kind area;
};

/* The most of `sources` that are painted. */
enum { MOST_SOURCES = 255 };

/* A number, a formula of t (s) or a table over it. */
struct number_setting {
    double value;
    char *formula;               /* NULL: the number; of a table its file, or a word for it */
    struct table_setting *table; /* NULL: the formula */
};

/* One entry of `sources`: a shape of cells, or a moving source. */
struct source_setting {
    struct shape_setting shape;          /* first: the schema's rows of shapes are offsets in it */
    char *name;                          /* NULL: none */
    int material;                        /* the number of shape.material; -1: all cells */
    double density;                      /* W/m^3; in a file the factor of its numbers */
    struct table_setting *density_table; /* over temperature, in place of the number; NULL: none */
    char *profile;                       /* of x, y, z: a factor of the density; NULL: none */
    bool by_power;                       /* `power` was given, not `density` */
    struct number_setting power;         /* W */
    struct number_setting factor;

    /* moving: */
    char *path;                           /* CSV of t, x, y, z, power; NULL: the position below */
    struct number_setting at[AXIS_COUNT]; /* m */
    double absorptivity;
    int surface;               /* the face that it heats, or from which it is deep; -1: none */
    double radius[AXIS_COUNT]; /* gaussian, m: to 1/e^2 of the peak */
    double front, rear, width, depth; /* goldak: half axes, m */
    bool share_auto;
    double front_share; /* goldak: of the power, when not auto */
};

enum { NO_SURFACE = -1 };

/* A source whose cells are painted: they have a class of their own, and it costs no pass. */
static inline bool source_is_painted(const struct source_setting *source)
{
    return source->shape.kind < INITIAL_FILE && source->density_table == NULL &&
           source->profile == NULL;
}

/* A source with a value in each cell: from a file, or of cells whose density depends on position or
 * temperature. */
static inline bool source_has_values(const struct source_setting *source)
{
    return source->shape.kind < SOURCE_GAUSSIAN && !source_is_painted(source);
}

enum boundary_kind {
    BOUNDARY_UNUSED, /* the axis is not in use */
    BOUNDARY_TEMPERATURE,
    BOUNDARY_FLUX,
    BOUNDARY_CONVECTION,
    BOUNDARY_RADIATION,
    BOUNDARY_PERIODIC,
};

/* The quantities of a condition: numbers or formulas of t (s). Unused ones are 0. */
enum boundary_number {
    BOUNDARY_VALUE,        /* temperature: K; flux: W/m^2 into the domain */
    BOUNDARY_COEFFICIENT,  /* convection: W/(m^2 K) */
    BOUNDARY_AMBIENT,      /* convection, radiation: K */
    BOUNDARY_SURROUNDINGS, /* convection: K, to which it radiates, if given; else to the ambient */
    BOUNDARY_NUMBERS,
    BOUNDARY_FACTORS = BOUNDARY_SURROUNDINGS, /* those before may have a factor for each cell */
};

struct boundary_setting {
    enum boundary_kind kind;
    bool may_be_negative; /* a temperature: the field is a difference of temperatures */
    bool has_surroundings;
    int npatches;
    struct number_setting number[BOUNDARY_NUMBERS];
    /* The formula of the number is one of the position, of each cell of the face. */
    bool is_map[BOUNDARY_FACTORS];
    struct shape_setting factor[BOUNDARY_FACTORS]; /* of each cell of the face; `uniform`: 1 */
    double emissivity;                             /* radiation; convection with it: above 0 */
    struct patch_setting *patches; /* of a face; later ones overwrite earlier ones */
};

/* A part of a face with its own condition. Coordinates in m, in the order x, y, z without that of
 * the face. Exactly one shape is given. */
enum { PATCH_AXES = 2, MOST_PATCHES = 255 };
struct patch_setting {
    struct boundary_setting condition; /* first: a patch has the keys of a face */
    char *name;                        /* NULL: none */
    bool has_rectangle, has_disc;
    double lower[PATCH_AXES]; /* rectangle */
    double upper[PATCH_AXES];
    double center[PATCH_AXES]; /* disc */
    double radius;
    char *where; /* a condition on x, y, z */
};

static inline bool boundary_radiates(const struct boundary_setting *setting)
{
    return setting->kind == BOUNDARY_RADIATION ||
           (setting->kind == BOUNDARY_CONVECTION && setting->emissivity > 0);
}

/* An ambient lies around a body: cells at a given temperature that do not belong to it. */
struct ambient_setting {
    char *name;
    struct number_setting temperature; /* K */
};

/* What passes all faces between the cells of a material and of an ambient. */
struct surface_setting {
    char *name;       /* NULL: none */
    char *between[2]; /* one of each, in either order */
    int number[2];    /* of the material, and of the ambient, counted after the materials */
    /* A temperature, or convection to the ambient with a flux and radiation: any of them may be 0;
     * its ambient is a copy of the ambient's temperature. */
    struct boundary_setting condition;
    enum area_kind area;
};
enum { MOST_SURFACES = 255 };

/* Whether it is more than convection with two numbers, which the conductance between two classes
 * covers. */
bool surface_setting_exchanges(const struct surface_setting *surface);

/* Does a number have a factor for each cell, or a formula of its position? */
bool boundary_setting_has_factors(const struct boundary_setting *setting);
/* The latter alone. */
bool boundary_setting_has_maps(const struct boundary_setting *setting);

enum temperature_scale {
    TEMPERATURE_ABSOLUTE,   /* never below 0 K */
    TEMPERATURE_DIFFERENCE, /* of two temperatures */
};

enum overlap { OVERLAP_AUTO, OVERLAP_ON, OVERLAP_OFF };
enum sleeping_tiles { SLEEPING_AUTO, SLEEPING_ON, SLEEPING_OFF }; /* in the same order */

/* Whether files are written in the background where MPI supports it. */
enum writer_choice { WRITER_AUTO, WRITER_FOREGROUND };

/* Fields that follow from the temperature. */
enum derived_kind {
    DERIVED_T_MAX,
    DERIVED_ARRIVAL,
    DERIVED_ABOVE,
    DERIVED_FLUX,
    DERIVED_LIQUID,
    DERIVED_MATERIAL,
    DERIVED_COOLING,
    DERIVED_MELTED,
    DERIVED_FROZEN,
    DERIVED_MELTINGS,
    DERIVED_DOSE,
    DERIVED_PREVIOUS, /* in checkpoints only: the temperature of the previous sample */
    DERIVED_COOLED,   /* the same: since when a cell cools */
    DERIVED_COUNT,
};

struct snapshot_setting {
    struct cadence cadence;
    enum precision precision;
    int compress;     /* gzip level 0..9; above 0 also shuffle and fletcher32 */
    unsigned derived; /* bits of derived_kind */
};

/* A part of the grid with its own file. Coordinates in m. */
struct region_setting {
    char *name; /* of the file */
    struct snapshot_setting file;
    bool has_box; /* else the whole grid */
    double lower[AXIS_COUNT];
    double upper[AXIS_COUNT];
    bool has_slice; /* one layer of cells, across `slice_axis` */
    enum axis slice_axis;
    double slice_at;
    int64_t stride[AXIS_COUNT]; /* cells whose index is a multiple */
};

/* Points whose temperature is written; coordinates in m. */
struct probe_setting {
    char *name; /* of the column */
    double at[AXIS_COUNT];
    enum side side;     /* of a point between two cells: the cell that it belongs to */
    bool has_impedance; /* a second column: (T - reference) / power */
    bool has_reference; /* else `to` */
    double reference;   /* K */
    char *to;           /* the name of the probe whose temperature is the reference */
    char *source;       /* the power of the sources of this name; NULL: of all */
};

struct line_setting {
    char *name; /* of the CSV file */
    double from[AXIS_COUNT];
    double to[AXIS_COUNT];
    int64_t points; /* evenly spaced, both ends included */
    struct cadence cadence;
};

struct checkpoint_setting {
    struct cadence cadence;
    double walltime; /* s since the last one; 0: not used */
    int keep;        /* number of checkpoints kept */
};

enum colormap { COLORMAP_INFERNO, COLORMAP_MAGMA, COLORMAP_VIRIDIS, COLORMAP_COOLWARM };

struct picture_setting {
    struct cadence cadence;
    enum axis plane_normal; /* the mid-plane across this axis; z in 2D, ignored in 1D */
    bool range_auto;        /* the colours span the field's own minimum and maximum */
    double range[2];        /* K, else */
    enum colormap colormap;
};

struct run_setting {
    char *backend;
    enum precision precision;
    int stencil_order; /* 2, 4, 6 or 8 */
    bool decomposition_auto;
    int decomposition[AXIS_COUNT];
    bool steps_per_pass_auto;
    int steps_per_pass; /* when not auto */
    enum sleeping_tiles sleeping_tiles;
    char *transport;
    enum overlap overlap;
    int64_t watch_every; /* steps between two checks of the solution; 0: none */
    enum temperature_scale temperature;
    bool walltime_auto;       /* Slurm's end of the job, when there is one */
    double walltime;          /* s from the start, when not auto */
    double walltime_margin;   /* s */
    double self_check;        /* share of steps; 0: off */
    enum truth memory_check;  /* of the bits of the field in each pass */
    double watchdog_patience; /* s; 0: no watchdog */
    double watchdog_factor;
    double watchdog_grace; /* s */
};

struct output_setting {
    char *directory;
    enum writer_choice writer;
    struct cadence history;
    enum truth history_materials; /* columns of each material */
    enum truth history_melt_pool; /* columns of the melt pool */
    struct snapshot_setting snapshots;
    struct region_setting *regions;
    int nregions;
    struct {
        int64_t every;                          /* steps from one sample to the next */
        double isotherm, threshold, cooling[2]; /* K; cooling: from above, 0 if not given */
    } derived;
    bool melting_auto; /* the solidus of what melts */
    double melting;    /* K, when not auto */
    struct {
        struct cadence cadence;
        struct probe_setting *points;
        int npoints;
    } probes;
    struct line_setting *lines;
    int nlines;
    struct checkpoint_setting checkpoints;
    struct picture_setting pictures;
};

/* The diffusing quantity, if it is not heat: for labels and units. */
struct quantity_setting {
    bool given;
    char *name, *symbol;
    char *unit;         /* of the field */
    char *content_unit; /* of the field times a volume */
};

struct settings_origin;

struct settings {
    char *title;
    struct quantity_setting quantity;
    struct {
        int64_t cells[AXIS_COUNT]; /* 1 on axes that are not in use */
        double lower[AXIS_COUNT];  /* m */
        double upper[AXIS_COUNT];
        struct axis_setting axis[AXIS_COUNT];
        enum grid_geometry geometry;
    } grid;
    struct {
        double conductivity;  /* W/(m K) */
        double density;       /* kg/m^3 */
        double heat_capacity; /* J/(kg K) */
    } material;               /* when nmaterials is 0 */
    struct material_setting *materials;
    int nmaterials;
    struct shape_setting *parts;
    int nparts;
    struct contact_setting *contacts;
    int ncontacts;
    struct ambient_setting *ambients;
    int nambients;
    struct surface_setting *surfaces;
    int nsurfaces;
    struct source_setting *sources;
    int nsources;
    struct shape_setting *initial;
    int ninitial;
    struct boundary_setting boundary[FACE_COUNT];
    struct time_setting time;
    struct run_setting run;
    struct output_setting output;

    char *text;                     /* the effective configuration as YAML, with overrides */
    struct settings_origin *origin; /* the source of each value, for messages */
};

/* Values on the command line, which override the file. */
struct settings_option {
    const char *name;  /* "--output", for messages */
    const char *key;   /* that it sets */
    const char *value; /* verbatim, not YAML */
};
struct settings_overrides {
    const char *const *sets; /* "key.path=value", applied in order */
    int nsets;
    const struct settings_option *options; /* override `sets` */
    int noptions;
    const char *numbers; /* the text of the settings that another rank has read from the same, for
                            the numbers of values with a unit; NULL: from UDUNITS */
};

/* Read and check a configuration: keys, types, ranges, and everything that needs neither MPI nor
 * the file system. The bytes need not be zero-terminated; `name` is that of their file. Not
 * collective; the same on every rank that reads the same bytes. Relative paths stay relative.
 * STATUS_INPUT with up to ten lines "FILE:LINE: KEY: what is wrong (value); what would be right" in
 * the order of the file. On failure *result is NULL. Free with settings_destroy. */
enum status settings_read_bytes(const char *name, const char *bytes, size_t nbytes,
                                const struct settings_overrides *words, struct settings **result);

/* The same from a string, overridden by `sets` only. */
enum status settings_read_text(const char *name, const char *text, const char *const *sets,
                               int nsets, struct settings **settings);

void settings_destroy(struct settings *settings);
void settings_release(struct settings **settings); /* for SCOPED_BY */ /* takes NULL */

/* Let relative paths of input files be those beside the configuration where such files exist; else
 * they stay relative to the working directory. STATUS_INPUT for a file in another format. */
enum status settings_find_files(struct settings *settings, const char *configuration);

/* The next value that is valid but probably not meant: in another unit, an output after the end
 * (s), and with `files` what a run will not find or cannot write. *index starts at 0; false after
 * the last one. */
enum { SETTINGS_WARNING = 600 };
bool settings_warning(const struct settings *settings, double end, bool files, int *index,
                      char text[SETTINGS_WARNING]);
/* All of them, to the log. */
void settings_warn(const struct settings *settings, double end, bool files);

/* Record a STATUS_INPUT failure about `key` ("grid.cells", "initial[1].box.lower",
 * "boundary.x_min"), prefixed with the file and line (or the --set) of its value. For checks
 * that need more than the configuration (rank count, files). The arguments may contain
 * fail_message(). Without an origin, as in a program that fills the settings itself, the message
 * begins with the key. */
#define settings_fail_at(origin, key, ...)                                                         \
    settings_place(origin, fail(STATUS_INPUT, __VA_ARGS__), "%s", key)
#define settings_fail(settings, ...) settings_fail_at((settings)->origin, __VA_ARGS__)

/* The same for the message of a failure that has just been recorded (STATUS_INPUT or STATUS_FILE)
 * and a key made from a format. Other codes are left alone; returns `status`. */
enum status settings_place(struct settings_origin *origin, enum status status, const char *format,
                           ...) PRINTF_LIKE(3, 4);

/* The message for a value below 0 K: "kelvins? -20 K is below absolute zero; did you mean ...". */
enum { BELOW_ZERO_TEXT = 200 };
#define BELOW_ZERO (-1e-9) /* K: larger than the rounding error of a formula */
const char *settings_below_zero(double kelvins, char text[BELOW_ZERO_TEXT]);

/* The cadence of output number `index`, from 0; NULL after the last. `key`: of its section, for
 * messages. */
enum { CADENCE_KEY_BYTES = 64 };
const struct cadence *settings_cadence(const struct output_setting *output, int index,
                                       char key[CADENCE_KEY_BYTES]);
