/* The phases of the host: the time spent in each, and the current one.
 *
 * The step loop enters a phase, which ends the previous one. The report reads the times; the hang
 * monitor's thread reads during the run, so what it reads is atomic. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"

/* Those before START are shares of the run time in report.json; the rest is its "other". */
#define PHASE_LIST(X)                                                                              \
    X(HALO_BEGIN, "halo_begin")                                                                    \
    X(INTERIOR, "interior")                                                                        \
    X(HALO_END, "halo_end")                                                                        \
    X(SHELL, "shell")                                                                              \
    X(DIAGNOSTICS, "diagnostics")                                                                  \
    X(WRITER, "writer")                                                                            \
    X(START, "creating the initial state")                                                         \
    X(AGREE, "agreement of all ranks")                                                             \
    X(END, "finishing")                                                                            \
    X(OTHER, "between steps")

#define PHASE_ENUM(name, text) PHASE_##name,
enum phase {
    PHASE_LIST(PHASE_ENUM)
    /* one for each kind of output */
    PHASE_OUTPUTS
};
#undef PHASE_ENUM

enum {
    PHASE_REPORTED = PHASE_START,
    OUTPUT_KINDS_MAX = 8,
    PHASES = PHASE_OUTPUTS + OUTPUT_KINDS_MAX
};

struct phases {
    const char *name[PHASES]; /* NULL: no such phase */
    double seconds[PHASES];   /* of the step loop's thread */
    atomic_int present;
    _Atomic int64_t since;           /* ns, start of the current phase */
    _Atomic int64_t step;            /* steps done */
    _Atomic int64_t longest[PHASES]; /* ns, of completed phases */
    /* of the writer's thread, if it runs in the background */
    atomic_int written;          /* the kind of output */
    _Atomic int64_t write_since; /* ns; 0: idle */
    _Atomic int64_t longest_write[OUTPUT_KINDS_MAX];
};

/* All zero, in PHASE_START. */
void phases_init(struct phases *phases);

/* The time of `since`, ns. */
int64_t phases_now(void);

/* Count the seconds from now on, as the time loop begins: the longest stays are kept. */
void phases_restart(struct phases *phases);

/* Enter a phase; returns the previous one, to return to it. Costs some ten nanoseconds. */
int phases_enter(struct phases *phases, int phase);

/* Stay in a phase to the end of the block, then return to the previous one. */
struct phase_stay {
    struct phases *phases;
    int before;
};
#define SCOPED_PHASE(phases, phase)                                                                \
    SCOPED_BY(phases_leave)                                                                        \
    const struct phase_stay phase_stay_ = {phases, phases_enter(phases, phase)}
void phases_leave(const struct phase_stay *stay);

/* The writer's thread starts to write an output of that kind, and has finished. */
void phases_write_begin(struct phases *phases, int kind);
void phases_write_end(struct phases *phases);
