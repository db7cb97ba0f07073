/* One pass over the field: the exchange of the halo, then several steps of interior and shell. */
#pragma once

#include "solve/level.h"

struct pass {
    int nsteps;                             /* 1 to STEPS_MOST; the halo is as deep */
    struct coefficients levels[STEPS_MOST]; /* of each step */
    struct field_summary *h_summary;        /* NULL: none; else where pass_may_summarise */
};

/* Whether a pass of this length with coefficients of this kind can take the summary of its result
 * with less work. */
bool pass_may_summarise(const struct level *level, enum kind kind, int nsteps);

/* Collective through the halo; queued. Advance the field by the steps of `pass`, and swap it. Where
 * the backend can fuse fewer steps, kernels follow each other with one exchange. */
enum status pass_queue(struct level *level, const struct pass *pass);
