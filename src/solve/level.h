/* One grid on one rank: fields, coefficients on the device, halo and queues. A pass advances a
 * level; it has neither a time nor a problem. */
#pragma once

#include "halo/exchange.h"
#include "machine/team.h"
#include "model/field/field.h"
#include "solve/engine.h"
#include "solve/medium/classes.h"
#include "solve/phases.h"
#include "solve/sleep/sleep.h"

/* The sums of the ledger on the device: those of the faces, then that of sources. Behind them lies
 * one for cells of other ranks, which is never read. */
enum {
    SOURCE_SUM = FACE_COUNT,
    SURFACE_SUM,
    LEDGER_SUMS,
    UNCOUNTED_SUM = LEDGER_SUMS,
    DEVICE_SUMS
};

/* Disjoint boxes of owned cells that the heat of moving sources reaches within a pass. A kernel of
 * several steps leaves them out; single steps of these cells, and of those around that they depend
 * on, go through two fields of their own. */
enum { HOT_MOST = 16 };
struct hot {
    struct box of[HOT_MOST];
    int count;
    void *d_field[2]; /* NULL: none yet */
    bool refused;     /* there was no memory */
};

struct level {
    struct engine *engine;   /* borrowed, as are the next four: backend and queues */
    struct classes *classes; /* of the medium; empty for a uniform one */
    struct phases *phases;
    const struct decomp *decomp;
    int rank;
    int radius;               /* of the stencil: layers of the halo per step */
    int fused;                /* steps that one kernel advances: steps_fused */
    int whole;                /* see pass_share; steps_whole of the operations, until measured */
    struct field *field;      /* layout, and the temperatures of two steps */
    struct exact_sum *d_sums; /* [nslots][DEVICE_SUMS] of this rank since the last reduction */
    struct exact_sum *h_sums; /* the same on the host, pinned */
    const struct exact_sum *h_no_sums; /* as many zeros, pinned: other memory takes 30 us to copy */
    int nslots;                        /* 1, or one for each level of a super step */
    struct halo_plan plan;
    struct halo *halo;     /* NULL: nothing to exchange */
    bool overlap;          /* of the exchange with the interior */
    struct box interior;   /* the cells that are computed meanwhile */
    struct box apart;      /* owned cells that plain passes advance by a kernel of their own */
    const void *d_held[2]; /* fields in which cells of ambients have their temperatures, or NULL */
    int64_t exchanges;     /* of passes */
    uint32_t *d_bits;      /* NULL, or the sum of d_bits of all passes (step_args) */
    struct sleep sleep;
    struct hot hot; /* of the pass that is queued */
};

/* The length of the first of several parts that are as equal as possible, and at most `most`: 10
 * steps by 4 are 4, 3 and 3. Not so where `whole` is not 0 and `most` reaches it: then multiples of
 * it as long as the steps suffice, and single steps. */
static inline int pass_share(int64_t total, int most, int whole)
{
    if (whole > 0 && most >= whole) {
        const int64_t longest = total < most ? total : most;
        return longest >= whole ? (int)(longest - longest % whole) : 1;
    }
    const int64_t parts = (total + most - 1) / most;
    return (int)((total + parts - 1) / parts);
}

/* Not collective. A field of NaN without halo; engine, classes, phases and team must outlive the
 * level. */
enum status level_create(struct engine *engine, struct classes *classes, struct phases *phases,
                         const struct team *team, enum precision precision, int radius, int fused,
                         int nslots, struct level *level);
void level_destroy(struct level *level); /* takes a zeroed or half-built one */

/* Divide the owned cells into those that are computed during the exchange and the others, at least
 * as thick as the halo; `thick`: about a quarter of the block. The overlap is that of
 * level_may_overlap.
 */
void level_choose_overlap(struct level *level, enum overlap setting, bool thick);

/* Not collective. Whether `setting` (run.halo.overlap) lets the interior be computed during the
 * exchange; with auto, whether it pays by rule. */
bool level_may_overlap(const struct level *level, enum overlap setting);

/* Collective, agreed. Use this plan, with the transport of the halo that there is. */
enum status level_use_plan(struct level *level, const struct halo_plan *plan);

/* Collective through the halo; queued. Fill the halo of the current field on halo_queue, after the
 * work on bulk_queue. No effect without a halo. */
enum status level_exchange(struct level *level);
