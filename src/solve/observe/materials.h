/* What the cells of each material have in common at one step. */
#pragma once

#include "solve/stepper.h"

/* Of a material without cells all are NaN, but the heat is 0. */
struct material_diagnostics {
    double min, max, mean; /* K */
    double heat;           /* J */
};

/* Collective, agreed. For problem->medium.nmaterials materials; the same bits on any decomposition.
 * Copies the field and its classes to the host in pieces: about the cost of a snapshot's copy.
 * Needs valid cells (diagnostics_take). */
enum status materials_take(struct stepper *stepper, struct material_diagnostics *materials);
