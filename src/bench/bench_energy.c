#include "bench/bench_energy.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"

#define WINDOW_S 0.15
#define PATIENCE_S 0.5
#define BATCH_S 2e-3 /* between two looks at the counter */

enum status bench_energy_measure(struct energy_meter *meter, const char *why, bench_calls *run,
                                 void *context, double call_s, struct bench_energy *energy)
{
    *energy = (struct bench_energy){.joules = (double)NAN, .watts = (double)NAN};
    snprintf(energy->why, sizeof energy->why, "%s", why);
    double at_first = 0;
    if (meter == NULL || !energy_read(meter, &at_first)) {
        return STATUS_OK;
    }
    const double wanted = call_s > 0 ? BATCH_S / call_s : 1;
    const int batch = wanted < 1 ? 1 : wanted > 1000 ? 1000 : (int)wanted;
    const double begin = clock_seconds();
    double begin_s = 0; /* of the window: the counter's first change */
    double begin_J = 0;
    double calls = 0;
    energy->source = energy_source(meter);
    snprintf(energy->why, sizeof energy->why, "the counter did not change in time");
    for (double last_J = at_first, now = begin; now - begin < WINDOW_S + 2 * PATIENCE_S;) {
        double joules = 0;
        TRY(run(context, batch));
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
            energy->joules = (joules - begin_J) / calls;
            energy->watts = (joules - begin_J) / (now - begin_s);
            energy->why[0] = '\0';
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}

void bench_energy_report(const struct bench_energy *energy, double updates, struct json *json)
{
    json_real(json, "energy_J", energy->joules);
    json_real(json, "watts", energy->watts);
    json_real(json, "Mupdates_per_J", 1e-6 * updates / energy->joules);
    if (energy->why[0] == '\0') {
        json_string(json, "energy_source", energy->source);
    } else {
        json_string(json, "energy_why", energy->why);
    }
}
