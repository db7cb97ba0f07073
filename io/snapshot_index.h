/* What surrounds the temperatures in snapshots.vtkhdf: the groups and attributes by which viewers
 * find them (VTKHDF 2.0, temporal ImageData) and by which a restart goes on. Rank 0 alone works
 * here, through the plain driver.
 *
 *     /                   attributes: title, isotherm_version, cells, lower_m, upper_m
 *     /configuration      the effective configuration
 *     /snap/<i>/T         (nz, ny, nx); attributes step, time_s, units, long_name
 *     /VTKHDF             Version, Type, WholeExtent, Origin, Spacing, Direction
 *     /VTKHDF/CellData/T  virtual: all of /snap/<i>/T as (t, nz, ny, nx)
 *     /VTKHDF/Steps       NSteps, Values, CellDataOffsets/T */
#ifndef ISOTHERM_IO_SNAPSHOT_INDEX_H
#define ISOTHERM_IO_SNAPSHOT_INDEX_H

#include "io/h5.h"
#include "model/grid.h"

/* The snapshots in the file, in order. Zeroed memory is an empty list. */
struct snapshot_list {
    int64_t count, capacity;
    int64_t *steps;
    double *times; /* s */
    enum precision precision;
};

enum status snapshot_list_add(struct snapshot_list *list, int64_t step, double time) MUST_CHECK;
void snapshot_list_free(struct snapshot_list *list);

/* Make a file without snapshots, replacing what is there. */
enum status snapshot_index_create(const char *path, const struct grid *grid,
                                  enum precision precision, const char *title,
                                  const char *config_text) MUST_CHECK;

/* Find the snapshots up to `restart_step` and drop all others; unfinished ones go to /unfinished.
 * Fills the empty list. STATUS_INPUT when the file is of another grid, STATUS_FILE when it is
 * damaged. */
enum status snapshot_index_resume(const char *path, const struct grid *grid, int64_t restart_step,
                                  struct snapshot_list *list) MUST_CHECK;

/* Enter the last snapshot of the list, whose data lie in the file already. */
enum status snapshot_index_append(const char *path, const struct snapshot_list *list) MUST_CHECK;

/* Drop what there is of a snapshot that could not be finished, the one after those of the list.
 * Best effort; keeps the recorded failure, as an agreed one. */
void snapshot_index_drop(const char *path, const struct snapshot_list *list);

/* A group that keeps its links in its own header: a new one is a single small write. In HDF5's
 * default groups it is several, in nodes shared with the links before it, and a kill in between
 * takes those along. Negative when it fails. */
hid_t snapshot_group_create(hid_t file, const char *name);

/* "/snap/<index>" followed by `suffix`. */
enum { SNAPSHOT_NAME_BYTES = 64 };
void snapshot_name(int64_t index, const char *suffix, char name[SNAPSHOT_NAME_BYTES]);

#endif
