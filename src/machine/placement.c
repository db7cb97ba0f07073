#include "machine/placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"

const int64_t link_cost[LINK_COUNT] = {0, 1, 3, 6};

enum link placement_link(const struct rank_place *places, int a, int b)
{
    if (a == b) {
        return LINK_SELF;
    }
    if (places[a].node != places[b].node) {
        return LINK_NETWORK;
    }
    return places[a].group >= 0 && places[a].group == places[b].group ? LINK_GROUP : LINK_NODE;
}

static void count_links(const struct decomp *decomp, const struct rank_place *places,
                        struct placement_order *order)
{
    memset(order->link_cells, 0, sizeof order->link_cells);
    for (int block = 0; block < decomp->nranks; block++) {
        const struct box owned = decomp_owned(decomp, block);
        for (int f = 0; f < FACE_COUNT; f++) {
            const int peer = decomp_neighbour(decomp, block, (enum face)f);
            if (peer >= 0) {
                const struct box layers = box_inside(&owned, (enum face)f, 1);
                order->link_cells[placement_link(places, order->rank_of_block[block],
                                                 order->rank_of_block[peer])] += box_cells(&layers);
            }
        }
    }
    order->cost = 0;
    for (int link = 0; link < LINK_COUNT; link++) {
        order->cost += order->link_cells[link] * link_cost[link];
    }
}

struct seat {
    int node;  /* as given; after sorting, the lowest rank of the node */
    int group; /* likewise */
    int rank;
};

static int compare_seats(const void *a, const void *b)
{
    const struct seat *x = a;
    const struct seat *y = b;
    if (x->node != y->node) {
        return x->node < y->node ? -1 : 1;
    }
    if (x->group != y->group) {
        return x->group < y->group ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The end of the seats from `begin` that share its node (and its group). */
static int end_of_run(const struct seat *seats, int nranks, int begin, bool same_group)
{
    int end = begin + 1;
    while (end < nranks && seats[end].node == seats[begin].node &&
           (!same_group || seats[end].group == seats[begin].group)) {
        end++;
    }
    return end;
}

/* Sort the ranks by node and group, each in the order of its lowest rank; so rank 0 is first. */
static void sort_seats(const struct rank_place *places, int nranks, struct seat *seats)
{
    for (int rank = 0; rank < nranks; rank++) {
        seats[rank] = (struct seat){places[rank].node, places[rank].group, rank};
    }
    qsort(seats, (size_t)nranks, sizeof *seats, compare_seats);
    for (int begin = 0; begin < nranks;) {
        const int node_end = end_of_run(seats, nranks, begin, false);
        int node = nranks;
        for (int n = begin; n < node_end; n++) {
            node = seats[n].rank < node ? seats[n].rank : node;
        }
        while (begin < node_end) {
            const int group_end = end_of_run(seats, node_end, begin, true);
            const bool alone = seats[begin].group < 0;
            const int group = seats[begin].rank;
            for (; begin < group_end; begin++) {
                seats[begin].group = alone ? seats[begin].rank : group;
                seats[begin].node = node;
            }
        }
    }
    qsort(seats, (size_t)nranks, sizeof *seats, compare_seats);
}

/* Ranks per node (or group) if equal for all; else 1. */
static int run_length(const struct seat *seats, int nranks, bool same_group)
{
    const int length = end_of_run(seats, nranks, 0, same_group);
    for (int begin = 0; begin < nranks;) {
        const int end = end_of_run(seats, nranks, begin, same_group);
        if (end - begin != length) {
            return 1;
        }
        begin = end;
    }
    return length;
}

/* The box of blocks of a node, and of a group in it. */
struct tiling {
    int node[AXIS_COUNT];
    int group[AXIS_COUNT];
};

struct search {
    const struct decomp *decomp;
    const struct rank_place *places;
    const struct seat *seats;
    struct placement_order trial;
    struct placement_order best;
};

/* Add the coordinates of the n-th box of a grid of boxes, x fastest, times the box size. */
static int add_box(int n, const int outer[AXIS_COUNT], const int inner[AXIS_COUNT],
                   int coords[AXIS_COUNT])
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int count = outer[axis] / inner[axis];
        coords[axis] += n % count * inner[axis];
        n /= count;
    }
    return n;
}

/* The block of the n-th seat. */
static int block_of_seat(const struct decomp *decomp, const struct tiling *tiling, int n)
{
    static const int one[AXIS_COUNT] = {1, 1, 1};
    const int *node = tiling->node;
    const int *group = tiling->group;
    const int in_node = node[0] * node[1] * node[2];
    const int in_group = group[0] * group[1] * group[2];
    int at[AXIS_COUNT] = {0, 0, 0};
    (void)add_box(n / in_node, decomp->ranks, node, at);
    (void)add_box(n % in_node / in_group, node, group, at);
    (void)add_box(n % in_group, group, one, at);
    return (at[AXIS_Z] * decomp->ranks[AXIS_Y] + at[AXIS_Y]) * decomp->ranks[AXIS_X] + at[AXIS_X];
}

static void keep_if_cheaper(struct search *search)
{
    count_links(search->decomp, search->places, &search->trial);
    if (search->trial.cost < search->best.cost) {
        const struct placement_order spare = search->best;
        search->best = search->trial;
        search->trial = spare;
    }
}

static void try_tiling(struct search *search, const struct tiling *tiling)
{
    struct placement_order *trial = &search->trial;
    for (int n = 0; n < trial->nranks; n++) {
        trial->rank_of_block[block_of_seat(search->decomp, tiling, n)] = search->seats[n].rank;
    }
    const int *node = tiling->node;
    const int *group = tiling->group;
    snprintf(trial->name, sizeof trial->name,
             "a node holds %d x %d x %d blocks, a group %d x %d x %d", node[0], node[1], node[2],
             group[0], group[1], group[2]);
    keep_if_cheaper(search);
}

/* The next box of `cells` blocks that divides `outer` evenly; start with box[0] = 0. */
static bool next_box(const int outer[AXIS_COUNT], int cells, int box[AXIS_COUNT])
{
    int x = box[0];
    int y = x == 0 ? cells : box[1];
    for (;;) {
        if (++y > cells) {
            y = 1;
            if (++x > cells) {
                return false;
            }
        }
        if (cells % (x * y) == 0 && outer[0] % x == 0 && outer[1] % y == 0 &&
            outer[2] % (cells / (x * y)) == 0) {
            box[0] = x;
            box[1] = y;
            box[2] = cells / (x * y);
            return true;
        }
    }
}

static void try_tilings(struct search *search)
{
    const int nranks = search->trial.nranks;
    const int in_node = run_length(search->seats, nranks, false);
    const int in_group = run_length(search->seats, nranks, true);
    struct tiling tiling = {.node = {0}};
    while (next_box(search->decomp->ranks, in_node, tiling.node)) {
        tiling.group[0] = 0;
        while (next_box(tiling.node, in_group, tiling.group)) {
            try_tiling(search, &tiling);
        }
    }
}

/* `seats` NULL: the natural order. */
static void try_in_turn(struct search *search, const struct seat *seats, const char *name)
{
    struct placement_order *trial = &search->trial;
    for (int n = 0; n < trial->nranks; n++) {
        trial->rank_of_block[n] = seats != NULL ? seats[n].rank : n;
    }
    snprintf(trial->name, sizeof trial->name, "%s", name);
    keep_if_cheaper(search);
}

static enum status order_create(int nranks, struct placement_order *order)
{
    *order = (struct placement_order){.nranks = nranks, .cost = INT64_MAX};
    order->rank_of_block = malloc((size_t)nranks * sizeof *order->rank_of_block);
    return CHECK_MEMORY(order->rank_of_block != NULL, "no memory to place %d ranks", nranks);
}

enum status placement_choose(const struct decomp *decomp, const struct rank_place *places,
                             struct placement_order *order)
{
    const int nranks = decomp->nranks;
    SCOPED_FREE struct seat *seats = malloc((size_t)nranks * sizeof *seats);
    struct search search = {.decomp = decomp, .places = places, .seats = seats};
    enum status status = STATUS_OK;
    int64_t natural_cost = 0;
    TRY_GOTO(CHECK_MEMORY(seats != NULL, "no memory to place %d ranks", nranks));
    TRY_GOTO(order_create(nranks, &search.trial));
    TRY_GOTO(order_create(nranks, &search.best));
    sort_seats(places, nranks, seats);
    try_in_turn(&search, NULL, "natural");
    natural_cost = search.best.cost;
    try_in_turn(&search, seats, "node after node");
    try_tilings(&search);
    *order = search.best;
    order->natural_cost = natural_cost;
    search.best.rank_of_block = NULL;
done:
    placement_free(&search.best);
    placement_free(&search.trial);
    return status;
}

void placement_free(struct placement_order *order)
{
    free(order->rank_of_block);
    order->rank_of_block = NULL;
}

void placement_reason(const struct placement_order *order, char *text, size_t bytes)
{
    if (order->cost < order->natural_cost) {
        snprintf(text, bytes, "%s: the links take %.1f %% less time than in the natural order",
                 order->name, 100.0 - 100.0 * (double)order->cost / (double)order->natural_cost);
    } else {
        snprintf(text, bytes, "natural order: no other candidate costs less");
    }
}

void placement_assume(int nranks, int ranks_per_node, int ranks_per_group,
                      struct rank_place *places)
{
    for (int rank = 0; rank < nranks; rank++) {
        const int in_node = rank % ranks_per_node;
        places[rank] = (struct rank_place){
            .node = rank / ranks_per_node,
            .group = ranks_per_group > 1 ? in_node / ranks_per_group : -1,
        };
    }
}

int placement_group(const struct machine *machine, const struct backend *backend,
                    const struct device_info *info)
{
    if (backend_has(backend, BACKEND_GPU)) {
        /* the dies of a module are adjacent in PCI order; links between other GPUs have one
         * speed */
        const bool has_two_dies = strstr(info->name, "MI250") != NULL;
        return has_two_dies && machine->device_index >= 0 ? machine->device_index / 2 : -1;
    }
    const bool within_one = machine->numa != 0 && (machine->numa & (machine->numa - 1)) == 0;
    return machine->numa_nodes > 1 && within_one ? __builtin_ctzll(machine->numa) : -1;
}

enum status placement_gather(MPI_Comm comm, int group, struct rank_place *places)
{
    struct rank_place mine = {.group = group};
    TRY(comm_node(comm, &mine.node));
    return comm_check(MPI_Allgather(&mine, 2, MPI_INT, places, 2, MPI_INT, comm), "MPI_Allgather");
}

enum status placement_communicator(MPI_Comm comm, const struct placement_order *order,
                                   MPI_Comm *ordered)
{
    const int rank = comm_rank(comm);
    int block = 0;
    while (order->rank_of_block[block] != rank) {
        block++;
    }
    TRY_MPI(MPI_Comm_split(comm, 0, block, ordered));
    return comm_check(MPI_Comm_set_errhandler(*ordered, MPI_ERRORS_RETURN),
                      "MPI_Comm_set_errhandler");
}
