/* Which rank holds which block, with invented machines. */
#include <stdlib.h>
#include <string.h>

#include "machine/placement.h"
#include "tests/test.h"

enum { MOST_RANKS = 64 };

static void decompose(const int blocks[AXIS_COUNT], const int64_t cells[AXIS_COUNT],
                      unsigned periodic, struct decomp *decomp)
{
    const bool around[AXIS_COUNT] = {periodic & 1, periodic & 2, periodic & 4};
    assert_int_equal(
        decomp_create(cells, around, blocks[0] * blocks[1] * blocks[2], 1, blocks, decomp),
        STATUS_OK);
}

/* Cost and cells of an order, counted from the blocks' boxes alone: two blocks exchange the cells
 * of the sides at which they touch. */
static int64_t touching_cells(const struct decomp *decomp, int a, int b)
{
    int64_t sum = 0;
    const struct box mine = decomp_owned(decomp, a);
    for (int f = 0; f < FACE_COUNT; f++) {
        if (decomp_neighbour(decomp, a, (enum face)f) == b) {
            const enum axis axis = face_axis((enum face)f);
            sum += box_cells(&mine) / box_extent(&mine, axis);
        }
    }
    return sum;
}

static int64_t cost_by_hand(const struct decomp *decomp, const struct rank_place *places,
                            const int *rank_of_block)
{
    int64_t cost = 0;
    for (int a = 0; a < decomp->nranks; a++) {
        for (int b = 0; b < decomp->nranks; b++) {
            const struct rank_place *x = &places[rank_of_block[a]];
            const struct rank_place *y = &places[rank_of_block[b]];
            int64_t price = x->node != y->node ? link_cost[LINK_NETWORK] : link_cost[LINK_NODE];
            if (x->node == y->node && x->group >= 0 && x->group == y->group) {
                price = link_cost[LINK_GROUP];
            }
            cost += a == b ? 0 : touching_cells(decomp, a, b) * price;
        }
    }
    return cost;
}

static void check_order(const struct decomp *decomp, const struct rank_place *places,
                        const struct placement_order *order)
{
    int natural[MOST_RANKS];
    bool taken[MOST_RANKS] = {false};
    for (int block = 0; block < decomp->nranks; block++) {
        natural[block] = block;
        assert_in_range(order->rank_of_block[block], 0, decomp->nranks - 1);
        assert_false(taken[order->rank_of_block[block]]);
        taken[order->rank_of_block[block]] = true;
    }
    assert_int_equal(order->rank_of_block[0], 0);
    assert_int_equal(order->cost, cost_by_hand(decomp, places, order->rank_of_block));
    assert_int_equal(order->natural_cost, cost_by_hand(decomp, places, natural));
    assert_true(order->cost <= order->natural_cost);
    const bool is_natural =
        memcmp(natural, order->rank_of_block, (size_t)decomp->nranks * sizeof natural[0]) == 0;
    assert_int_equal(is_natural, strcmp(order->name, "natural") == 0);
    assert_true(is_natural || order->cost < order->natural_cost);
}

static void choose(const struct decomp *decomp, const struct rank_place *places,
                   struct placement_order *order)
{
    assert_int_equal(placement_choose(decomp, places, order), STATUS_OK);
    check_order(decomp, places, order);
}

/* Two MI250X nodes, each rank on the GCD that is closest to its cores: ranks 0 and 1 of a node
 * share a module (GCDs 4 and 5), and so on. */
static void place_mi250x(int nranks, struct rank_place *places)
{
    static const int gcd_of_rank[8] = {4, 5, 2, 3, 6, 7, 0, 1};
    for (int rank = 0; rank < nranks; rank++) {
        places[rank] =
            (struct rank_place){.node = rank / 8 * 8, .group = gcd_of_rank[rank % 8] / 2};
    }
}

TEST(modules_get_the_heaviest_faces)
{
    /* y faces are the heaviest, then z, then x: in the ranks' own order a module would take x */
    static const int blocks[AXIS_COUNT] = {2, 2, 2};
    static const int64_t cells[AXIS_COUNT] = {128, 32, 64};
    struct decomp decomp;
    struct rank_place places[MOST_RANKS];
    struct placement_order order;
    decompose(blocks, cells, 0, &decomp);
    place_mi250x(8, places);
    choose(&decomp, places, &order);
    assert_string_equal(order.name, "a node holds 2 x 2 x 2 blocks, a group 1 x 2 x 1");
    /* 4 faces of 64 x 32 cells between two y neighbours, both ways */
    assert_int_equal(order.link_cells[LINK_GROUP], 4 * 2 * 64 * 32);
    assert_int_equal(order.link_cells[LINK_NETWORK], 0);
    for (int z = 0; z < 2; z++) {
        for (int x = 0; x < 2; x++) {
            const int *rank = order.rank_of_block;
            assert_int_equal(rank[z * 4 + x] / 2, rank[z * 4 + 2 + x] / 2);
        }
    }
    placement_free(&order);
}

TEST(two_nodes_share_the_smallest_surface)
{
    /* 16 blocks of a cube as 4 x 2 x 2: in the ranks' own order a node is a plane of 4 x 2 blocks,
     * and the nodes meet in 8 faces; as cubes they meet in 4 */
    static const int blocks[AXIS_COUNT] = {4, 2, 2};
    static const int64_t cells[AXIS_COUNT] = {128, 64, 64};
    struct decomp decomp;
    struct rank_place places[MOST_RANKS];
    struct placement_order order;
    decompose(blocks, cells, 0, &decomp);
    place_mi250x(16, places);
    choose(&decomp, places, &order);
    assert_non_null(strstr(order.name, "a node holds 2 x 2 x 2 blocks"));
    assert_int_equal(order.link_cells[LINK_NETWORK], 2 * 4 * 32 * 32);
    assert_int_equal(places[order.rank_of_block[1]].node, 0);
    assert_int_equal(places[order.rank_of_block[2]].node, 8);
    placement_free(&order);
}

TEST(ranks_dealt_round_the_nodes_are_collected)
{
    static const int blocks[AXIS_COUNT] = {1, 1, 7};
    static const int64_t cells[AXIS_COUNT] = {9, 8, 21};
    struct decomp decomp;
    struct rank_place places[MOST_RANKS];
    struct placement_order order;
    decompose(blocks, cells, 0, &decomp);
    for (int rank = 0; rank < 7; rank++) {
        places[rank] = (struct rank_place){.node = rank % 2, .group = -1};
    }
    choose(&decomp, places, &order);
    assert_string_equal(order.name, "node after node");
    assert_int_equal(order.link_cells[LINK_NETWORK], 2 * 72);
    assert_int_equal(order.link_cells[LINK_NODE], 5 * 2 * 72);
    assert_int_equal(order.rank_of_block[3], 6);
    assert_int_equal(order.rank_of_block[4], 1);
    placement_free(&order);
}

TEST(nothing_gained_leaves_the_natural_order)
{
    static const int cubes[][AXIS_COUNT] = {{1, 1, 1}, {1, 1, 16}, {2, 2, 4}, {3, 5, 1}};
    for (int c = 0; c < 4; c++) {
        const int64_t cells[AXIS_COUNT] = {16, 16, 32};
        struct decomp decomp;
        struct rank_place places[MOST_RANKS];
        struct placement_order order;
        decompose(cubes[c], cells, 0, &decomp);
        /* one node; then nodes of 8, where they are planes already */
        for (int ranks_per_node = MOST_RANKS; ranks_per_node >= 8; ranks_per_node -= 56) {
            if (ranks_per_node == 8 && cubes[c][0] == 3) {
                continue;
            }
            placement_assume(decomp.nranks, ranks_per_node, 1, places);
            choose(&decomp, places, &order);
            assert_string_equal(order.name, "natural");
            placement_free(&order);
        }
    }
}

/* Any machine, any blocks: a permutation that keeps rank 0 and costs no more. */
TEST(any_machine_gets_a_permutation)
{
    static const int shapes[][AXIS_COUNT] = {{2, 3, 2}, {4, 4, 4}, {1, 5, 3}, {6, 1, 2},
                                             {3, 3, 3}, {8, 4, 1}, {1, 1, 2}, {2, 2, 6}};
    unsigned random = 12345;
    int reordered = 0;
    for (int trial = 0; trial < 400; trial++) {
        const int *blocks = shapes[trial % 8];
        const int64_t cells[AXIS_COUNT] = {blocks[0] * (2 + trial % 5) + trial % 2,
                                           blocks[1] * (2 + trial % 3), blocks[2] * 4 + trial % 3};
        struct decomp decomp;
        struct rank_place places[MOST_RANKS];
        struct placement_order order;
        decompose(blocks, cells, (unsigned)trial / 8, &decomp);
        for (int rank = 0; rank < decomp.nranks; rank++) {
            random = random * 1664525u + 1013904223u;
            places[rank] = (struct rank_place){.node = (int)(random >> 29) - 4,
                                               .group = (int)(random >> 20 & 3) - 1};
        }
        if (trial % 3 != 0) {
            const int sizes[] = {2, 4, 8};
            const int size = sizes[trial / 3 % 3];
            placement_assume(decomp.nranks, size, trial % 3, places);
        }
        choose(&decomp, places, &order);
        reordered += strcmp(order.name, "natural") != 0;
        placement_free(&order);
    }
    assert_in_range(reordered, 100, 399);
}

TEST(groups_are_modules_or_numa_nodes)
{
    struct backend cpu = {.capabilities = BACKEND_HOST_ACCESS};
    struct backend gpu = {.capabilities = BACKEND_GPU | BACKEND_HOST_ACCESS};
    struct device_info info = {.name = "AMD Instinct MI250X"};
    struct machine machine = {.numa_nodes = 4, .numa = 4, .device_index = 5};
    assert_int_equal(placement_group(&machine, &gpu, &info), 2);
    assert_int_equal(placement_group(&machine, &cpu, &info), 2);
    machine.numa = 12; /* bound to two NUMA nodes */
    assert_int_equal(placement_group(&machine, &cpu, &info), -1);
    machine.device_index = -1;
    assert_int_equal(placement_group(&machine, &gpu, &info), -1);
    info = (struct device_info){.name = "NVIDIA H200"};
    machine.device_index = 3;
    assert_int_equal(placement_group(&machine, &gpu, &info), -1);
    machine = (struct machine){.numa_nodes = 1, .numa = 1};
    assert_int_equal(placement_group(&machine, &cpu, &info), -1);
}

TEST_MAIN(NULL, NULL)
