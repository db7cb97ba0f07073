/* The contents of the two lists of snapshots, NAME.vtkhdf and NAME.xdmf. */
#ifndef ISOTHERM_IO_SNAPSHOT_SNAPSHOT_LIST_H
#define ISOTHERM_IO_SNAPSHOT_SNAPSHOT_LIST_H

#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/precision.h"
#include "model/space/grid.h"

/* Constant during a run. */
struct snapshot_series {
    char name[128];
    char path[PATH_BYTES];      /* path of NAME.vtkhdf */
    char xdmf_path[PATH_BYTES]; /* path of NAME.xdmf */
    char folder[PATH_BYTES];    /* path of NAME */
    struct grid grid;
    unsigned derived; /* mask of the fields in addition to T */
    char *title;
    char *config_text;
};

/* The snapshots in order of their steps. Zeroed memory is an empty list. */
struct snapshot_list {
    int64_t count, capacity;
    int64_t *steps;
    double *times; /* s */
    enum precision precision;
};

enum { SNAPSHOT_NAME_BYTES = 192 };

/* The path of a snapshot relative to NAME.vtkhdf. */
static inline void snapshot_relative_path(const struct snapshot_series *series, int64_t step,
                                          char path[SNAPSHOT_NAME_BYTES])
{
    snprintf(path, SNAPSHOT_NAME_BYTES, "%s/step_%010" PRId64 ".h5", series->name, step);
}

#endif
