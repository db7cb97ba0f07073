/* Where the host's time goes, and where it is now.
 *
 * The step loop says what it enters; that ends what came before. The numbers are read by the report
 * and, while the run goes on, by the hang monitor's thread: what it reads is atomic. */
#ifndef ISOTHERM_SOLVE_PHASES_H
#define ISOTHERM_SOLVE_PHASES_H

#include <stdatomic.h>
#include <stdint.h>

/* The first ones are shares of the run's time in report.json; the rest make its "other". */
#define PHASE_LIST(X)                                                                              \
    X(HALO_BEGIN, "halo_begin")                                                                    \
    X(INTERIOR, "interior")                                                                        \
    X(HALO_END, "halo_end")                                                                        \
    X(SHELL, "shell")                                                                              \
    X(DIAGNOSTICS, "diagnostics")                                                                  \
    X(WRITER, "writer")                                                                            \
    X(START, "making the initial state")                                                           \
    X(AGREE, "agreeing with all ranks")                                                            \
    X(END, "finishing")                                                                            \
    X(OTHER, "between steps")

#define PHASE_ENUM(name, text) PHASE_##name,
enum phase {
    PHASE_LIST(PHASE_ENUM)
    /* one for each kind of output follows */
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
    double seconds[PHASES];   /* spent in each; of the step loop's thread alone */
    atomic_int present;
    _Atomic int64_t since;           /* ns of the monotonic clock, at the present phase */
    _Atomic int64_t step;            /* steps done */
    _Atomic int64_t longest[PHASES]; /* ns, of the stays that have ended */
    /* of the writer's thread, when it is not the steps that write */
    atomic_int written;          /* the kind of output */
    _Atomic int64_t write_since; /* ns; 0: it writes nothing */
    _Atomic int64_t longest_write[OUTPUT_KINDS_MAX];
};

/* All zero, in PHASE_START. */
void phases_init(struct phases *phases);

/* ns of the clock that `since` goes by. */
int64_t phases_now(void);

/* Enter a phase; returns the one that this ends, for those who come back to it. Costs some ten
 * nanoseconds. */
int phases_enter(struct phases *phases, int phase);

/* The writer's thread begins to write an output of that kind, and has written it. */
void phases_write_begin(struct phases *phases, int kind);
void phases_write_end(struct phases *phases);

#endif
