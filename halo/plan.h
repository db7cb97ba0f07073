/* Which boxes travel to whom: the halo exchange of one rank, computed once. */
#ifndef ISOTHERM_HALO_PLAN_H
#define ISOTHERM_HALO_PLAN_H

#include "base/box.h"
#include "kernels/layout.h"
#include "model/decomp.h"

/* One face's exchange with one neighbour. Boxes in local indices of the layout. */
struct halo_message {
    enum face face;  /* of this rank */
    int peer;        /* may be this rank itself (periodic, one block) */
    struct box send; /* the owned layers next to the face */
    struct box recv; /* the halo layers beyond it */
    int send_tag;    /* the face as the peer sees it: tells two faces of one peer apart */
    int recv_tag;
    int64_t cells;
};

struct halo_plan {
    int width;
    int nmessages;
    struct halo_message message[FACE_COUNT];
    struct box interior; /* owned cells that need no halo */
    int nshell;          /* the other owned cells */
    struct box shell[FACE_COUNT];
};

void halo_plan_create(const struct decomp *decomp, int rank, const struct layout *layout,
                      struct halo_plan *plan);
size_t halo_plan_bytes(const struct halo_plan *plan, enum precision precision); /* sent a step */

#endif
