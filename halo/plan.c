#include "halo/plan.h"

#include <inttypes.h>

/* Direction n of 27 as a step per axis; 13 means no step. */
enum { DIRECTIONS = 27 };

static int direction_toward(int direction, int toward[AXIS_COUNT])
{
    int axes = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        toward[axis] = direction % 3 - 1;
        direction /= 3;
        axes += toward[axis] != 0;
    }
    return axes;
}

static int direction_opposite(int direction)
{
    return DIRECTIONS - 1 - direction;
}

/* The cells of `owned` within `width` of its side in that direction ... */
static struct box cells_inside(const struct box *owned, const int toward[AXIS_COUNT], int width)
{
    struct box box = *owned;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (toward[axis] < 0) {
            box.hi[axis] = box.lo[axis] + width;
        } else if (toward[axis] > 0) {
            box.lo[axis] = box.hi[axis] - width;
        }
    }
    return box;
}

/* ... and the same number of cells beyond. */
static struct box cells_outside(const struct box *owned, const int toward[AXIS_COUNT], int width)
{
    const struct box inside = cells_inside(owned, toward, width);
    int64_t shift[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        shift[axis] = (int64_t)toward[axis] * width;
    }
    return box_shift(&inside, shift);
}

static enum status check_width(const struct decomp *decomp, const struct layout *layout, int width)
{
    FAIL_IF(width < 1,
            fail(STATUS_INPUT, "a halo exchange of %d layers; at least 1 is needed", width));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (!decomp_exchanges(decomp, (enum axis)axis)) {
            continue;
        }
        const int64_t thinnest = decomp->global_cells[axis] / decomp->ranks[axis];
        FAIL_IF(thinnest < width,
                fail(STATUS_INPUT,
                     "a halo exchange of %d layers needs blocks at least as thick, and the "
                     "thinnest on %s has %" PRId64 " of its %" PRId64
                     " cells; use a narrower exchange or fewer blocks on %s",
                     width, axis_name((enum axis)axis), thinnest, decomp->global_cells[axis],
                     axis_name((enum axis)axis)));
        FAIL_IF(layout->halo[axis] < width,
                fail(STATUS_INPUT,
                     "a halo exchange of %d layers, but the field has %d halo layers on %s", width,
                     layout->halo[axis], axis_name((enum axis)axis)));
    }
    return STATUS_OK;
}

/* Add the messages whose peers differ in position on exactly `axes` axes. */
static void add_messages(const struct decomp *decomp, int rank, const struct box *owned, int axes,
                         struct halo_plan *plan)
{
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        struct halo_message message;
        if (direction_toward(direction, message.toward) != axes) {
            continue;
        }
        message.peer = decomp_neighbour_toward(decomp, rank, message.toward);
        if (message.peer < 0) {
            continue;
        }
        message.send = cells_inside(owned, message.toward, plan->width);
        message.recv = cells_outside(owned, message.toward, plan->width);
        message.send_tag = direction_opposite(direction);
        message.recv_tag = direction;
        message.cells = box_cells(&message.send);
        plan->message[plan->nmessages++] = message;
    }
}

enum status halo_plan_create(const struct decomp *decomp, int rank, const struct layout *layout,
                             int width, enum halo_reach reach, struct halo_plan *plan)
{
    TRY(check_width(decomp, layout, width));
    const struct box owned = layout_owned(layout);
    struct halo_plan built = {.width = width, .reach = reach, .interior = owned};
    for (int axes = HALO_FACES; axes <= (int)reach; axes++) {
        add_messages(decomp, rank, &owned, axes, &built);
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        if (decomp_neighbour(decomp, rank, (enum face)f) >= 0) {
            built.interior = box_shrink_face(&built.interior, (enum face)f, width);
        }
    }
    if (box_is_empty(&built.interior)) {
        built.interior = (struct box){{0, 0, 0}, {0, 0, 0}};
    }
    *plan = built;
    return STATUS_OK;
}

enum status halo_plan_gather(const struct decomp *decomp, int rank, struct halo_plan *plan)
{
    const struct box own = decomp_owned(decomp, rank);
    FAIL_IF(decomp->nranks - 1 > HALO_MESSAGES_MAX,
            fail(STATUS_INPUT, "%d ranks, of at most %d that exchange their blocks", decomp->nranks,
                 HALO_MESSAGES_MAX + 1));
    *plan = (struct halo_plan){.interior = own};
    for (int peer = 0; peer < decomp->nranks; peer++) {
        const struct box theirs = decomp_owned(decomp, peer);
        const int64_t most =
            box_cells(&own) > box_cells(&theirs) ? box_cells(&own) : box_cells(&theirs);
        if (peer != rank) {
            plan->message[plan->nmessages++] =
                (struct halo_message){.peer = peer, .send = own, .recv = theirs, .cells = most};
        }
    }
    return STATUS_OK;
}

size_t halo_plan_bytes(const struct halo_plan *plan, enum precision precision)
{
    size_t bytes = 0;
    for (int m = 0; m < plan->nmessages; m++) {
        bytes += (size_t)plan->message[m].cells * precision_bytes(precision);
    }
    return bytes;
}
