/* Boundary conditions as affine closures. */
#ifndef ISOTHERM_MODEL_BOUNDARY_H
#define ISOTHERM_MODEL_BOUNDARY_H

#include <math.h>

#include "base/box.h"
#include "config/expression.h"
#include "kernels/backend.h"
#include "model/grid.h"
#include "model/medium.h"

struct boundary {
    struct boundary_setting face[FACE_COUNT];  /* borrows strings of the settings */
    struct expression *expression[FACE_COUNT]; /* of t; NULL when the temperature is a number */
    bool periodic[AXIS_COUNT];
};

enum status boundary_create(const struct settings *settings, struct boundary *boundary) MUST_CHECK;
void boundary_destroy(struct boundary *boundary);

/* The closure of every face at time t: outside = a inside + b (docs/numerics.md):
 *   temperature Tb:      a = -1, b = 2 Tb
 *   flux q into it:      a = 1,  b = q h / k
 *   convection hc, Ta:   a = (2k - hc h) / (2k + hc h), b = 2 hc h Ta / (2k + hc h)
 *   axis not in use:     a = 1,  b = 0
 * Periodic faces: closed = false. Rounded to `precision`, so that the ledger uses the kernel's
 * values. STATUS_NUMERICS when a formula gives no finite temperature. */
struct closure {
    bool closed[FACE_COUNT];
    double a[FACE_COUNT];
    double b[FACE_COUNT]; /* K */
};
/* a and b of one face, unrounded, where the cells inside have the conductivity k, W/(m K). */
enum status boundary_face(const struct boundary *boundary, const struct grid *grid, double k,
                          enum face face, double t, double *a, double *b) MUST_CHECK;

/* With classes: a and b of class 0. */
enum status boundary_closure(const struct boundary *boundary, const struct grid *grid,
                             const struct medium *medium, enum precision precision, double t,
                             struct closure *closure) MUST_CHECK;

/* The temperature at a closed face, K: the mean of inside and outside. So it is the given one,
 * exactly, where a = -1. */
static inline double closure_face_temperature(const struct closure *closure, enum face face,
                                              double inside)
{
    return 0.5 * fma(1 + closure->a[face], inside, closure->b[face]);
}

/* Does that temperature not depend on the cell inside? */
static inline bool closure_is_prescribed(const struct closure *closure, enum face face)
{
    return closure->a[face] == -1;
}

/* Evaluate the closures at t = 0 s. STATUS_INPUT, with the line of the face in the configuration,
 * when one has no finite value. */
enum status boundary_check(const struct settings *settings, const struct boundary *boundary,
                           const struct grid *grid, const struct medium *medium) MUST_CHECK;

#endif
