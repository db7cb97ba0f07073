#include "io/hdf5/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/file.h"
#include "io/hdf5/h5_about.h"
#include "io/hdf5/step_files.h"

void h5_init(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

struct h5_about h5_about(void)
{
    struct h5_about about = {.parallel = false};
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    h5_init();
    H5get_libversion(&major, &minor, &release);
    (void)snprintf(about.version, sizeof about.version, "%u.%u.%u", major, minor, release);
    (void)snprintf(about.built, sizeof about.built, "%d.%d.%d", H5_VERS_MAJOR, H5_VERS_MINOR,
                   H5_VERS_RELEASE);
    int initialized = 0;
    if (MPI_Initialized(&initialized) != MPI_SUCCESS || initialized == 0) {
        return about; /* the driver duplicates the communicator */
    }
    SCOPED_H5 const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    about.parallel = H5Pset_fapl_mpio(access, MPI_COMM_SELF, MPI_INFO_NULL) >= 0 &&
                     H5Pget_driver(access) == H5FD_MPIO;
    return about;
}

static herr_t keep_innermost(unsigned level, const H5E_error2_t *error, void *reason)
{
    if (level == 0 && error->desc != NULL) {
        snprintf(reason, STATUS_MESSAGE_BYTES, "%s", error->desc);
    }
    return 0;
}

/* System errors come as "..., errno = 2, error message = 'No such file or directory', flags ..." */
static void keep_system_message(char *reason)
{
    static const char mark[] = "error message = '";
    char *begin = strstr(reason, mark);
    char *end = begin == NULL ? NULL : strchr(begin + sizeof mark - 1, '\'');
    if (end != NULL) {
        *end = '\0';
        memmove(reason, begin + sizeof mark - 1, strlen(begin + sizeof mark - 1) + 1);
    }
}

enum status h5_explain(enum status failed)
{
    char reason[STATUS_MESSAGE_BYTES] = "HDF5 gave no reason";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, reason);
    keep_system_message(reason);
    return fail(failed, "%.1200s: %.800s", fail_message(), reason);
}

enum status h5_create_memory(hsize_t userblock, hid_t *file)
{
    enum { GROW_BYTES = 1 << 16 };
    static unsigned made; /* HDF5 treats open files of the same name as one file */
    char name[32];
    snprintf(name, sizeof name, "in-memory-%u.h5", made++);
    SCOPED_H5 const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    SCOPED_H5 const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_fapl_core(access, GROW_BYTES, false);
    H5Pset_userblock(creation, userblock);
    const hid_t created = H5Fcreate(name, H5F_ACC_TRUNC, creation, access);
    const enum status status =
        created < 0 ? h5_fail("cannot create an HDF5 file in memory") : STATUS_OK;
    *file = created < 0 ? *file : created;
    return status;
}

static enum status save(hid_t file, const char *path,
                        enum status (*write)(const char *path, const char *bytes, size_t nbytes))
{
    hsize_t bytes = 0;
    void *handle = NULL; /* where the driver keeps the address of the file's bytes */
    FAIL_IF(H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 || H5Fget_filesize(file, &bytes) < 0 ||
                H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0,
            h5_fail("cannot copy the HDF5 file for %s from memory", path));
    return write(path, *(const char **)handle, (size_t)bytes);
}

enum status h5_copy_memory(hid_t file, const char *path)
{
    return save(file, path, file_replace);
}

enum status h5_save_temporary(hid_t file, const char *path, bool over, enum status written)
{
    const enum status status =
        written == STATUS_OK ? save(file, path, over ? file_overwrite : file_create) : written;
    h5_close(file);
    return status;
}

static enum status reserve(int fd, const char *path, uint64_t bytes)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    enum status status = STATUS_OK;
    if (fallocate(fd, 0, end, (off_t)bytes) == 0) {
        return STATUS_OK;
    }
    if (errno != EOPNOTSUPP && errno != ENOSYS) {
        status = fail(STATUS_FILE, "no room for %.1f MB more in %s: %s", (double)bytes * 1e-6, path,
                      strerror(errno));
    }
    /* a part may have been allocated */
    if (ftruncate(fd, end) != 0 && status == STATUS_OK) {
        status = fail(STATUS_FILE, "cannot truncate %s: %s", path, strerror(errno));
    }
    return status;
}

enum status h5_reserve(const char *path, uint64_t bytes)
{
    SCOPED_FD int fd = -1;
    TRY(file_open(path, O_RDWR, &fd));
    return reserve(fd, path, bytes);
}

/* HDF5 would wait at a pipe, and a collective open that fails on some ranks leaves the others
 * waiting in it: so each rank first opens the file by itself. */
static enum status try_reaching(const char *path, int flags)
{
    SCOPED_FD int fd = -1;
    return file_open(path, flags, &fd);
}

enum status h5_open_plain(const char *path, bool writable, hid_t *file)
{
    enum {
        ROOM_BYTES = 1 << 18, /* for the attributes and list entries added */
        LARGE_BYTES = 1 << 16
    };
    TRY(try_reaching(path, O_RDONLY));
    if (writable) {
        TRY(h5_reserve(path, ROOM_BYTES));
    }
    SCOPED_H5 const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_file_locking(access, false, true);
    H5Pset_alignment(access, LARGE_BYTES, H5_ALIGNMENT_BYTES);
    const hid_t opened = H5Fopen(path, writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
    FAIL_IF(opened < 0, h5_fail("cannot open %s", path));
    *file = opened;
    return STATUS_OK;
}

static bool broken;

bool h5_is_broken(void)
{
    return broken;
}

/* How MPI-IO failed in the file that is open for writing. */
static struct {
    atomic_bool is_known;  /* then `text` is complete */
    char path[PATH_BYTES]; /* "": not open for writing */
    char text[STATUS_MESSAGE_BYTES];
} trouble;

/* MPI calls it when an operation on a file fails, before the operation returns. */
static void note_trouble(MPI_File *file, int *code, ...)
{
    if (!trouble.is_known && trouble.path[0] != '\0') {
        char reason[MPI_MAX_ERROR_STRING] = "unknown error";
        int length = 0;
        MPI_Error_string(*code, reason, &length);
        snprintf(trouble.text, sizeof trouble.text, "MPI-IO failed in %.1200s: %.400s",
                 trouble.path, reason);
        trouble.is_known = true;
    }
}

/* A file inherits the handler of MPI_FILE_NULL when it is opened. */
static void listen_to_mpi(const char *path)
{
    static bool listens;
    MPI_Errhandler handler;
    trouble.is_known = false;
    snprintf(trouble.path, sizeof trouble.path, "%s", path);
    listens = listens || (MPI_File_create_errhandler(note_trouble, &handler) == MPI_SUCCESS &&
                          MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS);
}

const char *h5_trouble(void)
{
    return trouble.is_known ? trouble.text : NULL;
}

enum status h5_open_parallel(MPI_Comm comm, const char *path, bool writable, hid_t *file)
{
    FAIL_IF(strlen(path) > MPI_PATH_MOST,
            fail(STATUS_INPUT, "the path %.60s... is too long for MPI-IO; at most %d bytes", path,
                 MPI_PATH_MOST));
    TRY(status_agree(comm, try_reaching(path, writable ? O_RDWR : O_RDONLY)));
    SCOPED_H5 const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t opened = H5I_INVALID_HID;
    listen_to_mpi(writable ? path : "");
    if (H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL) >= 0) {
        opened = H5Fopen(path, writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
    }
    enum status status = opened < 0 ? h5_fail("cannot open %s in parallel", path) : STATUS_OK;
    status = status_agree(comm, status);
    if (status != STATUS_OK) {
        h5_give_up(opened);
        return status;
    }
    *file = opened;
    return STATUS_OK;
}

/* After a failed H5Fclose, HDF5 1.10 holds an id of freed memory and crashes when it shuts down,
 * which it does inside MPI_Finalize. */
static herr_t close_file(hid_t file)
{
    if (comm_is_broken()) {
        broken = true; /* closing would wait for ranks that may not come */
        return -1;
    }
    const herr_t failed = H5Fclose(file);
    broken = broken || failed < 0;
    return failed;
}

/* Where the file was left open, MPI is the cause. */
static enum status fail_to_close(const char *path)
{
    return comm_is_broken() ? comm_cause() : h5_fail("cannot close %s", path);
}

void h5_give_up(hid_t file)
{
    broken = broken || file >= 0;
}

static enum status flush(hid_t file, const char *path)
{
    return H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 ? h5_fail("cannot flush %s", path) : STATUS_OK;
}

enum status h5_close_parallel(MPI_Comm comm, hid_t file, const char *path)
{
    enum status status = status_agree(comm, flush(file, path));
    if (status != STATUS_OK) {
        h5_give_up(file);
        return status;
    }
    if (close_file(file) < 0) {
        status = fail_to_close(path);
    } else {
        trouble.is_known = false;
    }
    return status_agree(comm, status);
}

enum status h5_close_flushed(hid_t file, const char *path, enum status written)
{
    enum status status = written == STATUS_OK ? flush(file, path) : written;
    if (close_file(file) < 0 && status == STATUS_OK) {
        status = fail_to_close(path);
    }
    return status;
}

void h5_close(hid_t file)
{
    if (file >= 0) {
        close_file(file);
    }
}

void h5_scope_file(const hid_t *file)
{
    h5_close(*file);
}

void h5_scope_id(const hid_t *id)
{
    if (*id >= 0) {
        H5Idec_ref(*id);
    }
}

enum status h5_dataset_open(hid_t file, const char *name, hid_t *dataset)
{
    const bool exists = H5Lexists(file, name, H5P_DEFAULT) > 0; /* its header may be damaged */
    *dataset = H5Dopen2(file, name, H5P_DEFAULT);
    return *dataset >= 0 ? STATUS_OK
                         : h5_fail(exists ? "cannot open %s" : "it has no dataset %s", name);
}

struct h5_form h5_form(hid_t dataset)
{
    struct h5_form form = {.cells = {1, 1, 1}};
    SCOPED_H5 const hid_t space = H5Dget_space(dataset);
    SCOPED_H5 const hid_t type = H5Dget_type(dataset);
    form.rank = H5Sget_simple_extent_dims(space, form.shape, NULL);
    form.class = H5Tget_class(type);
    form.bytes = H5Tget_size(type);
    form.usable = (form.class == H5T_FLOAT || form.class == H5T_INTEGER) && form.rank >= 1 &&
                  form.rank <= AXIS_COUNT && H5Sget_simple_extent_npoints(space) > 0;
    for (int a = 0; a < AXIS_COUNT && a < form.rank; a++) {
        form.cells[a] = (int64_t)form.shape[form.rank - 1 - a];
    }
    return form;
}

hid_t h5_type(enum precision precision)
{
    return precision == PRECISION_FLOAT64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
}

/* Select the box on the last axes of the dataset, and make a memory space of the same size. The
 * caller closes both, on failure too. */
static enum status select_box(hid_t dataset, const struct box *box, hid_t *space, hid_t *memory)
{
    *space = H5Dget_space(dataset);
    const int rank = H5Sget_simple_extent_ndims(*space);
    FAIL_IF(rank < 1 || rank > AXIS_COUNT,
            fail(STATUS_FILE, "a dataset has %d axes where 1 to 3 are expected", rank));
    hsize_t start[AXIS_COUNT];
    hsize_t count[AXIS_COUNT];
    for (int d = 0; d < rank; d++) {
        const enum axis axis = (enum axis)(rank - 1 - d);
        start[d] = (hsize_t)box->lo[axis];
        count[d] = (hsize_t)box_extent(box, axis);
    }
    const hsize_t cells = (hsize_t)box_cells(box);
    const hsize_t memory_cells = cells > 0 ? cells : 1;
    *memory = H5Screate_simple(1, &memory_cells, NULL);
    const bool selected =
        cells > 0 ? H5Sselect_hyperslab(*space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0
                  : H5Sselect_none(*space) >= 0 && H5Sselect_none(*memory) >= 0;
    return selected && *memory >= 0 ? STATUS_OK : h5_fail("cannot select a block of cells");
}

enum status h5_move_box(hid_t dataset, const struct box *box, hid_t type, bool collective,
                        const void *from, void *to)
{
    SCOPED_H5 hid_t file_space = H5I_INVALID_HID;
    SCOPED_H5 hid_t memory_space = H5I_INVALID_HID;
    TRY(select_box(dataset, box, &file_space, &memory_space));
    const bool writes = to == NULL;
    SCOPED_H5 const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    if (collective) {
        H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    }
    const herr_t failed = writes ? H5Dwrite(dataset, type, memory_space, file_space, transfer, from)
                                 : H5Dread(dataset, type, memory_space, file_space, transfer, to);
    return failed < 0 ? h5_fail("cannot %s the values", writes ? "write" : "read") : STATUS_OK;
}

enum status h5_read_box(hid_t dataset, const struct box *box, enum precision precision,
                        bool collective, void *values)
{
    char nothing = 0; /* an empty box may have no memory */
    return h5_move_box(dataset, box, h5_type(precision), collective, NULL,
                       values != NULL ? values : &nothing);
}
