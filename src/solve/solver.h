/* All that solves a problem on a communicator, built in the right order. Only those know of it who
 * own such a thing: the simulation, benchmarks, verification. */
#ifndef ISOTHERM_SOLVE_SOLVER_H
#define ISOTHERM_SOLVE_SOLVER_H

#include "machine/team.h"
#include "model/problem.h"
#include "solve/engine.h"
#include "solve/memory.h"
#include "solve/phases.h"
#include "solve/state.h"
#include "solve/stepper.h"

struct solver {
    struct problem problem;
    struct team team;
    struct engine engine;
    struct state state;
    struct stepper stepper;
    struct phases phases;
};

/* Collective. Everything that takes little memory: the problem, the team in its places, the open
 * device. Fails agreed; solver_destroy frees what there is, also then. `settings` must outlive the
 * solver, which must stay where it is. */
enum status solver_open(MPI_Comm comm, const struct settings *settings,
                        struct solver *solver) MUST_CHECK;

/* Collective, after solver_open. Check the memory, `outputs` included, and make the state (a field
 * full of NaN) and the stepper. Nothing is written anywhere. */
enum status solver_allocate(struct solver *solver, const struct output_memory *outputs) MUST_CHECK;

/* Both, for those without outputs; and the initial state. */
enum status solver_create(MPI_Comm comm, const struct settings *settings,
                          struct solver *solver) MUST_CHECK;
void solver_destroy(struct solver *solver); /* takes a zeroed or half-built one */

#endif
