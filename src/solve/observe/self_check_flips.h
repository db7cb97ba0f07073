/* Bits that are flipped on purpose, to test the self-check on any backend. */
#pragma once

#include "solve/stepper.h"

/* ISOTHERM_FLIP_BITS is a list, separated by commas, of STEP:RANK:MEMORY:CELL:BIT. When the run
 * has reached STEP, the bit of an owned cell (counted along x, then y, then z) of that rank is
 * flipped, once. MEMORY: `field`; `copy`, the field that the self-check keeps; `class`; `table`,
 * the coefficients of the classes, whose CELL counts its numbers; `factor`, one of the arrays of
 * properties per cell; `patch`, the numbers of patches
 * of the first face that has some; `source`, the first field of `sources`; `halo`, the cells of
 * the first message of the next exchange that is compared; or `host`, of all bytes of the next
 * tile that the host computes. Only where run.self_check is on. */
enum flip_memory {
    FLIP_FIELD,
    FLIP_COPY,
    FLIP_CLASS,
    FLIP_TABLE,
    FLIP_FACTOR,
    FLIP_PATCH,
    FLIP_SOURCE,
    FLIP_HALO,
    FLIP_HOST,
    FLIP_MEMORIES
};
struct flip {
    int64_t step;
    int rank;
    enum flip_memory memory;
    int64_t cell;
    int bit;
    bool done;
};
enum { FLIPS_MOST = 16 };
struct flips {
    struct flip flip[FLIPS_MOST];
    int count;
    void *d_copy; /* of the field */
};

/* The same on all ranks. STATUS_INPUT for an entry that is not one. */
enum status flips_read(struct flips *flips);

/* Collective through the halo; queued. stepper_advance with the flips on the way, also one that is
 * due at the present step. */
enum status flips_advance(struct flips *flips, struct stepper *stepper, int64_t steps);

/* Collective. Those of the halo that are due. */
enum status flips_halo(struct flips *flips, struct stepper *stepper);

/* Not collective. Those of a result of the host that are due. */
void flips_host(struct flips *flips, const struct stepper *stepper, void *h_cells, size_t bytes);
