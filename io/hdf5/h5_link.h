/* Finding a dataset that a user names.
 *
 * HDF5 searches the target of a link in the folders of HDF5_EXT_PREFIX, next to the file, and in
 * the working directory, where the same name may belong to another run; a virtual dataset returns
 * constants where its sources are missing. So both are refused, and the message names the file to
 * use. Only the snapshots of a series are followed: next to its list, and nowhere else. */
#ifndef ISOTHERM_IO_HDF5_H5_LINK_H
#define ISOTHERM_IO_HDF5_H5_LINK_H

#include "base/file.h"
#include "io/hdf5/h5.h"

enum { H5_NAME_BYTES = 512 };

/* An object in a file. */
struct h5_place {
    char path[PATH_BYTES];
    char name[H5_NAME_BYTES];
};

/* STATUS_INPUT when the path or the name is too long. */
enum status h5_place_set(const char *path, const char *name, struct h5_place *place) MUST_CHECK;

/* Not collective. Replace "/snap/<i>/..." of a series, open as `file`, by the place in the
 * snapshot's own file; any other place is left unchanged. STATUS_FILE when the link cannot be read.
 */
enum status h5_find_snapshot(hid_t file, struct h5_place *place) MUST_CHECK;

/* Not collective. Open the dataset for reading, through links within the file only. STATUS_INPUT,
 * naming the other file, where the values lie elsewhere, and for an object that is not a dataset;
 * STATUS_FILE when it cannot be opened. Closing the file closes it. */
enum status h5_open_dataset(hid_t file, const struct h5_place *place, hid_t *dataset) MUST_CHECK;
/* Open the file as well; for a place in a series, the snapshot's. */
enum status h5_open_place(struct h5_place *place, hid_t *file, hid_t *dataset) MUST_CHECK;

#endif
