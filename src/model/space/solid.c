#include "model/space/solid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The bin of a position on y or z; the first and last ones reach to infinity. */
static int bin_of(const struct solid *solid, int axis, double position)
{
    const double width = (solid->upper[axis] - solid->lower[axis]) / solid->bins;
    const double bin = width > 0 ? floor((position - solid->lower[axis]) / width) : 0;
    return (int)fmin(fmax(bin, 0), solid->bins - 1);
}

static double least(const triangle *t, int axis)
{
    return fmin((*t)[0][axis], fmin((*t)[1][axis], (*t)[2][axis]));
}

static double most(const triangle *t, int axis)
{
    return fmax((*t)[0][axis], fmax((*t)[1][axis], (*t)[2][axis]));
}

/* Count the triangles of each bin in first[bin + 1], or put them there. */
static void visit_bins(struct solid *solid, int64_t *next)
{
    for (int64_t n = 0; n < solid->count; n++) {
        const triangle *t = (const triangle *)&solid->triangles[n];
        const int y_last = bin_of(solid, AXIS_Y, most(t, AXIS_Y));
        const int z_last = bin_of(solid, AXIS_Z, most(t, AXIS_Z));
        for (int z = bin_of(solid, AXIS_Z, least(t, AXIS_Z)); z <= z_last; z++) {
            for (int y = bin_of(solid, AXIS_Y, least(t, AXIS_Y)); y <= y_last; y++) {
                const int bin = z * solid->bins + y;
                if (next == NULL) {
                    solid->first[bin + 1]++;
                } else {
                    solid->of[next[bin]++] = (int32_t)n;
                }
            }
        }
    }
}

enum status solid_create(const struct grid *grid, triangle *triangles, int64_t count,
                         struct solid *solid)
{
    enum { MOST_BINS = 2048 };
    *solid = (struct solid){.triangles = triangles, .count = count};
    for (int a = 0; a < AXIS_COUNT; a++) {
        const double irrational[AXIS_COUNT] = {0.618034e-6, 0.754878e-6, 0.569840e-6};
        solid->shift[a] = irrational[a] * grid_smallest_width(grid, (enum axis)a);
        solid->lower[a] = INFINITY;
        solid->upper[a] = -INFINITY;
        for (int64_t n = 0; n < count; n++) {
            const triangle *t = (const triangle *)&triangles[n];
            solid->lower[a] = fmin(solid->lower[a], least(t, a));
            solid->upper[a] = fmax(solid->upper[a], most(t, a));
        }
    }
    solid->bins = (int)fmin(1 + sqrt((double)count), MOST_BINS);
    const int nbins = solid->bins * solid->bins;
    solid->first = calloc((size_t)nbins + 1, sizeof *solid->first);
    TRY(CHECK_MEMORY(solid->first != NULL, "no memory for the triangles of a body"));
    visit_bins(solid, NULL);
    for (int bin = 0; bin < nbins; bin++) {
        solid->first[bin + 1] += solid->first[bin];
    }
    SCOPED_FREE int64_t *next = malloc((size_t)nbins * sizeof *next);
    solid->of = malloc(((size_t)solid->first[nbins] + 1) * sizeof *solid->of);
    TRY(CHECK_MEMORY(next != NULL && solid->of != NULL, "no memory for the triangles of a body"));
    memcpy(next, solid->first, (size_t)nbins * sizeof *next);
    visit_bins(solid, next);
    return STATUS_OK;
}

void solid_destroy(struct solid *solid)
{
    free(solid->triangles);
    free(solid->first);
    free(solid->of);
    *solid = (struct solid){0};
}

/* Twice the area of the triangle of an edge and a point, seen along x. The same bits but for the
 * sign in both triangles of the edge, so that a ray misses or crosses both sides alike. */
static double side_of(const double a[AXIS_COUNT], const double b[AXIS_COUNT], double y, double z)
{
    const bool turned = a[AXIS_Y] > b[AXIS_Y] || (a[AXIS_Y] == b[AXIS_Y] && a[AXIS_Z] > b[AXIS_Z]);
    const double *from = turned ? b : a;
    const double *to = turned ? a : b;
    const double area = (to[AXIS_Y] - from[AXIS_Y]) * (z - from[AXIS_Z]) -
                        (to[AXIS_Z] - from[AXIS_Z]) * (y - from[AXIS_Y]);
    return turned ? -area : area;
}

static bool is_crossed(const triangle *t, const double at[AXIS_COUNT])
{
    const double c = side_of((*t)[0], (*t)[1], at[AXIS_Y], at[AXIS_Z]);
    const double a = side_of((*t)[1], (*t)[2], at[AXIS_Y], at[AXIS_Z]);
    const double b = side_of((*t)[2], (*t)[0], at[AXIS_Y], at[AXIS_Z]);
    if ((a > 0) != (b > 0) || (b > 0) != (c > 0) || a + b + c == 0) {
        return false;
    }
    const double x = (a * (*t)[0][AXIS_X] + b * (*t)[1][AXIS_X] + c * (*t)[2][AXIS_X]);
    return x / (a + b + c) > at[AXIS_X];
}

static bool is_near(const struct solid *solid, const double at[AXIS_COUNT])
{
    bool near = true;
    for (int a = 0; a < AXIS_COUNT; a++) {
        near = near && at[a] >= solid->lower[a] && at[a] <= solid->upper[a];
    }
    return near;
}

bool solid_holds(const struct solid *solid, const double at[AXIS_COUNT])
{
    bool inside = false;
    double point[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        point[a] = at[a] + solid->shift[a];
    }
    if (!is_near(solid, point)) {
        return false;
    }
    const int bin =
        bin_of(solid, AXIS_Z, point[AXIS_Z]) * solid->bins + bin_of(solid, AXIS_Y, point[AXIS_Y]);
    for (int64_t n = solid->first[bin]; n < solid->first[bin + 1]; n++) {
        inside ^= is_crossed((const triangle *)&solid->triangles[solid->of[n]], point);
    }
    return inside;
}

void solid_normal(const struct solid *solid, const double at[AXIS_COUNT], double normal[AXIS_COUNT])
{
    double nearest = INFINITY;
    const int bin =
        bin_of(solid, AXIS_Z, at[AXIS_Z]) * solid->bins + bin_of(solid, AXIS_Y, at[AXIS_Y]);
    for (int64_t i = solid->first[bin]; i < solid->first[bin + 1]; i++) {
        const triangle *t = (const triangle *)&solid->triangles[solid->of[i]];
        double n[AXIS_COUNT];
        double beyond = 0; /* how far the point is out of the box of the triangle, and its plane */
        double across = 0;
        double length = 0;
        for (int a = 0; a < AXIS_COUNT; a++) {
            const int b = (a + 1) % AXIS_COUNT;
            const int c = (a + 2) % AXIS_COUNT;
            n[a] = ((*t)[1][b] - (*t)[0][b]) * ((*t)[2][c] - (*t)[0][c]) -
                   ((*t)[1][c] - (*t)[0][c]) * ((*t)[2][b] - (*t)[0][b]);
            across += n[a] * (at[a] - (*t)[0][a]);
            length += n[a] * n[a];
            beyond = fmax(beyond, fmax(least(t, a) - at[a], at[a] - most(t, a)));
        }
        const double distance = fmax(beyond, fabs(across) / sqrt(length));
        if (length > 0 && distance < nearest) {
            nearest = distance;
            memcpy(normal, n, sizeof n);
        }
    }
}
