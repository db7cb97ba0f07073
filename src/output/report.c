#include "output/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/comm.h"
#include "base/log.h"
#include "base/text/json.h"
#include "base/version.h"
#include "output/output.h"
#include "solve/scheme/step_scheme.h"
#include "solve/steady/steady.h"

static int64_t bytes_per_exchange(const struct stepper *stepper)
{
    return (int64_t)halo_plan_bytes(&stepper->level->plan, stepper->problem->precision);
}

static void write_halo(struct json *json, const struct stepper *stepper)
{
    const struct halo_trial *trials = NULL;
    const int ntrials =
        stepper->level->halo != NULL ? halo_trials(stepper->level->halo, &trials) : 0;
    json_begin(json, "halo", '{');
    json_string(json, "transport",
                stepper->level->halo != NULL ? halo_transport_name(stepper->level->halo) : "none");
    json_begin(json, "trials", '[');
    for (int n = 0; n < ntrials; n++) {
        json_begin(json, NULL, '{');
        json_string(json, "transport", trials[n].transport);
        json_string(json, "neighbours", trials[n].on_node ? "on the node" : "on other nodes");
        json_bool(json, "works", trials[n].works);
        json_real(json, "exchange_us", trials[n].works ? 1e6 * trials[n].seconds : NAN);
        json_string(json, "why_not", trials[n].why);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_int(json, "exchanges", stepper->level->exchanges);
    json_int(json, "messages_per_exchange", stepper->level->plan.nmessages);
    json_int(json, "bytes_per_exchange", bytes_per_exchange(stepper));
    json_end(json, '}');
}

static void write_passes(struct json *json, const struct stepper *stepper)
{
    const struct run_setting *run = &stepper->problem->run;
    json_begin(json, "steps_per_pass", '{');
    if (run->steps_per_pass_auto) {
        json_string(json, "setting", "auto");
    } else {
        json_int(json, "setting", run->steps_per_pass);
    }
    json_int(json, "chosen", stepper->passes.steps);
    json_string(json, "reason", stepper->passes.reason);
    json_int(json, "passes", stepper->passes_queued);
    json_real(json, "search_s", stepper->passes.search_s);
    json_begin(json, "trials", '[');
    for (int t = 0; t < stepper->passes.ntrials; t++) {
        const struct pass_trial *trial = &stepper->passes.trials[t];
        json_begin(json, NULL, '{');
        json_int(json, "steps", trial->steps);
        json_string(json, "overlap", pass_overlap_name(trial));
        json_real(json, "us_per_step", 1e6 * trial->seconds);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
}

static void write_sleep(struct json *json, const struct sleep *sleep)
{
    json_begin(json, "sleeping_tiles", '{');
    json_int(json, "passes", sleep->passes);
    json_real(json, "share_advanced", sleep->all > 0 ? sleep->advanced / sleep->all : 1);
    json_end(json, '}');
}

static void write_self_check(struct json *json, const struct stepper *stepper)
{
    const struct self_check_counts *checked = &stepper->checked;
    json_begin(json, "self_check", '{');
    json_real(json, "share", stepper->problem->run.self_check);
    json_string(json, "memory", checked->each_pass ? "each pass" : "steps computed twice");
    json_int(json, "checks", checked->checks);
    json_int(json, "steps", checked->steps);
    json_int(json, "on_host", checked->on_host);
    json_int(json, "faults", checked->faults);
    json_int(json, "repairs", checked->repairs);
    json_end(json, '}');
}

static void write_machine(struct json *json, const struct stepper *stepper)
{
    json_string(json, "backend", stepper->level->engine->backend->name);
    json_string(json, "backend_reason", stepper->level->engine->reason);
    json_string(json, "device", stepper->level->engine->info.name);
    json_int(json, "threads", stepper->level->engine->info.threads);
    json_int(json, "ranks", stepper->team->nranks);
    json_int3(json, "decomposition",
              (int64_t[]){stepper->team->decomp.ranks[0], stepper->team->decomp.ranks[1],
                          stepper->team->decomp.ranks[2]});
    const bool exchanges = stepper->level->halo != NULL;
    json_string(json, "halo_transport",
                exchanges ? halo_transport_name(stepper->level->halo) : "none");
    json_string(json, "halo_transport_reason",
                exchanges ? halo_transport_reason(stepper->level->halo)
                          : "one rank and no periodic axis");
    json_bool(json, "halo_overlap", stepper->level->overlap);
    const double steps = stepper->passes.steps;
    json_real(json, "halo_messages_per_step", stepper->level->plan.nmessages / steps);
    json_real(json, "halo_bytes_per_step", (double)bytes_per_exchange(stepper) / steps);
    write_halo(json, stepper);
}

static void write_placement(struct json *json, const struct stepper *stepper)
{
    static const char *const keys[LINK_COUNT] = {"self", "group", "node", "network"};
    const struct placement_order *order = &stepper->team->placement;
    const int64_t width = (int64_t)precision_bytes(stepper->problem->precision);
    char reason[256];
    placement_reason(order, reason, sizeof reason);
    json_begin(json, "placement", '{');
    json_string(json, "order", order->name);
    json_string(json, "reason", reason);
    json_begin(json, "bytes_per_step", '{');
    for (int link = 0; link < LINK_COUNT; link++) {
        json_int(json, keys[link], order->link_cells[link] * width);
    }
    json_end(json, '}');
    json_end(json, '}');
    rank_facts_json(json, stepper->team->rank_facts, stepper->team->nranks);
}

static void write_energy(struct json *json, const struct run_cost *cost, double updates)
{
    const struct energy_total *energy = &cost->energy;
    json_begin(json, "energy", '{');
    json_real(json, "J", energy->joules);
    json_real(json, "W", energy->joules / cost->wall_s);
    json_real(json, "Mupdates_per_J", 1e-6 * updates / energy->joules);
    if (energy->why[0] == '\0') {
        json_string(json, "source", energy->source);
    } else {
        json_string(json, "why_not", energy->why);
    }
    json_end(json, '}');
}

static void write_speed(struct json *json, const struct stepper *stepper,
                        const struct run_cost *cost)
{
    const double wall = cost->wall_s;
    const int64_t steps = stepper->state->step - stepper->state->first_step;
    const int levels = timeline_stages(&stepper->problem->timeline, 0);
    const double updates =
        (double)grid_total_cells(&stepper->problem->grid) * (double)(steps * levels);
    const double rate = wall > 0 ? updates / wall : 0;
    const struct step_cost step = step_cost_of(KIND_UNIFORM, stepper->problem->precision);
    const double bytes = (double)(step.fetch_bytes + step.write_bytes);
    json_real(json, "wall_s", wall);
    json_real(json, "cell_updates_per_s", rate);
    json_real(json, "bandwidth_GBs", rate * bytes * 1e-9);
    write_energy(json, cost, updates);
    const struct phases *phases = stepper->level->phases;
    json_begin(json, "phase_share", '{');
    double rest = wall;
    for (int phase = 0; phase < PHASES; phase++) {
        const bool own_key = phase < PHASE_REPORTED || phase >= PHASE_OUTPUTS;
        if (own_key && phases->name[phase] != NULL) {
            json_real(json, phases->name[phase], wall > 0 ? phases->seconds[phase] / wall : 0);
            rest -= phases->seconds[phase];
        }
    }
    json_real(json, "other", wall > 0 ? rest / wall : 0);
    json_end(json, '}');
}

static void write_output(struct json *json, struct writer *writer)
{
    const struct writer_about about = writer_about(writer);
    json_begin(json, "output", '{');
    json_string(json, "writer", about.in_background ? "background" : "foreground");
    json_string(json, "writer_reason", about.reason);
    json_string(json, "captures", about.copies_in_background ? "in the background" : "at once");
    json_int(json, "waits", about.waits);
    json_real(json, "wait_s", about.wait_s);
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        const struct writer_figures f = writer_figures(writer, k);
        if (f.count > 0 || f.exposed_s > 0) {
            json_begin(json, output_kinds[k]->name, '{');
            json_int(json, "count", f.count);
            json_int(json, "bytes", (int64_t)f.bytes);
            json_real(json, "write_s", f.write_s);
            json_real(json, "GBs", f.write_s > 0 ? (double)f.bytes / f.write_s * 1e-9 : 0);
            json_real(json, "disk_s", f.disk_s);
            json_real(json, "disk_GBs", f.disk_s > 0 ? (double)f.bytes / f.disk_s * 1e-9 : 0);
            json_real(json, "exposed_s", f.exposed_s);
            json_end(json, '}');
        }
    }
    json_end(json, '}');
}

static void write_result(struct json *json, const struct problem *problem,
                         const struct diagnostics *final, uint64_t hash)
{
    json_real(json, "min_K", final->min);
    json_real(json, "max_K", final->max);
    json_real(json, "mean_K", final->mean);
    json_real(json, "heat_J", final->heat);
    json_real(json, "boundary_heat_J", final->boundary_heat);
    if (problem_has_sources(problem) || final->source_heat != 0) {
        json_real(json, "source_heat_J", final->source_heat);
    }
    json_real(json, "heat_drift_J", final->heat_drift);
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    json_string(json, "field_hash", text);
}

static void write_changes(struct json *json, const struct settings_changes *changes)
{
    static const char *const effects[] = {
        [SCHEMA_RESTART_UNSAID] = "",        [SCHEMA_RESTART_FREE] = "harmless",
        [SCHEMA_RESTART_IDLE] = "none",      [SCHEMA_RESTART_WARN] = "result",
        [SCHEMA_RESTART_ASK] = "on request", [SCHEMA_RESTART_NEVER] = "refused",
    };
    json_begin(json, "restart_changes", '[');
    for (int i = 0; i < changes->count; i++) {
        const struct settings_change *change = &changes->change[i];
        json_begin(json, NULL, '{');
        json_string(json, "key", change->key);
        json_string(json, "before", change->before);
        json_string(json, "now", change->now);
        json_string(json, "place", change->place);
        json_string(json, "effect", effects[change->restart]);
        json_end(json, '}');
    }
    json_end(json, ']');
}

enum status report_write(const char *path, const struct stepper *stepper, struct writer *writer,
                         const struct diagnostics *final, uint64_t field_hash,
                         const struct run_cost *cost)
{
    struct json json;
    TRY(json_open(&json));
    json_begin(&json, NULL, '{');
    json_string(&json, "version", ISOTHERM_VERSION);
    json_string(&json, "title", stepper->problem->title);
    if (stepper->problem->settings->quantity.given) {
        const struct quantity_setting *q = &stepper->problem->settings->quantity;
        json_begin(&json, "quantity", '{');
        json_string(&json, "name", q->name);
        json_string(&json, "symbol", q->symbol);
        json_string(&json, "unit", q->unit);
        json_string(&json, "content_unit", q->content_unit);
        json_end(&json, '}');
    }
    json_string(&json, "precision", precision_name(stepper->problem->precision));
    json_int3(&json, "cells", stepper->problem->grid.cells);
    json_int(&json, "steps", stepper->state->step);
    json_int(&json, "first_step", stepper->state->first_step);
    json_string(&json, "restarted_from", stepper->state->restarted_from);
    write_changes(&json, &stepper->state->changes);
    json_string(&json, "scheme", stepper->scheme->name);
    json_string(&json, "scheme_reason", stepper->problem->timeline.scheme_reason);
    if (stepper->problem->time.by_tolerance) {
        const struct step_control *control = &stepper->state->control;
        json_begin(&json, "step_control", '{');
        json_int(&json, "rejected", control->rejected);
        json_int(&json, "levels", control->levels);
        if (stepper->problem->time.may_skip) {
            const char *why = step_scheme_never_implicit(stepper);
            json_int(&json, "implicit_steps", control->implicit_steps);
            json_int(&json, "cycles", control->cycles);
            json_string(&json, "never_implicit", why != NULL ? why : "");
        }
        json_real(&json, "range_K", control->high - control->low);
        json_real(&json, "last_error_K", control->last_error);
        json_real(&json, "largest_error_K", control->largest_error);
        json_end(&json, '}');
    }
    json_int(&json, "stencil_order", 2 * stepper->problem->radius);
    json_int(&json, "substeps_per_pass", stepper->passes.steps);
    write_passes(&json, stepper);
    write_sleep(&json, &stepper->level->sleep);
    write_self_check(&json, stepper);
    if (stepper->steady != NULL) {
        steady_report(stepper->steady, &json);
    }
    json_real(&json, "time", stepper->state->time);
    json_real(&json, "dt", stepper->problem->timeline.dt);
    json_real(&json, "dt_stable", stepper->problem->timeline.dt_stable);
    write_machine(&json, stepper);
    write_placement(&json, stepper);
    write_speed(&json, stepper, cost);
    write_output(&json, writer);
    write_result(&json, stepper->problem, final, field_hash);
    json_string(&json, "config", stepper->problem->text);
    json_end(&json, '}');
    return json_save(&json, path);
}

static const double TERMINAL_INTERVAL = 0.5; /* s */
static const double LOG_INTERVAL = 15.0;

void progress_start(struct progress *progress, const struct stepper *stepper)
{
    *progress = (struct progress){
        .started = MPI_Wtime(),
        .shown = MPI_Wtime(),
        .next_step = stepper_round_up(stepper, stepper->state->step + 1),
    };
}

static void print_line(const struct progress *progress, const struct stepper *stepper,
                       const struct diagnostics *latest, double elapsed)
{
    const struct state *state = stepper->state;
    const struct timeline *timeline = &stepper->problem->timeline;
    const int64_t done = state->step - state->first_step;
    const int64_t left = timeline->steps - state->step;
    const double rate = (double)done / fmax(elapsed, 1e-9);
    char remaining[DURATION_TEXT];
    char line[256];
    snprintf(line, sizeof line,
             "%3.0f %%  step %" PRId64 "/%" PRId64 "  t %.4g s  T %.4g .. %.4g K  %.3g Gcell/s  "
             "%s left",
             100.0 * (double)state->step / (double)timeline->steps, state->step, timeline->steps,
             state->time, latest->min, latest->max,
             rate * (double)grid_total_cells(&stepper->problem->grid) * 1e-9,
             duration_text(round((double)left / rate), remaining));
    if (log_is_terminal()) {
        log_transient("%s", line);
    } else if (MPI_Wtime() - progress->shown >= LOG_INTERVAL) {
        log_info("%s", line);
    }
}

enum status progress_show(struct progress *progress, const struct stepper *stepper,
                          const struct diagnostics *latest)
{
    const struct state *state = stepper->state;
    const double now = MPI_Wtime();
    const double elapsed = now - progress->started;
    const int64_t done = state->step - state->first_step;
    int64_t next = 0;
    if (stepper->team->rank == 0) {
        const double interval = log_is_terminal() ? TERMINAL_INTERVAL : LOG_INTERVAL;
        print_line(progress, stepper, latest, elapsed);
        if (now - progress->shown >= interval) {
            progress->shown = now;
        }
        /* the rate of the first steps is unreliable: at most double the count each time */
        const double steps = fmin(interval * (double)done / fmax(elapsed, 1e-9), (double)done);
        next = stepper_round_up(stepper, state->step + (int64_t)fmax(steps, 1.0));
    }
    TRY_MPI(MPI_Bcast(&next, 1, MPI_INT64_T, 0, stepper->team->comm));
    progress->next_step = next;
    return STATUS_OK;
}
