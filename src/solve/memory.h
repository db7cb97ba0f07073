/* The check that the run fits into memory, before any large allocation. */
#ifndef ISOTHERM_SOLVE_MEMORY_H
#define ISOTHERM_SOLVE_MEMORY_H

#include "machine/team.h"
#include "model/problem.h"
#include "solve/engine.h"

/* The memory that outputs need on one rank while they are written. */
struct output_memory {
    uint64_t host_bytes;   /* pinned */
    uint64_t device_bytes; /* for copies in the background; optional */
};

/* Collective. STATUS_MEMORY, agreed, when the ranks that share a device need more than is free on
 * it: with the amounts, the device, and what would help. Sets engine->room_for_copies, the same on
 * all ranks. Nothing may have been allocated since engine_open. */
enum status memory_check(const struct problem *problem, const struct team *team,
                         const struct output_memory *outputs, struct engine *engine) MUST_CHECK;

#endif
