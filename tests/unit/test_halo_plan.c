/* The plans of all ranks together: what one sends another expects, and nothing is left out. */
#include <stdlib.h>
#include <string.h>

#include "halo/plan.h"
#include "tests/test.h"

enum { MOST_RANKS = 36, MAX_WIDTH = 8 };

/* The layout that field_create makes. */
static void layout_of(const struct decomp *decomp, int rank, struct layout *layout)
{
    const struct box owned = decomp_owned(decomp, rank);
    int64_t cells[AXIS_COUNT];
    int halo[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        cells[axis] = box_extent(&owned, (enum axis)axis);
        halo[axis] = decomp_exchanges(decomp, (enum axis)axis) ? decomp->halo_width : 0;
    }
    assert_int_equal(layout_create(cells, halo, PRECISION_FLOAT64, layout), STATUS_OK);
}

static void plan_all(const struct decomp *decomp, int width, enum halo_reach reach,
                     struct halo_plan plans[MOST_RANKS])
{
    assert_in_range(decomp->nranks, 1, MOST_RANKS);
    for (int rank = 0; rank < decomp->nranks; rank++) {
        struct layout layout;
        layout_of(decomp, rank, &layout);
        assert_int_equal(halo_plan_create(decomp, rank, &layout, width, reach, &plans[rank]),
                         STATUS_OK);
    }
}

/* The one message of `peer` that goes to `rank` with this tag. */
static const struct halo_message *partner(const struct halo_plan plans[], int peer, int rank,
                                          int tag)
{
    const struct halo_message *found = NULL;
    for (int m = 0; m < plans[peer].nmessages; m++) {
        const struct halo_message *message = &plans[peer].message[m];
        if (message->peer == rank && message->send_tag == tag) {
            assert_null(found); /* two messages that nobody can tell apart */
            found = message;
        }
    }
    return found;
}

/* Moved to the receiver's place in the grid, what comes is what the sender owns. */
static void check_pair(const struct decomp *decomp, int rank, const struct halo_message *mine,
                       const struct halo_message *theirs)
{
    const struct box owned = decomp_owned(decomp, rank);
    const struct box peers = decomp_owned(decomp, mine->peer);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t n = decomp->global_cells[axis];
        assert_int_equal((owned.lo[axis] + mine->recv.lo[axis] + n) % n,
                         (peers.lo[axis] + theirs->send.lo[axis]) % n);
        assert_int_equal(box_extent(&mine->recv, (enum axis)axis),
                         box_extent(&theirs->send, (enum axis)axis));
        assert_int_equal(mine->toward[axis], -theirs->toward[axis]);
    }
    assert_int_equal(mine->cells, box_cells(&mine->send));
}

/* The frame of `width` cells round the block, less what lies beyond closed faces, is received
 * once: by its size, for overlaps show as a difference. */
static int64_t frame_cells(const struct decomp *decomp, int rank, int width, enum halo_reach reach)
{
    const struct box owned = decomp_owned(decomp, rank);
    int64_t sum = 0;
    for (int k = -1; k <= 1; k++) {
        for (int j = -1; j <= 1; j++) {
            for (int i = -1; i <= 1; i++) {
                const int toward[AXIS_COUNT] = {i, j, k};
                const int axes = abs(i) + abs(j) + abs(k);
                int64_t cells = 1;
                for (int axis = 0; axis < AXIS_COUNT; axis++) {
                    const enum face face =
                        face_of((enum axis)axis, toward[axis] < 0 ? SIDE_MIN : SIDE_MAX);
                    const bool open = decomp_neighbour(decomp, rank, face) >= 0;
                    cells *= toward[axis] == 0 ? box_extent(&owned, (enum axis)axis)
                                               : (open ? width : 0);
                }
                sum += axes >= 1 && axes <= (int)reach ? cells : 0;
            }
        }
    }
    return sum;
}

static void check_plans(const struct decomp *decomp, int width, enum halo_reach reach)
{
    static struct halo_plan plans[MOST_RANKS];
    plan_all(decomp, width, reach, plans);
    for (int rank = 0; rank < decomp->nranks; rank++) {
        const struct halo_plan *plan = &plans[rank];
        int64_t received = 0;
        int64_t sent = 0;
        assert_int_equal(plan->width, width);
        assert_int_equal(plan->reach, reach);
        for (int m = 0; m < plan->nmessages; m++) {
            const struct halo_message *message = &plan->message[m];
            const struct halo_message *other =
                partner(plans, message->peer, rank, message->recv_tag);
            assert_non_null(other);
            check_pair(decomp, rank, message, other);
            for (int earlier = 0; earlier < m; earlier++) {
                const struct box both = box_intersect(&plan->message[earlier].recv, &message->recv);
                assert_true(box_is_empty(&both));
            }
            received += box_cells(&message->recv);
            sent += message->cells;
        }
        assert_int_equal(received, frame_cells(decomp, rank, width, reach));
        assert_int_equal(halo_plan_bytes(plan, PRECISION_FLOAT64), sent * 8);
        assert_int_equal(halo_plan_bytes(plan, PRECISION_FLOAT32), sent * 4);
    }
}

TEST(sends_and_receives_match)
{
    static const int blocks[][AXIS_COUNT] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 2}, {2, 2, 2},
                                             {3, 2, 1}, {3, 3, 3}, {1, 1, 5}, {4, 3, 3}};
    for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
        for (int layers = 1; layers <= MAX_WIDTH; layers++) {
            for (unsigned periodic = 0; periodic < 8; periodic++) {
                const bool around[AXIS_COUNT] = {periodic & 1, periodic & 2, periodic & 4};
                int64_t cells[AXIS_COUNT];
                int nranks = 1;
                for (int axis = 0; axis < AXIS_COUNT; axis++) {
                    cells[axis] = blocks[b][axis] * layers + (layers + axis) % 3;
                    nranks *= blocks[b][axis];
                }
                struct decomp decomp;
                assert_int_equal(decomp_create(cells, around, nranks, layers, blocks[b], &decomp),
                                 STATUS_OK);
                const int width = layers > 2 && periodic % 3 == 0 ? layers - 2 : layers;
                for (int reach = HALO_FACES; reach <= HALO_CORNERS; reach++) {
                    check_plans(&decomp, width, (enum halo_reach)reach);
                }
            }
        }
    }
}

TEST(a_block_in_the_middle_has_26_messages)
{
    static const int64_t cells[AXIS_COUNT] = {12, 13, 14};
    static const bool closed[AXIS_COUNT];
    static struct halo_plan plans[MOST_RANKS];
    struct decomp decomp;
    assert_int_equal(decomp_create(cells, closed, 27, 4, (const int[]){3, 3, 3}, &decomp),
                     STATUS_OK);
    static const int counts[] = {0, 6, 18, HALO_MESSAGES_MAX};
    for (int reach = HALO_FACES; reach <= HALO_CORNERS; reach++) {
        plan_all(&decomp, 4, (enum halo_reach)reach, plans);
        assert_int_equal(plans[13].nmessages, counts[reach]);
    }
    /* faces come first, corners last; a corner of the grid has 3 faces, 3 edges and 1 corner */
    const struct halo_plan *corner = &plans[0];
    assert_int_equal(corner->nmessages, 7);
    for (int m = 0; m < corner->nmessages; m++) {
        const int *toward = corner->message[m].toward;
        assert_int_equal(toward[0] + toward[1] + toward[2], m < 3 ? 1 : (m < 6 ? 2 : 3));
    }
    assert_int_equal(corner->message[6].peer, 13);
    assert_int_equal(corner->message[6].cells, 4 * 4 * 4);
}

TEST(each_rank_receives_the_blocks_of_all)
{
    static const int64_t cells[AXIS_COUNT] = {11, 9, 7};
    static const bool closed[AXIS_COUNT];
    struct halo_plan plan;
    struct decomp decomp;
    assert_int_equal(decomp_create(cells, closed, 12, 1, (const int[]){2, 3, 2}, &decomp),
                     STATUS_OK);
    for (int rank = 0; rank < decomp.nranks; rank++) {
        const struct box own = decomp_owned(&decomp, rank);
        int64_t received = box_cells(&own);
        assert_int_equal(halo_plan_gather(&decomp, rank, &plan), STATUS_OK);
        assert_int_equal(plan.nmessages, decomp.nranks - 1);
        for (int m = 0; m < plan.nmessages; m++) {
            const struct box theirs = decomp_owned(&decomp, plan.message[m].peer);
            assert_memory_equal(&plan.message[m].send, &own, sizeof own);
            assert_memory_equal(&plan.message[m].recv, &theirs, sizeof theirs);
            assert_true(plan.message[m].cells >= box_cells(&own) &&
                        plan.message[m].cells >= box_cells(&theirs));
            received += box_cells(&theirs);
        }
        assert_int_equal(received, 11 * 9 * 7);
    }
    assert_int_equal(decomp_create(cells, closed, 28, 1, (const int[]){7, 4, 1}, &decomp),
                     STATUS_OK);
    assert_int_equal(halo_plan_gather(&decomp, 0, &plan), STATUS_INPUT);
}

static void refuse(const struct decomp *decomp, int width, const char *words)
{
    for (int rank = 0; rank < decomp->nranks; rank++) {
        struct layout layout;
        struct halo_plan plan = {.width = 77};
        layout_of(decomp, rank, &layout);
        assert_int_equal(halo_plan_create(decomp, rank, &layout, width, HALO_CORNERS, &plan),
                         STATUS_INPUT);
        assert_non_null(strstr(fail_message(), words));
        assert_int_equal(plan.width, 77);
    }
}

TEST(what_cannot_be_is_refused_on_all_ranks)
{
    static const int64_t cells[AXIS_COUNT] = {11, 40, 3};
    static const bool around_y[AXIS_COUNT] = {false, true, false};
    struct decomp decomp;
    assert_int_equal(decomp_create(cells, around_y, 2, 5, (const int[]){2, 1, 1}, &decomp),
                     STATUS_OK);
    refuse(&decomp, 0, "exchange of 0 layers; at least 1");
    refuse(&decomp, -3, "exchange of -3 layers; at least 1");
    refuse(&decomp, 6, "thinnest on x has 5 of its 11 cells");
    /* z is thinner than the exchange, and not exchanged */
    check_plans(&decomp, 5, HALO_CORNERS);
    assert_int_equal(decomp_create(cells, around_y, 2, 3, (const int[]){2, 1, 1}, &decomp),
                     STATUS_OK);
    refuse(&decomp, 4, "the field has 3 halo layers on x");
}

TEST_MAIN(NULL, NULL)
