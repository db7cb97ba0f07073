/* The steps of a run: how many, how long, and at which times. */
#ifndef ISOTHERM_MODEL_TIMELINE_H
#define ISOTHERM_MODEL_TIMELINE_H

#include "model/grid.h"

/* The way from one time that a step has to land on to the next. */
struct stretch {
    int64_t first;  /* its first step */
    double start;   /* s, the time before that step: the landing of the stretch before */
    double dt_last; /* s, the length of its last step */
};

/* All steps have length dt but those that land on a time: the last one, which lands on `end`, and
 * one before each output that has an interval in simulated time. A pure function of the settings
 * and of where a restart changed the steps; so a restart on the way finds the same steps. */
struct timeline {
    double dt;               /* s */
    double dt_stable;        /* s, the largest stable step */
    int64_t start_step;      /* 0, or where a restart changed the steps */
    double start_time;       /* s */
    int64_t steps;           /* counted from step 0, also after a restart */
    double end;              /* s, the time after the last step */
    double dt_last;          /* s, the last step's length: lands exactly on `end` */
    struct stretch *stretch; /* in order; NULL: one stretch from start_step to steps */
    int64_t nstretches;
};

/* STATUS_INPUT when dt is above the stable limit, or the step count is out of range. Not
 * collective; the same on all ranks. */
enum status timeline_create(const struct settings *settings, const struct grid *grid,
                            const struct medium *medium, struct timeline *timeline) MUST_CHECK;
void timeline_destroy(struct timeline *timeline); /* takes a zeroed one */

/* Go on from a state at `step` and `time`. Nothing changes when the timeline passes through it, as
 * after a restart with the same settings; else the steps that are left begin there: up to the
 * configured step count or end, none when that is behind. */
enum status timeline_continue(struct timeline *timeline, const struct settings *settings,
                              int64_t step, double time) MUST_CHECK;

double timeline_time(const struct timeline *timeline, int64_t step);
double timeline_dt(const struct timeline *timeline, int64_t step); /* of the step from `step` on */
/* Of the step that ended at `step`; at step 0 of the first one. */
double timeline_dt_before(const struct timeline *timeline, int64_t step);

/* Is an output of that cadence due after `step` steps? At step 0, at every multiple, and at the
 * end. */
bool timeline_is_due(const struct timeline *timeline, const struct cadence *cadence, int64_t step);
/* The next step after `step` at which it is; -1 when none follows. */
int64_t timeline_next_due(const struct timeline *timeline, const struct cadence *cadence,
                          int64_t step);
/* How often that happens from step 0 to the end. */
int64_t timeline_count_due(const struct timeline *timeline, const struct cadence *cadence);

#endif
