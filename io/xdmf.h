/* snapshots.xdmf: the same data for readers that do not know VTKHDF. */
#ifndef ISOTHERM_IO_XDMF_H
#define ISOTHERM_IO_XDMF_H

#include "io/snapshot_index.h"

/* Not collective. Replace the file by one that describes the whole list; `data_name` is the HDF5
 * file's name as seen from the same folder. */
enum status xdmf_write(const char *path, const char *data_name, const char *title,
                       const struct grid *grid, const struct snapshot_list *list) MUST_CHECK;

#endif
