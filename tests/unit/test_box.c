/* Index boxes: the algebra that interior, shell and halo layers are built from. */
#include <stdlib.h>
#include <string.h>

#include "base/box.h"
#include "tests/test.h"

enum { SIDE = 9 };

static uint64_t random_state = 12345;

static int64_t random_below(int64_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((random_state >> 33) % (uint64_t)n);
}

/* Count how often each cell of [0, SIDE)^3 is covered. */
static void cover(unsigned char counts[SIDE][SIDE][SIDE], const struct box *box)
{
    for (int64_t k = box->lo[AXIS_Z]; k < box->hi[AXIS_Z]; k++) {
        for (int64_t j = box->lo[AXIS_Y]; j < box->hi[AXIS_Y]; j++) {
            for (int64_t i = box->lo[AXIS_X]; i < box->hi[AXIS_X]; i++) {
                counts[k][j][i]++;
            }
        }
    }
}

/* A box inside [lo, hi), empty at times. */
static struct box random_box_inside(const struct box *outer)
{
    struct box box;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t n = outer->hi[axis] - outer->lo[axis] + 1;
        const int64_t a = outer->lo[axis] + random_below(n);
        const int64_t b = outer->lo[axis] + random_below(n);
        box.lo[axis] = a < b ? a : b;
        box.hi[axis] = a < b ? b : a;
    }
    return box;
}

TEST(shell_partitions_exactly)
{
    const int64_t whole_cells[AXIS_COUNT] = {SIDE, SIDE, SIDE};
    const struct box whole = box_of_cells(whole_cells);
    static unsigned char found[SIDE][SIDE][SIDE];
    static unsigned char expected[SIDE][SIDE][SIDE];
    for (int trial = 0; trial < 3000; trial++) {
        const struct box outer = random_box_inside(&whole);
        const struct box inner = random_box_inside(&outer);
        struct box pieces[FACE_COUNT];
        const int count = box_shell(&outer, &inner, pieces);
        assert_in_range(count, 0, FACE_COUNT);
        memset(found, 0, sizeof found);
        memset(expected, 0, sizeof expected);
        cover(found, &inner);
        for (int n = 0; n < count; n++) {
            assert_false(box_is_empty(&pieces[n]));
            assert_true(box_contains(&outer, &pieces[n]));
            cover(found, &pieces[n]);
        }
        cover(expected, &outer);
        assert_memory_equal(found, expected, sizeof found);
    }
}

TEST(shell_of_nothing_is_everything)
{
    const struct box outer = {{1, 2, 3}, {4, 5, 6}};
    const struct box nothing = {{0, 0, 0}, {0, 0, 0}};
    struct box pieces[FACE_COUNT];
    assert_int_equal(box_shell(&outer, &nothing, pieces), 1);
    assert_memory_equal(&pieces[0], &outer, sizeof(struct box));
    assert_int_equal(box_shell(&outer, &outer, pieces), 0);
}

TEST(layers_lie_where_they_say)
{
    const struct box box = {{0, 10, -5}, {8, 13, 5}};
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const enum axis axis = face_axis(face);
        const struct box inside = box_inside(&box, face, 2);
        const struct box outside = box_outside(&box, face, 2);
        assert_int_equal(box_extent(&inside, axis), 2);
        assert_int_equal(box_extent(&outside, axis), 2);
        assert_true(box_contains(&box, &inside));
        const struct box common = box_intersect(&box, &outside);
        assert_true(box_is_empty(&common));
        /* next to each other: moving the inside layers by 2 gives the outside ones */
        int64_t shift[AXIS_COUNT] = {0, 0, 0};
        shift[axis] = face_side(face) == SIDE_MIN ? -2 : 2;
        const struct box moved = box_shift(&inside, shift);
        assert_memory_equal(&moved, &outside, sizeof(struct box));
        const struct box rest = box_shrink_face(&box, face, 2);
        assert_int_equal(box_cells(&rest) + box_cells(&inside), box_cells(&box));
        const struct box grown = box_shrink_face(&rest, face, -2);
        assert_memory_equal(&grown, &box, sizeof(struct box));
    }
    const struct box all = box_inside(&box, FACE_Y_MAX, 7);
    assert_memory_equal(&all, &box, sizeof(struct box));
}

TEST(counts_need_64_bits)
{
    const int64_t cells[AXIS_COUNT] = {2048, 2048, 2048};
    const struct box box = box_of_cells(cells);
    assert_int_equal(box_cells(&box), INT64_C(8589934592));
    const struct box inside_out = {{5, 0, 0}, {3, 2, 2}};
    assert_int_equal(box_cells(&inside_out), 0);
    assert_true(box_is_empty(&inside_out));
}

TEST(names_and_opposites)
{
    static const char *const names[FACE_COUNT] = {"x_min", "x_max", "y_min",
                                                  "y_max", "z_min", "z_max"};
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        assert_string_equal(face_name(face), names[f]);
        assert_int_equal(face_of(face_axis(face), face_side(face)), face);
        assert_int_equal(face_axis(face_opposite(face)), face_axis(face));
        assert_int_not_equal(face_side(face_opposite(face)), face_side(face));
        assert_int_equal(face_name(face)[0], axis_name(face_axis(face))[0]);
    }
}

TEST(pieces_are_contiguous_and_cover_the_box)
{
    const struct box box = {.lo = {2, -1, 5}, .hi = {7, 3, 8}}; /* 5 x 4 x 3 */
    static const int64_t most[] = {1, 5, 11, 20, 39, 40, 60, 1000};
    static const int pieces[] = {12, 12, 6, 3, 3, 2, 1, 1};
    for (int m = 0; m < 8; m++) {
        struct box piece = box_before(&box);
        int64_t cells = 0;
        int count = 0;
        for (; box_next(&box, most[m], &piece); count++) {
            int64_t cell[AXIS_COUNT];
            box_cell(&box, cells, cell);
            assert_memory_equal(cell, piece.lo, sizeof cell);
            assert_int_equal(box_place(&box, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]), cells);
            assert_true(box_contains(&box, &piece));
            assert_true(box_cells(&piece) <= most[m] || box_cells(&piece) == 5);
            cells += box_cells(&piece);
        }
        assert_int_equal(cells, box_cells(&box));
        assert_int_equal(count, pieces[m]);
    }
    const struct box empty = {.lo = {0, 0, 0}, .hi = {4, 0, 4}};
    struct box piece = box_before(&empty);
    assert_false(box_next(&empty, 10, &piece));
}

TEST_MAIN(NULL, NULL)
