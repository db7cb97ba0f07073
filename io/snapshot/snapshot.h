/* Snapshots for viewers: NAME.vtkhdf (ParaView >= 5.13, h5py) and NAME.xdmf (ParaView 5.11, VisIt),
 * both complete and readable after every call. One pair of files per output: "snapshots" for the
 * whole grid, others for regions.
 *
 * Writing has two halves: the capture, which needs the device, and the write half, which works from
 * host memory and needs only a communicator. */
#pragma once

#include <mpi.h>

#include "config/settings.h"
#include "model/field/copy_out.h"
#include "model/field/field.h"
#include "model/field/view.h"
#include "model/space/grid.h"

struct snapshots;

enum { SNAPSHOT_FIELDS = 1 + DERIVED_COUNT };

/* This rank's part of one state, in host memory. */
struct snapshot_capture {
    int64_t step;
    double time;     /* s */
    struct box part; /* in the view's indices; may be empty */
    /* [z][y][x] in the file's precision: the temperature, then the derived fields of the setting;
     * borrowed */
    void *values[SNAPSHOT_FIELDS];
    const struct field_gaps *gaps; /* borrowed; put writes NaN there */
    int64_t offset[AXIS_COUNT];    /* the first cell of this rank */
};

/* Collective. Start new files in `directory`, which exists (`restart_step` < 0), or continue those
 * of an earlier run: snapshots past `restart_step` are removed, and one at it is not written twice.
 * `config_text` and the version are stored with the data. */
enum status snapshots_open(MPI_Comm comm, const char *directory, const char *name,
                           const struct view *view, const struct snapshot_setting *setting,
                           const char *title, const char *config_text, int64_t restart_step,
                           struct snapshots **snapshots);
void snapshots_close(struct snapshots *snapshots); /* takes NULL */

/* Not collective; changes nothing. Make the checks of snapshots_open before it continues files. */
enum status snapshots_check(const char *directory, const char *name, const struct view *view,
                            const struct snapshot_setting *setting, int64_t restart_step);
/* Not collective. Remove the states past `step` of a series that the run does not continue. */
enum status snapshots_cut(const char *directory, const char *name, int64_t step);

/* The capture half; not collective. False for a step that was captured before or was in the file.
 */
bool snapshots_wants(const struct snapshots *snapshots, int64_t step);
/* The memory that a capture needs on this rank. */
size_t snapshots_capture_bytes(const struct snapshots *snapshots, const struct field *field);
/* Copy this rank's part of the present state of `field` to h_memory, which must last until the
 * capture is written. With `copy_out`, which has begun: queued, and h_memory is pinned; NULL:
 * blocks until done. field->derived has the fields of the setting. */
enum status snapshots_capture(struct snapshots *snapshots, struct field *field,
                              struct copy_out *copy_out, int64_t step, double time, void *h_memory,
                              struct snapshot_capture *capture);

/* The write half. Collective. Append a capture; all files are complete and on disk afterwards.
 * STATUS_FILE, agreed, when it cannot be written. */
enum status snapshots_put(struct snapshots *snapshots, const struct snapshot_capture *capture);

/* Not collective. Size of the file of a step, bytes; 0 when it does not exist. */
uint64_t snapshots_size(const struct snapshots *snapshots, int64_t step);

/* The memory that a capture needs on a rank that owns these cells (global indices). */
size_t snapshot_capture_bytes(const struct view *view, const struct snapshot_setting *setting,
                              const struct box *owned);

/* Upper limit of the size of one snapshot; `grid` is the view's. */
uint64_t snapshot_file_bytes(const struct grid *grid, const struct snapshot_setting *setting);
