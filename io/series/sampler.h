/* Temperatures at points, for probes and lines: interpolation between the centres of the eight
 * cells around a point, on each axis with the conductivities of the two cells and their contact.
 * Within half a cell of a face it goes from the outermost centre to the face, whose temperature
 * follows from the closure; across periodic faces to the cells at the other side. The bits do not
 * depend on the decomposition. */
#pragma once

#include <mpi.h>

#include "model/field/field.h"
#include "model/space/grid.h"

struct sampler;

/* `points`: npoints times x, y, z, m, inside the grid. Coordinates of unused axes are ignored.
 * `above`: of each point between two cells, the upper one owns it; NULL: the lower ones do. */
struct sampler_points {
    int64_t npoints;
    const double *points;
    const bool *above;
};

/* Not collective. The points are copied. The field's device must outlive the sampler. `classes`:
 * their layout, or NULL; `differ`: they conduct differently. */
enum status sampler_create(const struct field *field, const struct grid *grid,
                           const bool periodic[AXIS_COUNT], const struct layout *classes,
                           bool differ, const struct sampler_points *points,
                           struct sampler **sampler);
void sampler_destroy(struct sampler *sampler); /* takes NULL */

/* Device memory that sampler_create needs at most. */
uint64_t sampler_bytes(int64_t npoints, enum precision precision);

/* The closure of a face of the domain at the cell `cell` (local indices) inside it. */
typedef struct class_closure sampler_closure(const void *context, enum face face,
                                             const int64_t cell[AXIS_COUNT]);

/* Between the centres of neighbouring cells, with these indices on the axis, of the classes `of` at
 * `kelvins`: the share of their
 * difference from the lower one to `part` of the way. At half the way of a contact the side that
 * `above` says. */
typedef double sampler_share(const void *context, enum axis axis, const int64_t cells[2],
                             const uint8_t of[2], const double kelvins[2], double part, bool above);

/* What is between the cells' centres and beyond the outermost ones, at the time of the field. */
struct sampler_space {
    const void *context;
    sampler_closure *closure; /* called where the cell is owned */
    sampler_share *share;     /* called on rank 0 */
    const struct device_medium *medium;
    bool enthalpy;      /* the field is one, without its temperatures */
    const bool *is_gap; /* of each class, or of 0 without them: a point there has no value, NaN */
};

/* The faces, as bits, whose closures are called for. */
unsigned sampler_faces(const struct sampler *sampler);

/* Collective, agreed. The temperatures of the present step, K, on rank 0: npoints values, borrowed
 * until the next call; NULL elsewhere. */
enum status sampler_take(MPI_Comm comm, struct sampler *sampler, const struct field *field,
                         const struct sampler_space *space, const double **values);
