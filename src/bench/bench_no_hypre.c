/* In place of bench_hypre.c, without the library. */
#include "bench/bench_hypre.h"

const bool bench_has_hypre = false;

enum status bench_hypre(struct stepper *stepper, const double *r, const double *change,
                        const double shares[2], struct hypre_run runs[2])
{
    return fail(STATUS_NUMERICS, "this build has no HYPRE");
}
