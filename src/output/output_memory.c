#include "output/output_memory.h"

#include "base/comm.h"
#include "io/checkpoint/checkpoint.h"

static bool has_checkpoints(const struct settings *settings)
{
    const struct checkpoint_setting *checkpoints = &settings->output.checkpoints;
    return cadence_is_on(&checkpoints->cadence) || checkpoints->walltime > 0;
}

enum status output_capture_bytes(const struct settings *settings, const struct grid *grid,
                                 const struct decomp *decomp, int rank, uint64_t *bytes)
{
    const struct box owned = decomp_owned(decomp, rank);
    struct snapshot_outputs outputs;
    const uint64_t width = precision_bytes(settings->run.precision);
    const unsigned kept = derived_kept(derived_of_settings(settings));
    const uint64_t state_bytes =
        (uint64_t)box_cells(&owned) * (width + (uint64_t)derived_count(kept) * sizeof(double));
    uint64_t most = has_checkpoints(settings) ? state_bytes : 0;
    TRY(snapshot_outputs_list(settings, grid, &outputs));
    for (int i = 0; i < outputs.count; i++) {
        const struct box part = view_part(&outputs.output[i].view, &owned);
        const struct snapshot_setting *setting = outputs.output[i].setting;
        const uint64_t fields = 1 + (uint64_t)derived_count(setting->derived);
        const uint64_t part_bytes =
            (uint64_t)box_cells(&part) * fields * precision_bytes(setting->precision);
        most = part_bytes > most ? part_bytes : most;
    }
    snapshot_outputs_close(&outputs);
    *bytes = most;
    return STATUS_OK;
}

enum status output_memory_bytes(const struct settings *settings, const struct grid *grid,
                                const struct decomp *decomp, int rank, uint64_t *bytes)
{
    TRY(output_capture_bytes(settings, grid, decomp, rank, bytes));
    *bytes *= WRITER_SLOTS;
    return STATUS_OK;
}

enum status output_memory_prepare(const struct run *run, const struct snapshot_outputs *snapshots,
                                  struct writer *writer)
{
    const size_t state = has_checkpoints(run->settings) ? checkpoint_capture_bytes(run->field) : 0;
    const size_t part = snapshot_outputs_bytes(snapshots, run->field);
    const size_t most = part > state ? part : state;
    TRY(status_agree(run->comm, writer_prepare(writer, most)));
    if (run->backend->host_accessible) {
        return STATUS_OK; /* a copy beside the steps would take the memory's time from them */
    }
    return writer_send_beside(writer, run->bulk_queue, most, run->room_for_copies);
}
