/* What the user asked for: plain structs, checked, with all defaults filled in.
 *
 * settings_read.c turns YAML into these; nothing below the app layer parses anything. */
#ifndef ISOTHERM_MODEL_SETTINGS_H
#define ISOTHERM_MODEL_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/precision.h"
#include "base/status.h"

enum initial_kind {
    INITIAL_UNIFORM,
    INITIAL_SPHERE,
    INITIAL_BOX,
    INITIAL_EXPRESSION,
    INITIAL_FILE,
};

/* One entry of `initial`. Coordinates in m; on axes that are not in use they are ignored. */
struct initial_setting {
    enum initial_kind kind;
    double value;              /* K: uniform, sphere, box */
    double center[AXIS_COUNT]; /* sphere */
    double radius;             /* sphere, m */
    double lower[AXIS_COUNT];  /* box, m */
    double upper[AXIS_COUNT];
    char *expression; /* of x, y, z in m; gives K */
    char *path;       /* HDF5 file and dataset of shape (nz, ny, nx), K */
    char *dataset;
};

enum boundary_kind {
    BOUNDARY_UNUSED, /* the axis is not in use */
    BOUNDARY_TEMPERATURE,
    BOUNDARY_FLUX,
    BOUNDARY_CONVECTION,
    BOUNDARY_PERIODIC,
};

struct boundary_setting {
    enum boundary_kind kind;
    double value;       /* temperature: K; flux: W/m^2 into the domain */
    char *expression;   /* temperature as a function of t (s); NULL when it is a number */
    double coefficient; /* convection: W/(m^2 K) */
    double ambient;     /* convection: K */
};

enum overlap { OVERLAP_AUTO, OVERLAP_ON, OVERLAP_OFF };

/* An interval of output: every `every` steps; 0 is off. */
struct snapshot_setting {
    int64_t every;
    enum precision precision;
    int compress; /* gzip level 0..9; above 0 also shuffle; always fletcher32 */
};

struct checkpoint_setting {
    int64_t every;
    int keep; /* how many of the newest stay */
};

struct picture_setting {
    int64_t every;
    enum axis plane_normal; /* the mid-plane across this axis; z in 2D, ignored in 1D */
    bool range_auto;        /* the colours span the field's own minimum and maximum */
    double range[2];        /* K, else */
};

struct settings {
    char *title;
    struct {
        int64_t cells[AXIS_COUNT]; /* 1 on axes that are not in use */
        double lower[AXIS_COUNT];  /* m */
        double upper[AXIS_COUNT];
    } grid;
    struct {
        double conductivity;  /* W/(m K) */
        double density;       /* kg/m^3 */
        double heat_capacity; /* J/(kg K) */
    } material;
    struct initial_setting *initial;
    int ninitial;
    struct boundary_setting boundary[FACE_COUNT];
    struct {
        bool by_steps; /* `steps` was given, not `end` */
        double end;    /* s */
        int64_t steps;
        bool dt_auto;
        double dt;     /* s, when not auto */
        double safety; /* of the largest stable step, when auto */
    } time;
    struct {
        char *backend;
        enum precision precision;
        bool decomposition_auto;
        int decomposition[AXIS_COUNT];
        char *transport;
        enum overlap overlap;
    } run;
    struct {
        char *directory;
        int64_t history_every;
        struct snapshot_setting snapshots;
        struct checkpoint_setting checkpoints;
        struct picture_setting pictures;
    } output;

    char *text;                     /* the effective configuration, as YAML, `--set` applied */
    struct settings_origin *origin; /* where each value came from, for messages */
};

/* Read and check a configuration: keys, types, ranges, and everything that needs no MPI and no
 * file system. `sets` are `key.path=value` texts that override the file, applied in order.
 * Not collective; the same on every rank that reads the same file. Relative paths stay relative.
 * Returns STATUS_FILE when the file cannot be read, STATUS_INPUT with
 * "FILE:LINE: KEY: what is wrong (value); what would be right" else. On failure *settings is NULL.
 * Free with settings_destroy. */
enum status settings_read(const char *path, const char *const *sets, int nsets,
                          struct settings **settings) MUST_CHECK;

/* The same from text in memory; `name` stands for the file in messages. */
enum status settings_read_text(const char *name, const char *text, const char *const *sets,
                               int nsets, struct settings **settings) MUST_CHECK;

void settings_destroy(struct settings *settings); /* takes NULL */

/* Record a STATUS_INPUT failure about `key` ("grid.cells", "initial[1].box.lower",
 * "boundary.x_min", "run.decomposition"), with the file and line (or the --set) it came from in
 * front. For checks that need more than the configuration (rank count, files). */
enum status settings_fail(const struct settings *settings, const char *key, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* The reference of all keys as Markdown, from the schema: for docs/configuration.md.
 * Caller frees. NULL when out of memory. */
char *settings_reference(void);

#endif
