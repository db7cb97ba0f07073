/* f = lap(u): the operation of `bench kernels` that the step kernels are compared with.
 *
 * The kernels of the study that docs/laplacian_study.md describes, and their traffic model. They
 * have a contract of their own: plain arrays without halo or padding, only interior points are
 * written. A run never calls them. */
#ifndef ISOTHERM_KERNELS_LAPLACIAN_H
#define ISOTHERM_KERNELS_LAPLACIAN_H

#include <stdint.h>

#include "base/box.h"
#include "base/precision.h"
#include "base/status.h"

struct queue;

/* u and f: [nz][ny][nx], x fastest, without halo or padding. */
struct laplacian {
    enum precision precision;
    int64_t points[AXIS_COUNT];    /* at least 3 on each axis */
    double inverse_h2[AXIS_COUNT]; /* 1/h^2 per axis, 1/m^2 */
};

/* Queued. Write f at the points that have six neighbours, with the expression of
 * laplacian_point.h, bit for bit; leave the others. d_f and d_u: device memory, distinct, aligned
 * to 16 bytes. STATUS_DEVICE when the device refuses, or has no room for so many points. */
typedef enum status laplacian_function(struct queue *queue, const struct laplacian *laplacian,
                                       void *d_f, const void *d_u);

struct laplacian_variant {
    const char *name;
    const char *about;
    laplacian_function *run;
};

/* What the study says must be read: all points but the 8 corners and the 12 edges. Bytes. */
static inline uint64_t laplacian_fetch_bytes(const struct laplacian *laplacian)
{
    const uint64_t nx = (uint64_t)laplacian->points[AXIS_X];
    const uint64_t ny = (uint64_t)laplacian->points[AXIS_Y];
    const uint64_t nz = (uint64_t)laplacian->points[AXIS_Z];
    const uint64_t edges = 4 * (nx - 2) + 4 * (ny - 2) + 4 * (nz - 2);
    return (nx * ny * nz - 8 - edges) * precision_bytes(laplacian->precision);
}

static inline uint64_t laplacian_interior_points(const struct laplacian *laplacian)
{
    uint64_t points = 1;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        points *= (uint64_t)(laplacian->points[axis] - 2);
    }
    return points;
}

/* And written: the interior points. Bytes. */
static inline uint64_t laplacian_write_bytes(const struct laplacian *laplacian)
{
    return laplacian_interior_points(laplacian) * precision_bytes(laplacian->precision);
}

#endif
