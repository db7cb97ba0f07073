#include "base/box.h"

const char *face_name(enum face face)
{
    static const char *const names[FACE_COUNT] = {"x_min", "x_max", "y_min",
                                                  "y_max", "z_min", "z_max"};
    return names[face];
}

const char *axis_name(enum axis axis)
{
    static const char *const names[AXIS_COUNT] = {"x", "y", "z"};
    return names[axis];
}

struct box box_of_cells(const int64_t cells[AXIS_COUNT])
{
    return (struct box){.lo = {0, 0, 0}, .hi = {cells[0], cells[1], cells[2]}};
}

int64_t box_cells(const struct box *box)
{
    return box_extent(box, AXIS_X) * box_extent(box, AXIS_Y) * box_extent(box, AXIS_Z);
}

bool box_is_empty(const struct box *box)
{
    return box_cells(box) == 0;
}

bool box_contains(const struct box *outer, const struct box *inner)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (inner->lo[axis] < outer->lo[axis] || inner->hi[axis] > outer->hi[axis]) {
            return false;
        }
    }
    return true;
}

struct box box_intersect(const struct box *a, const struct box *b)
{
    struct box result;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        result.lo[axis] = a->lo[axis] > b->lo[axis] ? a->lo[axis] : b->lo[axis];
        result.hi[axis] = a->hi[axis] < b->hi[axis] ? a->hi[axis] : b->hi[axis];
    }
    return result;
}

struct box box_around(const struct box *a, const struct box *b)
{
    struct box result;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        result.lo[axis] = a->lo[axis] < b->lo[axis] ? a->lo[axis] : b->lo[axis];
        result.hi[axis] = a->hi[axis] > b->hi[axis] ? a->hi[axis] : b->hi[axis];
    }
    return result;
}

struct box box_shift(const struct box *box, const int64_t shift[AXIS_COUNT])
{
    struct box result = *box;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        result.lo[axis] += shift[axis];
        result.hi[axis] += shift[axis];
    }
    return result;
}

struct box box_shrink_face(const struct box *box, enum face face, int64_t width)
{
    struct box result = *box;
    if (face_side(face) == SIDE_MIN) {
        result.lo[face_axis(face)] += width;
    } else {
        result.hi[face_axis(face)] -= width;
    }
    return result;
}

struct box box_inside(const struct box *box, enum face face, int64_t width)
{
    const enum axis axis = face_axis(face);
    const int64_t extent = box_extent(box, axis);
    return box_shrink_face(box, face_opposite(face), extent - (width < extent ? width : extent));
}

struct box box_outside(const struct box *box, enum face face, int64_t width)
{
    const enum axis axis = face_axis(face);
    struct box result = *box;
    if (face_side(face) == SIDE_MIN) {
        result.hi[axis] = box->lo[axis];
        result.lo[axis] = box->lo[axis] - width;
    } else {
        result.lo[axis] = box->hi[axis];
        result.hi[axis] = box->hi[axis] + width;
    }
    return result;
}

int box_shell(const struct box *outer, const struct box *inner, struct box pieces[FACE_COUNT])
{
    struct box rest = *outer;
    int count = 0;
    if (box_is_empty(inner)) {
        if (!box_is_empty(outer)) {
            pieces[count++] = *outer;
        }
        return count;
    }
    for (int axis = AXIS_Z; axis >= AXIS_X; axis--) {
        for (int side = SIDE_MIN; side < SIDE_COUNT; side++) {
            struct box slab = rest;
            if (side == SIDE_MIN) {
                slab.hi[axis] = inner->lo[axis];
                rest.lo[axis] = inner->lo[axis];
            } else {
                slab.lo[axis] = inner->hi[axis];
                rest.hi[axis] = inner->hi[axis];
            }
            if (!box_is_empty(&slab)) {
                pieces[count++] = slab;
            }
        }
    }
    return count;
}

/* One axis of box_pieces: at most three stretches, as boxes and shifts on that axis alone. */
static int axis_pieces(const struct box *wide, enum axis axis, int64_t n, bool around,
                       struct box_piece pieces[3])
{
    const int64_t lo = wide->lo[axis];
    const int64_t hi = wide->hi[axis];
    int count = 0;
    const int64_t stretch[3][3] = {
        {around ? n + lo : 0, around ? n : 1, around ? -n : -1}, /* lo, hi, shift */
        {lo < 0 ? 0 : lo, hi < n ? hi : n, 0},
        {around ? 0 : n - 1, around ? hi - n : n, around ? n : 1}};
    const bool is_there[3] = {lo<0, true, hi> n};
    for (int s = 0; s < 3; s++) {
        if (is_there[s]) {
            pieces[count].cells.lo[axis] = stretch[s][0];
            pieces[count].cells.hi[axis] = stretch[s][1];
            pieces[count].shift[axis] = stretch[s][2];
            count++;
        }
    }
    return count;
}

int box_pieces(const struct box *wide, const int64_t n[AXIS_COUNT], const bool around[AXIS_COUNT],
               struct box_piece pieces[BOX_PIECES_MOST])
{
    struct box_piece of_axis[AXIS_COUNT][3];
    int count[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        count[axis] = axis_pieces(wide, (enum axis)axis, n[axis], around[axis], of_axis[axis]);
    }
    const int total = count[AXIS_X] * count[AXIS_Y] * count[AXIS_Z];
    for (int p = 0; p < total; p++) {
        int rest = p;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            const struct box_piece *from = &of_axis[axis][rest % count[axis]];
            rest /= count[axis];
            pieces[p].cells.lo[axis] = from->cells.lo[axis];
            pieces[p].cells.hi[axis] = from->cells.hi[axis];
            pieces[p].shift[axis] = from->shift[axis];
        }
    }
    return total;
}

int64_t box_place(const struct box *box, int64_t i, int64_t j, int64_t k)
{
    const int64_t row = (k - box->lo[AXIS_Z]) * box_extent(box, AXIS_Y) + j - box->lo[AXIS_Y];
    return row * box_extent(box, AXIS_X) + i - box->lo[AXIS_X];
}

void box_cell(const struct box *box, int64_t place, int64_t cell[AXIS_COUNT])
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t n = box_extent(box, (enum axis)axis);
        cell[axis] = box->lo[axis] + place % n;
        place /= n;
    }
}

struct box box_before(const struct box *box)
{
    struct box piece = *box;
    piece.hi[AXIS_Y] = box->lo[AXIS_Y];
    piece.hi[AXIS_Z] = box->lo[AXIS_Z];
    return piece;
}

bool box_next(const struct box *box, int64_t most_cells, struct box *piece)
{
    int64_t j = piece->hi[AXIS_Y];
    int64_t k = piece->lo[AXIS_Z];
    if (j >= box->hi[AXIS_Y]) {
        j = box->lo[AXIS_Y];
        k = piece->hi[AXIS_Z];
    }
    if (box_is_empty(box) || k >= box->hi[AXIS_Z]) {
        return false;
    }
    const int64_t rows = most_cells / box_extent(box, AXIS_X);
    const int64_t planes = rows / box_extent(box, AXIS_Y);
    *piece = *box;
    piece->lo[AXIS_Y] = j;
    piece->lo[AXIS_Z] = k;
    piece->hi[AXIS_Z] = k + (planes > 1 ? planes : 1);
    piece->hi[AXIS_Y] = planes > 0 ? box->hi[AXIS_Y] : j + (rows > 1 ? rows : 1);
    *piece = box_intersect(piece, box);
    return true;
}
