/* HYPRE as an oracle of the steady solver, where the build has it (ISOTHERM_HYPRE). */
#pragma once

#include "solve/stepper.h"

extern const bool bench_has_hypre;

struct hypre_run {
    int cycles;
    double seconds, setup_s;
    double difference; /* K: the largest one to our change, on this rank */
};

/* Collective. With the backend `cpu` and a uniform medium: solve A e = r for the conductances of
 * the finest grid until the root mean square of the residual is each of `shares` of that of r.
 * r and change, K: fields in host memory. STATUS_NUMERICS when HYPRE fails or is missing. */
enum status bench_hypre(struct stepper *stepper, const double *r, const double *change,
                        const double shares[2], struct hypre_run runs[2]);
