/* A wrapper of HDF5: its error stack becomes our messages, and closing a file closes everything
 * that was opened in it. The only header that includes hdf5.h; for the files of io/ alone.
 *
 * The parallel driver carries bulk data only. Rank 0 reads and writes attributes, links and small
 * datasets through the plain driver, while no rank has the file open in parallel: a failure there
 * is one rank's and can be agreed on, and virtual datasets are possible. */
#pragma once

#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>

#include "base/box.h"
#include "base/file.h"
#include "base/precision.h"
#include "base/status.h"
#include "config/grid_setting.h"

/* Turn off HDF5's own printing. Call once per process; repeated calls do nothing. */
void h5_init(void);

/* STATUS_FILE with a message and the innermost reason of HDF5's error stack. */
#define h5_fail(...) h5_explain(fail(STATUS_FILE, __VA_ARGS__))
enum status h5_explain(enum status failed);

/* Create a file in memory, so that HDF5 never writes to a full disk. `userblock` bytes are left
 * free at the front (0, or a power of two >= 512). */
enum status h5_create_memory(hsize_t userblock, hid_t *file);
/* Replace `path` by a copy of the file in memory, which stays open. */
enum status h5_copy_memory(hid_t file, const char *path);
/* Save the file under its temporary name, not flushed to disk, and close it. over: the beginning of
 * a file that exists (file_overwrite). `written`: the outcome of filling it; on a failure nothing
 * is saved, and it is returned. */
enum status h5_save_temporary(hid_t file, const char *path, bool over, enum status written);

/* Not collective. Reserve `bytes` of disk behind the end of the file, so that writing them cannot
 * fail for lack of space; closing the file gives the rest back. STATUS_FILE, and the file
 * unchanged, when there is no space. Does nothing where the file system does not support it. */
enum status h5_reserve(const char *path, uint64_t bytes);

/* Large datasets begin at multiples of this. */
enum { H5_ALIGNMENT_BYTES = 4096 };

/* Not collective. Files are not locked: a viewer that holds the file open must not stop a run. */
enum status h5_open_plain(const char *path, bool writable, hid_t *file);

/* Collective, the outcome agreed: open with the MPI-IO driver. */
enum status h5_open_parallel(MPI_Comm comm, const char *path, bool writable, hid_t *file);

/* Flush and close a plain file; file_sync_named is needed afterwards. `written`: the outcome of
 * filling it; on a failure the file is only closed, and it is returned. */
enum status h5_close_flushed(hid_t file, const char *path, enum status written);
/* Collective, the outcome agreed: flush to disk and close a parallel file. */
enum status h5_close_parallel(MPI_Comm comm, hid_t file, const char *path);
/* Close a file that was only read, or a plain one that is abandoned. Collective if it is parallel.
 */
void h5_close(hid_t file); /* takes a negative id */
/* Before the declaration of such a file, and of any other id: closed at the end of its block. */
#define SCOPED_H5_FILE __attribute__((cleanup(h5_scope_file)))
#define SCOPED_H5 __attribute__((cleanup(h5_scope_id)))
void h5_scope_file(const hid_t *file);
void h5_scope_id(const hid_t *id);
/* Leave a parallel file open after a failure: closing is collective and writes, and where that
 * fails on some ranks the others hang. The program must then end (h5_is_broken). */
void h5_give_up(hid_t file); /* takes a negative id */

enum status h5_dataset_open(hid_t file, const char *name, hid_t *dataset);
hid_t h5_type(enum precision precision); /* in memory and in files */

/* Shape and type of a dataset. */
struct h5_form {
    int rank; /* number of axes */
    hsize_t shape[H5S_MAX_RANK];
    int64_t cells[AXIS_COUNT]; /* of up to three axes; those that it lacks have one cell */
    H5T_class_t class;
    size_t bytes; /* of a value */
    bool usable;  /* numbers, in one to three axes, and not empty */
};
struct h5_form h5_form(hid_t dataset);

/* Write `from`, or with NULL read `to`: one rank's box of a dataset of shape (nz, ny, nx), or
 * (ny, nx) or (nx) when the box has a single plane or row, contiguous [z][y][x] in numbers of
 * `type`. The box may be empty. `collective`: for parallel files; all ranks call. The outcome is
 * not agreed. */
enum status h5_move_box(hid_t dataset, const struct box *box, hid_t type, bool collective,
                        const void *from, void *to);
enum status h5_read_box(hid_t dataset, const struct box *box, enum precision precision,
                        bool collective, void *values);

/* Attributes of `object`, created or replaced. Strings have fixed length, in ASCII or else UTF-8.
 */
enum status h5_attribute_string(hid_t object, const char *name, const char *value);
enum status h5_attribute_label(hid_t object, const char *units, const char *long_name);
enum status h5_attribute_double(hid_t object, const char *name, const double *values,
                                int count); /* count 0: scalar */
enum status h5_attribute_int(hid_t object, const char *name, const int64_t *values, int count);
/* STATUS_FILE when the attribute is missing or has another length. */
enum status h5_get_double(hid_t object, const char *name, double *values, int count);
enum status h5_get_int(hid_t object, const char *name, int64_t *values, int count);
/* A string of fixed or of variable length, truncated to fit. */
enum status h5_get_string(hid_t object, const char *name, char *value, size_t bytes);
/* The attributes lower_m and upper_m; false when they are not both there. */
bool h5_get_corners(hid_t object, double lower[AXIS_COUNT], double upper[AXIS_COUNT]);

/* A member of a struct that is kept in an attribute: doubles, int64_t, or a uint64_t that is kept
 * as the hexadecimal digits of a string. `count` 0: scalar. */
struct h5_member {
    const char *name;
    enum { H5_DOUBLE, H5_INT, H5_HASH } kind;
    int count;
    size_t offset; /* in the struct */
};
enum h5_direction { H5_READ, H5_WRITE };
enum status h5_members(hid_t object, const struct h5_member *members, int nmembers, void *all,
                       enum h5_direction direction);
/* The attributes cells, lower_m and upper_m of a grid; of graded axes also x_edges_m and so on.
 * Read into a zeroed grid, which h5_grid_free frees, on failure too. */
struct grid;
enum status h5_grid(hid_t object, struct grid *grid, enum h5_direction direction);
void h5_grid_free(struct grid *grid);

/* The edges alone, of axes that have none yet: allocated, and freed by h5_free_edges, on failure
 * too. STATUS_FILE when their number does not fit. */
enum status h5_read_edges(hid_t object, const int64_t cells[AXIS_COUNT],
                          struct axis_cells graded[AXIS_COUNT]);
bool h5_has_edges(hid_t object); /* of any axis */
void h5_free_edges(struct axis_cells graded[AXIS_COUNT]);

/* A dataset of numbers that says what lies along a dimension of others; count 0: a scalar. Tools
 * that know netCDF use it: HDF5's "Dimension Scale Specification". */
enum status h5_scale(hid_t file, const char *name, const double *values, int64_t count,
                     const char *units, const char *long_name);
/* The scales in `file` that belong to the dimensions of a dataset, from the slowest. */
enum status h5_attach_scales(hid_t file, hid_t dataset, const char *const names[], int count);

/* A string as a scalar dataset, for more than the 64 KiB of an attribute. */
enum status h5_text_dataset(hid_t file, const char *name, const char *text);
/* Caller frees, on failure too. STATUS_FILE when there is none or it is larger than `most` bytes.
 */
enum status h5_get_text(hid_t file, const char *name, size_t most, char **text);
/* All elements of a dataset, of `bytes` each, and their number. Caller frees, on failure too. */
enum status h5_get_list(hid_t file, const char *name, hid_t type, size_t bytes, void **values,
                        int64_t *count);

/* Finding a dataset that a user names.
 *
 * HDF5 searches the target of a link in the folders of HDF5_EXT_PREFIX, next to the file, and in
 * the working directory, where the same name may belong to another run; a virtual dataset returns
 * constants where its sources are missing. So both are refused, and the message names the file to
 * use. Only the snapshots of a series are followed: next to its list, and nowhere else. */

enum { H5_NAME_BYTES = 512 };

/* An object in a file. */
struct h5_place {
    char path[PATH_BYTES];
    char name[H5_NAME_BYTES];
};

/* STATUS_INPUT when the path or the name is too long. */
enum status h5_place_set(const char *path, const char *name, struct h5_place *place);

/* Not collective. Replace "/snap/<i>/..." of a series, open as `file`, by the place in the
 * snapshot's own file; any other place is left unchanged. STATUS_FILE when the link cannot be read.
 */
enum status h5_find_snapshot(hid_t file, struct h5_place *place);

/* Not collective. Open the dataset for reading, through links within the file only. STATUS_INPUT,
 * naming the other file, where the values lie elsewhere, and for an object that is not a dataset;
 * STATUS_FILE when it cannot be opened. Closing the file closes it. */
enum status h5_open_dataset(hid_t file, const struct h5_place *place, hid_t *dataset);
/* Open the file as well; for a place in a series, the snapshot's. */
enum status h5_open_place(struct h5_place *place, hid_t *file, hid_t *dataset);
