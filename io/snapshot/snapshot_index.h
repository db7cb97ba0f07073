/* The files of a series of snapshots. Rank 0 alone works here, through the plain driver.
 *
 * Every snapshot has a file of its own, NAME/step_<step, 10 digits>.h5, which gets its name when it
 * is whole and is never changed again. NAME.vtkhdf (VTKHDF 2.0, temporal ImageData) is small,
 * points to them, and is replaced as a whole. So at every moment, and after a kill or a failure at
 * any point, what is there is whole: for viewers, and for a restart.
 *
 *   NAME.vtkhdf
 *     /                   attributes: title, isotherm_version, format, cells, lower_m, upper_m
 *     /configuration      the effective configuration
 *     /steps              the step of each snapshot
 *     /snap/<i>           link to NAME/step_<step>.h5
 *     /fields/T/<i>       link to /snap/<i>/T
 *     /VTKHDF             Version, Type, WholeExtent, Origin, Spacing, Direction
 *     /VTKHDF/CellData/T  virtual: all of /fields/T/<i> as (t, nz, ny, nx)
 *     /VTKHDF/Steps       NSteps, Values, CellDataOffsets/T
 *   NAME/step_<step>.h5
 *     /                   attributes and configuration as above
 *     /T                  (nz, ny, nx); attributes step, time_s, units, long_name
 *     /checksums/T        of its blocks (raw.h), unless T is compressed
 * Derived fields lie beside T in all of them.
 *
 * NAME.vtkhdf is kept in memory, where it grows by an entry per snapshot, and NAME.xdmf is extended
 * in place (xdmf.h): a snapshot costs the same however many there are already. */
#ifndef ISOTHERM_IO_SNAPSHOT_SNAPSHOT_INDEX_H
#define ISOTHERM_IO_SNAPSHOT_SNAPSHOT_INDEX_H

#include "base/file.h"
#include "io/raw/h5_raw.h"
#include "io/snapshot/snapshot_list.h"
#include "io/snapshot/xdmf.h"
#include "model/derived.h"

enum { SNAPSHOT_FORMAT = 2 };

enum status snapshot_list_add(struct snapshot_list *list, int64_t step, double time) MUST_CHECK;
void snapshot_list_free(struct snapshot_list *list);

/* The names and paths of a series; the rest stays as it is. */
enum status snapshot_series_name(const char *directory, const char *name,
                                 struct snapshot_series *series) MUST_CHECK;
void snapshot_series_free(struct snapshot_series *series); /* what it owns */

/* NAME.vtkhdf in memory. Zeroed: not made so far. */
struct snapshot_index {
    hid_t file;
    int64_t count; /* of the snapshots in it */
};

/* Replace NAME.vtkhdf by one that holds the list; `index` has the first of it. */
enum status snapshot_index_write(const struct snapshot_series *series,
                                 const struct snapshot_list *list,
                                 struct snapshot_index *index) MUST_CHECK;
void snapshot_index_close(struct snapshot_index *index);

/* What is known of both lists. Zeroed: nothing, so they are rewritten. */
struct snapshot_lists {
    struct snapshot_index index;
    struct xdmf xdmf;
};

/* Make NAME.vtkhdf and NAME.xdmf hold the list, which only grows from one call with the same
 * `lists` to the next. Readers stumble over files without a state, so an empty list has none.
 * Close `lists`, on failure too. */
enum status snapshot_lists_write(const struct snapshot_series *series,
                                 const struct snapshot_list *list,
                                 struct snapshot_lists *lists) MUST_CHECK;
void snapshot_lists_close(struct snapshot_lists *lists);

/* Find the snapshots up to `restart_step`; nothing is changed. Fills the empty list, from the files
 * themselves where there is no NAME.vtkhdf (*rebuilt); its precision stays where there are none.
 * STATUS_INPUT when they are of another grid, STATUS_FILE when one is damaged or missing. */
enum status snapshot_index_read(const struct snapshot_series *series, int64_t restart_step,
                                struct snapshot_list *list, bool *rebuilt) MUST_CHECK;

/* Fill the series, named before, with what its NAME.vtkhdf says of it; free it. Then
 * snapshot_index_read finds the same form. */
enum status snapshot_series_read(struct snapshot_series *series) MUST_CHECK;

/* The file of a step, under its temporary name. First: make it, with room for `bytes` behind it. */
enum status snapshot_file_start(const struct snapshot_series *series, int64_t step,
                                uint64_t bytes) MUST_CHECK;
/* Contiguous: make the datasets, whole but for their values, whose places (one for each of
 * snapshot_content) are for raw_fill. */
enum status snapshot_file_lay_out(const struct snapshot_series *series, enum precision precision,
                                  int64_t step, double time, struct raw_place *places) MUST_CHECK;
/* Compressed, where the parallel driver has made and filled the datasets: add what describes them,
 * and flush the file to disk. */
enum status snapshot_file_finish(const struct snapshot_series *series, int64_t step,
                                 double time) MUST_CHECK;
/* Last: give it its name. */
enum status snapshot_file_publish(const struct snapshot_series *series, int64_t step) MUST_CHECK;

/* Remove the files of snapshots that the list does not hold, and what kills left half written. */
enum status snapshot_files_drop_others(const struct snapshot_series *series,
                                       const struct snapshot_list *list) MUST_CHECK;

/* What a file holds, by number: T, and then the derived fields. NULL behind the last. */
const struct derived_label *snapshot_content(unsigned derived, int number);
/* For snapshot_files.c: what a dataset, what every file says of itself. */
enum status snapshot_describe(hid_t dataset, const struct derived_label *label) MUST_CHECK;
enum status snapshot_write_root(hid_t file, const struct snapshot_series *series) MUST_CHECK;

/* Where a snapshot lies, with `suffix` behind it ("" or SNAPSHOT_TEMPORARY). */
enum status snapshot_file_path(const struct snapshot_series *series, int64_t step,
                               const char *suffix, char path[PATH_BYTES]) MUST_CHECK;
#define SNAPSHOT_TEMPORARY ".tmp"
#endif
