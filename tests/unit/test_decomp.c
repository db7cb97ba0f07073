/* Decomposition: every cell has one owner, neighbours agree, `auto` is the true minimum. */
#include <stdlib.h>
#include <string.h>

#include "model/space/decomp.h"
#include "tests/test.h"

enum { MOST_RANKS = 64 };

static const int64_t grids[][AXIS_COUNT] = {
    {64, 64, 64}, {65, 31, 17}, {128, 8, 8}, {7, 128, 128}, {64, 65, 1}, {131, 1, 1}, {2, 3, 200},
};
enum { GRID_COUNT = sizeof grids / sizeof grids[0] };

static const bool open_axes[AXIS_COUNT] = {false, false, false};
static const bool mixed_axes[AXIS_COUNT] = {true, false, true};

static int64_t smallest_block(const struct decomp *decomp, int axis)
{
    return decomp->global_cells[axis] / decomp->ranks[axis];
}

/* Cells of all blocks add up, no two overlap, sizes differ by at most one. */
static void check_partition(const struct decomp *decomp)
{
    const int64_t *cells = decomp->global_cells;
    const struct box whole = box_of_cells(cells);
    struct box owned[MOST_RANKS];
    int64_t total = 0;
    for (int rank = 0; rank < decomp->nranks; rank++) {
        owned[rank] = decomp_owned(decomp, rank);
        assert_true(box_contains(&whole, &owned[rank]));
        total += box_cells(&owned[rank]);
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            const int64_t extra =
                box_extent(&owned[rank], (enum axis)axis) - smallest_block(decomp, axis);
            assert_in_range(extra, 0, 1);
        }
        for (int other = 0; other < rank; other++) {
            const struct box common = box_intersect(&owned[rank], &owned[other]);
            assert_true(box_is_empty(&common));
        }
    }
    assert_int_equal(total, box_cells(&whole));
}

/* The layers beyond my face are, taken round the grid, inside my neighbour and next to its
 * opposite face; and I am its neighbour there. */
static void check_neighbours(const struct decomp *decomp)
{
    for (int rank = 0; rank < decomp->nranks; rank++) {
        const struct box owned = decomp_owned(decomp, rank);
        for (int f = 0; f < FACE_COUNT; f++) {
            const enum face face = (enum face)f;
            const enum axis axis = face_axis(face);
            const int peer = decomp_neighbour(decomp, rank, face);
            const int64_t end = face_side(face) == SIDE_MIN ? 0 : decomp->global_cells[axis];
            const bool at_end =
                (face_side(face) == SIDE_MIN ? owned.lo[axis] : owned.hi[axis]) == end;
            if (!decomp->used[axis] || (at_end && !decomp->periodic[axis])) {
                assert_int_equal(peer, -1);
                continue;
            }
            assert_in_range(peer, 0, decomp->nranks - 1);
            assert_int_equal(decomp_neighbour(decomp, peer, face_opposite(face)), rank);
            struct box beyond = box_outside(&owned, face, decomp->halo_width);
            if (at_end) {
                int64_t shift[AXIS_COUNT] = {0, 0, 0};
                const int64_t n = decomp->global_cells[axis];
                shift[axis] = face_side(face) == SIDE_MIN ? n : -n;
                beyond = box_shift(&beyond, shift);
            }
            const struct box theirs = decomp_owned(decomp, peer);
            const struct box layers = box_inside(&theirs, face_opposite(face), decomp->halo_width);
            assert_memory_equal(&beyond, &layers, sizeof(struct box));
        }
    }
}

/* What a rank sends, counted from its block without decomp_cost. */
static int64_t cost_by_hand(const struct decomp *decomp, int rank)
{
    const struct box owned = decomp_owned(decomp, rank);
    int64_t sum = 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        if (decomp_neighbour(decomp, rank, (enum face)f) >= 0) {
            sum += box_cells(&owned) / box_extent(&owned, axis) * decomp->halo_width *
                   (axis == AXIS_X ? DECOMP_X_FACE_WEIGHT : 1);
        }
    }
    return sum;
}

static int64_t busiest(const struct decomp *decomp)
{
    int64_t most = 0;
    for (int rank = 0; rank < decomp->nranks; rank++) {
        const int64_t cost = cost_by_hand(decomp, rank);
        assert_int_equal(decomp_cost(decomp, rank), cost);
        most = cost > most ? cost : most;
    }
    return most;
}

/* All factorisations through the explicit path: the least cost, -1 when none is accepted. */
static int64_t brute_force(const int64_t cells[AXIS_COUNT], const bool periodic[AXIS_COUNT],
                           int nranks, int width)
{
    int64_t least = -1;
    for (int px = 1; px <= nranks; px++) {
        for (int py = 1; px * py <= nranks; py++) {
            const int wanted[AXIS_COUNT] = {px, py, nranks / (px * py)};
            struct decomp decomp;
            if (px * py * wanted[AXIS_Z] != nranks ||
                decomp_create(cells, periodic, nranks, width, wanted, &decomp) != STATUS_OK) {
                continue;
            }
            for (int axis = 0; axis < AXIS_COUNT; axis++) {
                assert_int_equal(decomp.ranks[axis], wanted[axis]);
            }
            const int64_t cost = busiest(&decomp);
            least = least < 0 || cost < least ? cost : least;
        }
    }
    return least;
}

static void check_auto(const int64_t cells[AXIS_COUNT], const bool periodic[AXIS_COUNT], int nranks,
                       int width)
{
    struct decomp decomp;
    const enum status status = decomp_create(cells, periodic, nranks, width, NULL, &decomp);
    const int64_t least = brute_force(cells, periodic, nranks, width);
    assert_int_equal(status == STATUS_OK, least >= 0);
    if (status != STATUS_OK) {
        assert_int_equal(status, STATUS_INPUT);
        return;
    }
    assert_int_equal(decomp.ranks[0] * decomp.ranks[1] * decomp.ranks[2], nranks);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        assert_true(decomp.ranks[axis] == 1 || smallest_block(&decomp, axis) >= width);
        assert_true(cells[axis] > 1 || decomp.ranks[axis] == 1);
    }
    assert_int_equal(busiest(&decomp), least);
    check_partition(&decomp);
    check_neighbours(&decomp);
}

TEST(every_rank_count)
{
    for (int grid = 0; grid < GRID_COUNT; grid++) {
        for (int nranks = 1; nranks <= MOST_RANKS; nranks++) {
            check_auto(grids[grid], open_axes, nranks, 1);
            check_auto(grids[grid], mixed_axes, nranks, 2);
        }
    }
}

TEST(larger_blocks_come_first)
{
    const int64_t cells[AXIS_COUNT] = {11, 1, 1};
    struct decomp decomp;
    assert_int_equal(decomp_create(cells, open_axes, 4, 1, NULL, &decomp), STATUS_OK);
    static const int64_t starts[] = {0, 3, 6, 9, 11};
    for (int rank = 0; rank < 4; rank++) {
        const struct box owned = decomp_owned(&decomp, rank);
        assert_int_equal(owned.lo[0], starts[rank]);
        assert_int_equal(owned.hi[0], starts[rank + 1]);
    }
}

TEST(ranks_are_numbered_x_first)
{
    const int64_t cells[AXIS_COUNT] = {8, 9, 10};
    const int wanted[AXIS_COUNT] = {2, 3, 4};
    struct decomp decomp;
    assert_int_equal(decomp_create(cells, open_axes, 24, 1, wanted, &decomp), STATUS_OK);
    int coords[AXIS_COUNT];
    decomp_coords(&decomp, (3 * 3 + 1) * 2 + 1, coords);
    assert_int_equal(coords[AXIS_X], 1);
    assert_int_equal(coords[AXIS_Y], 1);
    assert_int_equal(coords[AXIS_Z], 3);
}

TEST(ties_cut_z_first)
{
    const int64_t cells[AXIS_COUNT] = {64, 64, 64};
    struct decomp decomp;
    assert_int_equal(decomp_create(cells, open_axes, 2, 1, NULL, &decomp), STATUS_OK);
    assert_int_equal(decomp.ranks[AXIS_X], 1);
    assert_int_equal(decomp.ranks[AXIS_Y], 1);
    assert_int_equal(decomp.ranks[AXIS_Z], 2);
}

TEST(periodic_axes_close_on_themselves)
{
    const int64_t cells[AXIS_COUNT] = {8, 8, 1};
    const bool periodic[AXIS_COUNT] = {true, true, true};
    const int wanted[AXIS_COUNT] = {2, 1, 1};
    struct decomp decomp;
    assert_int_equal(decomp_create(cells, periodic, 2, 1, wanted, &decomp), STATUS_OK);
    assert_int_equal(decomp_neighbour(&decomp, 0, FACE_X_MIN), 1);
    assert_int_equal(decomp_neighbour(&decomp, 0, FACE_X_MAX), 1);
    assert_int_equal(decomp_neighbour(&decomp, 0, FACE_Y_MIN), 0);
    assert_int_equal(decomp_neighbour(&decomp, 0, FACE_Y_MAX), 0);
    assert_int_equal(decomp_neighbour(&decomp, 0, FACE_Z_MIN), -1);
    assert_int_equal(decomp_neighbour(&decomp, 0, FACE_Z_MAX), -1);
}

static void expect_refusal(const int64_t cells[AXIS_COUNT], const bool periodic[AXIS_COUNT],
                           int nranks, int width, const int *wanted, const char *message)
{
    struct decomp decomp = {.nranks = -7};
    assert_int_equal(decomp_create(cells, periodic, nranks, width, wanted, &decomp), STATUS_INPUT);
    assert_string_equal(fail_message(), message);
    assert_int_equal(decomp.nranks, -7);
}

TEST(refusals_say_what_works)
{
    const int64_t cells[AXIS_COUNT] = {10, 6, 1};
    const bool periodic[AXIS_COUNT] = {true, false, false};
    expect_refusal(cells, open_axes, 61, 1, NULL,
                   "61 ranks are more than the 60 cells; at most 60 ranks can be used");
    expect_refusal(cells, open_axes, 7, 2, NULL,
                   "10 x 6 x 1 cells cannot be divided into 7 blocks that are at least as thick as "
                   "the halo (2); the next lower valid rank count is 6");
    expect_refusal(cells, open_axes, 16, 2, NULL,
                   "10 x 6 x 1 cells cannot be divided into 16 blocks that are at least as thick "
                   "as the halo (2); the next lower valid rank count is 15");
    expect_refusal(cells, open_axes, 6, 1, (const int[]){1, 2, 3},
                   "3 blocks on z, which has only one cell; use 1");
    expect_refusal(cells, open_axes, 6, 1, (const int[]){6, 0, 1}, "0 blocks on y; use at least 1");
    expect_refusal(cells, open_axes, 8, 2, (const int[]){2, 4, 1},
                   "4 blocks on y leave 1 of its 6 cells to the thinnest, fewer than the halo "
                   "width (2); at most 3 blocks fit on y");
    expect_refusal(cells, open_axes, 6, 1, (const int[]){2, 2, 1},
                   "[2, 2, 1] makes 4 blocks for 6 ranks; start 4 ranks, or use auto, which gives "
                   "[2, 3, 1]");
    expect_refusal(cells, open_axes, 1, 1, (const int[]){2, 1, 1},
                   "[2, 1, 1] makes 2 blocks for 1 rank; start 2 ranks, or use auto, which gives "
                   "[1, 1, 1]");
    expect_refusal(cells, periodic, 1, 11, NULL,
                   "the periodic axis x has 10 cells, fewer than the halo width; use at least 11");
    /* products beyond an int must not wrap around to the rank count */
    expect_refusal(cells, open_axes, 1, 1, (const int[]){65536, 65536, 1},
                   "65536 blocks on x leave 0 of its 10 cells to the thinnest, fewer than the halo "
                   "width (1); at most 10 blocks fit on x");
}

TEST(named_rank_count_is_the_largest)
{
    for (int nranks = 2; nranks <= MOST_RANKS; nranks++) {
        struct decomp decomp;
        if (decomp_create(grids[6], open_axes, nranks, 2, NULL, &decomp) == STATUS_OK) {
            continue;
        }
        int largest = nranks - 1;
        while (decomp_create(grids[6], open_axes, largest, 2, NULL, &decomp) != STATUS_OK) {
            largest--;
        }
        assert_int_equal(decomp_create(grids[6], open_axes, nranks, 2, NULL, &decomp),
                         STATUS_INPUT);
        assert_int_equal(strtol(strrchr(fail_message(), ' '), NULL, 10), largest);
    }
}

TEST(many_ranks_on_a_large_grid)
{
    const int64_t cells[AXIS_COUNT] = {INT64_C(1) << 20, INT64_C(1) << 20, INT64_C(1) << 20};
    struct decomp decomp;
    assert_int_equal(decomp_create(cells, open_axes, 75264, 1, NULL, &decomp), STATUS_OK);
    assert_int_equal(decomp.ranks[0] * decomp.ranks[1] * decomp.ranks[2], 75264);
    assert_true(decomp.ranks[AXIS_X] < decomp.ranks[AXIS_Z]);
    /* a prime count leaves slabs */
    assert_int_equal(decomp_create(cells, open_axes, 75269, 1, NULL, &decomp), STATUS_OK);
    assert_int_equal(decomp.ranks[AXIS_Z], 75269);
}

TEST_MAIN(NULL, NULL)
