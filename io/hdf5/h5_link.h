/* Where a dataset lies: the way through a file's links, and into other files.
 *
 * HDF5 looks for the file that an external link names in the folders of HDF5_EXT_PREFIX first,
 * then beside the file with the link, and at last in the working directory. There the same name
 * may mean another run, and what was read depended on where and with which environment. So links
 * are followed here, beside the file only. */
#ifndef ISOTHERM_IO_HDF5_H5_LINK_H
#define ISOTHERM_IO_HDF5_H5_LINK_H

#include "base/file.h"
#include "io/hdf5/h5.h"

enum { H5_NAME_BYTES = 512 };

/* An object in a file. */
struct h5_place {
    char path[PATH_BYTES];
    char name[H5_NAME_BYTES]; /* "/a/b"; "" is the root once it has been followed */
};

/* The name is kept as it is given. STATUS_INPUT when one of them is too long. */
enum status h5_place_set(const char *path, const char *name, struct h5_place *place) MUST_CHECK;

/* Not collective. Follow the links of place->name in `file`, which is place->path, until the name
 * has none; or up to the first one into another file, which is then the place, and *elsewhere true:
 * beside `file`, or beside the file that this is a symbolic link to. Where the file has no such
 * name the rest stays as it is: its reader will say so. STATUS_FILE when a link cannot be read. */
enum status h5_follow(hid_t file, struct h5_place *place, bool *elsewhere) MUST_CHECK;

/* Not collective. Follow all links, and open the file that the last one leads to for reading.
 * STATUS_FILE, naming the file, when one on the way is missing or damaged. Close with h5_close. */
enum status h5_open_place(struct h5_place *place, hid_t *file) MUST_CHECK;

/* Not collective. A virtual dataset takes its values from other datasets, by the same ways as
 * links, and what is missing is filled: with 0 K. `dataset` at `place`: if it is virtual, are its
 * sources there, and will HDF5 read these and no others? STATUS_FILE, naming the source, when one
 * is missing or damaged; STATUS_INPUT when HDF5 may read another. */
enum status h5_check_sources(hid_t dataset, const struct h5_place *place) MUST_CHECK;

/* A dataset that is open for reading. */
struct h5_reader {
    hid_t file, dataset;
    hid_t *source; /* files, of a virtual dataset only */
    size_t nsources;
};

/* Not collective. `place` holds the dataset itself (h5_open_place), checked with h5_check_sources.
 * The sources' files stay open: HDF5 takes zeros, in silence, for what it cannot open later, such
 * as a file that is locked. A file cannot be such a source and be read by itself at the same time:
 * STATUS_FILE. Close with h5_reader_close, on failure too. */
enum status h5_reader_open(const struct h5_place *place, struct h5_reader *reader) MUST_CHECK;
void h5_reader_close(struct h5_reader *reader);

#endif
