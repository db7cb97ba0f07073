#include "solve/start/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "halo/transport.h"
#include "model/field/derived.h"
#include "model/field/field.h"
#include "solve/medium/classes.h"
#include "solve/medium/source_files.h"
#include "solve/observe/self_check.h"
#include "solve/steady/grids.h"
#include "solve/stepper.h"

struct need {
    char address[sizeof((struct device_info *)0)->address];
    uint64_t bytes;
    uint64_t copy_bytes; /* for copies in the background; optional */
};

enum status memory_of_rank(const struct problem *problem, const struct backend *backend,
                           const struct decomp *decomp, int rank,
                           const struct output_memory *outputs, uint64_t *bytes)
{
    const enum precision precision = problem->precision;
    const struct box owned = decomp_owned(decomp, rank);
    uint64_t fields = 0;
    uint64_t derived = 0;
    struct layout layout;
    struct halo_plan halo;
    TRY(field_bytes(backend, decomp, rank, precision, &fields));
    TRY(derived_bytes(&owned, problem->derived, &derived));
    TRY(field_layout(backend, decomp, rank, precision, &layout));
    TRY(steps_per_pass_halo(decomp, rank, &layout, decomp->halo_width / problem->radius,
                            problem->radius, &halo));
    const bool estimate = estimate_has_field(problem);
    const int copies = problem->time.by_tolerance ? 1 + (int)estimate : 0;
    const int depth = decomp->halo_width / problem->radius;
    const uint64_t classes = classes_bytes(problem, &owned, depth);
    *bytes =
        fields + derived + copies * (uint64_t)layout_bytes(&layout) + classes +
        self_check_bytes(problem, &layout, &owned, classes_cell_bytes(problem, &owned, depth)) +
        source_files_bytes(problem, &owned) + steady_grids_bytes(problem, &owned, decomp->nranks) +
        transport_buffer_bytes(&halo, precision) + outputs->kept_bytes;
    return STATUS_OK;
}

static enum status need_of_rank(const struct problem *problem, const struct team *team,
                                const struct output_memory *outputs, const struct engine *engine,
                                struct need *need)
{
    *need = (struct need){.bytes = 0};
    TRY(memory_of_rank(problem, engine->backend, &team->decomp, team->rank, outputs, &need->bytes));
    if (backend_has(engine->backend, BACKEND_FREE_COPIES)) {
        need->copy_bytes = outputs->device_bytes;
    }
    if (backend_has(engine->backend, BACKEND_NODE_MEMORY)) {
        const struct box owned = decomp_owned(&team->decomp, team->rank);
        const int depth = team->decomp.halo_width / problem->radius;
        need->bytes += outputs->host_bytes + class_map_host_bytes(problem, &owned, depth) +
                       patch_map_bytes(problem, &owned, depth);
    }
    memcpy(need->address, engine->info.address, sizeof need->address);
    return STATUS_OK;
}

static enum status compare(const struct engine *engine, bool float64, bool may_be_implicit,
                           const struct need *needs, int nneeds, const struct need *mine,
                           bool *room_for_copies)
{
    const struct device_info *info = &engine->info;
    uint64_t bytes = 0;
    uint64_t copy_bytes = 0;
    int sharing = 0;
    for (int n = 0; n < nneeds; n++) {
        if (memcmp(needs[n].address, mine->address, sizeof mine->address) == 0) {
            bytes += needs[n].bytes;
            copy_bytes += needs[n].copy_bytes;
            sharing++;
        }
    }
    *room_for_copies = info->free_bytes == 0 || bytes + copy_bytes <= info->free_bytes;
    if (info->free_bytes == 0 || bytes <= info->free_bytes) {
        return STATUS_OK; /* 0: unknown */
    }
    char who[64] = "the run needs";
    if (sharing > 1) {
        snprintf(who, sizeof who, "the %d ranks that share it need", sharing);
    }
    return fail(STATUS_MEMORY,
                "not enough memory on %s: %s %s for fields and outputs in flight, but only "
                "%s of its %s are free; use more %s, fewer cells%s%s",
                info->name, who, SIZE_TEXT(bytes), SIZE_TEXT(info->free_bytes),
                SIZE_TEXT(info->memory_bytes),
                backend_has(engine->backend, BACKEND_NODE_MEMORY) ? "nodes" : "devices (ranks)",
                float64 ? ", or run.precision: float32" : "",
                may_be_implicit ? ", or time.scheme: sts2" : "");
}

static enum status compare_on_node(const struct engine *engine, bool float64, bool may_be_implicit,
                                   MPI_Comm node, const struct need *mine, bool *room_for_copies)
{
    const int nranks = comm_size(node);
    SCOPED_FREE struct need *needs = calloc((size_t)nranks, sizeof *needs);
    TRY(status_agree(node, needs != NULL ? STATUS_OK : fail(STATUS_MEMORY, "out of memory")));
    TRY(comm_check(
        MPI_Allgather(mine, (int)sizeof *mine, MPI_BYTE, needs, (int)sizeof *mine, MPI_BYTE, node),
        "MPI_Allgather"));
    return compare(engine, float64, may_be_implicit, needs, nranks, mine, room_for_copies);
}

enum status memory_check(const struct problem *problem, const struct team *team,
                         const struct output_memory *outputs, struct engine *engine)
{
    const bool float64 = problem->precision == PRECISION_FLOAT64;
    bool room = false;
    struct need mine;
    MPI_Comm node;
    TRY(status_agree(team->comm, need_of_rank(problem, team, outputs, engine, &mine)));
    TRY_MPI(
        MPI_Comm_split_type(team->comm, MPI_COMM_TYPE_SHARED, team->rank, MPI_INFO_NULL, &node));
    const enum status status =
        compare_on_node(engine, float64, problem->time.may_be_implicit, node, &mine, &room);
    TRY_MPI(MPI_Comm_free(&node));
    TRY(status_agree(team->comm, status));
    int everywhere = room ? 1 : 0;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, team->comm));
    engine->room_for_copies = everywhere != 0;
    return STATUS_OK;
}
