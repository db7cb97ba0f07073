#include "model/timeline.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "model/field/derived.h"
#include "model/operator/high_order.h"
#include "model/superstep/superstep.h"

/* Step counts are exact in a double, so that n dt is rounded once. */
#define MAX_STEPS 9007199254740992.0 /* 2^53 */

/* Each ends in at least one file access. */
enum { MAX_STRETCHES = 1000000 };

/* The number of steps of length dt from `start` to `end`, both in s, and the length of the last
 * one, which lands on `end`. */
static double count_between(const struct timeline *timeline, double start, double end,
                            double *dt_last)
{
    const double dt = timeline->dt;
    const double left = fmax(end - start, 0);
    const double quotient = left / dt;
    /* rounding errors of end and dt must not add a tiny step */
    const double steps = ceil(quotient - fmin(quotient * 1e-12, 1e-3));
    const double rest = fma(-(steps - 1), dt, left);
    /* a full step except for rounding: then all steps are equal */
    const bool whole = !(fabs(rest - dt) > 4 * DBL_EPSILON * end);
    *dt_last = whole || rest <= 0 ? dt : rest;
    return steps;
}

/* Times closer than this count as equal: no step is that short. */
static double tolerance(const struct timeline *timeline, double time)
{
    return fmax(1e-9 * timeline->dt, 8 * DBL_EPSILON * time);
}

/* The first of the times of a list that exceeds `time`; infinite: none. */
static double next_listed(const struct cadence *cadence, double time)
{
    const int64_t up_to =
        sorted_up_to(cadence->times, sizeof *cadence->times, cadence->ntimes, time);
    return up_to < cadence->ntimes ? cadence->times[up_to] : INFINITY;
}

/* The first time after `after`, s, of an output with an interval or a list on which steps land, or
 * of the others; infinite without them. */
static double next_output(const struct timeline *timeline, double after, bool lands)
{
    double next = INFINITY;
    char key[CADENCE_KEY_BYTES];
    const struct cadence *cadence = NULL;
    for (int i = 0; (cadence = settings_cadence(timeline->output, i, key)) != NULL; i++) {
        if (lands != (timeline->why_landing != NULL || strcmp(key, "output.checkpoints") == 0)) {
            continue;
        }
        if (cadence->interval > 0) {
            double multiple = floor(after / cadence->interval);
            while (multiple * cadence->interval <= after) {
                multiple++;
            }
            next = fmin(next, multiple * cadence->interval);
        }
        next = fmin(next, next_listed(cadence, after));
    }
    return next;
}

double timeline_next_landing(const struct timeline *timeline, double time)
{
    const double after = time + tolerance(timeline, time);
    double next = next_output(timeline, after, true);
    for (const struct table_setting *t = timeline->tables; t != NULL; t = t->next) {
        next = fmin(next, table_next_row(t, after));
    }
    return next;
}

double timeline_next_between(const struct timeline *timeline, double time)
{
    return timeline->why_landing != NULL
               ? INFINITY
               : next_output(timeline, time + timeline_rounding(time), false);
}

double timeline_shortest_interval(const struct timeline *timeline,
                                  char shortest_key[CADENCE_KEY_BYTES + 16])
{
    char key[CADENCE_KEY_BYTES];
    double shortest = INFINITY;
    const struct cadence *cadence = NULL;
    for (int i = 0; (cadence = settings_cadence(timeline->output, i, key)) != NULL; i++) {
        if (cadence->interval > 0 && cadence->interval < shortest) {
            shortest = cadence->interval;
            snprintf(shortest_key, CADENCE_KEY_BYTES + 16, "%s.interval", key);
        }
    }
    return shortest;
}

static enum status add_stretch(struct timeline *timeline, int64_t *capacity, int64_t first,
                               double start)
{
    if (timeline->nstretches == *capacity) {
        const int64_t larger = *capacity > 0 ? 2 * *capacity : 64;
        struct stretch *stretch =
            realloc(timeline->stretch, (size_t)larger * sizeof *timeline->stretch);
        TRY(CHECK_MEMORY(stretch != NULL, "no memory for the times of the outputs"));
        timeline->stretch = stretch;
        *capacity = larger;
    }
    timeline->stretch[timeline->nstretches++] =
        (struct stretch){.first = first, .start = start, .dt_last = timeline->dt};
    return STATUS_OK;
}

static enum status refuse_steps(const struct timeline *timeline)
{
    const double left = timeline->setting.end - timeline->start_time;
    return settings_fail_at(timeline->origin, "time.end",
                            "reaching %g s in steps of %g s takes %g of them; at most 2^53 = %.0f",
                            timeline->setting.end, timeline->dt, left / timeline->dt, MAX_STEPS);
}

static enum status refuse_interval(const struct timeline *timeline, double shortest,
                                   const char *key)
{
    return settings_fail_at(
        timeline->origin, key,
        "an output every %g s is written more than %d times; give a longer interval", shortest,
        (int)MAX_STRETCHES);
}

/* After the stretches that are laid, without landings. */
static void guess_rest(struct timeline *timeline, double final, double last_step)
{
    const double left = (final - timeline->end) / timeline->dt;
    const double most = last_step - (double)timeline->steps;
    const double count = fmin(ceil(left), most);
    timeline->end = isfinite(final) ? final : timeline->end + count * timeline->dt;
    timeline->steps += count > 0 ? (int64_t)count : 0;
}

/* From start_step and start_time, landing by landing, to the end or the last step. `shortest`: the
 * interval of the output `key`. */
static enum status lay_stretches(struct timeline *timeline, double shortest, const char *key)
{
    const bool by_steps = timeline->setting.by_steps;
    const double final = by_steps ? INFINITY : fmax(timeline->setting.end, timeline->start_time);
    const double last_step = by_steps ? (double)timeline->setting.steps : MAX_STEPS;
    double step = (double)timeline->start_step;
    double time = timeline->start_time;
    int64_t capacity = 0;
    timeline->dt_last = timeline->dt;
    timeline->end = time;
    timeline->steps = timeline->start_step;
    while (time < final && step < last_step) {
        if (timeline->nstretches == MAX_STRETCHES && !isfinite(shortest)) {
            return settings_fail_at(timeline->origin, "time",
                                    "the rows of tables over time and the times of outputs are "
                                    "more than %d; give longer periods, or fewer rows",
                                    (int)MAX_STRETCHES);
        }
        if (timeline->nstretches == MAX_STRETCHES) {
            return refuse_interval(timeline, shortest, key);
        }
        TRY(add_stretch(timeline, &capacity, (int64_t)step, time));
        const bool steady = timeline->setting.scheme == SCHEME_STEADY;
        double landing = steady ? INFINITY : timeline_next_landing(timeline, time);
        if (!by_steps && landing >= final - tolerance(timeline, final)) {
            landing = final;
        }
        double dt_last = timeline->dt;
        double count =
            isfinite(landing) ? count_between(timeline, time, landing, &dt_last) : INFINITY;
        if (step + count > last_step) { /* the steps run out before the landing */
            if (!by_steps) {
                return refuse_steps(timeline);
            }
            count = last_step - step;
            landing = time + count * timeline->dt;
            dt_last = timeline->dt;
        }
        timeline->stretch[timeline->nstretches - 1].dt_last = dt_last;
        timeline->dt_last = dt_last;
        step += count;
        time = landing;
        timeline->steps = (int64_t)step;
        timeline->end = time;
        if (timeline->changes_often && timeline->nstretches == 2) {
            guess_rest(timeline, final, last_step);
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}

static enum status count_steps(struct timeline *timeline)
{
    const struct time_setting *setting = &timeline->setting;
    char key[CADENCE_KEY_BYTES + 16] = "";
    const double shortest = timeline_shortest_interval(timeline, key);
    const double steps = (double)(setting->steps - timeline->start_step);
    const double end = setting->by_steps ? timeline->start_time + fmax(steps, 0) * timeline->dt
                                         : fmax(setting->end, timeline->start_time);
    FAIL_IF(setting->by_steps && (double)setting->steps > MAX_STEPS,
            settings_fail_at(timeline->origin, "time.steps",
                             "%" PRId64 " steps; at most 2^53 = %.0f", setting->steps, MAX_STEPS));
    /* the multiples must be distinct times up to the end; else lay_stretches would not advance */
    if (!(shortest > tolerance(timeline, end))) {
        return settings_fail_at(
            timeline->origin, key,
            "an output every %g s is far too often for steps of %g s up to t = %g s; "
            "give a longer interval",
            shortest, timeline->dt, end);
    }
    if (timeline->why_landing == NULL && end > MAX_STRETCHES * shortest) {
        return refuse_interval(timeline, shortest, key);
    }
    return lay_stretches(timeline, shortest, key);
}

/* A restart looks up the time of the last sample, which must not be before the adaptation. */
static enum status check_adaptation(const struct settings *settings, const struct medium *medium)
{
    const int64_t every = settings->time.adapt_every;
    const int64_t sampled = settings->output.derived.every;
    FAIL_IF(every > 0 && medium->curves == NULL,
            settings_fail(settings, "time.adapt_every",
                          "no material has properties that depend on temperature; leave it out"));
    if (every > 0 && derived_sampled(derived_of_settings(settings)) != 0 && every % sampled != 0) {
        return settings_fail(settings, "time.adapt_every",
                             "%" PRId64 " is not a multiple of output.derived.every, %" PRId64,
                             every, sampled);
    }
    return STATUS_OK;
}

enum status timeline_create(const struct settings *settings, const struct grid *grid,
                            const struct medium *medium, const struct rate_facts *rates,
                            struct timeline *timeline)
{
    const double stable = settings->run.stencil_order > 2 ? wide_stable_dt(settings, grid, medium)
                                                          : medium_stable_dt(medium, grid);
    SCOPED_BY(timeline_destroy)
    struct timeline built = {.setting = settings->time,
                             .output = &settings->output,
                             .tables = settings_time_tables(settings),
                             .origin = settings->origin,
                             .dt_stable =
                                 rates->source > 0 ? 1 / (1 / stable + rates->source) : stable,
                             .why_explicit = rates->why_explicit,
                             .share = 1};
    TRY(check_adaptation(settings, medium));
    TRY(timeline_choose_dt(&built, settings, medium, rates));
    built.why_landing = timeline_why_landing(&built);
    TRY(count_steps(&built));
    *timeline = built;
    built.stretch = NULL;
    return STATUS_OK;
}

void timeline_destroy(struct timeline *timeline)
{
    free(timeline->stretch);
    timeline->stretch = NULL;
    timeline->nstretches = 0;
}

enum status timeline_continue(struct timeline *timeline, int64_t step, double time)
{
    if (step <= timeline->steps && timeline_time(timeline, step) == time) {
        return STATUS_OK;
    }
    timeline_destroy(timeline);
    timeline->start_step = step;
    timeline->start_time = time;
    timeline->before_dt = 0;
    return count_steps(timeline);
}

/* The same run with other steps; the old ones are kept when they are refused. */
static enum status replace(struct timeline *timeline, struct timeline *by)
{
    by->stretch = NULL;
    by->nstretches = 0;
    by->is_stale = false;
    const enum status status = count_steps(by);
    timeline_destroy(status == STATUS_OK ? timeline : by);
    if (status == STATUS_OK) {
        *timeline = *by;
    }
    return status;
}

/* The index of the last stretch that begins neither after `step` nor after `time`; 0 if all do. */
static int64_t find_stretch(const struct timeline *timeline, int64_t step, double time)
{
    int64_t low = 0;
    int64_t high = timeline->nstretches - 1;
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (timeline->stretch[middle].first <= step && timeline->stretch[middle].start <= time) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

enum status timeline_adapt(struct timeline *timeline, int64_t step, double dt)
{
    struct timeline changed = *timeline;
    const int64_t at = find_stretch(timeline, step, INFINITY);
    if (dt == timeline->dt && !timeline->is_stale &&
        (!timeline->changes_often || at + 1 < timeline->nstretches)) {
        return STATUS_OK;
    }
    changed.changes_often = timeline->setting.by_tolerance;
    changed.dt = dt;
    changed.start_step = step;
    changed.start_time = timeline_time(timeline, step);
    changed.before_time = step > 0 ? timeline_time(timeline, step - 1) : 0;
    changed.before_dt = step > 0 ? timeline_dt(timeline, step - 1) : 0;
    return replace(timeline, &changed);
}

enum status timeline_restore(struct timeline *timeline, int64_t start_step, double start_time,
                             double dt)
{
    struct timeline changed = *timeline;
    changed.changes_often = timeline->setting.by_tolerance;
    changed.dt = dt;
    changed.start_step = start_step;
    changed.start_time = start_time;
    return replace(timeline, &changed);
}

static bool is_before(const struct timeline *timeline, int64_t step)
{
    return timeline->before_dt > 0 && step == timeline->start_step - 1;
}

double timeline_time(const struct timeline *timeline, int64_t step)
{
    if (timeline_is_between(timeline, step)) {
        return timeline->shown_time;
    }
    if (is_before(timeline, step)) {
        return timeline->before_time;
    }
    if (step >= timeline->steps) {
        return timeline->end;
    }
    const struct stretch none = {.first = timeline->start_step, .start = timeline->start_time};
    const struct stretch *stretch = timeline->stretch != NULL
                                        ? &timeline->stretch[find_stretch(timeline, step, INFINITY)]
                                        : &none;
    return stretch->start + (double)(step - stretch->first) * timeline->dt;
}

double timeline_dt(const struct timeline *timeline, int64_t step)
{
    if (is_before(timeline, step)) {
        return timeline->before_dt;
    }
    if (step >= timeline->steps - 1) {
        return timeline->dt_last;
    }
    const int64_t at = find_stretch(timeline, step, INFINITY);
    const bool lands = at + 1 < timeline->nstretches && timeline->stretch[at + 1].first == step + 1;
    return lands ? timeline->stretch[at].dt_last : timeline->dt;
}

double timeline_dt_before(const struct timeline *timeline, int64_t step)
{
    return timeline_dt(timeline, step > 0 ? step - 1 : 0);
}

/* Whether the time after `step` steps is a multiple of the interval, or listed. Of steps that land
 * on outputs only ends of stretches are exactly on one. */
static bool lands_on(const struct timeline *timeline, const struct cadence *cadence, int64_t step)
{
    const bool at_stretch = timeline->stretch != NULL &&
                            timeline->stretch[find_stretch(timeline, step, INFINITY)].first == step;
    const double time = timeline_time(timeline, step);
    const bool lands = timeline->why_landing != NULL;
    const double near = lands ? tolerance(timeline, time) : timeline_rounding(time);
    const double multiple = cadence->ntimes > 0
                                ? next_listed(cadence, time - 2 * near)
                                : rint(time / cadence->interval) * cadence->interval;
    return step == 0 || ((at_stretch || !lands) && fabs(time - multiple) <= near);
}

double timeline_landing(const struct timeline *timeline, int64_t step)
{
    const double end = timeline->setting.by_steps ? INFINITY : timeline->end;
    const double landing = timeline_next_landing(timeline, timeline_time(timeline, step));
    return landing >= end - tolerance(timeline, end) ? end : landing;
}

void timeline_end_at(struct timeline *timeline, int64_t step)
{
    timeline->end = timeline_time(timeline, step);
    timeline->dt_last = timeline_dt_before(timeline, step);
    timeline->steps = step;
}

bool timeline_jumps(const struct timeline *timeline, int64_t step)
{
    const double time = timeline_time(timeline, step);
    const double near = tolerance(timeline, time);
    bool jumps = false;
    for (const struct table_setting *t = timeline->tables; t != NULL; t = t->next) {
        jumps = jumps || (t->steps && fabs(table_next_row(t, time - 2 * near) - time) <= near);
    }
    return jumps;
}

int timeline_stages(const struct timeline *timeline, int64_t step)
{
    const struct time_setting *setting = &timeline->setting;
    const double tau_radius = 2 * timeline_dt(timeline, step) / timeline->dt_stable;
    if (setting->scheme == SCHEME_EULER || setting->stages > 0) {
        return setting->scheme == SCHEME_EULER ? 1 : setting->stages;
    }
    if (setting->scheme == SCHEME_IMPLICIT) {
        return setting->backward_euler ? 1 : 2;
    }
    /* a dt at the limit may exceed it in its last digits */
    return superstep_stages(setting->scheme, tau_radius * (1 - 1e-12));
}

bool timeline_is_due(const struct timeline *timeline, const struct cadence *cadence, int64_t step)
{
    if (cadence->every > 0) {
        return timeline_is_multiple(timeline, cadence->every, step) || step == timeline->steps;
    }
    return cadence_is_on(cadence) && (step == timeline->steps || lands_on(timeline, cadence, step));
}

int64_t timeline_next_due(const struct timeline *timeline, const struct cadence *cadence,
                          int64_t step)
{
    if (!cadence_is_on(cadence) || step >= timeline->steps) {
        return -1;
    }
    if (cadence->every > 0) {
        const int64_t multiple = step - step % cadence->every;
        return cadence->every < timeline->steps - multiple ? multiple + cadence->every
                                                           : timeline->steps;
    }
    /* no walk from `step`: other outputs may land a million times before the multiple */
    const double time = timeline_time(timeline, step);
    const double passed = cadence->ntimes > 0 ? 0 : floor(time / cadence->interval);
    const double multiple =
        cadence->ntimes > 0
            ? fmin(next_listed(cadence, time + tolerance(timeline, time)), timeline->end)
            : (passed + 1) * cadence->interval;
    const double before = multiple - 2 * tolerance(timeline, multiple);
    for (int64_t i = find_stretch(timeline, INT64_MAX, before); i < timeline->nstretches; i++) {
        const int64_t first = timeline->stretch[i].first;
        if (first > step && lands_on(timeline, cadence, first)) {
            return first;
        }
    }
    return timeline->steps;
}

int64_t timeline_count_due(const struct timeline *timeline, const struct cadence *cadence)
{
    if (cadence->every > 0) {
        const int64_t whole = timeline->steps / cadence->every;
        return 1 + whole + (timeline->steps % cadence->every != 0 ? 1 : 0);
    }
    const bool on = cadence_is_on(cadence);
    if (on && timeline->why_landing == NULL) {
        const int64_t before = timeline_count_times(cadence, timeline->end * (1 - 1e-12));
        return before + 1; /* the end */
    }
    int64_t count = on ? 1 : 0; /* the end */
    for (int64_t i = 0; on && i < timeline->nstretches; i++) {
        count += lands_on(timeline, cadence, timeline->stretch[i].first) ? 1 : 0;
    }
    return count;
}
