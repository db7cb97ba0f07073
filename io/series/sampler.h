/* Temperatures at points, for probes and lines: trilinear interpolation between the centres of the
 * eight cells around a point. Within half a cell of a face it goes from the outermost centre to the
 * face, whose temperature follows from the closure; across periodic faces to the cells at the other
 * side. The bits do not depend on the decomposition. */
#pragma once

#include <mpi.h>

#include "model/field/field.h"
#include "model/medium/boundary.h"
#include "model/operator/operator.h"
#include "model/space/grid.h"

struct sampler;

/* Not collective. `points`: npoints times x, y, z, m, inside the grid; copied. Coordinates of
 * unused axes are ignored. The field's device must outlive the sampler. */
enum status sampler_create(const struct field *field, const struct grid *grid,
                           const bool periodic[AXIS_COUNT], const double *points, int64_t npoints,
                           struct sampler **sampler);
void sampler_destroy(struct sampler *sampler); /* takes NULL */

/* Device memory that sampler_create needs at most. */
uint64_t sampler_bytes(int64_t npoints, enum precision precision);

/* The closure of a face of the domain at the cell `cell` (local indices) inside it. */
typedef struct class_closure sampler_closure(const void *context, enum face face,
                                             const int64_t cell[AXIS_COUNT]);

/* Collective, agreed. The temperatures of the present step, K, on rank 0: npoints values, borrowed
 * until the next call; NULL elsewhere. `closure`: of that time; called where the cell is owned. */
enum status sampler_take(MPI_Comm comm, struct sampler *sampler, const struct field *field,
                         sampler_closure *closure, const void *context, const double **values);
