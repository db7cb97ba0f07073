/* Heat sources: shapes of cells, which are classes of the medium, and moving ones. */
#ifndef ISOTHERM_MODEL_SOURCE_H
#define ISOTHERM_MODEL_SOURCE_H

#include "config/expression.h"
#include "model/grid.h"
#include "model/medium.h"

struct source {
    const struct source_setting *setting; /* borrowed */
    struct expression *factor;            /* of t; NULL: the number */
    double density; /* W/m^3, painted; of a source with a power: after the survey */
};

struct sources {
    int count;
    struct source *source;
};

/* STATUS_MEMORY. */
enum status sources_create(const struct settings *settings, struct sources *sources) MUST_CHECK;
void sources_destroy(struct sources *sources); /* takes a zeroed one */

/* Spread the powers over the cells of `medium`, as the survey counted them. STATUS_INPUT when a
 * painted source has no cell. */
enum status sources_survey(struct sources *sources, const struct settings *settings,
                           const struct grid *grid, const struct medium *medium) MUST_CHECK;

/* The strength of each at time t: its factor, times the density (W/m^3) where it is painted.
 * STATUS_NUMERICS, the same on all ranks, when a formula has no finite value. */
enum status sources_at(const struct sources *sources, double t, double *strength) MUST_CHECK;

/* Whether the strength of a painted source depends on time. */
bool sources_vary(const struct sources *sources);

#endif
