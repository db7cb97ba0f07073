/* The energy of one call of a kernel, from the device's counter over many calls. */
#ifndef ISOTHERM_BENCH_BENCH_ENERGY_H
#define ISOTHERM_BENCH_BENCH_ENERGY_H

#include "base/json.h"
#include "base/status.h"
#include "machine/energy.h"

struct bench_energy {
    double joules;          /* per call; NaN: `why` */
    double watts;           /* meanwhile */
    const char *source;     /* of energy_source */
    char why[ENERGY_WORDS]; /* not measured */
};

/* Run `calls` calls, and wait for them. */
typedef enum status bench_calls(void *context, int calls);

/* Keep the device busy between two changes of the counter, 0.15 s or more apart (0.5 s at most
 * until the first). `meter` NULL: none, because of `why`. `call_s`: the time of a call, about. */
enum status bench_energy_measure(struct energy_meter *meter, const char *why, bench_calls *run,
                                 void *context, double call_s,
                                 struct bench_energy *energy) MUST_CHECK;

/* Members of the row: energy_J, watts, Mupdates_per_J (that is, per second and watt) and
 * energy_source, or energy_why. */
void bench_energy_report(const struct bench_energy *energy, double updates, struct json *json);

#endif
