/* The check that the run fits into memory, before any large allocation. */
#pragma once

#include "machine/team.h"
#include "model/problem.h"
#include "solve/engine.h"

/* The memory that outputs need on one rank while they are written. */
struct output_memory {
    uint64_t host_bytes;   /* pinned */
    uint64_t device_bytes; /* for copies in the background; optional */
    uint64_t kept_bytes;   /* on the device, for the whole run */
};

/* Not collective. The device memory of a rank for the whole run: fields with the staging buffer,
 * derived fields, the classes of a medium, sources, the buffers of the halo, whose width is that of
 * `decomp`, and what outputs hold. */
enum status memory_of_rank(const struct problem *problem, const struct backend *backend,
                           const struct decomp *decomp, int rank,
                           const struct output_memory *outputs, uint64_t *bytes);

/* Collective. STATUS_MEMORY, agreed, when the ranks that share a device need more than is free on
 * it: with the amounts, the device, and what would help. Sets engine->room_for_copies, the same on
 * all ranks. Nothing may have been allocated since engine_open. */
enum status memory_check(const struct problem *problem, const struct team *team,
                         const struct output_memory *outputs, struct engine *engine);
