/* libFuzzer on what is read of a checkpoint before its field is used: the seal, and the attributes
 * that say what the field is.
 *
 * An input that begins with "ISOTHERM" is a file, as its bytes are. Any other one describes, a line
 * an attribute, what to change in a good checkpoint, which is then sealed and read:
 *
 *     - NAME               remove it
 *     i NAME NUMBER...     replace it by integers; d: by doubles; s NAME TEXT: by a text
 *     T NX NY NZ           another shape of /T; F: in float32
 *
 * So every header is met that can stand behind a seal that holds. HDF5's own structures are not
 * damaged here: the seal is checked before HDF5 sees a file. */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "io/checkpoint/checkpoint_internal.h"
#include "io/hdf5/h5.h"
#include "kernels/backends.h"
#include "tests/io/checkpoint_both.h"

enum { LINE_BYTES = 256, MOST_NUMBERS = 32 };

static const int64_t cells[AXIS_COUNT] = {4, 3, 2};

static struct {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    struct decomp decomp;
    struct grid grid;
    struct medium material;
    struct field *field;
    struct checkpoint_state state;
    char folder[64];
    char path[PATH_BYTES]; /* the file under test */
    char *good;            /* a good checkpoint */
    size_t good_bytes;
} rig;

static void must(enum status status)
{
    if (status != STATUS_OK) {
        fprintf(stderr, "the fuzzer itself fails: %s\n", fail_message());
        abort();
    }
}

static void expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s: \"%s\"\n", what, fail_message());
        abort();
    }
}

static void write_good_checkpoint(void)
{
    double values[24];
    char path[PATH_BYTES];
    for (int c = 0; c < 24; c++) {
        values[c] = 300 + c;
    }
    const struct box owned = layout_owned(&rig.field->layout);
    must(field_write(rig.field, &owned, values));
    rig.state = (struct checkpoint_state){.step = 7, .time = 0.5};
    must(ENQUEUE(rig.backend->operations, hash, rig.queue, .layout = rig.field->layout,
                 .placement = rig.field->placement, .d_field = rig.field->d_now,
                 .h_hash = &rig.state.field_hash));
    must(rig.backend->runtime->queue_wait(rig.queue));
    must(checkpoint_write(MPI_COMM_SELF, rig.folder, rig.field, &rig.grid, &rig.material,
                          &rig.state, "title: fuzz\n", 1));
    snprintf(path, sizeof path, "%s/checkpoints/step_0000000007.h5", rig.folder);
    must(file_read_all(path, 1 << 20, &rig.good, &rig.good_bytes));
}

static void clean_up(void)
{
    char path[PATH_BYTES];
    static const char *const left[] = {"checkpoints/step_0000000007.h5", "checkpoints/latest",
                                       "checkpoints", "file.h5", "."};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        if (path_join(rig.folder, left[i], path) == STATUS_OK) {
            remove(i + 1 < sizeof left / sizeof left[0] ? path : rig.folder);
        }
    }
    free(rig.good);
    field_destroy(rig.field);
    rig.backend->runtime->queue_destroy(rig.queue);
    rig.backend->runtime->close(rig.device);
    MPI_Finalize();
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const bool periodic[AXIS_COUNT] = {false, false, false};
    MPI_Init(argc, argv);
    snprintf(rig.folder, sizeof rig.folder, "/dev/shm/fuzz_checkpoint.%d", (int)getpid());
    snprintf(rig.path, sizeof rig.path, "%s/file.h5", rig.folder);
    for (int a = 0; a < AXIS_COUNT; a++) {
        rig.grid.cells[a] = cells[a];
        rig.grid.used[a] = true;
        rig.grid.spacing[a] = 0.5;
        rig.grid.upper[a] = 0.5 * (double)cells[a];
    }
    rig.grid.dimensions = AXIS_COUNT;
    rig.material = (struct medium){2.5, 4.0, 2.5 / 4.0};
    rig.backend = backend_find("cpu");
    must(rig.backend->runtime->open(0, 1, &rig.device));
    must(rig.backend->runtime->queue_create(rig.device, QUEUE_NORMAL, &rig.queue));
    must(decomp_create(cells, periodic, 1, 1, NULL, &rig.decomp));
    must(field_create(rig.backend, rig.device, rig.queue, &rig.decomp, 0, PRECISION_FLOAT64,
                      &rig.field));
    must(directory_make(rig.folder));
    write_good_checkpoint();
    atexit(clean_up);
    return 0;
}

/* ---- bytes as a file ---------------------------------------------------------------------------
 */

static void save(const void *bytes, size_t nbytes)
{
    FILE *file = fopen(rig.path, "wb");
    expect(file != NULL && fwrite(bytes, 1, nbytes, file) == nbytes && fclose(file) == 0,
           "cannot write the file");
}

static enum status read_file(void)
{
    struct checkpoint_state state;
    fail_clear();
    const enum status status =
        checkpoint_read(&(struct checkpoint_reader){.comm = MPI_COMM_SELF,
                                                    .field = rig.field,
                                                    .grid = &rig.grid,
                                                    .material = &rig.material},
                        rig.path, &state);
    expect(status == STATUS_OK || fail_message()[0] != '\0', "refused without a message");
    expect(status == STATUS_OK || status == STATUS_FILE || status == STATUS_INPUT,
           "a failure that is not the file's");
    return status;
}

/* Only what was sealed may be read; whatever is sealed holds, until a byte changes. */
static void try_bytes(const uint8_t *data, size_t size)
{
    save(data, size);
    const bool is_good = size == rig.good_bytes && memcmp(data, rig.good, size) == 0;
    expect((read_file() == STATUS_OK) == is_good, "a file that nobody sealed is read");
    if (size <= CHECKPOINT_SEAL_BYTES) {
        return;
    }
    must(checkpoint_seal_write(MPI_COMM_SELF, rig.path));
    must(checkpoint_seal_check(MPI_COMM_SELF, rig.path));
    char *sealed = NULL;
    size_t nbytes = 0;
    must(file_read_all(rig.path, size + checkpoint_seal_table_bytes(size), &sealed, &nbytes));
    const size_t at = (size_t)(data[size - 1] * 257U + data[size / 2]) % nbytes;
    sealed[at] ^= 0x20;
    save(sealed, nbytes);
    free(sealed);
    expect(checkpoint_seal_check(MPI_COMM_SELF, rig.path) == STATUS_FILE, "damage is not seen");
}

/* ---- a header that somebody sealed
 * ---------------------------------------------------------------- */

static int read_numbers(const char *text, int64_t integers[MOST_NUMBERS],
                        double reals[MOST_NUMBERS])
{
    int count = 0;
    for (char *after = NULL; count < MOST_NUMBERS; count++, text = after) {
        integers[count] = strtoll(text, &after, 10);
        reals[count] = strtod(text, &after);
        if (after == text) {
            break;
        }
    }
    return count;
}

static void replace_dataset(hid_t file, const char *numbers, hid_t type)
{
    int64_t extent[MOST_NUMBERS];
    double unused[MOST_NUMBERS];
    hsize_t shape[MOST_NUMBERS];
    const int count = read_numbers(numbers, extent, unused);
    hsize_t all = 1;
    for (int d = 0; d < count; d++) {
        shape[d] = (hsize_t)(extent[d] & 15);
        all *= shape[d];
    }
    if (count == 0 || count > 4 || all > 4096) {
        return;
    }
    H5Ldelete(file, "/T", H5P_DEFAULT);
    const hid_t space = H5Screate_simple(count, shape, NULL);
    H5Dclose(H5Dcreate2(file, "/T", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
}

static void replace_attribute(hid_t dataset, char kind, const char *name, const char *value)
{
    int64_t integers[MOST_NUMBERS];
    double reals[MOST_NUMBERS];
    const int count = read_numbers(value, integers, reals);
    H5Adelete(dataset, name);
    enum status status = STATUS_OK;
    if (kind == 'i' && count > 0) {
        status = h5_attribute_int(dataset, name, integers, count > 1 ? count : 0);
    } else if (kind == 'd' && count > 0) {
        status = h5_attribute_double(dataset, name, reals, count > 1 ? count : 0);
    } else if (kind == 's') {
        status = h5_attribute_string(dataset, name, value);
    }
    if (status != STATUS_OK) {
        fail_clear(); /* not every name can be one */
    }
}

static void apply(hid_t file, const char *line)
{
    char name[LINE_BYTES] = "";
    int used = 0;
    if (line[0] == 'T' || line[0] == 'F') {
        replace_dataset(file, line + 1, line[0] == 'T' ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT);
        return;
    }
    if (line[0] == '\0' || sscanf(line + 1, " %255s %n", name, &used) != 1) {
        return;
    }
    const hid_t dataset = H5Dopen2(file, "/T", H5P_DEFAULT);
    if (dataset >= 0) {
        replace_attribute(dataset, line[0], name, line + 1 + used);
        H5Dclose(dataset);
    }
}

static void try_header(const uint8_t *data, size_t size)
{
    hid_t file = H5I_INVALID_HID;
    save(rig.good, rig.good_bytes);
    must(h5_open_plain(rig.path, true, &file));
    while (size > 0) {
        char line[LINE_BYTES];
        const uint8_t *end = memchr(data, '\n', size);
        const size_t bytes = end == NULL ? size : (size_t)(end - data);
        snprintf(line, sizeof line, "%.*s", (int)bytes, (const char *)data);
        apply(file, line);
        data += bytes + (end != NULL);
        size -= bytes + (end != NULL);
    }
    must(h5_close_flushed(file, rig.path, STATUS_OK));
    must(checkpoint_seal_write(MPI_COMM_SELF, rig.path));
    (void)read_file();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 8 && memcmp(data, "ISOTHERM", 8) == 0) {
        try_bytes(data, size);
    } else {
        try_header(data, size);
    }
    return 0;
}
