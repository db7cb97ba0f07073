#include "solve/memory_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "model/derived.h"
#include "output/output_memory.h"

/* What one rank tells the others of its node. */
struct need {
    char address[sizeof((struct device_info *)0)->address];
    uint64_t bytes;
    uint64_t copy_bytes; /* for outputs on their way: without them they are copied at once */
};

/* Two fields, derived ones, the staging buffer, and the halo's buffers for sending and receiving.
 */
static enum status need_of_rank(const struct run *run, struct need *need)
{
    const enum precision precision = run->settings->run.precision;
    *need = (struct need){.bytes = 0};
    TRY(field_bytes(run->backend, &run->decomp, run->rank, precision, &need->bytes));
    const struct box owned = decomp_owned(&run->decomp, run->rank);
    uint64_t derived = 0;
    TRY(derived_bytes(&owned, derived_of_settings(run->settings), &derived));
    need->bytes += derived;
    const uint64_t halo_cells = (uint64_t)decomp_halo_cells(&run->decomp, run->rank);
    need->bytes += 2 * halo_cells * precision_bytes(precision);
    if (!run->backend->host_accessible && run->settings->output.writer == WRITER_AUTO) {
        TRY(output_capture_bytes(run->settings, &run->grid, &run->decomp, run->rank,
                                 &need->copy_bytes));
    }
    if (run->backend->host_accessible) {
        uint64_t outputs = 0;
        TRY(output_memory_bytes(run->settings, &run->grid, &run->decomp, run->rank, &outputs));
        need->bytes += outputs;
    }
    memcpy(need->address, run->device_info.address, sizeof need->address);
    return STATUS_OK;
}

static enum status compare(const struct run *run, const struct need *needs, int nneeds,
                           const struct need *mine, bool *room_for_copies)
{
    const struct device_info *info = &run->device_info;
    const double gib = 0x1p-30;
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
        return STATUS_OK; /* 0: not known */
    }
    char who[64] = "the run needs";
    if (sharing > 1) {
        snprintf(who, sizeof who, "the %d ranks that share it need", sharing);
    }
    return fail(STATUS_MEMORY,
                "not enough memory on %s: %s %.3f GiB for fields and outputs in flight, but only "
                "%.3f of its %.3f "
                "GiB are free; use more %s, fewer cells%s",
                info->name, who, (double)bytes * gib, (double)info->free_bytes * gib,
                (double)info->memory_bytes * gib,
                run->backend->host_accessible ? "nodes" : "devices (ranks)",
                run->settings->run.precision == PRECISION_FLOAT64 ? ", or run.precision: float32"
                                                                  : "");
}

static enum status compare_on_node(const struct run *run, MPI_Comm node, const struct need *mine,
                                   bool *room_for_copies)
{
    const int nranks = comm_size(node);
    struct need *needs = calloc((size_t)nranks, sizeof *needs);
    TRY(status_agree(node, needs != NULL ? STATUS_OK : fail(STATUS_MEMORY, "out of memory")));
    enum status status = comm_check(
        MPI_Allgather(mine, (int)sizeof *mine, MPI_BYTE, needs, (int)sizeof *mine, MPI_BYTE, node),
        "MPI_Allgather");
    if (status == STATUS_OK) {
        status = compare(run, needs, nranks, mine, room_for_copies);
    }
    free(needs);
    return status;
}

enum status memory_check(const struct run *run, bool *room_for_copies)
{
    bool room = false;
    struct need mine;
    TRY(status_agree(run->comm, need_of_rank(run, &mine)));
    MPI_Comm node;
    TRY_MPI(MPI_Comm_split_type(run->comm, MPI_COMM_TYPE_SHARED, run->rank, MPI_INFO_NULL, &node));
    const enum status status = compare_on_node(run, node, &mine, &room);
    TRY_MPI(MPI_Comm_free(&node));
    TRY(status_agree(run->comm, status));
    int everywhere = room ? 1 : 0;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, run->comm));
    *room_for_copies = everywhere != 0;
    return STATUS_OK;
}
