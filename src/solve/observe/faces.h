/* The heat flow through each closed face of the domain, and its mean temperature. */
#pragma once

#include "solve/stepper.h"

/* The closures of all faces at the time of the state. */
struct face_closures {
    const struct stepper *stepper;
    struct heat_operator op;                   /* for a step of 1 s */
    struct class_closure *classes[FACE_COUNT]; /* as operator_closures has them, or NULL */
    void *enthalpy[FACE_COUNT]; /* of this rank's cells inside a closed face, or NULL */
};
/* Collective, agreed. */
enum status faces_closures(const struct stepper *stepper, struct face_closures *closures);
void faces_closures_free(struct face_closures *closures);
/* That of a face at the cell `cell` (local indices) inside it, owned by this rank; `context`: a
 * struct face_closures. */
struct class_closure faces_closure_at(const void *context, enum face face,
                                      const int64_t cell[AXIS_COUNT]);
/* Between two cells of a medium of classes, with the conductances of a step (io/series/sampler.h);
 * `context`: a struct face_closures. */
double faces_share_between(const void *context, enum axis axis, const uint8_t of[2],
                           const double kelvins[2], double part, bool above);

/* At the faces of the domain; NaN for periodic faces and unused axes. */
struct face_diagnostics {
    double flow[FACE_COUNT]; /* W into the domain */
    double mean[FACE_COUNT]; /* K, the temperature of the face */
    /* The same for each named patch, in the order of boundary_next_named: {flow, mean}, of which
     * the mean is NaN without cells. The caller's; NULL: not wanted. */
    double (*patches)[2];
};

/* Collective, agreed. As they are at the current time: the flow is the heat that the ledger books
 * for a step from there, divided by its length. Reads the cells at the faces; needs valid cells
 * (diagnostics_take). The same bits on any decomposition. */
enum status faces_take(struct stepper *stepper, struct face_diagnostics *faces);
