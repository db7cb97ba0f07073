#include "kernels/layout.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/cell/medium_cell.h"

static int64_t round_up(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
}

enum {
    CLOSE_ROW_BYTES = 8192, /* kernels divide longer rows, and their ends matter less */
    CLOSE_PLANE_LINES = 8   /* between planes */
};

void layout_close_rows(struct layout *layout)
{
    const int64_t bytes = (int64_t)precision_bytes(layout->precision);
    const int64_t unit = LAYOUT_ALIGN_BYTES / bytes;
    const int64_t pitch_y = round_up(layout->cells[AXIS_X], unit);
    if (layout->halo[AXIS_X] > 0 || pitch_y * bytes > CLOSE_ROW_BYTES) {
        return;
    }
    const int64_t rows = layout->cells[AXIS_Y] + 2 * (int64_t)layout->halo[AXIS_Y];
    const int64_t planes = layout->cells[AXIS_Z] + 2 * (int64_t)layout->halo[AXIS_Z];
    layout->pitch_y = pitch_y;
    layout->pitch_z = pitch_y * rows + CLOSE_PLANE_LINES * unit;
    layout->origin =
        unit + layout->halo[AXIS_Y] * layout->pitch_y + layout->halo[AXIS_Z] * layout->pitch_z;
    layout->elements = unit + planes * layout->pitch_z;
}

enum status layout_create(const int64_t cells[AXIS_COUNT], const int halo[AXIS_COUNT],
                          enum precision precision, struct layout *layout)
{
    const int64_t unit = LAYOUT_ALIGN_BYTES / (int64_t)precision_bytes(precision);
    const int64_t left = round_up(halo[AXIS_X] > 0 ? halo[AXIS_X] : 1, unit);
    /* at least one element of padding on the right: vector kernels may load (not use) cell nx */
    int64_t pitch_y = round_up(left + cells[AXIS_X] + (halo[AXIS_X] > 0 ? halo[AXIS_X] : 1), unit);
    const int64_t page = 4096 / (int64_t)precision_bytes(precision);
    if (pitch_y % page == 0) {
        pitch_y += unit;
    }
    const int64_t rows = cells[AXIS_Y] + 2 * (int64_t)halo[AXIS_Y];
    const int64_t planes = cells[AXIS_Z] + 2 * (int64_t)halo[AXIS_Z];
    int64_t pitch_z = 0;
    int64_t elements = 0;
    if (__builtin_mul_overflow(pitch_y, rows, &pitch_z) ||
        __builtin_mul_overflow(pitch_z, planes, &elements) || elements > INT64_MAX / 16) {
        return fail(STATUS_INPUT,
                    "a subdomain of %" PRId64 " x %" PRId64 " x %" PRId64
                    " cells is too large to address; use more ranks or fewer cells",
                    cells[0], cells[1], cells[2]);
    }
    *layout = (struct layout){
        .precision = precision,
        .cells = {cells[0], cells[1], cells[2]},
        .halo = {halo[0], halo[1], halo[2]},
        .origin = left + halo[AXIS_Y] * pitch_y + halo[AXIS_Z] * pitch_z,
        .pitch_y = pitch_y,
        .pitch_z = pitch_z,
        .elements = elements,
    };
    return STATUS_OK;
}

void layout_of_classes(const int64_t cells[AXIS_COUNT], const bool used[AXIS_COUNT], int depth,
                       struct layout *layout)
{
    /* on the left 16 bytes: GPUs copy tiles at multiples of 16, and a row's number lies there */
    const int64_t unit = LAYOUT_ALIGN_BYTES;
    const int halo[AXIS_COUNT] = {depth, used[AXIS_Y] ? depth : 0, used[AXIS_Z] ? depth : 0};
    const int64_t pitch_y = round_up(cells[AXIS_X] + 16 + depth, unit);
    const int64_t pitch_z = pitch_y * (cells[AXIS_Y] + 2 * halo[AXIS_Y]);
    const int64_t planes = cells[AXIS_Z] + 2 * halo[AXIS_Z];
    *layout = (struct layout){
        .cells = {cells[AXIS_X], cells[AXIS_Y], cells[AXIS_Z]},
        .halo = {halo[AXIS_X], halo[AXIS_Y], halo[AXIS_Z]},
        .origin = unit + halo[AXIS_Y] * pitch_y + halo[AXIS_Z] * pitch_z,
        .pitch_y = used[AXIS_Y] ? pitch_y : 0,
        .pitch_z = used[AXIS_Z] ? pitch_z : 0,
        .elements = planes * pitch_z + 2 * unit,
    };
}

/* The flags of at most FLAG_CELLS cells from `c` on; not in place, so that it is vectorised. */
enum { FLAG_CELLS = 256 };
static void find_flags(const struct layout *layout, const uint8_t *c, int64_t n,
                       uint8_t flags[FLAG_CELLS])
{
    const uint8_t *ym = c - layout->pitch_y;
    const uint8_t *yp = c + layout->pitch_y;
    const uint8_t *zm = c - layout->pitch_z;
    const uint8_t *zp = c + layout->pitch_z;
    for (int64_t i = 0; i < n; i++) {
        const int differing = (c[i - 1] ^ c[i]) | (c[i + 1] ^ c[i]) | (ym[i] ^ c[i]) |
                              (yp[i] ^ c[i]) | (zm[i] ^ c[i]) | (zp[i] ^ c[i]);
        flags[i] = (differing & ~CLASS_FLAG) == 0 ? CLASS_FLAG : 0;
    }
}

/* Whether row `c` has the classes of the row `step` elements before, and its neighbours have those
 * of that row's neighbours. */
static bool is_row_before(const struct layout *layout, const uint8_t *c, int64_t step)
{
    const size_t n = (size_t)layout->cells[AXIS_X];
    const int64_t beside[] = {-layout->pitch_y, layout->pitch_y, -layout->pitch_z, layout->pitch_z};
    bool same = memcmp(c - 1, c - 1 - step, n + 2) == 0;
    for (int b = 0; b < 4 && same; b++) {
        same = memcmp(c + beside[b], c + beside[b] - step, n) == 0;
    }
    return same;
}

/* A row gets the number of the row before it in y or z that has the same classes, else a new one.
 * Before the flags are set. First all threads compare rows, then the numbers follow in order. */
static void number_rows(const struct layout *layout, uint8_t *classes)
{
    enum { AS_IN_Y = -1, AS_IN_Z = -2 };
    const int64_t *cells = layout->cells;
    const int64_t rows = cells[AXIS_Y] * cells[AXIS_Z];
#pragma omp parallel for
    for (int64_t row = 0; row < rows; row++) {
        const int64_t j = row % cells[AXIS_Y];
        const int64_t k = row / cells[AXIS_Y];
        uint8_t *c = classes + layout_index(layout, 0, j, k);
        const int64_t number = j > 0 && is_row_before(layout, c, layout->pitch_y)   ? AS_IN_Y
                               : k > 0 && is_row_before(layout, c, layout->pitch_z) ? AS_IN_Z
                                                                                    : row + 1;
        memcpy(c + CLASS_NUMBER_AT, &number, sizeof number);
    }
    for (int64_t row = 0; row < rows; row++) {
        uint8_t *c = classes + layout_index(layout, 0, row % cells[AXIS_Y], row / cells[AXIS_Y]);
        const int64_t found = classes_row_number(c);
        const int64_t number = found == AS_IN_Y   ? classes_row_number(c - layout->pitch_y)
                               : found == AS_IN_Z ? classes_row_number(c - layout->pitch_z)
                                                  : found;
        memcpy(c + CLASS_NUMBER_AT, &number, sizeof number);
    }
}

static void flag_row(const struct layout *layout, uint8_t *c)
{
    for (int64_t i = 0; i < layout->cells[AXIS_X]; i += FLAG_CELLS) {
        const int64_t left = layout->cells[AXIS_X] - i;
        const int64_t n = left < FLAG_CELLS ? left : FLAG_CELLS;
        uint8_t flags[FLAG_CELLS];
        find_flags(layout, c + i, n, flags);
        for (int64_t f = 0; f < n; f++) {
            c[i + f] = (uint8_t)((c[i + f] & ~CLASS_FLAG) | flags[f]);
        }
    }
}

void classes_flag_rows(const struct layout *layout, int64_t j0, int64_t j1, int64_t k0, int64_t k1,
                       uint8_t *classes)
{
    const int64_t *cells = layout->cells;
    for (int64_t k = k0 > 0 ? k0 : 0; k < k1 && k < cells[AXIS_Z]; k++) {
        for (int64_t j = j0 > 0 ? j0 : 0; j < j1 && j < cells[AXIS_Y]; j++) {
            flag_row(layout, classes + layout_index(layout, 0, j, k));
        }
    }
}

/* The numbers of planes, before row -1 of each; before the flags are set. Cells beyond the field in
 * x count, too, and rows beyond it in y. */
static void number_planes(const struct layout *layout, uint8_t *classes)
{
    const int64_t *cells = layout->cells;
#pragma omp parallel for
    for (int64_t k = 0; k < (layout->halo[AXIS_Y] > 0 ? cells[AXIS_Z] : 0); k++) {
        const uint8_t *const first = classes + layout_index(layout, 0, 0, k);
        const size_t n = (size_t)cells[AXIS_X];
        bool same = memcmp(first - 1, first, n + 1) == 0;
        for (int64_t j = -1; j <= cells[AXIS_Y] && same; j++) {
            const uint8_t *const row = classes + layout_index(layout, 0, j, k);
            const bool owned = j >= 0 && j < cells[AXIS_Y];
            same =
                memcmp(row, first, n) == 0 && (!owned || (row[-1] == *first && row[n] == *first));
        }
        const int64_t number = same ? *first + 1 : 0;
        memcpy(classes + layout_index(layout, 0, -1, k) + CLASS_NUMBER_AT, &number, sizeof number);
    }
}

uint8_t classes_flag(const struct layout *layout, int nclasses, uint8_t *classes)
{
    const int64_t *cells = layout->cells;
    number_rows(layout, classes);
    number_planes(layout, classes);
    if (nclasses >= CLASS_FLAG) {
        return UINT8_MAX;
    }
    classes_flag_rows(layout, 0, cells[AXIS_Y], 0, cells[AXIS_Z], classes);
    return CLASS_FLAG - 1;
}

bool classes_same_axes(const void *table, enum precision precision, int nclasses)
{
    const size_t bytes = precision_bytes(precision);
    const char *g[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        g[axis] = (const char *)table + (size_t)medium_g_at(nclasses, axis, 0, 0) * bytes;
    }
    const size_t length = (size_t)nclasses * (size_t)nclasses * bytes;
    return memcmp(g[AXIS_X], g[AXIS_Y], length) == 0 && memcmp(g[AXIS_X], g[AXIS_Z], length) == 0;
}

unsigned classes_radiating(const void *table, enum precision precision, int nclasses, int nclosures)
{
    unsigned radiating = 0;
    for (int face = 0; face < FACE_COUNT; face++) {
        for (int c = 0; c < nclosures; c++) {
            const int64_t at = medium_closure_at(nclasses, nclosures, (enum face)face, c) + 2;
            radiating |= precision_get(precision, table, at) != 0.0 ? 1U << face : 0U;
        }
    }
    return radiating;
}
