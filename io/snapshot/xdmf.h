/* NAME.xdmf describes the data to readers without VTKHDF support.
 *
 * It grows in place. After the last step there is reserved room in a processing instruction, which
 * readers skip: "<?more      ?>", and then the closing tags. A step is written there between "? "
 * and "<?more ", still inside the instruction. When it is on disk the blank after "?" is replaced
 * by
 * ">", which ends the instruction before the step. So the file is well formed at any time. */
#ifndef ISOTHERM_IO_SNAPSHOT_XDMF_H
#define ISOTHERM_IO_SNAPSHOT_XDMF_H

#include <stdint.h>

#include "base/status.h"
#include "io/snapshot/snapshot_list.h"

/* The state of the file. Zeroed: not written yet. */
struct xdmf {
    int64_t count;        /* number of steps in it */
    uint64_t bytes;       /* length of the file */
    uint64_t room, limit; /* offsets of the reserved room */
};

/* Not collective. Write the list, of which `xdmf` has the first steps. */
enum status xdmf_write(const char *path, const struct snapshot_series *series,
                       const struct snapshot_list *list, struct xdmf *xdmf) MUST_CHECK;

#endif
