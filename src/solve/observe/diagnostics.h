/* Properties of the whole field at one step, reduced over all ranks: the same bits on all of
 * them. */
#pragma once

#include "solve/stepper.h"

struct diagnostics {
    int64_t step;
    double time;           /* s */
    double min, max, mean; /* K */
    double heat;           /* J */
    double boundary_heat;  /* J, entered through the boundary since step 0 */
    double source_heat;    /* J, by sources since step 0 */
    double heat_drift;     /* J, heat - heat at the start - boundary_heat - source_heat */
};

/* Collective. The summary of all ranks from that of each. */
enum status diagnostics_reduce(MPI_Comm comm, const struct field_summary *mine,
                               struct field_summary *all);

/* Collective. Wait for all queues and reduce the ledger and the summary of the field.
 * STATUS_NUMERICS, agreed, with step, cell and rank, when a cell is NaN, infinite or beyond 1.1e12
 * K. */
enum status diagnostics_take(struct stepper *stepper, struct diagnostics *diagnostics);

/* Collective. Add the sums on the devices to the ledger and reset them to zero. */
enum status diagnostics_gather_ledger(struct stepper *stepper);

/* Not collective; blocks. The part of this rank in the hash of a field of the level. */
enum status diagnostics_hash_rank(struct stepper *stepper, const void *d_field, uint64_t *mine);

/* Collective. 64 bits over global indices and temperatures; see kernels/cell/heat_cell.h. */
enum status diagnostics_field_hash(struct stepper *stepper, uint64_t *hash);

/* ---- of the cells of each material ---- */

/* Of a material without cells all are NaN, but the heat is 0. */
struct material_diagnostics {
    double min, max, mean; /* K */
    double heat;           /* J */
};

/* Collective, agreed. For the materials of the medium without ambients; the same bits on any
 * decomposition. Copies the field and its classes to the host in pieces: about the cost of a
 * snapshot's copy. Needs valid cells (diagnostics_take). */
enum status materials_take(struct stepper *stepper, struct material_diagnostics *materials);
/* Collective, agreed. The mean temperature of a graded grid, K. */
enum status materials_mean(struct stepper *stepper, double *mean);

/* ---- of the region that is melted ---- */

/* All 0 where no cell is above the temperature of melting. */
struct melt_pool_diagnostics {
    /* m, along each axis: between the isotherms on the profile of the highest temperatures of the
     * planes across it, linear between the centres of cells; or to the face that the region
     * touches. */
    double extent[AXIS_COUNT];
    double volume; /* m^3, of the cells whose temperature is above it */
};

struct melt_pool; /* memory for the profiles */

/* Not collective. */
enum status melt_pool_open(const struct stepper *stepper, struct melt_pool **pool);
void melt_pool_close(struct melt_pool *pool); /* takes NULL */
/* Device memory that melt_pool_open needs on a rank that owns these cells. */
uint64_t melt_pool_bytes(const struct box *owned);

/* Collective, agreed. The same bits on any decomposition. Needs valid cells (diagnostics_take). */
enum status melt_pool_take(struct melt_pool *pool, struct stepper *stepper,
                           struct melt_pool_diagnostics *found);

/* ---- of each closed face of the domain ---- */

/* The closures of all faces at the time of the state. */
struct face_closures {
    const struct stepper *stepper;
    struct heat_operator op;                   /* for a step of 1 s */
    struct class_closure *classes[FACE_COUNT]; /* as operator_closures has them, or NULL */
    void *enthalpy[FACE_COUNT]; /* of this rank's cells inside a closed face, or NULL */
    /* Gaussian sources on faces: those of x_min, then x_max and so on. */
    struct heat_source beam[MOST_SOURCES + 1];
    int beams_end[FACE_COUNT];                     /* of each face */
    struct face_exchange condition[MOST_SURFACES]; /* of each surface that exchanges */
};
/* Collective, agreed. Bits of `faces`: of which. */
enum status faces_closures(const struct stepper *stepper, unsigned faces,
                           struct face_closures *closures);
void faces_closures_free(struct face_closures *closures);
/* That of a face at the cell `cell` (local indices) inside it, owned by this rank, for the
 * temperature of the face, with sources there; `context`: a struct face_closures. */
struct class_closure faces_closure_at(const void *context, enum face face,
                                      const int64_t cell[AXIS_COUNT]);

/* Between two cells of a medium of classes, with the conductances of a step (io/series/sampler.h);
 * `context`: a struct face_closures. */
double faces_share_between(const void *context, enum axis axis, const int64_t cells[2],
                           const uint8_t of[2], const double kelvins[2], double part, bool above);

/* Of a surface between a body and an ambient. */
struct surface_diagnostics {
    double flow;            /* W into the body */
    double area, cell_area; /* m^2: that which the heat crosses, and of the cells' faces */
    double mean;            /* K, the temperature of the surface */
};

/* At the faces of the domain; NaN for periodic faces and unused axes. */
struct face_diagnostics {
    double flow[FACE_COUNT]; /* W into the domain */
    double mean[FACE_COUNT]; /* K, the temperature of the face */
    /* The same for each named patch, in the order of boundary_next_named: {flow, mean}, of which
     * the mean is NaN without cells. The caller's; NULL: not wanted. */
    double (*patches)[2];
    struct surface_diagnostics *surfaces; /* of all entries of `surfaces`; the same */
};

/* The sums at the faces between faces_begin and faces_end; zeroed: none. The device reads and
 * writes it until then. */
struct face_reading {
    struct face_closures closures;
    struct exact_sum layer[FACE_COUNT]; /* of a uniform medium, as below */
    struct exact_sum rise[FACE_COUNT];  /* the same: by the sources on the face */
    struct field_sums sums;
    bool of_surfaces; /* set before faces_begin: the sums of surfaces, too */
};

/* Collective, agreed. As they are at the current time: the flow is the heat that the ledger books
 * for a step from there, divided by its length. Reads the cells at the faces; the same bits on any
 * decomposition. faces_begin is queued, and can be so before the summary of diagnostics_take, so
 * that one wait serves both; faces_end needs valid cells (diagnostics_take). */
enum status faces_begin(struct stepper *stepper, struct face_reading *reading);
enum status faces_end(struct stepper *stepper, struct face_reading *reading,
                      struct face_diagnostics *faces);
void faces_leave(struct face_reading *reading); /* instead of faces_end; and after it */
/* All of them. */
enum status faces_take(struct stepper *stepper, struct face_diagnostics *faces);

/* ---- checks: NaN and infinities (by diagnostics_take), the maximum principle and the heat ledger;
 * model/operator/limits.h defines the bounds ---- */

/* Whether a check is due after this step, independent of outputs. */
bool numerics_check_is_due(const struct stepper *stepper, int64_t step);

/* The next step at which a check is due; INT64_MAX: none. */
int64_t numerics_check_next(const struct stepper *stepper);

/* Collective. Check the diagnostics of the current step against those of the last check; the first
 * call only stores them. STATUS_NUMERICS, agreed, with step, cell, place and rank. No effect when
 * run.watch.every is 0. */
enum status numerics_check(struct stepper *stepper, const struct diagnostics *diagnostics);
