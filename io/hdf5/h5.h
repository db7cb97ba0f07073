/* HDF5, wrapped: its error stack becomes our messages, and closing a file closes all that was
 * opened in it. The only header that shows hdf5.h, and only to the files of io/.
 *
 * The parallel driver carries bulk data and nothing else; attributes, links and small datasets
 * are written and read on rank 0 through the plain driver, while no rank has the file open in
 * parallel. So a failure there is one rank's and can be agreed on, nothing hangs, and virtual
 * datasets (which the parallel driver cannot serve) are possible. */
#ifndef ISOTHERM_IO_HDF5_H5_H
#define ISOTHERM_IO_HDF5_H5_H

#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>

#include "base/box.h"
#include "base/precision.h"
#include "base/status.h"

/* Turn off HDF5's own printing. Call once per process; repeated calls do nothing. */
void h5_init(void);

/* STATUS_FILE with `format` and the innermost reason of HDF5's error stack. */
enum status h5_fail(const char *format, ...) PRINTF_LIKE(1, 2);

/* New files are made in memory and written as bytes, so that no full disk can meet HDF5 in the
 * middle of it. `userblock` bytes are left free at the front (0, or a power of two >= 512).
 * h5_save_memory replaces `path` by what was made and closes `file`, on failure too. */
enum status h5_create_memory(hsize_t userblock, hid_t *file) MUST_CHECK;
enum status h5_save_memory(hid_t file, const char *path) MUST_CHECK;
/* The same, and `file` stays open, so that it can grow and be copied again. */
enum status h5_copy_memory(hid_t file, const char *path) MUST_CHECK;
/* The same, not flushed to disk: of a file under its temporary name, which is flushed later. */
enum status h5_save_temporary(hid_t file, const char *path) MUST_CHECK;

/* Not collective. Take `bytes` of disk behind the end of the file, so that writing them cannot
 * fail for want of room; what HDF5 does not use goes back when it closes the file. STATUS_FILE,
 * and the file as before, when there is no room. Does nothing where the file system cannot. */
enum status h5_reserve(const char *path, uint64_t bytes) MUST_CHECK;

/* Where large datasets begin in files that are opened to be written: at pages. */
enum { H5_ALIGNMENT_BYTES = 4096 };

/* Not collective. Files are not locked: a viewer that holds the file open must not stop a run. */
enum status h5_open_plain(const char *path, bool writable, hid_t *file) MUST_CHECK;

/* Collective, the outcome agreed: open with the MPI-IO driver. */
enum status h5_open_parallel(MPI_Comm comm, const char *path, bool writable,
                             hid_t *file) MUST_CHECK;

/* Flush and close a plain file; file_sync_named is needed afterwards. */
enum status h5_close_flushed(hid_t file, const char *path) MUST_CHECK;
/* Collective, the outcome agreed: flush to disk and close a parallel file. */
enum status h5_close_parallel(MPI_Comm comm, hid_t file, const char *path) MUST_CHECK;
/* Close a file that was only read, or a plain one that is given up. Collective for a parallel one.
 */
void h5_close(hid_t file); /* takes a negative id */
/* Leave a parallel file open after a failure: to close it is collective and writes again, and when
 * that fails on some ranks, the others wait in it for ever. The program must end (h5_broken.h). */
void h5_give_up(hid_t file); /* takes a negative id */

hid_t h5_type(enum precision precision); /* in memory and in files */

/* Write / read one rank's box of a dataset of shape (nz, ny, nx), or (ny, nx) or (nx) when the box
 * has a single plane or row; `values` is contiguous [z][y][x] in `precision`. An empty box moves
 * nothing. `collective`: for parallel files; all ranks call. The outcome is not yet agreed. */
enum status h5_write_box(hid_t dataset, const struct box *box, enum precision precision,
                         const void *values) MUST_CHECK; /* always collective */
enum status h5_read_box(hid_t dataset, const struct box *box, enum precision precision,
                        bool collective, void *values) MUST_CHECK;

/* Attributes on `object`, created or replaced. Strings are of fixed length, ASCII where the text
 * is (else UTF-8). */
enum status h5_attribute_string(hid_t object, const char *name, const char *value) MUST_CHECK;
enum status h5_attribute_double(hid_t object, const char *name, const double *values,
                                int count) MUST_CHECK; /* count 0: scalar */
enum status h5_attribute_int(hid_t object, const char *name, const int64_t *values, int count,
                             hid_t file_type) MUST_CHECK;
/* They fail when the attribute is missing or has another length. */
enum status h5_get_double(hid_t object, const char *name, double *values, int count) MUST_CHECK;
enum status h5_get_int(hid_t object, const char *name, int64_t *values, int count) MUST_CHECK;
enum status h5_get_string(hid_t object, const char *name, char *value, size_t bytes) MUST_CHECK;

/* A text as a scalar string dataset: attributes hold 64 KiB at most. */
enum status h5_text_dataset(hid_t file, const char *name, const char *text) MUST_CHECK;
/* Caller frees. STATUS_FILE, and NULL, when there is none or it is larger than `most` bytes. */
enum status h5_get_text(hid_t file, const char *name, size_t most, char **text) MUST_CHECK;
/* All elements of a dataset, of `bytes` each, and their number; room for one more. Caller frees. */
enum status h5_get_list(hid_t file, const char *name, hid_t type, size_t bytes, void **values,
                        int64_t *count) MUST_CHECK;

#endif
