/* What plan says of the ranks' places. */
#ifndef ISOTHERM_APP_PLAN_PLACEMENT_H
#define ISOTHERM_APP_PLAN_PLACEMENT_H

#include "base/precision.h"
#include "model/decomp.h"

/* Print where the blocks would go, with so many ranks on a node and on a module of it, and what
 * travels over which links each step. */
enum status plan_placement(const struct decomp *decomp, enum precision precision,
                           int ranks_per_node, int ranks_per_module) MUST_CHECK;

#endif
