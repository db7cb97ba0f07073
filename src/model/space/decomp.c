#include "model/space/decomp.h"

#include <inttypes.h>
#include <stdio.h>

static int64_t most_blocks(const struct decomp *decomp, enum axis axis)
{
    if (!decomp->used[axis]) {
        return 1;
    }
    const int64_t blocks = decomp->global_cells[axis] / decomp->halo_width;
    return blocks > 1 ? blocks : 1;
}

static bool fits(const struct decomp *decomp, enum axis axis, int64_t blocks)
{
    return blocks <= most_blocks(decomp, axis);
}

/* The cost of the most expensive rank. The first block of an axis is the largest, the second the
 * largest with two neighbours; no other has more cells or neighbours, so their combinations
 * suffice. */
static int64_t busiest_cost(const struct decomp *decomp)
{
    int64_t busiest = 0;
    for (int corner = 0; corner < 8; corner++) {
        int coords[AXIS_COUNT];
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            coords[axis] = ((corner >> axis) & 1) != 0 && decomp->ranks[axis] > 1;
        }
        const int rank =
            (coords[AXIS_Z] * decomp->ranks[AXIS_Y] + coords[AXIS_Y]) * decomp->ranks[AXIS_X] +
            coords[AXIS_X];
        const int64_t cost = decomp_cost(decomp, rank);
        busiest = cost > busiest ? cost : busiest;
    }
    return busiest;
}

/* Set the factorization of `nranks` with the lowest cost; false when none fits. */
static bool choose(struct decomp *decomp, int nranks)
{
    struct decomp trial = *decomp;
    int64_t best_cost = -1;
    decomp->nranks = nranks;
    trial.nranks = nranks;
    for (int px = 1; px <= nranks && fits(decomp, AXIS_X, px); px++) {
        const int rest = nranks % px == 0 ? nranks / px : 0;
        for (int py = 1; py <= rest && fits(decomp, AXIS_Y, py); py++) {
            const int pz = rest / py;
            if (py * pz != rest || !fits(decomp, AXIS_Z, pz)) {
                continue;
            }
            trial.ranks[AXIS_X] = px;
            trial.ranks[AXIS_Y] = py;
            trial.ranks[AXIS_Z] = pz;
            const int64_t cost = busiest_cost(&trial);
            if (best_cost < 0 || cost < best_cost) {
                best_cost = cost;
                *decomp = trial;
            }
        }
    }
    return best_cost >= 0;
}

/* The largest valid rank count below `nranks`; at least 1. */
static int largest_count(const struct decomp *decomp, int nranks)
{
    struct decomp trial = *decomp;
    int64_t most = 1;
    for (int axis = 0; axis < AXIS_COUNT && most < nranks; axis++) {
        const int64_t blocks = most_blocks(decomp, (enum axis)axis);
        most *= blocks < nranks ? blocks : nranks;
    }
    int64_t count = most < nranks ? most : nranks - 1;
    while (count > 1 && !choose(&trial, (int)count)) {
        count--;
    }
    return (int)count;
}

static enum status refuse_count(const struct decomp *decomp, int nranks)
{
    const int64_t *cells = decomp->global_cells;
    const int64_t total = cells[AXIS_X] * cells[AXIS_Y] * cells[AXIS_Z];
    const int works = largest_count(decomp, nranks);
    FAIL_IF(nranks > total,
            fail(STATUS_INPUT, "%d ranks are more than the %" PRId64 " cells; at most %d %s used",
                 nranks, total, works, works == 1 ? "rank can be" : "ranks can be"));
    return fail(STATUS_INPUT,
                "%" PRId64 " x %" PRId64 " x %" PRId64
                " cells cannot be divided into %d blocks that are at least as thick as the halo "
                "(%d); the next lower valid rank count is %d",
                cells[AXIS_X], cells[AXIS_Y], cells[AXIS_Z], nranks, decomp->halo_width, works);
}

static enum status check_wanted(const struct decomp *decomp, const int *wanted, int nranks)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const char *name = axis_name((enum axis)axis);
        const int64_t cells = decomp->global_cells[axis];
        FAIL_IF(wanted[axis] < 1,
                fail(STATUS_INPUT, "%d blocks on %s; use at least 1", wanted[axis], name));
        FAIL_IF(!decomp->used[axis] && wanted[axis] > 1,
                fail(STATUS_INPUT, "%d blocks on %s, which has only one cell; use 1", wanted[axis],
                     name));
        FAIL_IF(!fits(decomp, (enum axis)axis, wanted[axis]),
                fail(STATUS_INPUT,
                     "%d blocks on %s leave %" PRId64 " of its %" PRId64
                     " cells to the thinnest, fewer than the halo width (%d); at most "
                     "%" PRId64 " blocks fit on %s",
                     wanted[axis], name, cells / wanted[axis], cells, decomp->halo_width,
                     most_blocks(decomp, (enum axis)axis), name));
    }
    const int64_t product =
        (int64_t)wanted[AXIS_X] * (int64_t)wanted[AXIS_Y] * (int64_t)wanted[AXIS_Z];
    if (product == nranks) {
        return STATUS_OK;
    }
    struct decomp trial = *decomp;
    char instead[96] = "";
    if (choose(&trial, nranks)) {
        snprintf(instead, sizeof instead, ", or use auto, which gives [%d, %d, %d]",
                 trial.ranks[AXIS_X], trial.ranks[AXIS_Y], trial.ranks[AXIS_Z]);
    }
    return fail(STATUS_INPUT,
                "[%d, %d, %d] makes %" PRId64 " blocks for %d rank%s; start %" PRId64 " rank%s%s",
                wanted[AXIS_X], wanted[AXIS_Y], wanted[AXIS_Z], product, nranks,
                nranks == 1 ? "" : "s", product, product == 1 ? "" : "s", instead);
}

/* A periodic axis sends halo layers to itself even when it is not divided. */
static enum status check_periodic(const struct decomp *decomp)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        FAIL_IF(decomp->used[axis] && decomp->periodic[axis] &&
                    decomp->global_cells[axis] < decomp->halo_width,
                fail(STATUS_INPUT,
                     "the periodic axis %s has %" PRId64
                     " cells, fewer than the halo width; use at least %d",
                     axis_name((enum axis)axis), decomp->global_cells[axis], decomp->halo_width));
    }
    return STATUS_OK;
}

enum status decomp_create(const int64_t cells[AXIS_COUNT], const bool periodic[AXIS_COUNT],
                          int nranks, int halo_width, const int *wanted, struct decomp *decomp)
{
    struct decomp built = {.nranks = nranks, .halo_width = halo_width};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        built.global_cells[axis] = cells[axis];
        built.used[axis] = cells[axis] > 1;
        built.periodic[axis] = periodic[axis];
    }
    TRY(check_periodic(&built));
    if (wanted == NULL) {
        if (!choose(&built, nranks)) {
            return refuse_count(&built, nranks);
        }
    } else {
        TRY(check_wanted(&built, wanted, nranks));
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            built.ranks[axis] = wanted[axis];
        }
    }
    *decomp = built;
    return STATUS_OK;
}

void decomp_coords(const struct decomp *decomp, int rank, int coords[AXIS_COUNT])
{
    coords[AXIS_X] = rank % decomp->ranks[AXIS_X];
    coords[AXIS_Y] = rank / decomp->ranks[AXIS_X] % decomp->ranks[AXIS_Y];
    coords[AXIS_Z] = rank / decomp->ranks[AXIS_X] / decomp->ranks[AXIS_Y];
}

struct box decomp_owned(const struct decomp *decomp, int rank)
{
    int coords[AXIS_COUNT];
    decomp_coords(decomp, rank, coords);
    struct box owned;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t share = decomp->global_cells[axis] / decomp->ranks[axis];
        const int64_t larger = decomp->global_cells[axis] % decomp->ranks[axis];
        const int64_t c = coords[axis];
        owned.lo[axis] = c * share + (c < larger ? c : larger);
        owned.hi[axis] = owned.lo[axis] + share + (c < larger ? 1 : 0);
    }
    return owned;
}

bool decomp_exchanges(const struct decomp *decomp, enum axis axis)
{
    return decomp->used[axis] && (decomp->ranks[axis] > 1 || decomp->periodic[axis]);
}

int64_t decomp_thinnest(const struct decomp *decomp, enum axis *axis)
{
    int64_t thinnest = INT64_MAX;
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int64_t extent = decomp->global_cells[a] / decomp->ranks[a];
        if (decomp_exchanges(decomp, (enum axis)a) && extent < thinnest) {
            thinnest = extent;
            *axis = (enum axis)a;
        }
    }
    return thinnest;
}

int decomp_neighbour_toward(const struct decomp *decomp, int rank, const int toward[AXIS_COUNT])
{
    int coords[AXIS_COUNT];
    decomp_coords(decomp, rank, coords);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int blocks = decomp->ranks[axis];
        if (toward[axis] == 0) {
            continue;
        }
        if (!decomp->used[axis]) {
            return -1;
        }
        coords[axis] += toward[axis];
        if (coords[axis] < 0 || coords[axis] >= blocks) {
            if (!decomp->periodic[axis]) {
                return -1;
            }
            coords[axis] = (coords[axis] + blocks) % blocks;
        }
    }
    return (coords[AXIS_Z] * decomp->ranks[AXIS_Y] + coords[AXIS_Y]) * decomp->ranks[AXIS_X] +
           coords[AXIS_X];
}

int decomp_neighbour(const struct decomp *decomp, int rank, enum face face)
{
    int toward[AXIS_COUNT] = {0, 0, 0};
    toward[face_axis(face)] = face_side(face) == SIDE_MIN ? -1 : 1;
    return decomp_neighbour_toward(decomp, rank, toward);
}

int64_t decomp_cost(const struct decomp *decomp, int rank)
{
    const struct box owned = decomp_owned(decomp, rank);
    int64_t sum = 0;
    for (int face = 0; face < FACE_COUNT; face++) {
        if (decomp_neighbour(decomp, rank, (enum face)face) < 0) {
            continue;
        }
        const struct box layers = box_inside(&owned, (enum face)face, decomp->halo_width);
        sum +=
            box_cells(&layers) * (face_axis((enum face)face) == AXIS_X ? DECOMP_X_FACE_WEIGHT : 1);
    }
    return sum;
}
