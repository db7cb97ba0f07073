/* Two files of temperatures, cell by cell. */
#ifndef ISOTHERM_IO_COMPARE_COMPARE_H
#define ISOTHERM_IO_COMPARE_COMPARE_H

#include <mpi.h>
#include <stdbool.h>

#include "base/box.h"
#include "base/file.h"
#include "base/precision.h"
#include "base/status.h"

/* One state. */
struct frame {
    int64_t step;  /* -1: the file does not say */
    double time;   /* s; NaN likewise */
    char *path;    /* of the file that holds it, which need not be the one that names it */
    char *dataset; /* in that file */
    enum precision precision; /* float32 for any format of 4 bytes or fewer */
};

/* The states in a file: one in a checkpoint or any file with a dataset /NAME, all those that a
 * file of snapshots names. */
struct frames {
    char path[PATH_BYTES];
    char name[64];    /* of the dataset */
    bool is_series;   /* the file names its states in /snap */
    bool from_folder; /* the user named the folder, not the file */
    int64_t count;
    struct frame *frame;
    int64_t cells[AXIS_COUNT];
    bool has_place;                              /* lower and upper are known */
    double lower[AXIS_COUNT], upper[AXIS_COUNT]; /* m */
};

/* Collective, agreed. What is in `path`: a file, or an output folder, which stands for its
 * snapshots.vtkhdf or, without one, for its newest checkpoint. The seal of a checkpoint is
 * checked, and every state that a file of snapshots names is opened. STATUS_FILE when one cannot be
 * read or is damaged, STATUS_INPUT when it holds no such dataset. Free with frames_free, on failure
 * too. */
enum status frames_read(MPI_Comm comm, const char *path, const char *name,
                        struct frames *frames) MUST_CHECK;
void frames_free(struct frames *frames);

/* Centre of a cell, m; NaN where the file does not say where it lies. */
void frames_center(const struct frames *frames, const int64_t cell[AXIS_COUNT],
                   double center[AXIS_COUNT]);

/* The largest of one kind of difference, and the lowest cell that has it. */
struct extreme {
    double value;  /* -1: no cell */
    int64_t index; /* [z][y][x] */
    double a, b;   /* K */
};

struct difference {
    struct extreme absolute; /* |a - b|, K, of cells that are a number in both */
    struct extreme relative; /* |a - b| / max(|a|, |b|), 0 where both are 0 */
    struct extreme ulp;      /* how many numbers of the narrower of both formats lie between; a
                                float64 beside a float32 is first rounded to float32 */
    int64_t unequal;         /* cells */
    int64_t beyond;          /* cells with |a - b| > atol + rtol max(|a|, |b|), or NaN in one */
    int64_t one_nan;         /* cells that are NaN in one file only */
    int64_t first_one_nan;   /* index; -1: none */
    int64_t both_nan;        /* NaN in both counts as equal */
};

/* Collective, agreed. State na of `a` against state nb of `b`, whose shapes are the same. The
 * ranks share the cells; the result is the same on all and for any rank count. */
enum status frames_compare(MPI_Comm comm, const struct frames *a, int64_t na,
                           const struct frames *b, int64_t nb, double rtol, double atol,
                           struct difference *difference) MUST_CHECK;

/* How many numbers of the format lie between x and y, counting one end; 0 for equal ones (0 and
 * -0 are), infinities are the numbers after the largest. Neither is NaN. */
double ulp_distance(enum precision precision, double x, double y);

#endif
