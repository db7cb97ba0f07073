/* Where a dataset lies that a user names.
 *
 * HDF5 looks for the file that a link names in the folders of HDF5_EXT_PREFIX first, then beside
 * the file with the link, and at last in the working directory. There the same name may mean
 * another run; and a virtual dataset is filled with constants where its sources are missing. So
 * both are refused, with the name of the file to give instead. Only the snapshots of a series are
 * found from its list: beside that, and nowhere else. */
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

/* The name is kept as it is given. STATUS_INPUT when one of them is too long. */
enum status h5_place_set(const char *path, const char *name, struct h5_place *place) MUST_CHECK;

/* Not collective. "/snap/<i>/..." of a series, which is open as `file`, becomes the place in the
 * snapshot's own file; any other place stays. STATUS_FILE when the link cannot be read. */
enum status h5_find_snapshot(hid_t file, struct h5_place *place) MUST_CHECK;

/* Not collective. Open the dataset for reading; its name may lead through links within the file.
 * STATUS_INPUT, naming the other file, for what lies elsewhere, and for what is not a dataset;
 * STATUS_FILE when it cannot be opened. Closing the file closes it. */
enum status h5_open_dataset(hid_t file, const struct h5_place *place, hid_t *dataset) MUST_CHECK;
/* The same with the file, that of the snapshot for a place in a series. */
enum status h5_open_place(struct h5_place *place, hid_t *file, hid_t *dataset) MUST_CHECK;

#endif
