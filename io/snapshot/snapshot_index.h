/* The files of a series of snapshots (docs/reference/files.md has their contents). For rank 0 only,
 * through the plain driver.
 *
 * The file of a snapshot gets its name when it is complete and never changes afterwards.
 * NAME.vtkhdf is small, points to these files, and is replaced as a whole. So the files are
 * consistent at any time, also after a kill. A copy of NAME.vtkhdf is kept in memory and extended:
 * to make it again takes HDF5 longer with every snapshot. */
#pragma once

#include "base/file.h"
#include "base/precision.h"
#include "base/status.h"
#include "io/hdf5/step_files.h"
#include "io/raw/h5_raw.h"
#include "model/field/derived.h"
#include "model/space/grid.h"
#include <inttypes.h>
#include <stdio.h>

enum { SNAPSHOT_FORMAT = 2, SNAPSHOT_NAME_BYTES = 192 };

/* Constant during a run. */
struct snapshot_series {
    char name[128];
    char path[PATH_BYTES];      /* path of NAME.vtkhdf */
    char xdmf_path[PATH_BYTES]; /* path of NAME.xdmf */
    char folder[PATH_BYTES];    /* path of NAME */
    struct grid grid;
    bool owns_grid;   /* it was read from the file */
    unsigned derived; /* mask of the fields in addition to T */
    bool has_gaps;    /* cells without values, listed in STEP_FILES_GAPS */
    char *title;
    char *config_text;
};

/* The snapshots in order of their steps. Zeroed memory is an empty list. */
struct snapshot_list {
    int64_t count;
    int64_t *steps;
    double *times; /* s */
    enum precision precision;
};

/* The path of a snapshot relative to NAME.vtkhdf. */
static inline void snapshot_relative_path(const struct snapshot_series *series, int64_t step,
                                          char path[SNAPSHOT_NAME_BYTES])
{
    snprintf(path, SNAPSHOT_NAME_BYTES, "%s/step_%010" PRId64 ".h5", series->name, step);
}

enum status snapshot_list_add(struct snapshot_list *list, int64_t step, double time);
void snapshot_list_free(struct snapshot_list *list);

/* Set the names and paths of a series. */
enum status snapshot_series_name(const char *directory, const char *name,
                                 struct snapshot_series *series);
void snapshot_series_free(struct snapshot_series *series); /* frees the members */

/* NAME.vtkhdf in memory. Zeroed: not created yet. */
struct snapshot_index {
    hid_t file;
    int64_t count; /* number of snapshots in it */
};

/* Replace NAME.vtkhdf by one that holds the list, of which `index` has the first entries. */
enum status snapshot_index_write(const struct snapshot_series *series,
                                 const struct snapshot_list *list, struct snapshot_index *index);

/* Replace NAME.xdmf, which describes the data to readers without VTKHDF support. Not collective. */
enum status xdmf_write(const struct snapshot_series *series, const struct snapshot_list *list);

/* Write the list to NAME.vtkhdf and NAME.xdmf; between calls with the same `index` it may only
 * grow. For an empty list both are removed, since readers fail on files without a state. Close
 * `index`, on failure too. */
enum status snapshot_lists_write(const struct snapshot_series *series,
                                 const struct snapshot_list *list, struct snapshot_index *index);
void snapshot_index_close(struct snapshot_index *index);

/* Find the snapshots up to `restart_step`; changes nothing. Fills the empty list, from the data
 * files where NAME.vtkhdf is missing (*rebuilt); its precision is unchanged if there are none.
 * STATUS_INPUT when they belong to another grid, STATUS_FILE when one is damaged or missing. */
enum status snapshot_index_read(const struct snapshot_series *series, int64_t restart_step,
                                struct snapshot_list *list, bool *rebuilt);

/* The file of a step, under its temporary name. First call: create it, with space for `bytes`. */
enum status snapshot_file_start(const struct snapshot_series *series, const char *path,
                                uint64_t bytes);
/* Then add coordinates and attributes. `places`: create contiguous datasets without values, and
 * give their places (one for each of snapshot_content) to raw_fill; NULL: the parallel driver has
 * written the datasets. */
enum status snapshot_file_describe(const struct snapshot_series *series, const char *path,
                                   enum precision precision, int64_t step, double time,
                                   struct raw_place *places);

/* Remove the files that the list does not hold, and incomplete ones. */
enum status snapshot_files_drop_others(const struct snapshot_series *series,
                                       const struct snapshot_list *list);

/* The fields in a file, by number: T, then the derived fields; NULL after the last. */
const struct derived_label *snapshot_content(unsigned derived, int number);
/* The attributes and the configuration that every file has. */
enum status snapshot_write_root(hid_t file, const struct snapshot_series *series);

/* The path of a snapshot's file with `suffix` appended: "" or SNAPSHOT_TEMPORARY. */
enum status snapshot_file_path(const struct snapshot_series *series, int64_t step,
                               const char *suffix, char path[PATH_BYTES]);
#define SNAPSHOT_TEMPORARY ".tmp"

/* The dataset that tells VTK of cells to leave out, of uint8 [z][y][x], and their value. */
#define SNAPSHOT_GHOSTS "vtkGhostType"
enum { SNAPSHOT_HIDDEN = 32 };
