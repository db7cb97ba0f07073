#include "app/report.h"

#include <inttypes.h>

#include "app/json.h"
#include "base/version.h"

static void write_machine(struct json *json, const struct run *run)
{
    json_string(json, "backend", run->backend->name);
    json_string(json, "backend_reason", run->backend_reason);
    json_string(json, "device", run->device_info.name);
    json_int(json, "threads", run->device_info.threads);
    json_int(json, "ranks", run->nranks);
    json_int3(json, "decomposition",
              (int64_t[]){run->decomp.ranks[0], run->decomp.ranks[1], run->decomp.ranks[2]});
    const bool exchanges = run->halo != NULL;
    json_string(json, "halo_transport", exchanges ? halo_transport_name(run->halo) : "none");
    json_string(json, "halo_transport_reason",
                exchanges ? halo_transport_reason(run->halo) : "one rank and no periodic axis");
    json_bool(json, "halo_overlap", run->overlap);
    json_int(json, "halo_messages_per_step", run->plan.nmessages);
    json_int(json, "halo_bytes_per_step",
             (int64_t)halo_plan_bytes(&run->plan, run->settings->run.precision));
}

static void write_speed(struct json *json, const struct run *run, double wall)
{
    const int64_t steps = run->step - run->first_step;
    const double updates = (double)grid_total_cells(&run->grid) * (double)steps;
    const double rate = wall > 0 ? updates / wall : 0;
    const double bytes = 2.0 * (double)precision_bytes(run->settings->run.precision);
    json_real(json, "wall_s", wall);
    json_real(json, "cell_updates_per_s", rate);
    json_real(json, "bandwidth_GBs", rate * bytes * 1e-9);
    static const char *const keys[PHASE_COUNT] = {
#define PHASE_KEY(name, key) key,
        PHASE_LIST(PHASE_KEY)
#undef PHASE_KEY
    };
    json_begin(json, "phase_share", '{');
    double rest = wall;
    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        json_real(json, keys[phase], wall > 0 ? run->phase_seconds[phase] / wall : 0);
        rest -= run->phase_seconds[phase];
    }
    json_real(json, "other", wall > 0 ? rest / wall : 0);
    json_end(json, '}');
}

static void write_result(struct json *json, const struct diagnostics *final, uint64_t hash)
{
    json_real(json, "min_K", final->min);
    json_real(json, "max_K", final->max);
    json_real(json, "mean_K", final->mean);
    json_real(json, "heat_J", final->heat);
    json_real(json, "boundary_heat_J", final->boundary_heat);
    json_real(json, "heat_drift_J", final->heat_drift);
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    json_string(json, "field_hash", text);
}

enum status report_write(const char *directory, const struct run *run,
                         const struct diagnostics *final, uint64_t field_hash, double wall)
{
    char path[PATH_BYTES];
    TRY(path_join(directory, "report.json", path));
    struct json json;
    TRY(json_open(&json));
    json_begin(&json, NULL, '{');
    json_string(&json, "version", ISOTHERM_VERSION);
    json_string(&json, "title", run->settings->title);
    json_string(&json, "precision", precision_name(run->settings->run.precision));
    json_int3(&json, "cells", run->grid.cells);
    json_int(&json, "steps", run->step);
    json_int(&json, "first_step", run->first_step);
    json_string(&json, "restarted_from", run->restarted_from);
    json_real(&json, "time", run_time(run));
    json_real(&json, "dt", run->timeline.dt);
    json_real(&json, "dt_stable", run->timeline.dt_stable);
    write_machine(&json, run);
    write_speed(&json, run, wall);
    write_result(&json, final, field_hash);
    json_string(&json, "config", run->settings->text);
    json_end(&json, '}');
    return json_save(&json, path);
}
