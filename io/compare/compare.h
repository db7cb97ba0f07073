/* Comparison of two files of temperatures, cell by cell. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "base/box.h"
#include "base/file.h"
#include "base/precision.h"
#include "base/status.h"
#include "config/grid_setting.h"

/* One state. */
struct frame {
    int64_t step;  /* -1: not in the file */
    double time;   /* s; NaN: not in the file */
    char *path;    /* the file with the data, which may differ from the one the user names */
    char *dataset; /* in that file */
    enum precision precision; /* float32 for any format of 4 bytes or fewer */
};

/* The states in a file: one in a checkpoint or in any file with a dataset /NAME, several in a
 * series of snapshots. */
struct frames {
    char path[PATH_BYTES];
    char name[64];    /* name of the dataset */
    char units[64];   /* its attribute; "": none */
    bool is_series;   /* the file lists its states in /snap */
    bool from_folder; /* the user named the folder, not the file */
    int64_t count;
    struct frame *frame;
    int64_t cells[AXIS_COUNT];
    int64_t merged[AXIS_COUNT];                  /* cells of the file in one of `cells`: 1 */
    bool has_place;                              /* lower and upper are known */
    double lower[AXIS_COUNT], upper[AXIS_COUNT]; /* m */
    struct axis_cells graded[AXIS_COUNT];        /* the edges of graded axes, allocated */
};

/* Collective, agreed. Find the states in `path`: a file, or an output folder, which stands for its
 * snapshots.vtkhdf or else for its newest checkpoint. The seal of a checkpoint is checked, and
 * every state of a series is opened. STATUS_FILE when one cannot be read or is damaged,
 * STATUS_INPUT without such a dataset. Free with frames_free, on failure too. */
enum status frames_read(MPI_Comm comm, const char *path, const char *name, struct frames *frames);
/* frames_read on one process without MPI, for a file; the seal of a checkpoint is not checked. */
enum status frames_read_alone(const char *path, const char *name, struct frames *frames);
void frames_free(struct frames *frames); /* also for SCOPED_BY */
/* On one process. The configuration of a run, from its snapshots or else its newest checkpoint;
 * caller frees. STATUS_FILE if there is none. */
enum status frames_configuration(const char *directory, char **text);
/* True if both have the same box and numbers of cells, or integer ratios of them. Then both get the
 * smaller number on each axis: reading gives the means over the cells of the file. */
bool frames_share_grid(struct frames *a, struct frames *b);
/* Not collective. The cells of `box` in state n, [z][y][x]. */
enum status frames_read_box(const struct frames *frames, int64_t n, const struct box *box,
                            double *values);

/* Centre of a cell, m; NaN where the file does not give the grid's position. */
void frames_center(const struct frames *frames, const int64_t cell[AXIS_COUNT],
                   double center[AXIS_COUNT]);

/* The largest difference of one kind, and the lowest cell with it. */
struct extreme {
    double value;  /* -1: no cell */
    int64_t index; /* [z][y][x] */
    double a, b;   /* K */
    int64_t state; /* 0; of several states for the caller */
};

/* |a - b|, K, of cells that are not NaN in either; |a - b| / max(|a|, |b|), 0 where both are 0;
 * units in the last place of the narrower format, to which a float64 is first rounded. */
enum { ABSOLUTE, RELATIVE, ULP, EXTREMES };

struct difference {
    struct extreme largest[EXTREMES];
    int64_t unequal;       /* cells */
    int64_t beyond;        /* cells with |a - b| > atol + rtol max(|a|, |b|), or NaN in one */
    int64_t one_nan;       /* cells that are NaN in one file only */
    int64_t first_one_nan; /* index; -1: none */
    int64_t nan_state;     /* as in struct extreme */
    int64_t both_nan;      /* NaN in both counts as equal */
};

struct difference difference_none(void);
/* Add the difference of more cells of a state, or that of another state, in ascending order. */
void difference_merge(struct difference *all, const struct difference *one);

/* Collective, agreed. Compare state na of `a` with state nb of `b`, of the same shape. The ranks
 * share the cells; the result is the same on all ranks and for any rank count. */
enum status frames_compare(MPI_Comm comm, const struct frames *a, int64_t na,
                           const struct frames *b, int64_t nb, double rtol, double atol,
                           struct difference *difference);
