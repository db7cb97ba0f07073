#include "machine/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/operator/operator.h"

static const char *machine_medium(const struct problem *problem)
{
    static const char *const orders[] = {"order_4", "order_6", "order_8"};
    const enum kind kind = operator_kind(problem);
    return kind == KIND_CLASSES      ? "classes"
           : kind == KIND_FACES      ? "faces"
           : kind == KIND_ENTHALPY   ? "enthalpy"
           : kind == KIND_HIGH_ORDER ? orders[problem->radius - 2]
                                     : "uniform";
}

static bool is_measured(const struct machine_rate *rate)
{
    return strncmp(rate->per_s.source, "measured", strlen("measured")) == 0;
}

/* Is the rate nearer to a block than another on the same side of it? */
static bool is_nearer(const struct machine_rate *rate, const struct machine_rate *other,
                      const struct box *block)
{
    const double cells = (double)box_cells(block);
    const double planes = (double)box_extent(block, AXIS_Z);
    if (other == NULL || rate->cells != other->cells) {
        return other == NULL || fabs(rate->cells - cells) < fabs(other->cells - cells);
    }
    return rate->planes > 0 && other->planes > 0 &&
           fabs(log(rate->planes / planes)) < fabs(log(other->planes / planes));
}

bool machine_rate_of(const struct machine_model *machine, const struct problem *problem, int steps,
                     const struct box *block, struct machine_value *per_s)
{
    const double cells = (double)box_cells(block);
    const struct machine_rate *below = NULL;
    const struct machine_rate *above = NULL;
    const char *medium = machine_medium(problem);
    for (int all = 0; all <= 1 && below == NULL && above == NULL; all++) {
        for (int r = 0; r < machine->nrates; r++) {
            const struct machine_rate *rate = &machine->rate[r];
            if (strcmp(rate->medium, medium) != 0 || rate->precision != problem->precision ||
                rate->steps != steps || (all == 0 && !is_measured(rate))) {
                continue;
            }
            /* files give the cells with four digits */
            below = rate->cells <= 1.001 * cells && is_nearer(rate, below, block) ? rate : below;
            above = rate->cells >= 0.999 * cells && is_nearer(rate, above, block) ? rate : above;
        }
    }
    if (below == NULL && above == NULL) {
        return false;
    }
    below = below != NULL ? below : above;
    above = above != NULL ? above : below;
    const double share = above->cells > below->cells
                             ? log(cells / below->cells) / log(above->cells / below->cells)
                             : 0;
    per_s->low = below->per_s.low + share * (above->per_s.low - below->per_s.low);
    per_s->high = below->per_s.high + share * (above->per_s.high - below->per_s.high);
    per_s->source = share < 0.5 ? below->per_s.source : above->per_s.source;
    return true;
}

/* The number that makes the run faster, or slower. */
static double number_at(const struct machine_model *machine, enum machine_number number, int end)
{
    const bool more_is_faster = number >= MACHINE_MEMORY && number <= MACHINE_NETWORK;
    const struct machine_value *value = &machine->number[number];
    return (end == MACHINE_FAST) == more_is_faster ? value->high : value->low;
}

/* A rank does this work in a pass. */
struct work {
    double cells;    /* updates of all levels */
    double shell;    /* the part on which the neighbours wait */
    double weighted; /* the shell, whose cells at x faces count as all of their sectors */
    double packed;   /* bytes, whole sectors of the memory */
    double sent[LINK_COUNT];
    double rows, more_rows; /* in y; in the halo, which tiles have, too */
    int messages;
};

static void count_face(const struct problem *problem, const struct box *owned, enum face face,
                       int steps, enum link link, struct work *work)
{
    const double sector = 64;
    const double width = (double)precision_bytes(problem->precision);
    const double layers = (double)steps * problem->radius;
    const struct box layer = box_inside(owned, face, 1);
    const double area = (double)box_cells(&layer);
    const double bytes = area * layers * width;
    const double spread = face_axis(face) == AXIS_X ? fmax(1, sector / (layers * width)) : 1;
    work->cells += area * problem->radius * steps * (steps - 1) / 2.0;
    work->shell += area * layers * steps;
    work->weighted += area * layers * steps * spread;
    work->packed += bytes * spread;
    work->sent[link] += bytes;
}

static struct work work_of(const struct problem *problem, const struct decomp *decomp,
                           const struct placement_order *order, const struct rank_place *places,
                           int block, int steps)
{
    struct work work = {.messages = 1};
    const struct box owned = decomp_owned(decomp, block);
    work.rows = (double)box_extent(&owned, AXIS_Y);
    work.cells = (double)box_cells(&owned) * steps;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        int neighbours = 0;
        for (int side = 0; side < 2; side++) {
            const enum face face = (enum face)(2 * axis + side);
            const int peer = decomp_neighbour(decomp, block, face);
            if (peer >= 0) {
                const enum link link =
                    placement_link(places, order->rank_of_block[block], order->rank_of_block[peer]);
                count_face(problem, &owned, face, steps, link, &work);
                neighbours++;
            }
        }
        work.more_rows = axis == AXIS_Y ? neighbours * (steps - 1) : work.more_rows;
        work.messages = steps > 1 ? work.messages * (1 + neighbours) : work.messages + neighbours;
    }
    work.messages--;
    return work;
}

/* Tiles on these rows, as a number of full ones. In a pass of several steps they overlap. */
static double tiles_on(const struct machine_model *machine, double rows, int steps, int end)
{
    const double lost = 2.0 * (steps - 1);
    const double tiles = (rows - lost) / (machine->number[MACHINE_TILE_ROWS].low - lost);
    const double part = tiles - floor(tiles);
    const double idle = number_at(machine, MACHINE_TILE_IDLE, end);
    return floor(tiles) + (part > 0 ? idle + (1 - idle) * part : 0);
}

/* Blocks of several steps fill the registers or the shared memory of a device, so that nothing runs
 * beside them. */
static void predict_block(const struct machine_model *machine, const struct machine_value *per_s,
                          const struct work *work, double stretch, int end,
                          struct machine_pass *pass)
{
    const double rate = end == MACHINE_FAST ? per_s->high : per_s->low;
    const double launch = number_at(machine, MACHINE_LAUNCH, end);
    double kernel = work->cells / rate;
    double exchange = 0;
    double network = 0;
    if (pass->steps > 1 && machine->number[MACHINE_TILE_ROWS].source != NULL) {
        kernel *= tiles_on(machine, work->rows + work->more_rows, pass->steps, end) /
                  tiles_on(machine, work->rows, pass->steps, end);
    }
    double total = launch + kernel;
    if (work->messages > 0) {
        const double pack = 2 * work->packed / number_at(machine, MACHINE_COPY, end);
        const double shell = number_at(machine, MACHINE_SHELL, end) * work->weighted / rate;
        network = fmax(fmax(work->sent[LINK_GROUP] / number_at(machine, MACHINE_MODULE, end),
                            work->sent[LINK_NODE] / number_at(machine, MACHINE_NODE, end)),
                       work->sent[LINK_NETWORK] * number_at(machine, MACHINE_RANKS_PER_NIC, end) /
                           number_at(machine, MACHINE_NETWORK, end));
        exchange = 2 * pack + number_at(machine, MACHINE_WAIT, end) +
                   number_at(machine, MACHINE_LATENCY, end) +
                   (work->messages - 1) * number_at(machine, MACHINE_MESSAGE, end) + network;
        total = 2 * launch + kernel + exchange;
        if (pass->steps == 1 && work->cells > work->shell) {
            const double inner = (work->cells - work->shell) / rate;
            total = fmin(total, 3 * launch + shell + fmax(inner + 2 * pack, exchange));
        }
    }
    total *= stretch;
    if (total > pass->total[end]) {
        pass->total[end] = total;
        pass->kernel[end] = kernel;
        pass->exchange[end] = exchange;
        pass->network[end] = network;
        pass->rate[end] = rate;
        pass->source = per_s->source;
    }
}

enum status machine_predict(const struct machine_model *machine, const struct problem *problem,
                            const struct decomp *decomp, int steps, struct machine_pass *pass)
{
    const int per_node = (int)machine->number[MACHINE_RANKS_PER_NODE].low;
    const int nodes = (decomp->nranks + per_node - 1) / per_node;
    SCOPED_BY(placement_free) struct placement_order order = {0};
    SCOPED_FREE struct rank_place *places = malloc((size_t)decomp->nranks * sizeof *places);
    TRY(CHECK_MEMORY(places != NULL, "no memory to place %d ranks", decomp->nranks));
    placement_assume(decomp->nranks, per_node, (int)machine->number[MACHINE_RANKS_PER_MODULE].low,
                     places);
    TRY(placement_choose(decomp, places, &order));
    *pass = (struct machine_pass){.steps = steps};
    for (int block = 0; block < decomp->nranks; block++) {
        const struct work work = work_of(problem, decomp, &order, places, block, steps);
        const struct box owned = decomp_owned(decomp, block);
        struct machine_value per_s;
        FAIL_IF(!machine_rate_of(machine, problem, steps, &owned, &per_s),
                fail(STATUS_INPUT, "%s has no rate for %s, %s, %d step%s per pass", machine->title,
                     machine_medium(problem), precision_name(problem->precision), steps,
                     steps == 1 ? "" : "s"));
        for (int end = 0; end < MACHINE_ENDS; end++) {
            const double stretch = 1 + number_at(machine, MACHINE_JITTER, end) * log2(nodes);
            predict_block(machine, &per_s, &work, stretch, end, pass);
        }
    }
    return STATUS_OK;
}
