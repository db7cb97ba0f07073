/* Checkpoints: the exact state, verified before it is published, for a restart on any rank count
 * (docs/developers/files_design.md).
 *
 * /T holds the temperature in the run's precision, its attributes step, time, ledger, field hash,
 * grid and material; /configuration the text. Where the field is an enthalpy, /H holds it, and the
 * field hash is of that. All ranks agree on the outcome of each step of the writing. */
#pragma once

#include <mpi.h>

#include "model/field/copy_out.h"
#include "model/field/derived.h"
#include "model/field/field.h"
#include "model/medium/medium.h"
#include "model/operator/ledger.h"
#include "model/space/grid.h"
#include "model/superstep/superstep.h"

/* The contents of a checkpoint besides the temperature. */
struct checkpoint_state {
    int64_t step;
    double time; /* s */
    uint64_t field_hash;
    struct ledger ledger;
    double boundary_heat; /* J, by the ledger, with the coefficients of that run */
    double source_heat;   /* J, the same; stored if the run has sources, or had some */
    /* The present time steps, if they were adapted to the field; else adapted_dt is 0. */
    int64_t adapted_step;        /* the first of them */
    double adapted_time;         /* s, before it */
    double adapted_dt;           /* s */
    struct step_control control; /* all 0 without super steps by a tolerance */
    bool has_enthalpy; /* read: the field has been filled with the enthalpy; else temperatures */
    bool changed;      /* read: material, precision or the grid's corners differ from the run's */
};

/* A run that takes a checkpoint, and how it may differ from the run that wrote it. */
struct checkpoint_reader {
    MPI_Comm comm;
    struct field *field;
    const struct grid *grid;
    const struct medium *material;
    /* On rank 0, once for each intact file, before its values are read: STATUS_INPUT when its
     * configuration does not allow a restart. NULL: every one does. */
    enum status (*judge)(void *context, const char *path, const char *config_text);
    void *context;
    /* Material, precision and the grid's corners may differ; the values are rounded to the new
     * precision. The number of cells may not. */
    bool may_change;
};

/* This rank's share of a state in host memory: the temperature, where it is not the field also the
 * enthalpy, and the derived fields that depend on the past. */
struct checkpoint_part {
    struct box cells;         /* global indices; not empty */
    enum precision precision; /* the run's */
    int nstate, nfields;      /* of `field`: temperature and enthalpy; all */
    struct checkpoint_field {
        const struct derived_label *label; /* of its dataset */
        enum precision precision;
        const void *values; /* [z][y][x]; borrowed */
    } field[2 + DERIVED_COUNT];
};

/* The capture half; not collective. Copy the owned cells of the present state to h_memory, of
 * checkpoint_capture_bytes, which must last until the checkpoint is written. With `copy_out`, which
 * has begun: queued, and h_memory is pinned; NULL: blocks until done. */
size_t checkpoint_capture_bytes(const struct field *field);
/* The same without a field: for a rank that owns these cells. */
size_t checkpoint_part_bytes(const struct box *owned, enum precision precision, bool enthalpy,
                             unsigned derived);
enum status checkpoint_capture(struct field *field, struct copy_out *copy_out, void *h_memory,
                               struct checkpoint_part *part);

/* The write half. Collective. Write `directory`/checkpoints/step_<step, 10 digits>.h5 and publish
 * it, then keep the newest `keep` (at least this one). Checkpoints of later steps are removed: they
 * belong to a run that was abandoned. state->field_hash is the hash of the device's state when it
 * was captured. On failure the new file is removed and the old ones are unchanged. */
enum status checkpoint_put(MPI_Comm comm, const char *directory, const struct checkpoint_part *part,
                           const struct grid *grid, const struct medium *material,
                           const struct checkpoint_state *state, const char *config_text, int keep);

/* Collective, agreed. Write the same contents to `path`, without a seal, so that no restart uses
 * it, and with the attribute `reason` on /T: the state of a run with invalid values. Replaces an
 * older one; on failure that is kept. */
enum status checkpoint_write_postmortem(MPI_Comm comm, const char *path, struct field *field,
                                        const struct grid *grid, const struct medium *material,
                                        const struct checkpoint_state *state,
                                        const char *config_text, const char *reason);

/* Collective. Check the seal and the shape of the file, then load it into the field (any
 * decomposition) and check the field hash. STATUS_FILE when it is missing or damaged; STATUS_INPUT
 * when it is valid but differs more than it may. The field is undefined on failure. */
enum status checkpoint_read(const struct checkpoint_reader *reader, const char *path,
                            struct checkpoint_state *state);

/* Collective. Load the newest valid checkpoint of `directory`; damaged ones are skipped with a
 * warning. *found false (and STATUS_OK) when there are no checkpoints; STATUS_FILE when none of
 * them is valid. `path` receives the name (4096 bytes). */
enum status checkpoint_read_newest(const struct checkpoint_reader *reader, const char *directory,
                                   struct checkpoint_state *state, bool *found, char *path);

/* Collective, agreed. Read this rank's box of a derived field, after checkpoint_read; *found false
 * when the checkpoint does not hold that kind. */
enum status checkpoint_read_derived(MPI_Comm comm, const char *path, enum derived_kind kind,
                                    const struct box *box, double *values, bool *found);

/* Not collective. The step of `path` if it is, perhaps by links, a checkpoint of `directory`, else
 * -1. */
int64_t checkpoint_step_here(const char *directory, const char *path);
/* Not collective. The newest step in `directory` by file name, -1: none. */
enum status checkpoint_newest_step(const char *directory, int64_t *step);
/* Not collective. Remove the incomplete and the given up files of `directory`. */
enum status checkpoint_remove_temporaries(const char *directory);
/* Not collective. The run continues from `step`: let `latest` name its checkpoint, and remove those
 * of later steps, the newest first. */
enum status checkpoint_give_up_after(const char *directory, int64_t step);

/* Without derived fields, which add 8 bytes per cell each. */
uint64_t checkpoint_file_bytes(const struct grid *grid, enum precision precision);
