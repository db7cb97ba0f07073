#include "bench/bench_parts.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

#define WINDOW_S 0.25
#define PATIENCE_S 0.5
#define BATCH_S 1e-2 /* between two readings of the counter: longer than a reading */

static void unknown(const char *why, struct bench_energy *energy)
{
    *energy = (struct bench_energy){.joules = (double)NAN, .watts = (double)NAN};
    snprintf(energy->why, sizeof energy->why, "%s", why);
}

/* ---- one device ---- */

void bench_meter_open(const char *pci, struct bench_meter *meter)
{
    meter->meter = energy_open(&energy_system, pci, meter->why);
    log_info("energy: %s", meter->meter != NULL ? energy_source(meter->meter) : meter->why);
}

void bench_meter_close(struct bench_meter *meter)
{
    energy_close(meter->meter);
    meter->meter = NULL;
}

enum status bench_time_calls(const struct bench_calls *calls, int64_t count, double *seconds)
{
    const struct runtime *runtime = calls->place.backend->runtime;
    TRY(runtime->stopwatch_start(calls->place.queue, calls->place.stopwatch));
    for (int64_t n = 0; n < count; n++) {
        TRY(calls->call(calls->context));
    }
    TRY(runtime->stopwatch_stop(calls->place.queue, calls->place.stopwatch));
    TRY(runtime->queue_wait(calls->place.queue));
    TRY(runtime->stopwatch_seconds(calls->place.stopwatch, seconds));
    *seconds /= (double)count;
    return STATUS_OK;
}

/* Batches of calls; the device has one to work on while the counter is read, which can take
 * milliseconds. */
struct batches {
    const struct bench_calls *calls;
    struct event *done[2]; /* of the last two, in turn */
    int count;
};

/* Queue a batch, and wait for the previous one. */
static enum status run_batch(struct batches *batches, int ncalls)
{
    const struct bench_calls *calls = batches->calls;
    const struct runtime *runtime = calls->place.backend->runtime;
    for (int n = 0; n < ncalls; n++) {
        TRY(calls->call(calls->context));
    }
    TRY(runtime->event_record(calls->place.queue, batches->done[batches->count % 2]));
    batches->count++;
    return batches->count > 1 ? runtime->event_sync(batches->done[batches->count % 2]) : STATUS_OK;
}

static enum status read_while_busy(struct energy_meter *meter, struct batches *batches,
                                   double call_s, struct bench_energy *energy)
{
    double at_first = 0;
    if (!energy_read(meter, &at_first)) {
        unknown("the energy counter cannot be read", energy);
        return STATUS_OK;
    }
    const double wanted = call_s > 0 ? BATCH_S / call_s : 1;
    const int batch = wanted < 1 ? 1 : wanted > 1000 ? 1000 : (int)wanted;
    const double begin = clock_seconds();
    double begin_s = 0; /* of the window: the counter's first change */
    double begin_J = 0;
    double calls = 0;
    unknown("the counter did not change in time", energy);
    for (double last_J = at_first, now = begin; now - begin < WINDOW_S + 2 * PATIENCE_S;) {
        double joules = 0;
        TRY(run_batch(batches, batch));
        calls += batch;
        now = clock_seconds();
        if (!energy_read(meter, &joules) || joules == last_J) {
            continue;
        }
        last_J = joules;
        if (begin_s == 0) {
            begin_s = now;
            begin_J = joules;
            calls = 0;
        } else if (now - begin_s >= WINDOW_S) {
            *energy = (struct bench_energy){.joules = (joules - begin_J) / calls,
                                            .watts = (joules - begin_J) / (now - begin_s),
                                            .source = energy_source(meter)};
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}

enum status bench_energy_measure(const struct bench_meter *meter, const struct bench_calls *calls,
                                 double call_s, struct bench_energy *energy)
{
    const struct runtime *runtime = calls->place.backend->runtime;
    struct batches batches = {.calls = calls};
    enum status status = STATUS_OK;
    unknown(meter->why, energy);
    if (meter->meter == NULL) {
        return STATUS_OK;
    }
    TRY_GOTO(runtime->event_create(calls->place.device, &batches.done[0]));
    TRY_GOTO(runtime->event_create(calls->place.device, &batches.done[1]));
    TRY_GOTO(read_while_busy(meter->meter, &batches, call_s, energy));
    TRY_GOTO(runtime->queue_wait(calls->place.queue));
done:
    runtime->event_destroy(batches.done[0]);
    runtime->event_destroy(batches.done[1]);
    return status;
}

/* ---- all ranks ---- */

enum status bench_team_open(MPI_Comm comm, const char *pci, struct bench_team *team)
{
    *team = (struct bench_team){.comm = comm};
    TRY(team_energy_begin(comm, pci, &team->energy));
    TRY(team_energy_total(comm, &team->energy, &team->total));
    team->counts = !isnan(team->total.joules);
    log_info("energy: %s", team->counts ? team->total.source : team->total.why);
    return STATUS_OK;
}

void bench_team_close(struct bench_team *team)
{
    team_energy_end(&team->energy);
}

void bench_team_begin(struct bench_team *team)
{
    if (team->counts) {
        team_energy_restart(&team->energy);
        team->since = clock_seconds();
    }
}

enum status bench_team_end(struct bench_team *team, int64_t calls, struct bench_energy *energy)
{
    const double seconds = clock_seconds() - team->since;
    if (team->counts) {
        TRY(team_energy_total(team->comm, &team->energy, &team->total));
    }
    unknown(team->total.why, energy);
    if (!isnan(team->total.joules)) {
        energy->joules = team->total.joules / (double)calls;
        energy->watts = team->total.joules / seconds;
        energy->source = team->total.source;
    }
    return STATUS_OK;
}

/* ---- both ---- */

void bench_energy_columns(struct table *table, const struct bench_energy *energy, double updates)
{
    const double rate = 1e-6 * updates / energy->joules;
    table_real(table, "energy_J", NULL, 0, 0, energy->joules);
    table_real(table, "watts", NULL, 0, 0, energy->watts);
    table_real(table, "Mupdates_per_J", "Mcell/J", 8, 1, rate);
    if (energy->why[0] == '\0') {
        table_text(table, "energy_source", NULL, 0, energy->source);
    } else {
        table_text(table, "energy_why", NULL, 0, energy->why);
    }
}

void bench_columns(struct table *table, const struct bench_figures *f)
{
    const double bytes = f->fetch_bytes + f->write_bytes;
    const double rate = bytes / f->time.median_s;
    const double updates = f->updates / f->time.median_s;
    table_real(table, "ms", "ms", 9, 4, 1e3 * f->time.median_s);
    table_real(table, "mean_ms", "mean ms", 9, 4, 1e3 * f->time.mean_s);
    table_real(table, "best_ms", "best ms", 9, 4, 1e3 * f->time.best_s);
    table_real(table, "fetch_bytes", NULL, 0, 0, f->fetch_bytes);
    table_real(table, "write_bytes", NULL, 0, 0, f->write_bytes);
    table_real(table, "bandwidth_GBs", "GB/s", 9, 2, 1e-9 * rate);
    table_real(table, "mean_bandwidth_GBs", NULL, 0, 0, 1e-9 * bytes / f->time.mean_s);
    table_real(table, "copy_GBs", NULL, 0, 0, 1e-9 * f->copy_rate);
    table_real(table, "percent_of_copy", "% copy", 7, 1, 100.0 * rate / f->copy_rate);
    table_real(table, "cell_updates_per_s", NULL, 0, 0, updates);
    table_real(table, NULL, "Gcell/s", 9, 3, 1e-9 * updates);
    bench_energy_columns(table, &f->energy, f->updates);
}
