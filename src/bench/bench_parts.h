/* The parts that the benchmarks share, one file each. */
#pragma once

#include "base/clock.h"
#include "base/status.h"
#include "base/text/table.h"
#include "bench/bench.h"
#include "config/settings.h"
#include "kernels/backend.h"
#include "machine/energy.h"

/* ---- bench_energy.c ---- */

/* The time and energy of one call of a kernel, or of one step or output of all ranks, from the
 * devices' counters. Without a counter nothing is measured, and no time is spent. */

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

/* The work to be timed: queues one call. */
struct bench_calls {
    struct bench_place place;
    enum status (*call)(void *context);
    void *context;
};

/* Seconds per call of `count` calls in a row. Waits for the queue. */
enum status bench_time_calls(const struct bench_calls *calls, int64_t count, double *seconds);

/* Keep the device busy between two changes of the counter, 0.25 s or more apart (0.5 s at most
 * until the first). `call_s`: the time of a call, about. Waits for the queue. */
enum status bench_energy_measure(const struct bench_meter *meter, const struct bench_calls *calls,
                                 double call_s, struct bench_energy *energy);

/* ---- all ranks ---- */

struct bench_team {
    MPI_Comm comm;
    struct team_energy energy;
    struct energy_total total; /* its joules are NaN while `counts` is false */
    bool counts;               /* every device has a counter; the same on all ranks */
    double since;
};

/* Collective. Says in the log what counts. */
enum status bench_team_open(MPI_Comm comm, const char *pci, struct bench_team *team);
void bench_team_close(struct bench_team *team); /* takes a zeroed one */

/* Not collective: the stretch begins here. */
void bench_team_begin(struct bench_team *team);
/* Collective: the energy of all devices since then, for each of `calls` calls, on rank 0. `team`
 * has the text of its source. */
enum status bench_team_end(struct bench_team *team, int64_t calls, struct bench_energy *energy);

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

/* ---- bench_data.c ---- */

/* The data of `bench kernels`. */

/* Fill the cells and the halo of a field with temperatures that follow from the indices alone.
 * Neighbours differ, and their sums round. Blocks. */
enum status bench_fill(const struct bench_place *place, const struct layout *layout, void *d_field);

/* The coefficients of a step with a wider stencil for a field of this layout, with six faces of a
 * given temperature. */
void bench_wide_args(int radius, const struct layout *layout, struct coefficients *args);

/* A problem with cells of 1 m, periodic along the axes of `around`, else with faces of 300 K.
 * `initial` is the entry of that list, `run` has keys of that section, each followed by a comma. */
enum status bench_settings(const int64_t cells[AXIS_COUNT], const bool around[AXIS_COUNT],
                           const char *initial, const char *run, struct settings **settings);

/* Ask for the sums that the heat ledger of a run needs with faces of mixed types: those of fixed
 * temperature and of convection, here all but two. Queued. */
enum status bench_ask_for_sums(struct bench_place *place, struct exact_sum **d_sums,
                               struct coefficients *args);

/* The rate of copies on the device, GB/s, read plus write. */
enum status bench_time_copy(const struct backend *backend, struct device *device, size_t bytes,
                            double *rate);

/* ---- bench_medium.c ---- */

/* The media of `bench kernels --medium`: classes in a pattern, with coefficients of their own,
 * blocks of alloys that melt, or conductances and a heat capacity for each cell. */

/* The media that the words name, PATTERN:CLASSES, in device memory, for a field of this layout with
 * six closed faces. STATUS_INPUT for an unknown word. Blocks. */
enum status bench_media_create(struct bench_place *place, const struct layout *field,
                               const struct option_list *words,
                               struct device_medium media[OPTIONS_MAX_LIST]);

/* STATUS_INPUT unless every word names a medium. */
enum status bench_media_check(const struct option_list *words);

/* ---- bench_names.c ---- */

/* The words of the command line that choose kernels and cases. */

/* A kernel of `bench kernels`. */
struct bench_kernel {
    const char *name;
    const char *about;
    step_function *step; /* of a variant, and of a Laplacian */
    int nsteps;          /* of a pass of several; else 0 */
    int corrects;        /* the step that does so; 0: none */
    int radius;          /* of a wider stencil; else 0 */
    int settling_calls;
    bool laplacian; /* not the step */
    bool estimates; /* compares two fields and writes nothing */
};
/* The index-th of a backend: variants of the step, passes of several, steps of high order, and
 * Laplacians; false after the last. */
bool bench_kernel_at(const struct backend *backend, int index, struct bench_kernel *kernel);

/* The kind of kernels; as a value of --kernel it selects all of them. */
const char *bench_kind_name(bool laplacian);

/* Does --kernel select this kernel? */
bool bench_is_selected(const struct bench_request *request, const struct bench_kernel *kernel);

/* STATUS_INPUT for a --kernel that the backend does not have. */
enum status bench_check_names(const struct bench_request *request, const struct backend *backend);

/* An empty list has every word. */
bool bench_is_listed(const struct option_list *list, const char *word);
