/* Snapshots for viewers: NAME.vtkhdf (ParaView >= 5.13, h5py) and NAME.xdmf (ParaView 5.11, VisIt),
 * both complete and readable after every call. One pair of files for each output: "snapshots" for
 * the whole grid, others for regions.
 *
 * Writing has two halves: the capture, which alone needs the device, and the rest, which works
 * from host memory and needs only a communicator.
 *
 * The data of each snapshot lie in a file of its own, snapshots/step_<step>.h5: contiguous, with
 * checksums of our own (raw.h), or with compress > 0 chunked, with shuffle, gzip and fletcher32,
 * through HDF5's parallel driver. snapshots.vtkhdf presents them as one dataset. See
 * snapshot_index.h. */
#ifndef ISOTHERM_IO_SNAPSHOT_SNAPSHOT_H
#define ISOTHERM_IO_SNAPSHOT_SNAPSHOT_H

#include <mpi.h>

#include "config/settings.h"
#include "model/copy_out.h"
#include "model/derived.h"
#include "model/field.h"
#include "model/grid.h"
#include "model/view.h"

struct snapshots;

enum { SNAPSHOT_FIELDS = 1 + DERIVED_COUNT };

/* This rank's part of one state, in host memory. */
struct snapshot_capture {
    int64_t step;
    double time;     /* s */
    struct box part; /* in the view's indices; empty where the rank has none of it */
    /* [z][y][x] in the file's precision: the temperature, then the derived fields that are wanted,
     * in their order; borrowed */
    void *values[SNAPSHOT_FIELDS];
};

/* Collective. Start new files in `directory` (which exists), or go on with those of an earlier
 * run: then snapshots past `restart_step` are dropped, and one at it is not written twice.
 * `restart_step` < 0: new files. `config_text` and the version are stored with the data. */
enum status snapshots_open(MPI_Comm comm, const char *directory, const char *name,
                           const struct view *view, const struct snapshot_setting *setting,
                           const char *title, const char *config_text, int64_t restart_step,
                           struct snapshots **snapshots) MUST_CHECK;
void snapshots_close(struct snapshots *snapshots); /* takes NULL */

/* Not collective; nothing is changed. Would snapshots_open go on with what is there? Its errors. */
enum status snapshots_check(const char *directory, const char *name, const struct view *view,
                            const struct snapshot_setting *setting,
                            int64_t restart_step) MUST_CHECK;
/* Not collective. Take back the states past `step` of a series that the run does not go on with. */
enum status snapshots_cut(const char *directory, const char *name, int64_t step) MUST_CHECK;

/* The capture half; not collective. False for a step that was captured before, or that the file
 * held when it was opened. */
bool snapshots_wants(const struct snapshots *snapshots, int64_t step);
/* The memory that it needs on this rank; 0 where the rank has no part. */
size_t snapshots_capture_bytes(const struct snapshots *snapshots, const struct field *field);
/* Copy this rank's part of the present state of `field` to h_memory, which must last until the
 * capture is written. Through `copy_out`, which has begun: only queued, and h_memory is pinned; or
 * NULL: blocks until done. field->derived has the fields that the setting asks for. */
enum status snapshots_capture(struct snapshots *snapshots, struct field *field,
                              struct copy_out *copy_out, int64_t step, double time, void *h_memory,
                              struct snapshot_capture *capture) MUST_CHECK;

/* The write half. Collective. Append what was captured; the file is closed and flushed in between,
 * so that readers and kills find it whole. STATUS_FILE, agreed on all ranks, when it cannot be
 * written (room is checked before). */
enum status snapshots_put(struct snapshots *snapshots,
                          const struct snapshot_capture *capture) MUST_CHECK;

/* Not collective. How long the file of a step is; 0 when it is not there. */
uint64_t snapshots_size(const struct snapshots *snapshots, int64_t step);

/* Collective. Both halves at once; a step that is there already is skipped. */
enum status snapshots_write(struct snapshots *snapshots, struct field *field, int64_t step,
                            double time) MUST_CHECK;

/* What a capture needs on a rank that owns these cells (global indices), before anything is open.
 */
size_t snapshot_capture_bytes(const struct view *view, const struct snapshot_setting *setting,
                              const struct box *owned);

uint64_t snapshot_file_bytes(const struct grid *grid, const struct snapshot_setting *setting);
/* of one, uncompressed, for `plan`; `grid` is the view's */

#endif
