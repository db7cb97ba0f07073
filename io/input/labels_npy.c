#include "io/input/labels.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/precision.h"

/* An array of numbers or truth values in a file. */
struct npy {
    int fd;
    const char *path;
    const char *types; /* that are allowed */
    char type;         /* i, u, b or f */
    int bytes;         /* of a number */
    uint64_t offset;
};

enum { MOST_HEADER = 4096, SHAPE_TEXT = 96 };

static void close_file(struct npy *npy)
{
    if (npy->fd >= 0) {
        close(npy->fd);
    }
}

/* The tuple of the shape without axes of one cell, as NumPy writes it: "(8, 9, 10)", "(8,)". */
static void wanted_shape(const struct grid *grid, int from, char text[SHAPE_TEXT])
{
    snprintf(text, SHAPE_TEXT, "(");
    for (int axis = from; axis >= 0; axis--) {
        text_add(text, SHAPE_TEXT, axis < from ? ", " : "", "%" PRId64, grid->cells[axis]);
    }
    text_add(text, SHAPE_TEXT, "", from == 0 ? ",)" : ")");
}

/* "{'descr': '|u1', 'fortran_order': False, 'shape': (8, 9, 10), }" */
static enum status parse_header(struct npy *npy, const char *header, const struct grid *grid)
{
    char order[8] = "";
    char shape[SHAPE_TEXT] = "";
    char mark = 0;
    char wanted[SHAPE_TEXT];
    const int found = sscanf(header,
                             "{'descr': '%c%c%d', 'fortran_order': %7[a-zA-Z], 'shape': "
                             "%95[0-9(), ], }",
                             &mark, &npy->type, &npy->bytes, order, shape);
    shape[found == 5 ? strcspn(shape, ")") + 1 : 0] = '\0';
    const bool fits = npy->bytes == 1 || npy->bytes == 2 || npy->bytes == 4 || npy->bytes == 8;
    const bool floats = strchr(npy->types, 'f') != NULL;
    FAIL_IF(found != 5 || strchr(npy->types, npy->type) == NULL || !fits ||
                (mark != '|' && mark != '<') || (npy->type == 'b' && npy->bytes != 1) ||
                (npy->type == 'f' && npy->bytes < 4),
            fail(STATUS_INPUT,
                 "%.200s has the header %.100s; an array of %s, little-endian, is needed: "
                 "array.astype('<%s4')",
                 npy->path, header, floats ? "numbers" : "integers", floats ? "f" : "i"));
    FAIL_IF(strcmp(order, "False") != 0,
            fail(STATUS_INPUT, "%.200s is in Fortran order; numpy.ascontiguousarray converts it",
                 npy->path));
    for (int from = AXIS_Z; from >= 0; from--) {
        wanted_shape(grid, from, wanted);
        if (strcmp(shape, wanted) == 0) {
            return STATUS_OK;
        }
        if (grid->cells[from] > 1) {
            break;
        }
    }
    return fail(STATUS_INPUT, "the array in %.200s has the shape %s; the grid needs %s", npy->path,
                shape, wanted);
}

static enum status open_file(const char *path, const struct grid *grid, struct npy *npy)
{
    unsigned char start[12];
    char header[MOST_HEADER + 1] = "";
    int64_t size = 0;
    npy->path = path;
    TRY(file_open(path, O_RDONLY, &npy->fd));
    TRY(file_read_at(npy->fd, path, start, sizeof start, 0));
    const bool is_long = start[6] > 1; /* the version */
    const uint32_t length =
        start[8] + 256U * start[9] + (is_long ? 65536U * start[10] + 16777216U * start[11] : 0);
    const uint64_t begin = is_long ? 12 : 10;
    FAIL_IF(memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3 ||
                length > MOST_HEADER,
            fail(STATUS_INPUT, "%.200s is not a .npy file of an array", path));
    TRY(file_read_at(npy->fd, path, header, length, begin));
    const char *end = strchr(header, '}'); /* spaces follow */
    header[end != NULL ? (size_t)(end + 1 - header) : strcspn(header, "\n")] = '\0';
    TRY(parse_header(npy, header, grid));
    npy->offset = begin + length;
    size = (int64_t)lseek(npy->fd, 0, SEEK_END);
    const int64_t expected = (int64_t)npy->offset + grid_total_cells(grid) * npy->bytes;
    FAIL_IF(size != expected, fail(STATUS_FILE,
                                   "%.200s has %" PRId64 " bytes; %" PRId64
                                   " belong to its header: copy the file again",
                                   path, size, expected));
    return STATUS_OK;
}

double labels_number(char type, int bytes, const void *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)bytes); /* little-endian, as this machine */
    if (type == 'f') {
        return precision_get(bytes == 8 ? PRECISION_FLOAT64 : PRECISION_FLOAT32, &bits, 0);
    }
    const int unused = 64 - 8 * bytes;
    return type == 'i' ? (double)((int64_t)(bits << unused) >> unused) : (double)bits;
}

enum status labels_read_npy(const char *path, bool floats, const struct grid *grid,
                            const struct box *box, float *values)
{
    SCOPED_BY(close_file) struct npy npy = {.fd = -1, .types = floats ? "iubf" : "iub"};
    TRY(open_file(path, grid, &npy));
    const int64_t nx = box_extent(box, AXIS_X);
    SCOPED_FREE unsigned char *row = malloc((size_t)(nx * npy.bytes) + 1);
    TRY(CHECK_MEMORY(row != NULL, "no memory to read %.200s", path));
    const int64_t *n = grid->cells;
    for (int64_t c = 0; c < box_cells(box); c += nx) {
        int64_t cell[AXIS_COUNT];
        box_cell(box, c, cell);
        const int64_t first = (cell[AXIS_Z] * n[AXIS_Y] + cell[AXIS_Y]) * n[AXIS_X] + cell[AXIS_X];
        TRY(file_read_at(npy.fd, path, row, (size_t)(nx * npy.bytes),
                         npy.offset + (uint64_t)(first * npy.bytes)));
        for (int64_t i = 0; i < nx; i++) {
            values[c + i] = (float)labels_number(npy.type, npy.bytes, row + i * npy.bytes);
        }
    }
    return STATUS_OK;
}
