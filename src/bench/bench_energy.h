/* The time and energy of one call of a kernel, or of one step or output of all ranks, from the
 * devices' counters. Without a counter nothing is measured, and no time is spent. */
#ifndef ISOTHERM_BENCH_BENCH_ENERGY_H
#define ISOTHERM_BENCH_BENCH_ENERGY_H

#include "base/clock.h"
#include "base/status.h"
#include "base/text/json.h"
#include "base/text/table.h"
#include "bench/bench.h"
#include "kernels/backend.h"
#include "machine/team_energy.h"

struct bench_energy {
    double joules;          /* per call; NaN: `why` */
    double watts;           /* meanwhile */
    const char *source;     /* of energy_source */
    char why[ENERGY_WORDS]; /* not measured */
};

/* ---- one device ---- */

struct bench_meter {
    struct energy_meter *meter; /* NULL: none, because of `why` */
    char why[ENERGY_WORDS];
};

/* The counter of a device of this PCI address, "" for the CPUs; says so in the log. */
void bench_meter_open(const char *pci, struct bench_meter *meter);
void bench_meter_close(struct bench_meter *meter); /* takes a zeroed one */

/* The first words of a bench and the first members of its object: the device. Opens its meter. */
enum status bench_begin_device(const struct bench_request *request, const struct backend *backend,
                               struct device *device, struct json *json, struct bench_meter *meter,
                               struct device_info *info) MUST_CHECK;

/* What to call: queues one call. */
struct bench_calls {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    struct stopwatch *stopwatch; /* for times */
    enum status (*call)(void *context);
    void *context;
};

/* Seconds per call of `count` calls in a row. A failure to queue one is not a failure to measure:
 * `queued` has its status, and `seconds` no meaning then. Waits for the queue. */
enum status bench_time_calls(const struct bench_calls *calls, int64_t count, enum status *queued,
                             double *seconds) MUST_CHECK;

/* The same in rounds of `round_s`, at most `most` and BENCH_MAX_REPEATS of them; after a few, none
 * begins when 2 s are over. `call_s`: the time of a call, about. */
struct bench_rounds {
    struct clock_figures time;
    int64_t count;
};
enum status bench_time_rounds(const struct bench_calls *calls, double call_s, double round_s,
                              int64_t most, struct bench_rounds *rounds) MUST_CHECK;

/* Keep the device busy between two changes of the counter, 0.25 s or more apart (0.5 s at most
 * until the first). `call_s`: the time of a call, about. Waits for the queue. */
enum status bench_energy_measure(const struct bench_meter *meter, const struct bench_calls *calls,
                                 double call_s, struct bench_energy *energy) MUST_CHECK;

/* ---- all ranks ---- */

struct bench_team {
    MPI_Comm comm;
    struct team_energy energy;
    struct energy_total total; /* its joules are NaN while `counts` is false */
    bool counts;               /* every device has a counter; the same on all ranks */
    double since;
};

/* Collective. Says in the log what counts. */
enum status bench_team_open(MPI_Comm comm, const char *pci, struct bench_team *team) MUST_CHECK;
void bench_team_close(struct bench_team *team); /* takes a zeroed one */

/* Not collective: the stretch begins here. */
void bench_team_begin(struct bench_team *team);
/* Collective: the energy of all devices since then, for each of `calls` calls, on rank 0. `team`
 * has the text of its source. */
enum status bench_team_end(struct bench_team *team, int64_t calls,
                           struct bench_energy *energy) MUST_CHECK;

/* ---- both ---- */

/* Million updates per joule as a column, "-" when unknown, and the members of the row: energy_J,
 * watts, Mupdates_per_J (that is, per second and watt) and energy_source, or energy_why. */
void bench_energy_columns(struct table *table, const struct bench_energy *energy, double updates);

/* The measured figures of one call of a kernel. */
struct bench_figures {
    struct clock_figures time;
    double fetch_bytes, write_bytes;
    double updates;   /* of cells */
    double copy_rate; /* of a copy on the device, bytes/s, read plus write */
    struct bench_energy energy;
};

/* The columns of all kernels: times, bandwidth, its share of the copy, updates per second, energy.
 */
void bench_columns(struct table *table, const struct bench_figures *figures);

#endif
