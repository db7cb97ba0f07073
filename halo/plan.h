/* The boxes and peers of one rank's halo exchange, computed once. */
#pragma once

#include "base/box.h"
#include "kernels/layout.h"
#include "model/space/decomp.h"

/* The number of axes on which the positions of sender and receiver may differ. One step of the
 * 7-point stencil needs the faces; two steps in one pass need the edges too, three or more the
 * corners. */
enum halo_reach { HALO_FACES = 1, HALO_EDGES = 2, HALO_CORNERS = 3 };

/* 6 faces, 12 edges, 8 corners. */
enum { HALO_MESSAGES_MAX = 26 };

/* The exchange of one face, edge or corner with one neighbour. Boxes in local indices. */
struct halo_message {
    int toward[AXIS_COUNT]; /* -1, 0 or 1 per axis: the direction of the peer's block */
    int peer;               /* may be this rank itself (periodic, one block) */
    struct box send;        /* the owned cells next to the face, edge or corner */
    struct box recv;        /* the halo cells beyond it */
    int send_tag;           /* the direction as the peer sees it: distinguishes messages */
    int recv_tag;           /* between two ranks through several faces, edges and corners */
    int64_t cells;          /* in the larger of the boxes */
};

struct halo_plan {
    int width; /* layers, on every axis that is exchanged */
    enum halo_reach reach;
    int nmessages;
    struct halo_message message[HALO_MESSAGES_MAX]; /* faces, then edges, then corners */
    struct box interior; /* owned cells that are at least `width` cells away from any halo */
};

/* Not collective. Plan the exchange of `width` layers (at least 1) of a field of `layout`, which
 * may have more halo layers. STATUS_INPUT when, on an axis that is exchanged, the layout has fewer
 * halo layers or the thinnest block fewer cells; the same on all ranks. */
enum status halo_plan_create(const struct decomp *decomp, int rank, const struct layout *layout,
                             int width, enum halo_reach reach, struct halo_plan *plan);
/* Not collective. Plan to give each rank the blocks of all: boxes of global indices, of an array
 * that has all cells. STATUS_INPUT when there are more than HALO_MESSAGES_MAX other ranks. */
enum status halo_plan_gather(const struct decomp *decomp, int rank, struct halo_plan *plan);
size_t halo_plan_bytes(const struct halo_plan *plan, enum precision precision); /* sent at once */
