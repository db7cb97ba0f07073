#include "io/checkpoint/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/log.h"
#include "base/version.h"
#include "io/checkpoint/checkpoint_internal.h"
#include "io/hdf5/step_files.h"
#include "io/raw/h5_raw.h"
#include "model/field/view.h"

/* What all steps of one write need. */
struct job {
    MPI_Comm comm;
    const struct checkpoint_part *part;
    const struct grid *grid;
    const struct medium *material;
    const struct checkpoint_state *state;
    const char *config_text;
    const char *reason; /* of a post-mortem; NULL in a checkpoint */
    char folder[PATH_BYTES];
    char path[PATH_BYTES];
    char temporary[PATH_BYTES];
    bool reused; /* `temporary` has the contents of an earlier one */
};

uint64_t checkpoint_file_bytes(const struct grid *grid, enum precision precision)
{
    enum { STRUCTURES = 16384 }; /* seal, HDF5's headers, attributes */
    const uint64_t bytes = (uint64_t)grid_total_cells(grid) * precision_bytes(precision) +
                           h5_raw_bytes(grid->cells, precision) + STRUCTURES;
    return bytes + checkpoint_seal_table_bytes(bytes);
}

static uint64_t file_bytes(const struct job *job)
{
    const struct checkpoint_part *part = job->part;
    const uint64_t kept = (uint64_t)(part->nfields - part->nstate);
    return (uint64_t)part->nstate * checkpoint_file_bytes(job->grid, part->precision) +
           kept * ((uint64_t)grid_total_cells(job->grid) * sizeof(double) +
                   h5_raw_bytes(job->grid->cells, PRECISION_FLOAT64));
}

/* Rank 0. Overwriting an obsolete file takes less time than allocating another and
 * freeing this one. */
static enum status prepare(struct job *job)
{
    uint64_t value_bytes = 0; /* the cells alone */
    for (int f = 0; f < job->part->nfields; f++) {
        value_bytes +=
            (uint64_t)grid_total_cells(job->grid) * precision_bytes(job->part->field[f].precision);
    }
    TRY(directory_make(job->folder));
    TRY(step_files_reuse_temporary(job->folder, value_bytes, job->temporary, &job->reused));
    const uint64_t bytes = file_bytes(job);
    return job->reused ? STATUS_OK
                       : directory_check_room(job->folder, bytes + strlen(job->config_text));
}

static enum status write_attributes(const struct job *job, hid_t dataset)
{
    const struct medium *material = job->material;
    struct grid grid = *job->grid;
    struct checkpoint_state state = *job->state;
    TRY(h5_attribute_string(dataset, "isotherm_version", ISOTHERM_VERSION));
    TRY(h5_attribute_string(dataset, "precision", precision_name(job->part->precision)));
    TRY(h5_grid(dataset, &grid, H5_WRITE));
    TRY(h5_attribute_double(dataset, "conductivity", &material->conductivity, 0));
    TRY(h5_attribute_double(dataset, "heat_capacity_volume", &material->heat_capacity_volume, 0));
    if (medium_hash(material) != 0) {
        char hash[32];
        snprintf(hash, sizeof hash, "%016" PRIx64, medium_hash(material));
        TRY(h5_attribute_string(dataset, "materials_hash", hash));
    }
    if (job->reason != NULL) {
        TRY(h5_attribute_string(dataset, "reason", job->reason));
    }
    return checkpoint_state(dataset, &state, H5_WRITE);
}

/* One dataset, complete except for its values. */
static enum status make_dataset(const struct job *job, hid_t file, int number,
                                struct raw_place *place)
{
    const struct checkpoint_field *field = &job->part->field[number];
    const struct derived_label *label = field->label;
    SCOPED_H5 hid_t dataset = H5I_INVALID_HID;
    TRY(h5_raw_make(file, label->name, job->grid->cells, field->precision, place));
    TRY(h5_dataset_open(file, label->name, &dataset));
    TRY(h5_attribute_label(dataset, label->units, label->long_name));
    return number == 0 ? write_attributes(job, dataset) : STATUS_OK;
}

static enum status make_datasets(const struct job *job, hid_t file, struct raw_place *places)
{
    for (int f = 0; f < job->part->nfields; f++) {
        TRY(make_dataset(job, file, f, &places[f]));
    }
    return STATUS_OK;
}

/* Rank 0: everything but the values, and disk space for these. */
static enum status make_file(const struct job *job, struct raw_place *places)
{
    hid_t file = H5I_INVALID_HID;
    TRY(h5_create_memory(CHECKPOINT_SEAL_BYTES, &file));
    TRY(h5_save_temporary(file, job->temporary, job->reused,
                          h5_text_dataset(file, "/configuration", job->config_text)));
    if (!job->reused) {
        TRY(h5_reserve(job->temporary, file_bytes(job)));
    }
    file = H5I_INVALID_HID;
    TRY(h5_open_plain(job->temporary, true, &file));
    return h5_close_flushed(file, job->temporary, make_datasets(job, file, places));
}

/* Collective, agreed: write all fields, read them back and compare with the device's hash. */
static enum status write_values(const struct job *job)
{
    const struct checkpoint_part *part = job->part;
    struct raw_place places[2 + DERIVED_COUNT];
    struct raw_part parts[2 + DERIVED_COUNT];
    uint64_t hash = 0;
    const bool first = comm_rank(job->comm) == 0;
    memset(places, 0, sizeof places);
    for (int f = 0; f < part->nfields; f++) {
        const bool hashed = f == part->nstate - 1 && job->reason == NULL;
        parts[f] = (struct raw_part){part->field[f].label->name, part->field[f].values,
                                     hashed ? &hash : NULL};
    }
    TRY(status_agree(job->comm, first ? make_file(job, places) : STATUS_OK));
    TRY(raw_fill(job->comm, job->temporary, places, parts, part->nfields, &part->cells,
                 RAW_READ_BACK));
    enum status status = STATUS_OK;
    if (job->reason == NULL && hash != job->state->field_hash) {
        status = fail(STATUS_FILE,
                      "what was read back differs from what was written (field hash %016" PRIx64
                      " instead of %016" PRIx64 "); is the disk full or failing?",
                      hash, job->state->field_hash);
    }
    return status_agree(job->comm, status);
}

/* Rank 0. Remove all but the newest `keep`, but one, which is written over next. Checkpoints of
 * later steps belong to an abandoned run. Never a failure: the new checkpoint is valid. */
static void prune(const struct job *job, int keep)
{
    SCOPED_FREE int64_t *steps = NULL;
    int count = 0;
    if (step_files_list(job->folder, &steps, &count) != STATUS_OK) {
        log_warn("old checkpoints are not removed: %s", fail_message());
        return;
    }
    int kept = 0;
    bool has_given_up = false;
    for (int i = 0; i < count; i++) {
        if (steps[i] <= job->state->step && (kept < keep || kept == 0)) {
            kept++;
            continue;
        }
        if (!has_given_up && step_files_give_up(job->folder, steps[i])) {
            has_given_up = true;
            continue;
        }
        char path[PATH_BYTES];
        if (step_file_path(job->folder, steps[i], path) == STATUS_OK && unlink(path) != 0) {
            log_warn("cannot remove the old checkpoint %s: %s", path, strerror(errno));
        }
    }
}

/* Rank 0. */
static enum status publish(const struct job *job, int keep)
{
    TRY(file_publish(job->temporary, job->path));
    if (job->reason == NULL) {
        TRY(checkpoint_name_latest(job->folder, job->state->step));
        prune(job, keep);
    }
    return STATUS_OK;
}

/* Collective, agreed. A post-mortem has no seal. The checksums of the seal are taken while the disk
 * works, so one flush at the end serves all; each rank flushes the pages of its node. */
static enum status write_file(const struct job *job, int keep)
{
    const bool first = comm_rank(job->comm) == 0;
    enum status status = STATUS_OK;
    TRY_GOTO(write_values(job));
    if (job->reason == NULL) {
        TRY_GOTO(checkpoint_seal_write(job->comm, job->temporary));
    }
    TRY_GOTO(status_agree(job->comm, file_sync_named(job->temporary)));
    TRY_GOTO(status_agree(job->comm, first ? publish(job, keep) : STATUS_OK));
done:
    if (status != STATUS_OK && first) {
        unlink(job->temporary);
    }
    return status;
}

enum status checkpoint_put(MPI_Comm comm, const char *directory, const struct checkpoint_part *part,
                           const struct grid *grid, const struct medium *material,
                           const struct checkpoint_state *state, const char *config_text, int keep)
{
    struct job job = {comm, part, grid, material, state, config_text, .reason = NULL};
    h5_init();
    TRY(checkpoint_folder(directory, job.folder));
    TRY(step_file_path(job.folder, state->step, job.path));
    TRY(path_print(job.temporary, sizeof job.temporary, "%s.tmp", job.path));
    enum status status = status_agree(comm, comm_rank(comm) == 0 ? prepare(&job) : STATUS_OK);
    status = status == STATUS_OK ? write_file(&job, keep) : status;
    return fail_prefix(status,
                       "the checkpoint of step %" PRId64 " could not be written: ", state->step);
}

size_t checkpoint_part_bytes(const struct box *owned, enum precision precision, bool enthalpy,
                             unsigned derived)
{
    const uint64_t cells = (uint64_t)box_cells(owned);
    return (enthalpy ? 2 : 1) * copy_out_bytes(cells * precision_bytes(precision)) +
           (uint64_t)derived_count(derived) * copy_out_bytes(cells * sizeof(double));
}

static unsigned kept_of(const struct field *field)
{
    return field->derived != NULL ? derived_kept(field->derived->mask) : 0;
}

size_t checkpoint_capture_bytes(const struct field *field)
{
    const struct box owned = layout_owned(&field->layout);
    return checkpoint_part_bytes(&owned, field->layout.precision, field->d_shown != NULL,
                                 kept_of(field));
}

/* One field, bit for bit, in whole cache lines of *h_memory. */
static enum status add_field(struct field *field, struct copy_out *copy_out,
                             const struct derived_label *label, const struct layout *layout,
                             const void *d_memory, char **h_memory, struct checkpoint_part *part)
{
    struct view whole = {.stride = {1, 1, 1}};
    const size_t bytes = (size_t)box_cells(&part->cells) * precision_bytes(layout->precision);
    memcpy(whole.grid.cells, field->placement.global_cells, sizeof whole.grid.cells);
    part->field[part->nfields++] = (struct checkpoint_field){label, layout->precision, *h_memory};
    TRY(view_take(&whole, copy_out, field, layout, d_memory, VIEW_AS_IT_IS, layout->precision,
                  *h_memory));
    *h_memory += copy_out_bytes(bytes);
    return STATUS_OK;
}

enum status checkpoint_capture(struct field *field, struct copy_out *copy_out, void *h_memory,
                               struct checkpoint_part *part)
{
    static const struct derived_label enthalpy = {
        "H", "K", "enthalpy per volume over the heat_capacity_volume of T"};
    const struct box owned = layout_owned(&field->layout);
    const struct derived *derived = field->derived;
    char *next = h_memory;
    *part = (struct checkpoint_part){.cells = box_shift(&owned, field->placement.offset),
                                     .precision = field->layout.precision,
                                     .nstate = field->d_shown != NULL ? 2 : 1};
    TRY(add_field(field, copy_out, derived_field_label(), &field->layout, field_temperature(field),
                  &next, part));
    if (field->d_shown != NULL) {
        TRY(add_field(field, copy_out, &enthalpy, &field->layout, field->d_now, &next, part));
    }
    for (int kind = 0; kind < DERIVED_COUNT; kind++) {
        if (derived_wants(kept_of(field), kind)) {
            TRY(add_field(field, copy_out, derived_label((enum derived_kind)kind), &derived->layout,
                          derived->d_values[kind], &next, part));
        }
    }
    return STATUS_OK;
}

enum status checkpoint_write_postmortem(MPI_Comm comm, const char *path, struct field *field,
                                        const struct grid *grid, const struct medium *material,
                                        const struct checkpoint_state *state,
                                        const char *config_text, const char *reason)
{
    const size_t bytes = checkpoint_capture_bytes(field);
    SCOPED_FREE void *memory = malloc(bytes);
    struct checkpoint_part part;
    struct job job = {comm, &part, grid, material, state, config_text, .reason = reason};
    h5_init();
    snprintf(job.path, sizeof job.path, "%s", path);
    snprintf(job.temporary, sizeof job.temporary, "%.4000s.tmp", path);
    TRY(status_agree(comm, memory == NULL ? fail(STATUS_MEMORY, "no memory for %s of a checkpoint",
                                                 SIZE_TEXT(bytes))
                                          : checkpoint_capture(field, NULL, memory, &part)));
    return write_file(&job, 0);
}
