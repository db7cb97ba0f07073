/* snapshots.xdmf: the same data for readers that do not know VTKHDF.
 *
 * It grows in place. Behind the last step lies room, within a processing instruction, which readers
 * skip: "<?more      ?>", and then the closing tags. A step is written there, with "? " in front
 * and "<?more " behind: still a part of the instruction, as far as it goes. When it is on the disk
 * the space turns into ">", and what was the instruction's text is the step. So the file is well
 * formed at any moment, whatever part of a write is done. */
#ifndef ISOTHERM_IO_SNAPSHOT_XDMF_H
#define ISOTHERM_IO_SNAPSHOT_XDMF_H

#include <stdint.h>

#include "base/status.h"
#include "io/snapshot/snapshot_list.h"

/* The file as it was left. Zeroed: not written so far. */
struct xdmf {
    int64_t count;        /* of the steps in it */
    uint64_t bytes;       /* its length */
    uint64_t room, limit; /* where the room begins and ends */
};

/* Not collective. Make the file hold the list, whose first steps `xdmf` has. */
enum status xdmf_write(const char *path, const struct snapshot_series *series,
                       const struct snapshot_list *list, struct xdmf *xdmf) MUST_CHECK;

#endif
