/* By hand: libadmesh takes a binary file for text where no byte of its first triangles is above
 * 127, such as a cube of 1000, and then reads forever. */
#include "io/input/solid_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

typedef float corners[3][AXIS_COUNT];

/* Bytes of a binary file: before the triangles, with their number at the end, and of each. */
enum { HEADER = 84, FACET = 50, NORMAL = 12 };
static const size_t MOST_BYTES = (size_t)1 << 34;

/* The numbers behind each "vertex" of a text file; NULL: count only. */
static int64_t read_text(const char *text, corners *found)
{
    int64_t count = 0; /* of corners */
    for (const char *at = text; (at = strstr(at, "vertex")) != NULL; count++) {
        at += strlen("vertex");
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            char *end;
            const float number = strtof(at, &end);
            if (end == at) {
                return 0;
            }
            if (found != NULL) {
                found[count / 3][count % 3][axis] = number;
            }
            at = end;
        }
    }
    return count % 3 == 0 ? count / 3 : 0;
}

static enum status read_triangles(const char *path, corners **found, int64_t *count)
{
    SCOPED_FREE char *bytes = NULL;
    size_t nbytes = 0;
    uint32_t number = 0;
    TRY(file_read_all(path, MOST_BYTES, &bytes, &nbytes));
    if (nbytes >= HEADER) {
        memcpy(&number, bytes + HEADER - sizeof number, sizeof number);
    }
    const bool is_binary = nbytes > HEADER && nbytes == HEADER + (uint64_t)FACET * number;
    *count = is_binary ? (int64_t)number : read_text(bytes, NULL);
    FAIL_IF(*count == 0 || *count > INT32_MAX,
            fail(STATUS_INPUT, "%.200s is not an STL file", path));
    *found = malloc((size_t)*count * sizeof **found);
    TRY(CHECK_MEMORY(*found != NULL, "no memory for the triangles of %.200s", path));
    for (uint32_t n = 0; n < number && is_binary; n++) { /* little-endian, as this machine */
        memcpy((*found)[n], bytes + HEADER + (size_t)FACET * n + NORMAL, sizeof **found);
    }
    if (!is_binary) {
        read_text(bytes, *found);
    }
    float *numbers = &(*found)[0][0][0];
    for (int64_t n = 0; n < 9 * *count; n++) {
        FAIL_IF(!(fabsf(numbers[n]) < 1e30F),
                fail(STATUS_INPUT, "%.200s: a coordinate of triangle %lld is not a usable number",
                     path, (long long)(n / 9)));
    }
    return STATUS_OK;
}

/* The ends of an edge, the smaller one first. */
struct edge {
    float end[2][AXIS_COUNT];
};

static int compare_numbers(const float *a, const float *b, int count)
{
    int n = 0;
    while (n < count - 1 && a[n] == b[n]) {
        n++;
    }
    return a[n] < b[n] ? -1 : a[n] > b[n];
}

static int compare_edges(const void *a, const void *b)
{
    return compare_numbers((const float *)a, (const float *)b, 2 * AXIS_COUNT);
}

/* Each edge must be that of an even number of triangles. */
static enum status check_closed(corners *found, int64_t count, const char *path)
{
    int64_t nedges = 0;
    int64_t open = 0;
    SCOPED_FREE struct edge *edges = malloc(((size_t)count * 3 + 1) * sizeof *edges);
    TRY(CHECK_MEMORY(edges != NULL, "no memory for the edges of %.200s", path));
    for (int64_t n = 0; n < 3 * count; n++) {
        const float *a = found[n / 3][n % 3];
        const float *b = found[n / 3][(n + 1) % 3];
        const int order = compare_numbers(a, b, AXIS_COUNT);
        if (order != 0) { /* else the triangle has no area */
            memcpy(edges[nedges].end[order < 0 ? 0 : 1], a, sizeof edges->end[0]);
            memcpy(edges[nedges++].end[order < 0 ? 1 : 0], b, sizeof edges->end[0]);
        }
    }
    qsort(edges, (size_t)nedges, sizeof *edges, compare_edges);
    for (int64_t n = 0, next; n < nedges; n = next) {
        for (next = n + 1; next < nedges && compare_edges(&edges[n], &edges[next]) == 0;) {
            next++;
        }
        open += (next - n) % 2;
    }
    return open == 0 ? STATUS_OK
                     : fail(STATUS_INPUT,
                            "the surface in %.200s has holes: %lld of the edges of its %lld "
                            "triangles have no neighbour; repair it, such as by admesh or MeshLab",
                            path, (long long)open, (long long)count);
}

/* Scale, then turn about x, y and z, then move. */
static void place(const struct shape_setting *part, const float from[AXIS_COUNT],
                  double to[AXIS_COUNT])
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        to[axis] = from[axis] * part->scale;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double quarters = part->turn[axis] / 90; /* whole ones without rounding */
        const double angle = part->turn[axis] * (acos(-1.0) / 180);
        const bool whole = quarters == floor(quarters);
        const double c = whole ? round(cos(angle)) : cos(angle);
        const double s = whole ? round(sin(angle)) : sin(angle);
        const int first = (axis + 1) % AXIS_COUNT;
        const int second = (axis + 2) % AXIS_COUNT;
        const double a = to[first];
        const double b = to[second];
        to[first] = c * a - s * b;
        to[second] = s * a + c * b;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        to[axis] += part->move[axis];
    }
}

enum status solid_file_read(const struct shape_setting *part, const struct grid *grid,
                            struct solid *solid)
{
    SCOPED_FREE corners *found = NULL;
    int64_t count = 0;
    *solid = (struct solid){0};
    TRY(read_triangles(part->path, &found, &count));
    TRY(check_closed(found, count, part->path));
    triangle *triangles = malloc(((size_t)count + 1) * sizeof *triangles);
    TRY(CHECK_MEMORY(triangles != NULL, "no memory for the triangles of %.200s", part->path));
    for (int64_t n = 0; n < 3 * count; n++) {
        place(part, found[n / 3][n % 3], triangles[n / 3][n % 3]);
    }
    return solid_create(grid, triangles, count, solid);
}
