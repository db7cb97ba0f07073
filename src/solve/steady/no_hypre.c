/* In place of hypre.c, without the library. */
#include "solve/steady/grids.h"

const bool steady_has_hypre = false;

enum status steady_hypre(struct steady_grids *grids, bool algebraic, double share,
                         struct hypre_run *run)
{
    return fail(STATUS_INPUT, "this build has no HYPRE");
}
