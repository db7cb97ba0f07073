/* A set of cells and their values: an entry of `initial`, `parts` or `sources`, or a factor. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "config/time_setting.h"

struct table_setting;

enum { MOST_MATERIALS = 255 };

enum shape_kind {
    INITIAL_UNIFORM,
    INITIAL_SPHERE,
    INITIAL_BOX,
    INITIAL_CYLINDER,
    INITIAL_LAYER,
    INITIAL_EXPRESSION,
    INITIAL_FILE,
    SOURCE_GAUSSIAN, /* `sources` only */
    SOURCE_GOLDAK,
    INITIAL_STEADY, /* `initial` only */
    PART_STL,       /* `parts` only */
};

/* A key that is true or false. */
enum truth { TRUTH_NO, TRUTH_YES };

/* One entry of `initial` or `parts`, or the shape of one of `sources`. Coordinates in m; ignored on
 * unused axes. */
struct shape_setting {
    enum shape_kind kind;
    enum axis axis;            /* cylinder, layer */
    enum truth interpolate;    /* the file may have another grid of the same domain */
    bool may_be_negative;      /* the expression: the field is a difference of temperatures */
    bool is_condition;         /* the expression: of `parts` and `sources` */
    bool is_factor;            /* the expression: of a property */
    bool has_time;             /* the file is a series of snapshots: the state at `time`, s */
    double value;              /* K; in `parts` the number of the material; in `sources` 1 */
    double center[AXIS_COUNT]; /* sphere, cylinder */
    double radius;             /* sphere, cylinder, m */
    double lower[AXIS_COUNT];  /* box, m */
    double upper[AXIS_COUNT];
    double from, to;  /* cylinder, layer: on that axis, m */
    char *expression; /* of x, y, z in m; gives K; a condition is 0 outside */
    double scale, move[AXIS_COUNT], turn[AXIS_COUNT]; /* stl: m per unit, m, degrees about axes */
    char *path; /* HDF5 file and dataset of shape (nz, ny, nx), K or numbers of materials */
    char *dataset;
    double time;
    struct cadence times; /* a factor of a boundary condition: of the first axis of the file */
    double period;        /* s, after which they repeat; 0: never */
    struct table_setting *table;    /* of these times; NULL: the file has none */
    bool varies;                    /* the factor does: these times, or an expression of t, too */
    char *material;                 /* `parts`; `sources`: only its cells, NULL: all */
    char *names[MOST_MATERIALS];    /* `parts`, file: the material of each label */
    int64_t labels[MOST_MATERIALS]; /* 0, 1, ... unless given */
    unsigned char numbers[MOST_MATERIALS]; /* of the named materials */
};
