/* Pictures of the files of a run. Without MPI, on one process. */
#pragma once

#include <stdbool.h>

#include "base/command.h"
#include "base/file.h"
#include "base/status.h"
#include "config/settings.h"

enum { PLOT_CONTOURS = 30 };

struct plot {
    const char *directory;
    const char *with;                 /* the folder to compare with; NULL: none */
    const char *only;                 /* name of the one thing to plot; NULL: all */
    const char *output;               /* a folder, or a picture's file; NULL: DIRECTORY/plots */
    const char *film;                 /* a file for all states of a plane; NULL: pictures */
    const char *field;                /* of snapshots and regions */
    const char *plane;                /* "z" or "z=0.05"; NULL: across z, in the middle */
    const char *curve;                /* names of curves, with commas; NULL: all */
    const char *contours;             /* their number, or values with commas; NULL: none */
    double levels[PLOT_CONTOURS + 1]; /* the values ... */
    int nlevels, nround;              /* ... or the number */
    const struct settings *settings;  /* of the run; NULL: not known */
    double time;                      /* s; NaN: the last, and for lines several */
    double from, to;                  /* s; NaN: from the first, to the last */
    bool celsius;
    bool svg;
    int drawn;
};

/* ---- plot.c ---- */

/* The configuration of the run in plot->directory. NULL if no file has it, or in a version that
 * cannot be read. */
struct settings *plot_settings(const struct plot *plot);

/* "TITLE OF THE CONFIGURATION: WHAT" */
enum { PLOT_TEXT_BYTES = 512 };
const char *plot_title(const struct plot *plot, const char *what, char title[PLOT_TEXT_BYTES]);

/* Where a picture goes; makes the folder. STATUS_INPUT for a second picture of one file. */
enum status plot_path(struct plot *plot, const char *name, char path[PATH_BYTES]);
/* After it is drawn: count and name it. */
void plot_done(struct plot *plot, const char *path);
/* For what cannot be plotted although nothing is wrong: `reason`, a failure that has just been
 * recorded, if the user asked for it by name, else a line that says so. */
enum status plot_leave_out(const struct plot *plot, const char *name, enum status reason);

#define PLOT_CELSIUS "\u00b0C"
/* To subtract from temperatures in K: 0 where K are shown, or the field is none. */
double plot_celsius(const struct plot *plot);

/* Extend a range to a value, if that is finite. */
void plot_extend(double range[2], double value);

/* ---- plot_curves.c ---- */

/* The charts of the columns of FILE.csv: "history" or "probes". */
enum status plot_times(struct plot *plot, const char *file);
enum status plot_line(struct plot *plot, const char *name);

/* ---- plot_plane.c ---- */

/* A plane of a series of snapshots: NAME.vtkhdf. */
enum status plot_plane(struct plot *plot, const char *name);

extern const struct command command_plot;
