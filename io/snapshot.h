/* Snapshots for viewers: snapshots.vtkhdf (ParaView >= 5.13, h5py) and snapshots.xdmf (ParaView
 * 5.11, VisIt), both complete and readable after every call.
 *
 * The data of snapshot i lie in /snap/<i>/T (chunked, fletcher32, optionally shuffle + gzip);
 * /VTKHDF/CellData/T is a virtual dataset over them, unlimited in time. */
#ifndef ISOTHERM_IO_SNAPSHOT_H
#define ISOTHERM_IO_SNAPSHOT_H

#include <mpi.h>

#include "model/field.h"
#include "model/grid.h"
#include "model/settings.h"

struct snapshots;

/* Collective. Start new files in `directory` (which exists), or go on with those of an earlier
 * run: then snapshots past `restart_step` are dropped, and one at it is not written twice.
 * `restart_step` < 0: new files. `config_text` and the version are stored with the data. */
enum status snapshots_open(MPI_Comm comm, const char *directory, const struct grid *grid,
                           const struct snapshot_setting *setting, const char *title,
                           const char *config_text, int64_t restart_step,
                           struct snapshots **snapshots) MUST_CHECK;

/* Collective. Append the present state of `field`; the file is closed and flushed in between, so
 * that readers and kills find it whole. Step numbers must rise; one already there is skipped.
 * STATUS_FILE, agreed on all ranks, when it cannot be written (room is checked before). */
enum status snapshots_write(struct snapshots *snapshots, struct field *field, int64_t step,
                            double time) MUST_CHECK;
void snapshots_close(struct snapshots *snapshots); /* takes NULL */

uint64_t snapshot_file_bytes(const struct grid *grid, const struct snapshot_setting *setting);
/* of one, uncompressed, for `plan` */

#endif
