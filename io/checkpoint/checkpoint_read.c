#include "io/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "io/checkpoint/checkpoint_internal.h"
#include "io/hdf5/h5_field.h"
#include "io/hdf5/step_files.h"
#include "io/raw/h5_raw.h"

static enum status check_cells(const struct grid *there, const struct grid *grid)
{
    const int64_t *cells = there->cells;
    if (memcmp(cells, grid->cells, sizeof grid->cells) == 0) {
        return STATUS_OK;
    }
    return fail(STATUS_INPUT,
                "it is of another grid: [%" PRId64 ", %" PRId64 ", %" PRId64
                "] cells there, [%" PRId64 ", %" PRId64 ", %" PRId64 "] in the configuration",
                cells[AXIS_X], cells[AXIS_Y], cells[AXIS_Z], grid->cells[AXIS_X],
                grid->cells[AXIS_Y], grid->cells[AXIS_Z]);
}

static enum status check_corners(const struct grid *there, const struct grid *grid)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        FAIL_IF(there->lower[a] != grid->lower[a] || there->upper[a] != grid->upper[a],
                fail(STATUS_INPUT,
                     "it is of another grid: %s from %.17g to %.17g m there, from %.17g to "
                     "%.17g m in the configuration",
                     axis_name((enum axis)a), there->lower[a], there->upper[a], grid->lower[a],
                     grid->upper[a]));
        FAIL_IF(!grid_same_axis(there, grid, (enum axis)a),
                fail(STATUS_INPUT,
                     "it is of another grid: its cells on the %s axis have other "
                     "widths",
                     axis_name((enum axis)a)));
    }
    return STATUS_OK;
}

static enum status check_material(hid_t dataset, const struct medium *material)
{
    double conductivity = 0;
    double capacity = 0;
    char here[32] = "";
    char there[32] = "";
    if (medium_hash(material) != 0) {
        snprintf(here, sizeof here, "%016" PRIx64, medium_hash(material));
    }
    if (H5Aexists(dataset, "materials_hash") > 0) {
        TRY(h5_get_string(dataset, "materials_hash", there, sizeof there));
    }
    FAIL_IF(strcmp(here, there) != 0,
            fail(STATUS_INPUT,
                 "it is of other materials, or of another place of them (hash "
                 "%s there, %s in the configuration)",
                 there[0] != '\0' ? there : "none", here[0] != '\0' ? here : "none"));
    TRY(h5_get_double(dataset, "conductivity", &conductivity, 0));
    TRY(h5_get_double(dataset, "heat_capacity_volume", &capacity, 0));
    FAIL_IF(conductivity != material->conductivity,
            fail(STATUS_INPUT,
                 "it is of another material: conductivity %.17g W/(m K) there, %.17g in the "
                 "configuration",
                 conductivity, material->conductivity));
    FAIL_IF(capacity != material->heat_capacity_volume,
            fail(STATUS_INPUT,
                 "it is of another material: density times heat capacity %.17g J/(m^3 K) "
                 "there, %.17g in the configuration",
                 capacity, material->heat_capacity_volume));
    return STATUS_OK;
}

/* Of the temperatures in the file. */
static enum status get_precision(hid_t dataset, enum precision *precision)
{
    char name[32] = "";
    TRY(h5_get_string(dataset, "precision", name, sizeof name));
    const bool wide = strcmp(name, precision_name(PRECISION_FLOAT64)) == 0;
    FAIL_IF(!wide && strcmp(name, precision_name(PRECISION_FLOAT32)) != 0,
            fail(STATUS_FILE, "its precision \"%s\" is unknown", name));
    *precision = wide ? PRECISION_FLOAT64 : PRECISION_FLOAT32;
    return STATUS_OK;
}

/* What rank 0 reads for all ranks. */
struct contents {
    struct checkpoint_state state;
    enum precision precision;
};

/* One property: the same as in the run, or allowed to change. */
static enum status allow(const struct checkpoint_reader *r, enum status same, bool *changed)
{
    if (same == STATUS_INPUT && r->may_change) {
        *changed = true;
        fail_clear();
        return STATUS_OK;
    }
    return same;
}

static enum status check_fit(const struct checkpoint_reader *r, hid_t dataset,
                             struct contents *contents)
{
    bool *changed = &contents->state.changed;
    bool other = false;
    SCOPED_BY(h5_grid_free) struct grid there = {.dimensions = 0};
    TRY(h5_grid(dataset, &there, H5_READ));
    TRY(check_cells(&there, r->grid));
    TRY(allow(r, check_corners(&there, r->grid), changed));
    TRY(get_precision(dataset, &contents->precision));
    if (contents->precision != r->field->layout.precision) {
        TRY(allow(r,
                  fail(STATUS_INPUT, "it has precision %s, and run.precision is %s",
                       precision_name(contents->precision),
                       precision_name(r->field->layout.precision)),
                  changed));
    }
    TRY(allow(r, check_material(dataset, r->material), &other));
    contents->state.has_enthalpy = r->material->curves != NULL && !other;
    *changed = *changed || other;
    return STATUS_OK;
}

static enum status judge(const struct checkpoint_reader *r, const char *path, hid_t file)
{
    enum { MOST_BYTES = 16 << 20 };
    SCOPED_FREE char *text = NULL;
    if (r->judge == NULL) {
        return STATUS_OK;
    }
    TRY(h5_get_text(file, "/configuration", MOST_BYTES, &text));
    return r->judge(r->context, path, text);
}

/* Rank 0: does it fit this run? */
static enum status read_metadata(const struct checkpoint_reader *r, const char *path,
                                 struct contents *contents)
{
    SCOPED_H5_FILE hid_t file = H5I_INVALID_HID;
    hid_t dataset = H5I_INVALID_HID;
    TRY(h5_open_plain(path, false, &file));
    TRY(h5_dataset_open(file, "/T", &dataset));
    TRY(judge(r, path, file));
    TRY(check_fit(r, dataset, contents));
    return checkpoint_state(dataset, &contents->state, H5_READ);
}

/* Collective, agreed: the field hash of what is on the device. */
static enum status device_hash(const struct checkpoint_reader *r, uint64_t *hash)
{
    struct field *field = r->field;
    uint64_t mine = 0;
    enum status status =
        ENQUEUE(field->backend->operations, hash, field->queue, .layout = field->layout,
                .placement = field->placement, .d_field = field->d_now, .h_hash = &mine);
    status = status == STATUS_OK ? field->backend->runtime->queue_wait(field->queue) : status;
    TRY(status_agree(r->comm, status));
    TRY_MPI(MPI_Allreduce(&mine, hash, 1, MPI_UINT64_T, MPI_SUM, r->comm));
    return STATUS_OK;
}

static enum status read_values(const struct checkpoint_reader *r, const char *path,
                               const struct contents *contents)
{
    hid_t file = H5I_INVALID_HID;
    hid_t dataset = H5I_INVALID_HID;
    uint64_t hash = 0;
    TRY(h5_open_parallel(r->comm, path, false, &file));
    /* the hash of a file with both is that of /H */
    const bool enthalpy = contents->state.has_enthalpy;
    const bool known = enthalpy || H5Lexists(file, "/H", H5P_DEFAULT) <= 0;
    const char *name = enthalpy ? "/H" : "/T";
    enum status status = status_agree(r->comm, h5_dataset_open(file, name, &dataset));
    if (status == STATUS_OK) {
        status = h5_field_read(r->comm, dataset, r->field, H5_FIELD_PIECE_BYTES);
    }
    h5_close(file);
    TRY(status);
    /* where the precision changes, of the file's values */
    status = contents->precision == r->field->layout.precision
                 ? device_hash(r, &hash)
                 : h5_raw_check(r->comm, path, name, &hash);
    TRY(status);
    if (known && hash != contents->state.field_hash) {
        status = fail(STATUS_FILE,
                      "the loaded field has the hash %016" PRIx64 ", the file records %016" PRIx64,
                      hash, contents->state.field_hash);
    }
    return status_agree(r->comm, status);
}

static enum status read_checked(const struct checkpoint_reader *r, const char *path,
                                struct checkpoint_state *state)
{
    struct contents found;
    memset(&found, 0, sizeof found);
    TRY(checkpoint_seal_check(r->comm, path));
    const bool first = comm_rank(r->comm) == 0;
    TRY(status_agree(r->comm, first ? read_metadata(r, path, &found) : STATUS_OK));
    TRY_MPI(MPI_Bcast(&found, (int)sizeof found, MPI_BYTE, 0, r->comm));
    TRY(read_values(r, path, &found));
    *state = found.state;
    return STATUS_OK;
}

enum status checkpoint_read(const struct checkpoint_reader *reader, const char *path,
                            struct checkpoint_state *state)
{
    h5_init();
    return fail_prefix(read_checked(reader, path, state),
                       "the checkpoint %s cannot be used: ", path);
}

enum status checkpoint_read_derived(MPI_Comm comm, const char *path, enum derived_kind kind,
                                    const struct box *box, double *values, bool *found)
{
    const char *name = derived_label(kind)->name;
    hid_t file = H5I_INVALID_HID;
    hid_t dataset = H5I_INVALID_HID;
    TRY(h5_open_parallel(comm, path, false, &file));
    enum status status = STATUS_OK;
    *found = H5Lexists(file, name, H5P_DEFAULT) > 0; /* the same on all ranks */
    if (*found) {
        TRY_GOTO(status_agree(comm, h5_dataset_open(file, name, &dataset)));
        TRY_GOTO(h5_part_read(comm, dataset, box, PRECISION_FLOAT64, values, H5_FIELD_PIECE_BYTES));
    }
done:
    h5_close(file);
    return fail_prefix(status, "%s of the checkpoint %s: ", name, path);
}

/* Collective, agreed: rank 0's list for all. Caller frees, on failure too. */
static enum status list_for_all(MPI_Comm comm, const char *folder, int64_t **steps, int *count)
{
    const bool first = comm_rank(comm) == 0;
    TRY(status_agree(comm, first ? step_files_list(folder, steps, count) : STATUS_OK));
    TRY_MPI(MPI_Bcast(count, 1, MPI_INT, 0, comm));
    *steps = first ? *steps : malloc(((size_t)*count + 1) * sizeof **steps);
    TRY(status_agree(comm,
                     CHECK_MEMORY(first || *steps != NULL, "no memory to list the checkpoints")));
    return comm_check(MPI_Bcast(*steps, *count, MPI_INT64_T, 0, comm), "MPI_Bcast");
}

enum status checkpoint_read_newest(const struct checkpoint_reader *reader, const char *directory,
                                   struct checkpoint_state *state, bool *found, char *path)
{
    char folder[PATH_BYTES];
    SCOPED_FREE int64_t *steps = NULL;
    int count = 0;
    *found = false;
    h5_init();
    TRY(checkpoint_folder(directory, folder));
    TRY(list_for_all(reader->comm, folder, &steps, &count));
    for (int i = 0; i < count; i++) {
        TRY(step_file_path(folder, steps[i], path));
        const enum status status = read_checked(reader, path, state);
        if (status != STATUS_FILE) {
            *found = status == STATUS_OK;
            return fail_prefix(status, "the checkpoint %s cannot be used: ", path);
        }
        log_warn("the checkpoint %s is damaged (%s): skipped", path, fail_message());
    }
    return count == 0 ? STATUS_OK
                      : status_agree(reader->comm,
                                     fail(STATUS_FILE, "none of the %d checkpoints in %s is valid",
                                          count, folder));
}
