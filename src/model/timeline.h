/* The time steps of a run: their number, lengths and times. */
#pragma once

#include <float.h>

#include "model/medium/medium.h"
#include "model/space/grid.h"

/* The steps from one landing time to the next. */
struct stretch {
    int64_t first;  /* its first step */
    double start;   /* s, the time before that step */
    double dt_last; /* s, the length of its last step */
};

/* All steps have length dt except those that land on a time: the last one, on `end`, and one before
 * each output with an interval or a list in simulated time, if not interpolated, and before each
 * row of a table over time. A pure function of the first two members and of where a restart or
 * timeline_adapt changed the steps; so a restart reproduces the same steps. */
struct timeline {
    struct time_setting setting;
    const struct output_setting *output; /* borrowed: the intervals on which steps land */
    const struct table_setting *tables;  /* borrowed: steps also land on their rows */
    struct settings_origin *origin;      /* for messages */
    double dt;                           /* s */
    double dt_stable;                    /* s, the largest stable step of forward Euler */
    const char *scheme_reason;           /* of `setting.scheme`, which auto was replaced in */
    const char *why_explicit;            /* why auto takes no implicit steps; NULL: it may */
    int cycle_levels;                    /* the work of a cycle of an implicit step */
    int linear_levels;                   /* of an implicit step besides */
    int stages_most;                     /* of a super step, by precision and linearity */
    double share;            /* of medium's fastest_rate: the largest rate that can occur */
    int64_t start_step;      /* 0, or the step at which a restart or timeline_adapt changed them */
    double start_time;       /* s */
    double before_time;      /* s, of the last step before start_step; if before_dt > 0 */
    double before_dt;        /* s, its length; 0: unknown */
    int64_t steps;           /* total number, from step 0 */
    double end;              /* s, the time after the last step */
    double dt_last;          /* s, length of the last step */
    bool changes_often;      /* only the first two stretches are laid, and `steps` is a guess */
    const char *why_landing; /* NULL: outputs are interpolated, and only those of checkpoints are
                                landed on (solve/scheme/dense_output.h) */
    bool is_stale;           /* timeline_use changed the landings */
    int64_t between;         /* states within the last step that have been shown */
    int64_t shown_step;      /* the number of the one that is shown; 0: none */
    double shown_time;       /* s, its time */
    struct stretch *stretch; /* in order; NULL: no steps after start_step */
    int64_t nstretches;
};

/* What the problem says of its rates of change. */
struct rate_facts {
    bool linear;       /* problem_is_linear */
    bool coefficients; /* those of faces vary in time */
    /* the largest change of sources per kelvin over the heat capacity, 1/s; the stable step is
     * shorter for it */
    double source;
    const char *why_explicit; /* why implicit steps are impossible; NULL: they are possible */
};

/* STATUS_INPUT when dt is above the stable
 * limit, the step count is out of range, or the scheme cannot be used. Not collective; the same on
 * all ranks. */
enum status timeline_create(const struct settings *settings, const struct grid *grid,
                            const struct medium *medium, const struct rate_facts *rates,
                            struct timeline *timeline);
void timeline_destroy(struct timeline *timeline); /* takes a zeroed one */

/* Continue from a state at `step` and `time`. Nothing changes if the timeline passes through it, as
 * after a restart with the same settings; otherwise the remaining steps begin there, up to the
 * configured step count or end. */
enum status timeline_continue(struct timeline *timeline, int64_t step, double time);

/* From `step` on, where the state is, let steps have this length. Fails as timeline_create. */
enum status timeline_adapt(struct timeline *timeline, int64_t step, double dt);
/* As it was after timeline_adapt, in another run. Before timeline_continue. */
enum status timeline_restore(struct timeline *timeline, int64_t start_step, double start_time,
                             double dt);

/* The reason why steps land on outputs; NULL: outputs are interpolated. After timeline_choose_dt.
 */
const char *timeline_why_landing(const struct timeline *timeline);

/* Let the steps after timeline_adapt or timeline_restore, which follows, be of that scheme. */
void timeline_use(struct timeline *timeline, enum time_scheme scheme);

/* The work of an implicit step with that many cycles, in levels of super steps; 0: a usual one. */
double timeline_implicit_work(const struct timeline *timeline, int64_t cycles);

/* The longest super step of order 2, s. */
double timeline_longest_super_step(const struct timeline *timeline);

/* The work of the estimate of a super step, in levels of passes of several. */
enum { TIMELINE_ESTIMATE_LEVELS = 4 };

/* The shortest length, s, with which usual implicit steps take less work than super steps. */
double timeline_implicit_least(const struct timeline *timeline);

/* Set the scheme, its reason and dt. Fails as timeline_create, which calls it. */
enum status timeline_choose_dt(struct timeline *timeline, const struct settings *settings,
                               const struct medium *medium, const struct rate_facts *rates);

/* Let the run end at `step`, where the state is. */
void timeline_end_at(struct timeline *timeline, int64_t step);

/* The next time after the step that starts at `step` on which a step lands; infinite: none. */
double timeline_landing(const struct timeline *timeline, int64_t step);
/* The first time after `time`, s, on which a step lands: that of an output, or of a row; infinite
 * without them. */
double timeline_next_landing(const struct timeline *timeline, double time);
/* The first time after `time`, s, of a landing, of an output or of the end. */
double timeline_next(const struct timeline *timeline, double time);
/* The shortest interval of all outputs, and its key; infinite without intervals. */
double timeline_shortest_interval(const struct timeline *timeline,
                                  char shortest_key[CADENCE_KEY_BYTES + 16]);
/* Times of interpolated outputs closer than this count as equal; not by dt, which changes. */
static inline double timeline_rounding(double time)
{
    return 8 * DBL_EPSILON * time;
}
/* The next time after `time`, s, of an output that is interpolated; infinite: none. */
double timeline_next_between(const struct timeline *timeline, double time);
/* Show the state at `time`, within the step that ended at `step`: it takes the number of the end,
 * which becomes the next one. */
void timeline_show_between(struct timeline *timeline, int64_t step, double time);
/* Whether that is the state at `step`. */
bool timeline_is_between(const struct timeline *timeline, int64_t step);
/* Whether work that is done `every` steps is due at `step`: at a multiple, or at the end of a step
 * within which it was. */
bool timeline_is_multiple(const struct timeline *timeline, int64_t every, int64_t step);

/* Whether a table over time jumps there. */
bool timeline_jumps(const struct timeline *timeline, int64_t step);

/* The stages of the step that starts at `step`. */
int timeline_stages(const struct timeline *timeline, int64_t step);

double timeline_time(const struct timeline *timeline, int64_t step);
double timeline_dt(const struct timeline *timeline,
                   int64_t step); /* of the step that starts at `step` */
/* Of the step that ended at `step`; at step 0 of the first one. */
double timeline_dt_before(const struct timeline *timeline, int64_t step);

/* Whether an output of that cadence is due after `step` steps: at step 0, at every multiple, and at
 * the end. */
bool timeline_is_due(const struct timeline *timeline, const struct cadence *cadence, int64_t step);
/* The next such step after `step`; -1 when there is none. */
int64_t timeline_next_due(const struct timeline *timeline, const struct cadence *cadence,
                          int64_t step);
/* The number of such times of an interval or a list up to `time`, s. */
int64_t timeline_count_times(const struct cadence *cadence, double time);
/* The number of such steps. */
int64_t timeline_count_due(const struct timeline *timeline, const struct cadence *cadence);
