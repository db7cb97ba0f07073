/* Checkpoints: the exact state, verified before it counts, restartable on any rank count.
 *
 * A file is HDF5 between a 512-byte user block, the seal, and a table of checksums: XXH3 of every
 * block of 1 MiB, so that all ranks check in parallel. The seal is a line of text with the format
 * version, the file's size and the table's checksum. So any damage, HDF5's own structures included,
 * is found, with its place, before anything is used. /T holds the field in the run's precision;
 * attributes of /T hold step, time, the ledger, the field hash, grid and material; /configuration
 * the text.
 *
 * Writing: room checked; temporary name; every rank writes its share (raw.h); read back and
 * compared with the field hash of the device's state; flushed; sealed; fsync; rename; fsync of the
 * folder; `latest`; then only the oldest ones go. Every step's outcome is agreed on all ranks. */
#ifndef ISOTHERM_IO_CHECKPOINT_CHECKPOINT_H
#define ISOTHERM_IO_CHECKPOINT_CHECKPOINT_H

#include <mpi.h>

#include "model/copy_out.h"
#include "model/derived.h"
#include "model/field.h"
#include "model/grid.h"
#include "model/ledger.h"

/* What a checkpoint says beside the temperature. */
struct checkpoint_state {
    int64_t step;
    double time; /* s */
    uint64_t field_hash;
    struct ledger ledger;
    double boundary_heat; /* J, what the ledger came to with the coefficients of that run */
    bool changed; /* read: material, precision or the grid's corners are others than the run's */
};

/* What a restart may differ in from the run that wrote the checkpoint, judged before a value is
 * read. */
struct checkpoint_terms {
    /* On rank 0, of a file that is whole: STATUS_INPUT when its configuration rules a restart out.
     * Called once for each file that is tried. */
    enum status (*judge)(void *context, const char *path, const char *config_text);
    void *context;
    /* Another material, precision or other corners of the grid may pass: the values stay, rounded
     * to the new precision. Another number of cells never does. */
    bool may_change;
};

/* This rank's share of a state in host memory. */
struct checkpoint_part {
    struct box cells;                     /* global indices; not empty */
    enum precision precision;             /* the run's */
    const void *values;                   /* [z][y][x]; borrowed */
    unsigned kept;                        /* the derived fields that belong to the state, */
    const double *derived[DERIVED_COUNT]; /* and the same cells of them; borrowed */
};

/* The capture half; not collective. Copy the owned cells of the present state to h_memory, of
 * checkpoint_capture_bytes, which must last until the checkpoint is written. Through `copy_out`,
 * which has begun: only queued, and h_memory is pinned; or NULL: blocks until done. */
size_t checkpoint_capture_bytes(const struct field *field);
/* The same before there is a field: of a rank that owns these cells and keeps these derived fields.
 */
size_t checkpoint_part_bytes(const struct box *owned, enum precision precision, unsigned derived);
enum status checkpoint_capture(struct field *field, struct copy_out *copy_out, void *h_memory,
                               struct checkpoint_part *part) MUST_CHECK;

/* The write half. Collective. Write `directory`/checkpoints/step_<step, 10 digits>.h5 and publish
 * it, then keep the newest `keep` (at least this one). Those of later steps go too: they belong to
 * a run that was given up when this one was restarted from before them. state->field_hash is the
 * hash of the device's state when it was captured. On failure nothing is left of the new one and
 * the old ones are whole. */
enum status checkpoint_put(MPI_Comm comm, const char *directory, const struct checkpoint_part *part,
                           const struct grid *grid, const struct medium *material,
                           const struct checkpoint_state *state, const char *config_text,
                           int keep) MUST_CHECK;

/* Collective. Both halves at once. */
enum status checkpoint_write(MPI_Comm comm, const char *directory, struct field *field,
                             const struct grid *grid, const struct medium *material,
                             const struct checkpoint_state *state, const char *config_text,
                             int keep) MUST_CHECK;

/* Collective, agreed. The same contents as `path`, without a seal, so that no restart takes it, and
 * with the attribute `reason` on /T: the state of a run whose numbers went bad. Replaces an older
 * one; on failure that stays. */
enum status checkpoint_write_postmortem(MPI_Comm comm, const char *path, struct field *field,
                                        const struct grid *grid, const struct medium *material,
                                        const struct checkpoint_state *state,
                                        const char *config_text, const char *reason) MUST_CHECK;

/* Collective. Check the seal and the shape of the file, then load it into the field (any
 * decomposition) and check the field hash. STATUS_FILE when it is missing or damaged; STATUS_INPUT
 * when it is good but of another grid, precision or material than `terms` (NULL: none of these)
 * let pass. The field is garbage on failure. */
enum status checkpoint_read(MPI_Comm comm, const char *path, struct field *field,
                            const struct grid *grid, const struct medium *material,
                            const struct checkpoint_terms *terms,
                            struct checkpoint_state *state) MUST_CHECK;

/* Collective. Load the newest good checkpoint of `directory`; damaged ones are passed over with a
 * warning that says which and why. *found false (and STATUS_OK) when there is none at all;
 * STATUS_FILE when there are some and none is good. `path` receives the name (4096 bytes). */
enum status checkpoint_read_newest(MPI_Comm comm, const char *directory, struct field *field,
                                   const struct grid *grid, const struct medium *material,
                                   const struct checkpoint_terms *terms,
                                   struct checkpoint_state *state, bool *found,
                                   char *path) MUST_CHECK;

/* Collective, agreed. This rank's box of a derived field of a checkpoint that checkpoint_read found
 * good; *found false when it does not hold that kind. */
enum status checkpoint_read_derived(MPI_Comm comm, const char *path, enum derived_kind kind,
                                    const struct box *box, double *values, bool *found) MUST_CHECK;

/* Not collective. The step of `path` if it is one of the checkpoints of `directory` (by links,
 * too), -1 if not. */
int64_t checkpoint_step_here(const char *directory, const char *path);
/* Not collective. The newest step in `directory` by name, -1: none. */
enum status checkpoint_newest_step(const char *directory, int64_t *step) MUST_CHECK;
/* Not collective. The run goes on from `step`, whose checkpoint stays: `latest` names it, and those
 * of later steps go, the newest first. */
enum status checkpoint_give_up_after(const char *directory, int64_t step) MUST_CHECK;

/* Of the temperature alone; a derived field that is kept adds 8 bytes a cell. */
uint64_t checkpoint_file_bytes(const struct grid *grid, enum precision precision);

/* Collective. Fill the owned cells from a dataset of shape (nz, ny, nx) of any HDF5 file, in K,
 * integer or floating point of any size, converted by HDF5: `initial: file`. For nz = 1 also
 * (ny, nx), for ny = nz = 1 also (nx). STATUS_FILE when it cannot be read, STATUS_INPUT (message
 * without origin) for a wrong shape or type, values that are not finite or beyond 1e12 K. */
enum status field_file_read(MPI_Comm comm, const char *path, const char *dataset,
                            struct field *field, const struct grid *grid) MUST_CHECK;

/* Not collective, needs no MPI. Is there a dataset of numbers of that shape? Looks at none of them.
 * Fails as field_file_read. */
enum status field_file_check(const char *path, const char *dataset,
                             const struct grid *grid) MUST_CHECK;

#endif
