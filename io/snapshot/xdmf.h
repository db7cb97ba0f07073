/* snapshots.xdmf: the same data for readers that do not know VTKHDF. */
#ifndef ISOTHERM_IO_SNAPSHOT_XDMF_H
#define ISOTHERM_IO_SNAPSHOT_XDMF_H

#include "io/snapshot/snapshot_index.h"

/* Not collective. Replace the file by one that describes the whole list. */
enum status xdmf_write(const char *path, const struct snapshot_series *series,
                       const struct snapshot_list *list) MUST_CHECK;

#endif
