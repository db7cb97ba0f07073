/* One pass over the field: the exchange of the halo, then several steps of interior and shell. */
#pragma once

#include "solve/level.h"

struct pass {
    int nsteps;                             /* 1 to STEPS_MOST; the halo is as deep */
    struct coefficients levels[STEPS_MOST]; /* of each step */
    struct field_summary *h_summary;        /* NULL: none; else where pass_may_summarise */
};

/* The length of the first of several parts that are as equal as possible, and at most `most`: 10
 * steps by 4 are 4, 3 and 3. Not so where `whole` (steps_whole of struct operations) is not 0 and
 * `most` reaches it: then multiples of it as long as the steps suffice, and single steps. */
static inline int pass_share(int64_t total, int most, int whole)
{
    if (whole > 0 && most >= whole) {
        const int64_t longest = total < most ? total : most;
        return longest >= whole ? (int)(longest - longest % whole) : 1;
    }
    const int64_t parts = (total + most - 1) / most;
    return (int)((total + parts - 1) / parts);
}

/* Whether a pass of this length with coefficients of this kind can take the summary of its result
 * with less work. */
bool pass_may_summarise(const struct level *level, enum kind kind, int nsteps);

/* Collective through the halo; queued. Advance the field by the steps of `pass`, and swap it. Where
 * the backend can fuse fewer steps, kernels follow each other with one exchange. */
enum status pass_queue(struct level *level, const struct pass *pass);
