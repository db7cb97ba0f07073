/* Half-open boxes of cell indices, and the names of axes and faces.
 * Axis order everywhere: 0 = x (fastest in memory), 1 = y, 2 = z. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum axis { AXIS_X, AXIS_Y, AXIS_Z, AXIS_COUNT };
enum side { SIDE_MIN, SIDE_MAX, SIDE_COUNT };
enum face { FACE_X_MIN, FACE_X_MAX, FACE_Y_MIN, FACE_Y_MAX, FACE_Z_MIN, FACE_Z_MAX, FACE_COUNT };
/* Faces as bits: 1 << face is set for each face of a set. */
enum { ALL_FACES = (1 << FACE_COUNT) - 1 };

static inline enum axis face_axis(enum face face)
{
    return (enum axis)(face / 2);
}

static inline enum side face_side(enum face face)
{
    return (enum side)(face % 2);
}

static inline enum face face_of(enum axis axis, enum side side)
{
    return (enum face)(2 * (int)axis + (int)side);
}

static inline enum face face_opposite(enum face face)
{
    return (enum face)((int)face ^ 1);
}

/* The axes along a face, in their order: rows of its cells, and from row to row. */
static inline enum axis face_across(enum face face)
{
    return face_axis(face) == AXIS_X ? AXIS_Y : AXIS_X;
}

static inline enum axis face_up(enum face face)
{
    return face_axis(face) == AXIS_Z ? AXIS_Y : AXIS_Z;
}

/* "x_min" ... "z_max", as in the configuration. */
const char *face_name(enum face face);
/* "x", "y", "z". */
const char *axis_name(enum axis axis);

/* The cells with lo[a] <= index < hi[a] on every axis. The box is empty if any hi <= lo. */
struct box {
    int64_t lo[AXIS_COUNT];
    int64_t hi[AXIS_COUNT];
};

/* The box [0, n) on every axis. */
struct box box_of_cells(const int64_t cells[AXIS_COUNT]);
static inline int64_t box_extent(const struct box *box, enum axis axis)
{
    return box->hi[axis] > box->lo[axis] ? box->hi[axis] - box->lo[axis] : 0;
}
int64_t box_cells(const struct box *box);
bool box_is_empty(const struct box *box);
bool box_contains(const struct box *outer, const struct box *inner);
struct box box_intersect(const struct box *a, const struct box *b);
/* The smallest box that holds both. */
struct box box_around(const struct box *a, const struct box *b);
/* Move by `shift` cells. */
struct box box_shift(const struct box *box, const int64_t shift[AXIS_COUNT]);
/* Remove `width` cells at one face (a negative width adds them). */
struct box box_shrink_face(const struct box *box, enum face face, int64_t width);
/* The `width` layers of cells just inside `face` (all of the box where it is thinner). */
struct box box_inside(const struct box *box, enum face face, int64_t width);
/* The `width` layers of cells just outside `face`. */
struct box box_outside(const struct box *box, enum face face, int64_t width);

/* The place of a cell in a contiguous array [z][y][x] of all cells of the box, and the cell at one.
 */
int64_t box_place(const struct box *box, int64_t i, int64_t j, int64_t k);
void box_cell(const struct box *box, int64_t place, int64_t cell[AXIS_COUNT]);

/* The next piece of at most `most_cells` cells: whole planes, else whole rows of one plane, at
 * least one row. `piece` starts as box_before(box); false after the last. Successive pieces are
 * contiguous in [z][y][x] order. */
struct box box_before(const struct box *box);
bool box_next(const struct box *box, int64_t most_cells, struct box *piece);

/* Cut `outer` less `inner` (which must lie inside it) into at most 6 disjoint boxes, z slabs
 * first so that the largest pieces are contiguous. Returns their number. */
int box_shell(const struct box *outer, const struct box *inner, struct box pieces[FACE_COUNT]);

/* Cells of the grid that stand for cells of another box: `cells` moved by `shift`. */
struct box_piece {
    struct box cells;
    int64_t shift[AXIS_COUNT];
};
enum { BOX_PIECES_MOST = 27 };
/* Cut `wide`, which may reach out of a grid of `n` cells, into such pieces; returns how many.
 * Beyond the end of an axis there are the cells of the other end where it goes `around`, else one
 * layer of the cells inside. */
int box_pieces(const struct box *wide, const int64_t n[AXIS_COUNT], const bool around[AXIS_COUNT],
               struct box_piece pieces[BOX_PIECES_MOST]);

#ifdef __cplusplus
}
#endif
