/* All objects that solve a problem on a communicator, created in the right order. Used by the
 * owners of a solution: simulation, benchmarks, verification. */
#pragma once

#include "machine/team.h"
#include "model/problem.h"
#include "solve/engine.h"
#include "solve/medium/classes.h"
#include "solve/phases.h"
#include "solve/start/memory.h"
#include "solve/state.h"
#include "solve/steady/steady.h"
#include "solve/stepper.h"

struct solver {
    struct problem problem;
    struct team team;
    struct engine engine;
    struct classes classes;
    struct pass_plan passes; /* as planned; those in use are the stepper's */
    struct level level;
    struct state state;
    struct stepper stepper;
    struct phases phases;
};

/* Collective. Create everything that needs little memory: problem, team, open device. The outcome
 * is agreed; call solver_destroy also on failure. `settings` must outlive the solver, which must
 * not be moved. */
enum status solver_open(MPI_Comm comm, const struct settings *settings, struct solver *solver);

/* Collective, after solver_open. Check the memory, `outputs` included, and create the state (a
 * field of NaN) and the stepper. Writes no files. */
enum status solver_allocate(struct solver *solver, const struct output_memory *outputs);

/* Both, without outputs, and the initial state. */
enum status solver_create(MPI_Comm comm, const struct settings *settings, struct solver *solver);
void solver_destroy(struct solver *solver); /* takes a zeroed or partly created one */
