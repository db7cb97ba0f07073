/* The region that is melted at one step: its extents and its volume. */
#pragma once

#include "solve/stepper.h"

/* All 0 where no cell is above the temperature of melting. */
struct melt_pool_diagnostics {
    /* m, along each axis: between the isotherms on the profile of the highest temperatures of the
     * planes across it, linear between the centres of cells; or to the face that the region
     * touches. */
    double extent[AXIS_COUNT];
    double volume; /* m^3, of the cells whose temperature is above it */
};

struct melt_pool; /* memory for the profiles */

/* Not collective. */
enum status melt_pool_open(const struct stepper *stepper, struct melt_pool **pool);
void melt_pool_close(struct melt_pool *pool); /* takes NULL */
/* Device memory that melt_pool_open needs on a rank that owns these cells. */
uint64_t melt_pool_bytes(const struct box *owned);

/* Collective, agreed. The same bits on any decomposition. Needs valid cells (diagnostics_take). */
enum status melt_pool_take(struct melt_pool *pool, struct stepper *stepper,
                           struct melt_pool_diagnostics *found);
